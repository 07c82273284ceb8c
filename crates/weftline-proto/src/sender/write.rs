//! Writes numbered datagrams, and remembers them.

use std::ops::Range;

use weftline_codec::Esi;

use super::flight::Kind;
use super::redundancy::share;
use super::{Record, Sender};
use crate::payload::Filled;
use crate::policy::Code;
use crate::time::Time;
use crate::wire::Coded;

/// No transmission carries a symbol of which only repair symbols are sent.
const NEVER: u64 = u64::MAX;

impl Sender {
    /// Takes a new source symbol and writes its datagram.
    pub(crate) fn send_new(
        &mut self,
        now: Time,
        symbol: &[u8],
        filled: Filled,
        out: &mut Vec<u8>,
    ) -> bool {
        let transmission = self.flight.next();
        let Some(esi) = self.push(now, symbol, filled, transmission) else {
            return false;
        };
        self.write_source(now, esi, false, out)
    }

    /// Takes a new source symbol of which only repair symbols are sent.
    pub(crate) fn take(&mut self, now: Time, symbol: &[u8], filled: Filled) -> bool {
        self.push(now, symbol, filled, NEVER).is_some()
    }

    /// The application has nothing more for the block that was filled last.
    pub(crate) fn taken(&mut self, now: Time) {
        if let Some(rateless) = &mut self.rateless {
            rateless.close(now, self.rtt.smoothed());
        }
    }

    fn push(&mut self, now: Time, symbol: &[u8], filled: Filled, transmission: u64) -> Option<Esi> {
        let esi = self.encoder.push(symbol).ok()?;
        self.records.push_back(Record {
            transmission,
            known: false,
            expires: filled.expires,
        });
        self.last_source = now;
        self.end_noticed = false;
        self.at_boundary = filled.ends;
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
            Code::Random(code) => {
                let k = self.block_size(code.k);
                if let Some(rateless) = &mut self.rateless {
                    rateless.pushed(now, self.rtt.smoothed(), esi, k);
                }
            }
        }
        let at = self.situation(now, false);
        if let Some(comparison) = &mut self.comparison {
            comparison.pushed(&at);
        }
        Some(esi)
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
        if !self.put_repair(now, &window, out) {
            debug_assert!(false, "window {window:?} is not held");
            out.clear();
            return false;
        }
        let probing = self.probes_due > 0;
        self.probes_due = self.probes_due.saturating_sub(1);
        let srtt = self.rtt.smoothed();
        let block = match (self.policies.code, &mut self.rateless) {
            (Code::Block { .. }, _) => self.blocks.repair_sent(window.end - 1, !top_up),
            (Code::Random(_), Some(r)) => r.repair_sent(now, srtt, window.end - 1),
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

    /// Header and coded symbol of a repair; false when the window is not held.
    fn put_repair(&mut self, now: Time, window: &Range<Esi>, out: &mut Vec<u8>) -> bool {
        let coded = self.coded(now, window.start);
        let nss = (window.end - window.start) as u16;
        if let Some(rateless) = &mut self.rateless {
            let (code, coefficients) = rateless.draw(nss);
            coded.put_field_repair(nss, &code, out);
            return self
                .encoder
                .repair(window.clone(), coefficients, out)
                .is_ok();
        }
        let key = self.next_key;
        self.next_key = key.wrapping_add(1);
        coded.put_repair(nss, key, out);
        let made = self.encoder.repair(window.clone(), u32::from(key), out);
        made.is_ok()
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
