//! A receiver with an honest sender, any path, and a forger.

use std::collections::BTreeSet;
use std::time::Duration;

use weftline_fecframe::{
    CodeRate, Elimination, EncodingId, FlowSet, Fssi, Order, Receiver, ReceiverConfig, Sender,
    SenderConfig, Time,
};

use super::input::Input;

/// The packets of the sender, and all other calls.
const STEPS: usize = 400;
/// The most packets in flight.
const HELD: usize = 12;

/// The states that one or several inputs have reached.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) received: u64,
    pub(crate) recovered: u64,
    pub(crate) refused: u64,
    pub(crate) resyncs: u64,
}

impl Seen {
    #[allow(dead_code, reason = "the fuzzer has no sum")]
    pub(crate) fn add(&mut self, other: Seen) {
        self.received += other.received;
        self.recovered += other.recovered;
        self.refused += other.refused;
        self.resyncs += other.resyncs;
    }
}

/// Any scheme with any limits, and any calls; forged packets too if the first byte is
/// odd. Limits hold, every packet is counted once, timers move on. Without forgeries,
/// the ADUs handed over are those sent: each at most once, and in order if that is
/// configured.
pub(crate) fn receiver(data: &[u8]) -> Seen {
    let mut input = Input::new(data);
    let hostile = input.flag();
    let Some(mut run) = Run::new(&mut input) else {
        return Seen::default();
    };
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        run.now = run.now + Duration::from_micros(input.below(64) as u64 * 50);
        match input.below(if hostile { 16 } else { 12 }) {
            0..=4 => run.send(&mut input),
            5 => run.repair(true),
            6..=9 => run.deliver(&mut input),
            10 => run.wait(),
            11 if input.below(40) == 0 => run.receiver.flush(),
            11 => {}
            kind => run.forge(&mut input, kind),
        }
        run.take(hostile);
    }
    run.receiver.flush();
    run.take(hostile);
    run.count()
}

/// A packet and its source flow; a repair packet has none.
type Packet = (Option<u8>, Vec<u8>);

struct Run {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    flows: Vec<u8>,
    sent: Vec<(u8, Vec<u8>)>,
    /// The numbers of the ADUs handed over, and the last one in order.
    given: BTreeSet<usize>,
    last: Option<usize>,
    held: Vec<Packet>,
    newest: u32,
    bound: usize,
    /// The source and repair packets given to the receiver, and those it refused.
    packets: [u64; 2],
    refused: u64,
}

impl Run {
    /// Both ends; `None` if this configuration is refused.
    fn new(input: &mut Input<'_>) -> Option<Self> {
        let ids = [
            EncodingId::RlcGf256,
            EncodingId::RlcGf2,
            EncodingId::ReedSolomon,
        ];
        let id = input.one_of(&ids);
        let symbol_size = 1 + input.below(40) as u16;
        let fssi = match id {
            EncodingId::ReedSolomon => Fssi::ReedSolomon {
                symbol_size,
                strict: input.flag(),
                m: input.one_of(&[8, 8, 8, 4, 2]),
            },
            _ => Fssi::Rlc {
                symbol_size,
                window_size_ratio: input.byte(),
            },
        };
        let flows = vec![0, 3, 200];
        let rate = input.one_of(&[(2, 3), (1, 2), (4, 5)]);
        let rate = CodeRate::new(rate.0, rate.1).ok()?;
        let mut config = SenderConfig::new(id, fssi, rate, 1 + input.below(48) as u16);
        config.flows = FlowSet::from_iter(flows.clone());
        config.bandwidth_cap = input.flag();
        config.one_symbol_adus = input.flag();
        config.symbols_per_packet = input.one_of(&[1, 1, 2, 3]);
        config.first = input.one_of(&[0, 1, u32::MAX - 30, 1 << 31]);
        config.validity = input.some(200).map(|ms| Duration::from_millis(ms as u64));

        let mut theirs = ReceiverConfig::new(id, fssi);
        theirs.flows = config.flows;
        theirs.one_symbol_adus = config.one_symbol_adus;
        theirs.order = input.one_of(&[Order::InOrder, Order::AsDecoded]);
        theirs.deliver_late = input.flag();
        theirs.max_latency = input.some(100).map(|ms| Duration::from_millis(ms as u64));
        theirs.decoding_window = input.some(100).map(|n| n as u32);
        theirs.linear_system = input.some(200).map(|n| n as u32);
        theirs.elimination = input.one_of(&[Elimination::Keeping, Elimination::Discarding]);
        let limits = &mut theirs.limits;
        limits.max_window = 1 + input.below(64) as u16;
        limits.max_linear_system = u32::from(limits.max_window) + input.below(128) as u32;
        limits.max_adu = input.below(256);
        limits.max_symbols_per_packet = 1 + input.below(4);
        limits.max_jump = input.some(100).map(|n| n as u32);
        limits.resync_after = input.below(10) as u32;
        limits.max_blocks = 1 + input.below(6) as u16;

        let (most, symbol) = (limits.max_linear_system as usize, usize::from(symbol_size));
        let adu = limits.max_adu + symbol + 400;
        // The bound is generous in sizes, but not in counts.
        let bound = match id {
            EncodingId::ReedSolomon => usize::from(limits.max_blocks) * 256 * (symbol + adu),
            _ => (most + 2) * (symbol + 512) + most * (most + symbol + 600) + 2 * most * adu,
        };
        Some(Self {
            sender: Sender::new(config).ok()?,
            receiver: Receiver::new(theirs).ok()?,
            now: Time::ZERO,
            flows,
            sent: Vec::new(),
            given: BTreeSet::new(),
            last: None,
            held: Vec::new(),
            newest: 0,
            bound: bound + 4096,
            packets: [0; 2],
            refused: 0,
        })
    }

