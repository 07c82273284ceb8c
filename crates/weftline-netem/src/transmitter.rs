//! The bottleneck: a drop-tail queue and a transmitter of fixed rate.

use core::time::Duration;
use std::collections::VecDeque;

use crate::config::Queue;

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// When an accepted packet is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Its first bit leaves; before that it waits in the queue.
    pub(crate) start: Duration,
    /// Its last bit leaves.
    pub(crate) end: Duration,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Transmitter {
    /// The last accepted packet's end is `free_at` plus `carry`/rate
    /// nanoseconds: fractions are kept so that a long backlog does not drift.
    free_at: Duration,
    carry: u128,
    /// Start times and lengths of packets that have not begun.
    waiting: VecDeque<(Duration, usize)>,
    waiting_bytes: usize,
}

impl Transmitter {
    /// Queues a packet of `len` bytes, or drops it (`None`). `now` must not go back.
    pub(crate) fn accept(
        &mut self,
        now: Duration,
        len: usize,
        rate: Option<u64>,
        queue: Queue,
    ) -> Option<Slot> {
        self.begin_until(now);
        if self.free_at < now {
            self.free_at = now;
            self.carry = 0;
        }
        let start = self.backlog_end();
        let wait = start.saturating_sub(now);
        if wait > Duration::ZERO && !self.fits(len, wait, queue) {
            return None;
        }
        match rate {
            Some(0) => return None,
            Some(rate) => {
                let bit_nanos = len as u128 * 8 * NANOS_PER_SEC + self.carry;
                let rate = u128::from(rate);
                let nanos = u64::try_from(bit_nanos / rate).unwrap_or(u64::MAX);
                self.free_at = self.free_at.saturating_add(Duration::from_nanos(nanos));
                self.carry = bit_nanos % rate;
            }
            None => self.rate_changes(),
        }
        if wait > Duration::ZERO {
            self.waiting.push_back((start, len));
            self.waiting_bytes = self.waiting_bytes.saturating_add(len);
        }
        Some(Slot {
            start,
            end: self.backlog_end(),
        })
    }

    /// The fraction kept so far is in units of the old rate: round it up.
    pub(crate) fn rate_changes(&mut self) {
        self.free_at = self.backlog_end();
        self.carry = 0;
    }

    /// Packets waiting at `now`, the one being transmitted not among them.
    pub(crate) fn waiting(&self, now: Duration) -> usize {
        self.waiting.len() - self.waiting.partition_point(|(start, _)| *start <= now)
    }

    fn backlog_end(&self) -> Duration {
        let fraction = Duration::from_nanos(u64::from(self.carry > 0));
        self.free_at.saturating_add(fraction)
    }

    fn begin_until(&mut self, now: Duration) {
        while let Some((_, len)) = self.waiting.pop_front_if(|(start, _)| *start <= now) {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(len);
        }
    }

    fn fits(&self, len: usize, wait: Duration, queue: Queue) -> bool {
        match queue {
            Queue::Unlimited => true,
            Queue::Packets(most) => self.waiting.len() < most,
            Queue::Bytes(most) => self.waiting_bytes.saturating_add(len) <= most,
            Queue::Time(most) => wait <= most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// How many of 20 packets of 1,000 bytes, offered at once at 8 Mbit/s (1 ms
    /// each), are accepted.
    fn accepted(queue: Queue) -> usize {
        let mut t = Transmitter::default();
        (0..20)
            .filter(|_| t.accept(us(5), 1000, Some(8_000_000), queue).is_some())
            .count()
    }

    #[test]
    fn drop_tail_is_exact_in_every_unit() {
        // One packet is on the wire, the others wait.
        assert_eq!(accepted(Queue::Unlimited), 20);
        assert_eq!(accepted(Queue::Packets(4)), 5);
        assert_eq!(accepted(Queue::Packets(0)), 1);
        assert_eq!(accepted(Queue::Bytes(4000)), 5);
        assert_eq!(accepted(Queue::Bytes(3999)), 4);
        assert_eq!(accepted(Queue::Bytes(0)), 1);
        assert_eq!(accepted(Queue::Time(us(4000))), 5);
        assert_eq!(accepted(Queue::Time(us(3999))), 4);
        assert_eq!(accepted(Queue::Time(us(0))), 1);
    }

    #[test]
    fn queue_room_returns_exactly_when_a_packet_begins() {
        for queue in [Queue::Packets(1), Queue::Bytes(1000), Queue::Time(us(1000))] {
            let mut t = Transmitter::default();
            let mut offer = |now| t.accept(now, 1000, Some(8_000_000), queue);
            assert_eq!(
                offer(us(0)),
                Some(Slot {
                    start: us(0),
                    end: us(1000)
                })
            );
            assert_eq!(
                offer(us(0)),
                Some(Slot {
                    start: us(1000),
                    end: us(2000)
                })
            );
            assert_eq!(offer(us(0)), None);
            assert_eq!(offer(us(1000) - Duration::from_nanos(1)), None);
            assert_eq!(
                offer(us(1000)),
                Some(Slot {
                    start: us(2000),
                    end: us(3000)
                })
            );
        }
    }

    #[test]
    fn fractions_of_a_nanosecond_do_not_add_up_to_drift() {
        // 1 byte at 3 Gbit/s takes 8/3 ns: three take exactly 8 ns.
        let mut t = Transmitter::default();
        let ends: Vec<u128> = (0..3000)
            .map(|_| {
                t.accept(us(0), 1, Some(3_000_000_000), Queue::Unlimited)
                    .unwrap()
            })
            .map(|slot| slot.end.as_nanos())
            .collect();
        assert_eq!(ends[..3], [3, 6, 8]);
        assert_eq!(ends[2999], 8000);
    }

    #[test]
    fn an_idle_transmitter_starts_at_once_and_owes_no_fraction() {
        let mut t = Transmitter::default();
        for now in [us(0), us(1)] {
            let slot = t.accept(now, 1, Some(3_000_000_000), Queue::Packets(0));
            assert_eq!(
                slot,
                Some(Slot {
                    start: now,
                    end: now + Duration::from_nanos(3)
                })
            );
        }
    }

    #[test]
    fn unlimited_rate_waits_only_for_an_older_backlog() {
        let mut t = Transmitter::default();
        t.accept(us(0), 1000, Some(8_000_000), Queue::Unlimited);
        let slot = t.accept(us(10), 1000, None, Queue::Unlimited).unwrap();
        assert_eq!(
            slot,
            Slot {
                start: us(1000),
                end: us(1000)
            }
        );
        let slot = t.accept(us(2000), 1000, None, Queue::Unlimited).unwrap();
        assert_eq!(
            slot,
            Slot {
                start: us(2000),
                end: us(2000)
            }
        );
        assert_eq!(t.accept(us(3000), 1, Some(0), Queue::Unlimited), None);
    }

    #[test]
    fn absurd_lengths_and_times_saturate() {
        let mut t = Transmitter::default();
        for now in [Duration::ZERO, Duration::MAX] {
            for _ in 0..3 {
                t.accept(now, usize::MAX, Some(1), Queue::Unlimited);
            }
        }
    }
}
