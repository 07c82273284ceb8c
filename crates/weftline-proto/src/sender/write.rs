//! Writes numbered datagrams and remembers them.

use std::ops::Range;

use weftline_codec::Esi;

use super::Sender;
use super::flight::Transmission;
use super::flow::Record;
use super::situation::Situation;
use super::timers::{MEASURE_EVERY, MEASURE_SOON};
use crate::payload::Filled;
use crate::time::Time;
use crate::wire::Coded;

/// The transmission of a symbol that is sent only as repair symbols.
const NEVER: u64 = u64::MAX;

impl Sender {
    /// Takes a new source symbol and writes its datagram, of at most `longest` bytes if repair symbols
    /// ride in it. Returns how many do, or `None` and writes nothing if there is no room for the symbol.
    pub(crate) fn send_new(
        &mut self,
        now: Time,
        path: usize,
        symbol: &[u8],
        filled: Filled,
        longest: usize,
        out: &mut Vec<u8>,
    ) -> Option<u8> {
        let transmission = self.next_name(path);
        let boarded = self.board(now, path, symbol.len(), longest);
        let esi = self.push(now, symbol, filled, transmission)?;
        let Some(boarded) = boarded else {
            return self.write_source(now, path, esi, false, out).then_some(0);
        };
        let riders = boarded.header.count;
        (self.coded(now, path, esi)).put_source_and_repairs(&boarded.header, out);
        if !self.put_riders(&boarded, out) {
            debug_assert!(false, "window {:?} is not held", boarded.window);
            out.clear();
            return self.write_source(now, path, esi, false, out).then_some(0);
        }
        out.extend_from_slice(symbol);
        let again = false;
        let transmission = Transmission::Source { esi, again, riders };
        self.on_sent(now, path, transmission, out.len());
        Some(riders)
    }

    /// Takes a new source symbol that is sent only as repair symbols.
    pub(crate) fn add_to_block(&mut self, now: Time, symbol: &[u8], filled: Filled) -> bool {
        self.push(now, symbol, filled, NEVER).is_some()
    }

    fn push(&mut self, now: Time, symbol: &[u8], filled: Filled, transmission: u64) -> Option<Esi> {
        let flow = &mut self.flow;
        flow.on_symbol(symbol.len());
        let (idle, rested) = (flow.is_idle(), now >= flow.last_symbol + MEASURE_EVERY);
        let esi = flow.encoder.push(symbol).ok()?;
        if idle {
            flow.woken = now;
            // Not before now, if the flow was busy a moment ago.
            let least = if rested {
                now
            } else {
                now - MEASURE_EVERY + MEASURE_SOON
            };
            flow.busy_since = flow.busy_since.max(least);
        }
        flow.records.push_back(Record {
            transmission,
            known: false,
            expires: filled.expires,
        });
        flow.last_source = now;
        flow.end_noticed = false;
        flow.at_boundary = filled.ends;
        let at = Situation::new(now, false, &self.flow);
        self.rule.on_source(&at, esi);
        Some(esi)
    }

    /// Writes the datagram of a symbol that was sent before.
    pub(crate) fn send_again(
        &mut self,
        now: Time,
        path: usize,
        esi: Esi,
        out: &mut Vec<u8>,
    ) -> bool {
        self.answer_probe(path);
        self.flow.lost.remove(esi);
        let transmission = self.next_name(path);
        if let Some(record) = self.flow.record_mut(esi) {
            record.transmission = transmission;
        }
        self.write_source(now, path, esi, true, out)
    }

    /// Returns false and writes nothing if the encoder does not hold the symbol.
    fn write_source(
        &mut self,
        now: Time,
        path: usize,
        esi: Esi,
        again: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let header = self.coded(now, path, esi);
        let Some(symbol) = self.flow.encoder.symbol(esi) else {
            debug_assert!(false, "symbol {esi} is not held");
            return false;
        };
        header.put_source(out);
        out.extend_from_slice(symbol);
        let riders = 0;
        let transmission = Transmission::Source { esi, again, riders };
        self.on_sent(now, path, transmission, out.len());
        true
    }

    /// Writes a repair datagram over `window`. Returns false if the encoder does not hold the window.
    pub(crate) fn send_repair(
        &mut self,
        now: Time,
        path: usize,
        window: Range<Esi>,
        top_up: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        if !self.begin_repair(now, path, &window, out) {
            return false;
        }
        let at = Situation::on(path, now, false, &self.flow);
        let block = self.rule.on_repair(&at, &window, top_up);
        self.on_sent(now, path, Transmission::Repair { block, top_up }, out.len());
        true
    }

