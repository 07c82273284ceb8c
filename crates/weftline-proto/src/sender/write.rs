//! Writes numbered datagrams, and remembers them.

use std::ops::Range;

use weftline_codec::Esi;

use super::flight::Kind;
use super::redundancy::share;
use super::{Record, Sender};
use crate::policy::Code;
use crate::time::Time;
use crate::wire::Coded;

impl Sender {
    /// Takes a new source symbol and writes its datagram.
    pub(crate) fn send_new(
        &mut self,
        now: Time,
        symbol: &[u8],
        expires: Option<Time>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok(esi) = self.encoder.push(symbol) else {
            return false;
        };
        let transmission = self.flight.next();
        self.records.push_back(Record {
            transmission,
            known: false,
            expires,
        });
        self.last_source = now;
        self.end_noticed = false;
        match self.policies.code {
            Code::None => {}
            Code::Block { k } => {
                self.blocks
                    .pushed(esi, self.block_size(k), self.policies.redundancy)
            }
            Code::SlidingWindow => self.spacing.pushed(match &self.measure {
                Some(measure) => measure.share(),
                None => share(self.policies.redundancy),
            }),
        }
        let at = self.situation(now, false);
        if let Some(comparison) = &mut self.comparison {
            comparison.pushed(&at);
        }
        self.write_source(now, esi, false, out)
    }

    /// Writes the datagram of a symbol that was sent before.
    pub(crate) fn send_again(&mut self, now: Time, esi: Esi, out: &mut Vec<u8>) -> bool {
        self.probes_due = self.probes_due.saturating_sub(1);
        self.lost.remove(&esi);
        let transmission = self.flight.next();
        if let Some(record) = self.record_mut(esi) {
            record.transmission = transmission;
        }
        self.write_source(now, esi, true, out)
    }

    /// False, and nothing is written, when the symbol is not held.
    fn write_source(&mut self, now: Time, esi: Esi, again: bool, out: &mut Vec<u8>) -> bool {
        let header = self.coded(now, esi);
        let Some(symbol) = self.encoder.symbol(esi) else {
            debug_assert!(false, "symbol {esi} is not held");
            return false;
        };
        header.put_source(out);
        out.extend_from_slice(symbol);
        self.transmitted(now, Kind::Source { esi, again }, out.len());
        true
    }

    /// Writes a repair datagram over `window`; false when the window is not held.
    pub(crate) fn send_repair(
        &mut self,
        now: Time,
        window: Range<Esi>,
        top_up: bool,
        out: &mut Vec<u8>,
    ) -> bool {
        let key = self.next_key;
        let nss = (window.end - window.start) as u16;
        self.coded(now, window.start).put_repair(nss, key, out);
        let probing = self.probes_due > 0;
        self.probes_due = self.probes_due.saturating_sub(1);
        if self
            .encoder
            .repair(window.clone(), u32::from(key), out)
            .is_err()
        {
            debug_assert!(false, "window {window:?} is not held");
            out.clear();
            return false;
        }
        self.next_key = key.wrapping_add(1);
        let block = match self.policies.code {
            Code::Block { .. } => self.blocks.repair_sent(window.end - 1, !top_up),
            _ => None,
        };
        if !top_up && !probing {
            if let Some(comparison) = &mut self.comparison {
                comparison.repaired();
            }
            self.spacing.sent();
        }
        self.transmitted(now, Kind::Repair { block, top_up }, out.len());
        true
    }

    /// Writes a probe.
    pub(crate) fn send_probe(&mut self, now: Time, out: &mut Vec<u8>) {
        self.probes_due = self.probes_due.saturating_sub(1);
        self.coded(now, self.encoder.next()).put_probe(out);
        self.transmitted(now, Kind::Probe, out.len());
    }

    fn coded(&self, now: Time, esi: Esi) -> Coded {
        Coded {
            transmission: self.flight.next() as u32,
            timestamp: crate::time::micros(now.since(self.zero)) as u32,
            esi: esi as u32,
            span: (esi - self.encoder.first()) as u16,
        }
    }

    fn transmitted(&mut self, now: Time, kind: Kind, len: usize) {
        if let Some(rule) = &mut self.rule {
            rule.sent(now, self.rtt.smoothed(), kind);
        }
        if self.flight.sent(now, kind, len) {
            self.settle();
        }
        // A keep-alive must not put off the retransmission of what is unacknowledged.
        if kind != Kind::Probe || self.is_idle() {
            self.last_activity = now;
        }
    }
}
