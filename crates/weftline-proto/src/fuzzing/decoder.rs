//! An encoder and a decoder with an arbitrary path between them.

use std::collections::BTreeSet;
use std::ops::Range;

use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

use super::input::Input;
use super::oracle::Oracle;

const SYMBOL_SIZE: usize = 24;
/// Bounds that keep dense elimination, which is cubic, cheap after every packet.
const MAX_SYMBOLS: u64 = 48;
const MAX_REPAIRS: u32 = 48;
const MAX_OPERATIONS: usize = 300;

/// Runs any sequence of operations on an encoder-decoder pair. While all arrivals are honest, the
/// decoder knows exactly what follows from them. A hostile run (first byte odd) adds arbitrary
/// symbols, and no limit is exceeded.
pub fn decoder(data: &[u8]) {
    let mut input = Input::new(data);
    let hostile = input.flag();
    // Some honest runs must hit the limits, and some must not.
    let shape = input.u8();
    let config = DecoderConfig::new(
        8 + usize::from(shape & 7) * 8,
        SYMBOL_SIZE,
        4 + usize::from(shape >> 3 & 7) * 6,
        4 + usize::from(shape >> 6) * 15,
    );
    let mut pair = Pair::new(config, hostile);
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        pair.step(&mut input);
        pair.check_limits();
    }
    if !hostile {
        pair.resend_all();
    }
}

#[derive(Clone, Debug)]
enum Packet {
    Source(u64),
    Repair(Range<u64>, u32, Vec<u8>),
    Forget(u64),
    Expect(u64),
}

struct Pair {
    encoder: WindowEncoder,
    decoder: WindowDecoder,
    payloads: Vec<Vec<u8>>,
    way: Vec<Packet>,
    next_key: u32,
    oracle: Oracle,
    reported: BTreeSet<u64>,
    hostile: bool,
}