    /// Writes a repair datagram over one symbol. Returns false if the encoder does not hold it.
    pub(crate) fn send_copy(
        &mut self,
        now: Time,
        path: usize,
        esi: Esi,
        out: &mut Vec<u8>,
    ) -> bool {
        let is_written = self.begin_repair(now, path, &(esi..esi + 1), out);
        if is_written {
            self.on_sent(now, path, Transmission::Copy(esi), out.len());
        }
        is_written
    }

    /// Writes a repair datagram, which is still to be counted. Returns false and writes nothing if the encoder does not
    /// hold the window.
    fn begin_repair(
        &mut self,
        now: Time,
        path: usize,
        window: &Range<Esi>,
        out: &mut Vec<u8>,
    ) -> bool {
        if !self.put_repair(now, path, window, out) {
            debug_assert!(false, "window {window:?} is not held");
            out.clear();
            return false;
        }
        self.answer_probe(path);
        true
    }

    /// Writes header and coded symbol of a repair. Returns false if the encoder does not hold the
    /// window.
    fn put_repair(
        &mut self,
        now: Time,
        path: usize,
        window: &Range<Esi>,
        out: &mut Vec<u8>,
    ) -> bool {
        let coded = self.coded(now, path, window.start);
        let nss = (window.end - window.start) as u16;
        let encoder = &mut self.flow.encoder;
        if let Some((code, coefficients)) = self.rule.draw(nss) {
            coded.put_field_repair(nss, &code, out);
            return encoder.repair(window.clone(), coefficients, out).is_ok();
        }
        let key = self.next_key;
        self.next_key = key.wrapping_add(1);
        coded.put_repair(nss, key, out);
        let ahead = self.ahead.get_or_insert_default();
        ahead.repair(encoder, window, key, out)
    }

    /// Writes a probe.
    pub(crate) fn send_probe(&mut self, now: Time, path: usize, out: &mut Vec<u8>) {
        self.answer_probe(path);
        self.coded(now, path, self.flow.encoder.next())
            .put_probe(out);
        self.on_sent(now, path, Transmission::Probe, out.len());
    }

    /// Writes a probe of `size` bytes. It has no part in what the path is judged by.
    pub(crate) fn send_size_probe(
        &mut self,
        now: Time,
        path: usize,
        size: usize,
        out: &mut Vec<u8>,
    ) {
        self.coded(now, path, self.flow.encoder.next())
            .put_probe(out);
        out.resize(size.max(out.len()), 0);
        let state = &mut self.flow.paths[path];
        let number = state.flight.next();
        if let Some(discovery) = &mut state.discovery {
            discovery.on_sent(now, number, size);
        }
        if state.flight.on_sent(now, Transmission::Probe, 0) {
            self.settle();
        }
    }

    /// One of the transmissions that the retransmission timer of this path asked for leaves.
    fn answer_probe(&mut self, path: usize) {
        let due = &mut self.flow.paths[path].probes_due;
        *due = due.saturating_sub(1);
    }

    fn next_name(&self, path: usize) -> u64 {
        let path = &self.flow.paths[path];
        path.id.name(path.flight.next())
    }

    fn coded(&self, now: Time, path: usize, esi: Esi) -> Coded {
        Coded {
            transmission: self.flow.paths[path].flight.next() as u32,
            timestamp: crate::time::micros(now.since(self.zero)) as u32,
            esi: esi as u32,
            span: (esi - self.flow.encoder.first()) as u16,
        }
    }

    fn on_sent(&mut self, now: Time, path: usize, transmission: Transmission, len: usize) {
        let at = Situation::on(path, now, false, &self.flow);
        self.rule.on_sent(&at, transmission);
        let several = self.flow.paths.len() > 1;
        let flight = &mut self.flow.paths[path].flight;
        let alone = self.flow.main != path || several && flight.is_empty();
        if flight.on_sent(now, transmission, len) {
            self.settle();
        }
        if transmission != Transmission::Probe {
            self.flow.last_symbol = now;
        }
        // A keep-alive must not delay the retransmission of unacknowledged symbols.
        if transmission != Transmission::Probe || self.is_idle() || alone {
            self.flow.paths[path].last_activity = now;
        }
    }
}