    /// Sends the next ADU, which contains its number, and the repair that is due.
    fn send(&mut self, input: &mut Input<'_>) {
        let flow = input.one_of(&self.flows);
        let number = self.sent.len() as u32;
        let mut adu = number.to_be_bytes().to_vec();
        adu.resize(4 + input.below(60), input.byte());
        let mut packet = Vec::new();
        let Ok(sent) = self.sender.source(flow, &adu, self.now, &mut packet) else {
            return;
        };
        self.newest = sent.esi;
        self.sent.push((flow, adu));
        self.hold((Some(flow), packet));
        self.repair(false);
    }

    fn repair(&mut self, is_extra: bool) {
        let mut packet = Vec::new();
        if is_extra && self.sender.extra_repair(self.now, &mut packet).is_some() {
            self.hold((None, std::mem::take(&mut packet)));
        }
        while self.sender.poll_repair(self.now, &mut packet).is_some() {
            self.hold((None, std::mem::take(&mut packet)));
        }
    }

    fn hold(&mut self, packet: Packet) {
        if self.held.len() == HELD {
            self.held.remove(0);
        }
        self.held.push(packet);
    }

    /// A packet in flight arrives, mostly the first; or it is lost or duplicated.
    fn deliver(&mut self, input: &mut Input<'_>) {
        if self.held.is_empty() {
            return;
        }
        let place = match input.below(8) {
            0 => input.below(self.held.len()),
            _ => 0,
        };
        match input.below(16) {
            0..=2 => drop(self.held.remove(place)),
            3 => self.give(self.held[place].clone()),
            _ => {
                let packet = self.held.remove(place);
                self.give(packet);
            }
        }
    }

    fn give(&mut self, (flow, packet): Packet) {
        let result = match flow {
            Some(flow) => self.receiver.source_packet(flow, &packet, self.now),
            None => self.receiver.repair_packet(&packet, self.now),
        };
        self.packets[usize::from(flow.is_none())] += 1;
        self.refused += u64::from(result.is_err());
    }

    /// No packet arrives until the receiver's timer.
    fn wait(&mut self) {
        if let Some(due) = self.receiver.poll_timeout() {
            self.now = self.now.max(due);
            self.receiver.handle_timeout(self.now);
            let next = self.receiver.poll_timeout();
            assert!(next.is_none_or(|next| next > self.now), "{next:?}");
        }
    }

    /// A packet that nobody sent.
    fn forge(&mut self, input: &mut Input<'_>, kind: usize) {
        let near = self.newest.wrapping_add(input.below(256) as u32);
        let near = near.wrapping_sub(input.below(256) as u32);
        let (mut flow, mut packet) = match self.held.first() {
            Some(held) if kind == 12 => held.clone(),
            _ => (input.flag().then_some(3), Vec::new()),
        };
        match kind {
            // A changed or truncated packet in flight.
            12 if input.flag() => packet.truncate(input.below(256)),
            12 => {
                let at = input.below(packet.len().clamp(1, 256));
                if let Some(octet) = packet.get_mut(at) {
                    *octet ^= 1 << input.below(8);
                }
            }
            // A repair packet over a window that may be too long, too old or too far.
            13 => {
                let nss = input.byte();
                packet.extend([input.byte(), input.byte(), input.byte() & 0xF1, nss]);
                packet.extend(near.to_be_bytes());
                let symbols = input.below(5);
                let symbol = usize::from(self.receiver.config().fssi.symbol_size());
                packet.resize(8 + symbols * symbol, input.byte());
                flow = None;
            }
            // A source packet, perhaps of an unknown flow.
            14 => {
                let length = input.below(80);
                packet.resize(length, input.byte());
                packet.extend(near.to_be_bytes());
                flow = Some(input.one_of(&[0, 3, 200, 7]));
            }
            _ => {
                let length = input.below(120);
                packet = input.take(length).to_vec();
            }
        }
        self.give((flow, packet));
    }

    /// Polls ADUs and checks them.
    fn take(&mut self, hostile: bool) {
        let config = self.receiver.config().clone();
        let resyncs = self.receiver.stats().resyncs;
        while let Some(adu) = self.receiver.poll_adu() {
            assert!(adu.data.len() <= config.limits.max_adu, "{adu:?}");
            assert!(self.flows.contains(&adu.flow), "{adu:?}");
            assert!(!adu.late || config.deliver_late, "{adu:?}");
            assert!(adu.heard <= self.now, "{adu:?}");
            if hostile {
                continue;
            }
            let number = adu
                .data
                .first_chunk()
                .expect("an ADU begins with its number");
            let number = u32::from_be_bytes(*number) as usize;
            let (flow, data) = self.sent.get(number).expect("a number that was given");
            assert_eq!((adu.flow, &adu.data), (*flow, data), "{number}");
            // A receiver that begins anew does not know which ADUs it has handed over.
            if resyncs > 0 {
                continue;
            }
            assert!(self.given.insert(number), "{number} twice");
            if config.order == Order::InOrder && !adu.late {
                assert!(self.last.is_none_or(|last| last < number), "{number}");
                self.last = Some(number);
            }
        }
        let memory = self.receiver.memory();
        assert!(memory <= self.bound, "{memory} of {}", self.bound);
    }

    /// Compares the receiver's counters with ours.
    fn count(&self) -> Seen {
        let stats = self.receiver.stats();
        assert_eq!([stats.source_packets, stats.repair_packets], self.packets);
        let refused = stats.malformed + stats.unknown_flow + stats.jumps + stats.conflicts;
        assert_eq!(refused, self.refused, "{stats:?}");
        Seen {
            received: stats.received,
            recovered: stats.recovered,
            refused,
            resyncs: stats.resyncs,
        }
    }
}