impl Pair {
    fn new(config: DecoderConfig, hostile: bool) -> Self {
        Pair {
            encoder: WindowEncoder::new(32, SYMBOL_SIZE),
            decoder: WindowDecoder::new(config),
            payloads: Vec::new(),
            way: Vec::new(),
            next_key: 0,
            oracle: Oracle::default(),
            reported: BTreeSet::new(),
            hostile,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.u8() % if self.hostile { 16 } else { 12 } {
            0..=2 => self.push(usize::from(input.u8()) % (SYMBOL_SIZE + 1)),
            3 | 4 => self.repair(input),
            5 | 6 => {
                if let Some(packet) = self.pick(input) {
                    let packet = self.way.remove(packet);
                    self.deliver(packet);
                }
            }
            7 => {
                if let Some(packet) = self.pick(input) {
                    self.deliver(self.way[packet].clone());
                }
            }
            8 => {
                if let Some(packet) = self.pick(input) {
                    self.way.remove(packet);
                }
            }
            9 => {
                let held = self.encoder.len() + 1;
                let floor = self.encoder.first() + input.index(held) as u64;
                self.encoder.discard_before(floor);
                self.way.push(Packet::Forget(floor));
            }
            10 => self.way.push(Packet::Expect(self.encoder.next())),
            11 => {
                let held = self.encoder.len();
                if held > 0 {
                    let esi = self.encoder.first() + input.index(held) as u64;
                    self.way.push(Packet::Source(esi));
                }
            }
            _ => self.attack(input),
        }
    }

    fn push(&mut self, length: usize) {
        let esi = self.encoder.next();
        if esi >= MAX_SYMBOLS || self.encoder.is_full() {
            return;
        }
        // Symbols may contain zeros, which must not be mistaken for padding.
        let payload: Vec<u8> = (0..length)
            .map(|i| (esi as usize * 37 + i * i) as u8 & 0xF5)
            .collect();
        assert_eq!(self.encoder.push(&payload), Ok(esi));
        self.payloads.push(payload);
        self.way.push(Packet::Source(esi));
    }

    fn repair(&mut self, input: &mut Input<'_>) {
        let held = self.encoder.len();
        if held == 0 || self.next_key >= MAX_REPAIRS {
            return;
        }
        let start = input.index(held);
        let nss = 1 + input.index(held - start);
        let start = self.encoder.first() + start as u64;
        let window = start..start + nss as u64;
        let mut symbol = Vec::new();
        let made = self
            .encoder
            .repair(window.clone(), self.next_key, &mut symbol);
        assert_eq!(made, Ok(()));
        self.way.push(Packet::Repair(window, self.next_key, symbol));
        self.next_key += 1;
    }

    /// One of the packets in flight, often the oldest.
    fn pick(&self, input: &mut Input<'_>) -> Option<usize> {
        let which = input.u8();
        match which & 1 {
            _ if self.way.is_empty() => None,
            0 => Some(0),
            _ => Some(usize::from(which >> 1) % self.way.len()),
        }
    }

    fn deliver(&mut self, packet: Packet) {
        let before = self.observe();
        let (first, end) = (self.decoder.first(), self.decoder.end());
        let outcome = match &packet {
            Packet::Source(esi) => {
                let payload = &self.payloads[*esi as usize];
                let outcome = self.decoder.source(*esi, payload);
                if outcome == Ok(Outcome::Innovative) {
                    self.oracle.received.insert(*esi);
                    assert_eq!(self.decoder.symbol(*esi), Some(&payload[..]));
                }
                outcome
            }
            Packet::Repair(window, key, symbol) => {
                self.decoder.repair(window.clone(), *key, symbol)
            }
            Packet::Forget(esi) => {
                self.decoder.forget_before(*esi);
                Ok(Outcome::Redundant)
            }
            Packet::Expect(esi) => self.decoder.expect(*esi).map(|()| Outcome::Redundant),
        };
        match outcome {
            Ok(_) => {}
            Err(DecodeError::Inconsistent { .. }) => assert!(self.hostile, "{packet:?}"),
            Err(_) => assert_eq!(self.observe(), before, "{packet:?}: {outcome:?}"),
        }
        if self.hostile {
            return self.drain();
        }
        if let Packet::Repair(window, key, _) = &packet {
            let rank = self.oracle.verdict(first, end).rank;
            match outcome {
                Ok(helps) => {
                    if window.start >= first {
                        self.oracle.equations.push((window.clone(), *key));
                    }
                    let verdict = self.oracle.verdict(first, self.decoder.end());
                    assert_eq!(helps == Outcome::Innovative, verdict.rank > rank);
                }
                Err(DecodeError::NotHeld { .. }) => assert!(window.start < first),
                Err(
                    DecodeError::OutOfSpan { .. }
                    | DecodeError::TooManyUnknowns { .. }
                    | DecodeError::WindowTooLong { .. },
                ) => {}
                Err(other) => panic!("honest repair over {window:?} refused: {other}"),
            }
        }
        self.drain();
        self.check_exact();
    }

    fn drain(&mut self) {
        while let Some(esi) = self.decoder.next_known() {
            assert!(self.reported.insert(esi), "{esi} reported twice");
            assert!(self.decoder.is_known(esi));
        }
    }

    /// The decoder knows what follows from what arrived, no more and no less, byte by byte.
    fn check_exact(&self) {
        let decoder = &self.decoder;
        let (first, end) = (decoder.first(), decoder.end());
        let verdict = self.oracle.verdict(first, end);
        let held: BTreeSet<u64> = (first..end).filter(|e| decoder.is_known(*e)).collect();
        assert_eq!(held, verdict.known);
        for &esi in &held {
            assert_eq!(decoder.symbol(esi), Some(&self.payloads[esi as usize][..]));
        }
        let recovered = held.len() - self.oracle.received.range(first..end).count();
        assert_eq!(decoder.rank(), verdict.rank - recovered);
        assert_eq!(decoder.stats().inconsistent, 0);
    }

    fn check_limits(&self) {
        let decoder = &self.decoder;
        let config = decoder.config();
        let range = decoder.first()..decoder.end();
        assert!(range.end - range.start <= config.max_span as u64);
        assert!(decoder.unknowns() <= config.max_unknowns);
        assert!(decoder.rank() <= decoder.unknowns());
        let bound = (config.max_span + 1) * (config.max_symbol_size + 128)
            + config.max_unknowns * (2 * config.max_unknowns + 300)
            + 2 * config.max_window
            + 1024;
        let memory = decoder.memory();
        assert!(memory <= bound, "{memory} bytes held, {bound} documented");
        let missing: Vec<u64> = decoder.missing().flatten().collect();
        assert!(
            range
                .filter(|esi| !decoder.is_known(*esi))
                .eq(missing.iter().copied())
        );
        let lowest = missing.first().copied().unwrap_or(decoder.end());
        assert_eq!(decoder.contiguous(), lowest);
    }

    /// The visible state of the decoder, without statistics.
    fn observe(&self) -> (Range<u64>, usize, Vec<Option<Vec<u8>>>) {
        let range = self.decoder.first()..self.decoder.end();
        let symbols = range.clone().map(|e| self.decoder.symbol(e).map(Vec::from));
        (range.clone(), self.decoder.rank(), symbols.collect())
    }

    /// Anything that a peer could send, mostly near the floor, so that attacks go on when it moves.
    fn attack(&mut self, input: &mut Input<'_>) {
        let before = self.observe();
        let kind = input.u8();
        let esi = match kind & 0x30 {
            0x30 => input.u62().wrapping_mul(5),
            _ => (self.decoder.first() + u64::from(input.u8() % 72)).saturating_sub(4),
        };
        let outcome = match kind % 4 {
            0 => {
                let length = usize::from(input.u8() % 28);
                let payload = input.bytes(length);
                let new = esi >= self.decoder.first() && !self.decoder.is_known(esi);
                let outcome = self.decoder.source(esi, payload);
                if outcome.is_ok() && new {
                    assert_eq!(self.decoder.symbol(esi), Some(payload));
                }
                outcome.map(drop)
            }
            1 | 2 => {
                let nss = u64::from(input.u8() % 64);
                let (key, length) = (u32::from(input.u8() % 8), usize::from(input.u8() % 30));
                let symbol = input.bytes(length);
                self.decoder
                    .repair(esi..esi.wrapping_add(nss), key, symbol)
                    .map(drop)
            }
            _ if kind & 4 == 0 => self.decoder.expect(esi),
            _ => {
                self.decoder.forget_before(esi);
                Ok(())
            }
        };
        match outcome {
            Ok(()) | Err(DecodeError::Inconsistent { .. }) => {}
            Err(_) => assert_eq!(self.observe(), before),
        }
        self.drain();
    }

    /// Repeats the missing symbols in order; then none is missing.
    fn resend_all(&mut self) {
        self.deliver(Packet::Forget(self.encoder.first()));
        for esi in self.encoder.first()..self.encoder.next() {
            // There is room for the next symbol once this one and all below it are known.
            self.deliver(Packet::Source(esi));
            self.deliver(Packet::Forget(esi));
            self.check_limits();
        }
        assert_eq!(self.decoder.unknowns(), 0);
        assert_eq!(self.decoder.end(), self.encoder.next());
    }
}
