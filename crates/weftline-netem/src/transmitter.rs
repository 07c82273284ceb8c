//! The bottleneck: a drop-tail queue and a transmitter of fixed rate.

use core::time::Duration;
use std::collections::VecDeque;

use crate::config::{LinkConfig, Queue};

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// When an accepted packet is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Its first bit leaves; before that it waits in the queue.
    pub(crate) start: Duration,
    /// Its last bit leaves.
    pub(crate) end: Duration,
    /// It found the queue longer than the marking threshold.
    pub(crate) marked: bool,
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
        config: &LinkConfig,
    ) -> Option<Slot> {
        self.begin_until(now);
        if self.free_at < now {
            self.free_at = now;
            self.carry = 0;
        }
        let idle_from = self.backlog_end();
        let start = link_up(config, idle_from)?;
        let wait = start.saturating_sub(now);
        let (packets, bytes) = (self.waiting.len(), self.waiting_bytes);
        let fits = |limit: &Queue| limit.has_room(len, wait, packets, bytes);
        if wait > Duration::ZERO && !fits(&config.queue) {
            return None;
        }
        let marked = wait > Duration::ZERO && config.ecn.is_some_and(|limit| !fits(&limit));
        if start > idle_from {
            (self.free_at, self.carry) = (start, 0);
        }
        let bit_nanos = len as u128 * 8 * NANOS_PER_SEC + self.carry;
        (self.free_at, self.carry) = transmit(config, self.free_at, start, bit_nanos)?;
        if wait > Duration::ZERO {
            self.waiting.push_back((start, len));
            self.waiting_bytes = self.waiting_bytes.saturating_add(len);
        }
        Some(Slot {
            start,
            end: self.backlog_end(),
            marked,
        })
    }

    /// The fraction kept so far is in units of the old rate: round it up.
    pub(crate) fn rate_changes(&mut self) {
        self.free_at = self.backlog_end();
        self.carry = 0;
    }

    fn backlog_end(&self) -> Duration {
        let fraction = Duration::from_nanos(u64::from(self.carry > 0));
        self.free_at.saturating_add(fraction)
    }

    fn begin_until(&mut self, now: Duration) {
        while let Some(&(start, len)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes = self.waiting_bytes.saturating_sub(len);
        }
    }
}

/// The rate at `now` and until when it holds.
fn rate_at(config: &LinkConfig, now: Duration) -> (Option<u64>, Option<Duration>) {
    match &config.trace {
        None => (config.rate, None),
        Some(trace) => {
            let segment = trace.at(now);
            (segment.rate.unwrap_or(config.rate), segment.until)
        }
    }
}

/// The first instant from `from` on at which the link carries anything; `None` if it
/// never does.
fn link_up(config: &LinkConfig, mut from: Duration) -> Option<Duration> {
    let segments = config.trace.as_ref().map_or(0, |trace| trace.steps());
    for _ in 0..=segments {
        match rate_at(config, from) {
            (Some(0), until) => from = until?,
            _ => return Some(from),
        }
    }
    None
}

