//! A bound on the work of decoding, whatever the field of a flow.

use weftline_codec::DecoderConfig;

use crate::limits::USUAL_SYMBOL;

/// Datagrams whose shares are saved at most.
const SAVED: u64 = 256;

/// Each numbered datagram earns a share of work, a longer one in proportion, and decoding spends it.
/// While nothing is left, repair symbols are not received. So a peer gets no more work for a datagram
/// than the share, in the long run.
#[derive(Debug)]
pub(super) struct Budget {
    share: i64,
    left: i64,
    /// The decoder's work that is paid for.
    paid: u64,
}

impl Budget {
    /// The share is half of the most that one repair symbol of the largest block may cost in GF(2^8). Each repair symbol
    /// costs less than that if the block is decoded from repair symbols alone.
    pub(super) fn new(limits: &DecoderConfig) -> Self {
        let [window, block, symbol] = [
            limits.max_window,
            limits.max_window.min(limits.max_unknowns),
            limits.max_symbol_size.min(usize::from(USUAL_SYMBOL)),
        ]
        .map(|limit| limit as u64);
        let most = (window + 2 * block) * (symbol + 64) + 4 * block * block;
        let share = i64::try_from(most / 2).unwrap_or(i64::MAX / (2 * SAVED as i64));
        Budget {
            share,
            left: share * SAVED as i64,
            paid: 0,
        }
    }

    /// A datagram with `bytes` of data arrived; the decoder has done `work` until now.
    pub(super) fn on_datagram(&mut self, work: u64, bytes: usize) {
        self.spend(work);
        let shares = bytes.div_ceil(usize::from(USUAL_SYMBOL) + 2).max(1) as i64;
        let left = self.left.saturating_add(self.share.saturating_mul(shares));
        self.left = left.min(self.share * SAVED as i64);
    }

    /// The decoder has done `work` until now.
    pub(super) fn spend(&mut self, work: u64) {
        let spent = i64::try_from(work.saturating_sub(self.paid)).unwrap_or(i64::MAX);
        self.paid = work;
        self.left = self.left.saturating_sub(spent);
    }

    /// Another decoder goes on, which has done no work.
    pub(super) fn on_new_decoder(&mut self) {
        self.paid = 0;
    }

    /// Decoding has cost more than datagrams have earned.
    pub(super) fn is_spent(&self) -> bool {
        self.left < 0
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::feedback::Feedback;
    use crate::limits::Limits;
    use crate::receiver::{Drop, Receiver};
    use crate::time::Time;
    use crate::wire::{Coded, CodingVector, FieldCode, field};

    const WINDOW: u16 = 256;

    /// A receiver and a peer that sends it the dearest repair symbols.
    struct Attack {
        victim: Receiver,
        bits: u8,
        sent: u32,
        refused: u32,
    }

    impl Attack {
        fn new(bits: u8) -> Self {
            let limits = Limits {
                symbol_size: 1200,
                window: WINDOW,
                unknowns: WINDOW,
                ..Limits::default()
            };
            let feedback = Feedback::EveryDatagram {
                min_interval: Duration::ZERO,
            };
            Attack {
                victim: Receiver::new(limits, feedback),
                bits,
                sent: 0,
                refused: 0,
            }
        }

        /// A repair symbol over symbols that are all missing, which is innovative.
        fn repair(&mut self, first: u32) {
            let coded = Coded {
                transmission: self.sent,
                timestamp: 0,
                esi: first,
                span: 0,
            };
            let code = FieldCode {
                bits: self.bits,
                vector: CodingVector::Seed(self.sent),
            };
            let group = field(self.bits).group();
            let data = vec![0; 1202 / group * group];
            self.sent += 1;
            let taken = self
                .victim
                .on_field_repair(Time::ZERO, 0, &coded, WINDOW, &code, &data);
            self.refused += u32::from(taken == Err(Drop::OutOfWindow));
            assert!(
                matches!(taken, Ok(()) | Err(Drop::OutOfWindow)),
                "{taken:?}"
            );
        }
    }

    #[test]
    fn no_field_costs_more_work_for_a_datagram_than_its_share() {
        for bits in 1..=8 {
            let mut attack = Attack::new(bits);
            for block in 0..4 {
                for _ in 0..WINDOW - 6 {
                    attack.repair(block * u32::from(WINDOW));
                }
            }
            let budget = Budget::new(attack.victim.decoder.config());
            // One call may overdraw the budget by as much as it may cost.
            let dearest = 2 * 8 * budget.share as u64;
            let most = (SAVED + u64::from(attack.sent)) * budget.share as u64 + dearest;
            let work = attack.victim.decoder.work();
            assert!(work <= most, "GF(2^{bits}): {work} of at most {most}");
            // The usual fields never need as much.
            let is_usual = 8 % bits == 0;
            assert_eq!(attack.refused == 0, is_usual, "GF(2^{bits})");
        }
    }

    #[test]
    fn repairs_that_ride_share_what_their_datagram_earns() {
        use crate::wire::{Datagram, Riders, RidersHeader};
        let mut attack = Attack::new(8);
        let mut arrived = 0;
        for esi in (1..4000).map(|n| n * 2) {
            let coded = Coded {
                transmission: esi,
                timestamp: 0,
                esi,
                span: u16::try_from(esi).unwrap_or(u16::MAX).min(WINDOW),
            };
            let header = RidersHeader {
                count: Riders::MOST,
                nss: coded.span,
                key: 8 * esi as u16,
                len: 1202,
            };
            let mut datagram = Vec::new();
            coded.put_source_and_repairs(&header, &mut datagram);
            // Every second symbol is missing, and each repair tells something new.
            let symbols = (0..8 * 1202).map(|n| ((n as u32 * esi) >> 3) as u8);
            datagram.extend(symbols);
            let Ok(Datagram::Source {
                coded,
                payload,
                riders,
            }) = Datagram::parse(&datagram)
            else {
                panic!("not a source symbol")
            };
            attack.sent += 1;
            let taken = (attack.victim).on_source(Time::ZERO, 0, &coded, payload, riders.as_ref());
            arrived += u32::from(taken.is_ok());
        }
        assert!(arrived > 0);
        let budget = Budget::new(attack.victim.decoder.config());
        let dearest = 2 * budget.share as u64;
        let most = (SAVED + u64::from(attack.sent)) * budget.share as u64 + dearest;
        let work = attack.victim.decoder.work();
        assert!(work <= most, "{work} of at most {most}");
    }

    #[test]
    fn an_honest_peer_gets_through_with_what_the_budget_leaves() {
        let mut attack = Attack::new(7);
        while attack.victim.decoder.contiguous() < 4 * u64::from(WINDOW) {
            attack.repair(attack.victim.decoder.contiguous() as u32);
            assert!(attack.sent < 16 * u32::from(WINDOW), "it comes to a stop");
        }
        assert!(attack.refused > 0, "the budget was never spent");
    }
}