/// Sends `bit_nanos` (bits times a billion) from `start` on; the transmitter has been
/// busy until `known`. Returns when they are sent, as whole nanoseconds and the rest
/// in units of 1/rate ns; `None` when that never happens.
fn transmit(
    config: &LinkConfig,
    known: Duration,
    start: Duration,
    mut bit_nanos: u128,
) -> Option<(Duration, u128)> {
    let mut at = known;
    loop {
        match rate_at(config, at.max(start)) {
            (Some(0), until) => at = until?,
            (None, _) => return Some((at.max(start), 0)),
            (Some(rate), until) => {
                let rate = u128::from(rate);
                if let Some(until) = until {
                    let carried = rate * until.saturating_sub(at).as_nanos();
                    if carried < bit_nanos {
                        bit_nanos -= carried;
                        at = until;
                        continue;
                    }
                }
                let nanos = u64::try_from(bit_nanos / rate).unwrap_or(u64::MAX);
                let end = at.saturating_add(Duration::from_nanos(nanos));
                return Some((end, bit_nanos % rate));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    fn accept(
        transmitter: &mut Transmitter,
        now: Duration,
        len: usize,
        rate: Option<u64>,
        queue: Queue,
    ) -> Option<Slot> {
        let mut config = LinkConfig::default().with_queue(queue);
        config.rate = rate;
        transmitter.accept(now, len, &config)
    }

    /// How many of 20 packets of 1,000 bytes, offered at once at 8 Mbit/s (1 ms
    /// each), are accepted.
    fn accepted(queue: Queue) -> usize {
        let mut t = Transmitter::default();
        (0..20)
            .filter(|_| accept(&mut t, us(5), 1000, Some(8_000_000), queue).is_some())
            .count()
    }

    #[test]
    fn drop_tail_is_exact_in_every_unit() {
        // One packet is on the wire, the others wait.
        assert_eq!(accepted(Queue::UNLIMITED), 20);
        assert_eq!(accepted(Queue::packets(4)), 5);
        assert_eq!(accepted(Queue::packets(0)), 1);
        assert_eq!(accepted(Queue::bytes(4000)), 5);
        assert_eq!(accepted(Queue::bytes(3999)), 4);
        assert_eq!(accepted(Queue::bytes(0)), 1);
        assert_eq!(accepted(Queue::time(us(4000))), 5);
        assert_eq!(accepted(Queue::time(us(3999))), 4);
        assert_eq!(accepted(Queue::time(us(0))), 1);
        // Of several limits the tightest counts.
        let both = |packets, ms: u64| Queue::packets(packets).and(Queue::time(us(ms * 1000)));
        assert_eq!(accepted(both(4, 9)), 5);
        assert_eq!(accepted(both(9, 4)), 5);
        assert_eq!(accepted(both(9, 9).and(Queue::bytes(2000))), 3);
    }

    #[test]
    fn queue_room_returns_exactly_when_a_packet_begins() {
        for queue in [Queue::packets(1), Queue::bytes(1000), Queue::time(us(1000))] {
            let mut t = Transmitter::default();
            let mut offer = |now| accept(&mut t, now, 1000, Some(8_000_000), queue);
            assert_eq!(
                offer(us(0)),
                Some(Slot {
                    start: us(0),
                    end: us(1000),
                    marked: false,
                })
            );
            assert_eq!(
                offer(us(0)),
                Some(Slot {
                    start: us(1000),
                    end: us(2000),
                    marked: false,
                })
            );
            assert_eq!(offer(us(0)), None);
            assert_eq!(offer(us(1000) - Duration::from_nanos(1)), None);
            assert_eq!(
                offer(us(1000)),
                Some(Slot {
                    start: us(2000),
                    end: us(3000),
                    marked: false,
                })
            );
        }
    }

    #[test]
    fn fractions_of_a_nanosecond_do_not_add_up_to_drift() {
        // 1 byte at 3 Gbit/s takes 8/3 ns: three take exactly 8 ns.
        let mut t = Transmitter::default();
        let ends: Vec<u128> = (0..3000)
            .map(|_| accept(&mut t, us(0), 1, Some(3_000_000_000), Queue::UNLIMITED).unwrap())
            .map(|slot| slot.end.as_nanos())
            .collect();
        assert_eq!(ends[..3], [3, 6, 8]);
        assert_eq!(ends[2999], 8000);
    }

    #[test]
    fn an_idle_transmitter_starts_at_once_and_owes_no_fraction() {
        let mut t = Transmitter::default();
        for now in [us(0), us(1)] {
            let slot = accept(&mut t, now, 1, Some(3_000_000_000), Queue::packets(0));
            assert_eq!(
                slot,
                Some(Slot {
                    start: now,
                    end: now + Duration::from_nanos(3),
                    marked: false,
                })
            );
        }
    }

    #[test]
    fn unlimited_rate_waits_only_for_an_older_backlog() {
        let mut t = Transmitter::default();
        accept(&mut t, us(0), 1000, Some(8_000_000), Queue::UNLIMITED);
        let slot = accept(&mut t, us(10), 1000, None, Queue::UNLIMITED).unwrap();
        assert_eq!(
            slot,
            Slot {
                start: us(1000),
                end: us(1000),
                marked: false,
            }
        );
        let slot = accept(&mut t, us(2000), 1000, None, Queue::UNLIMITED).unwrap();
        assert_eq!(
            slot,
            Slot {
                start: us(2000),
                end: us(2000),
                marked: false,
            }
        );
        assert_eq!(accept(&mut t, us(3000), 1, Some(0), Queue::UNLIMITED), None);
    }

    #[test]
    fn absurd_lengths_and_times_saturate() {
        let mut t = Transmitter::default();
        for now in [Duration::ZERO, Duration::MAX] {
            for _ in 0..3 {
                accept(&mut t, now, usize::MAX, Some(1), Queue::UNLIMITED);
            }
        }
    }
}
