//! The sender's clock as the receiver sees it. The ends exchange no time of day.

use core::time::Duration;

use crate::time::Time;
use crate::wire::complete;

/// How long the smallest one-way delay is remembered: short enough that a drift of 100 ppm between
/// the clocks does not matter, long enough to see an empty queue.
pub(crate) const MEMORY: Duration = Duration::from_secs(10);

/// The smallest difference between two clocks: it belongs to an empty queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Smallest {
    /// In the current and in the previous memory interval.
    minimum: [Option<i64>; 2],
    interval_began: Time,
}

impl Smallest {
    /// Takes a difference into account.
    pub(crate) fn add(&mut self, now: Time, difference: i64) {
        if now.since(self.interval_began) > MEMORY {
            self.minimum = [None, self.minimum[0]];
            self.interval_began = now;
        }
        self.minimum[0] = Some(self.minimum[0].map_or(difference, |m| m.min(difference)));
    }

    pub(crate) fn get(&self) -> Option<i64> {
        self.minimum.into_iter().flatten().min()
    }
}

/// Follows the peer's timestamps: arrival time minus timestamp is the one-way delay plus an
/// unknown constant, and its minimum belongs to an empty queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RemoteClock {
    /// Newest timestamp, completed.
    newest: Option<u64>,
    smallest: Smallest,
}

impl RemoteClock {
    /// A datagram stamped `timestamp` arrived. Returns its delay above the smallest, in
    /// microseconds.
    pub(crate) fn observe(&mut self, now: Time, timestamp: u32) -> u64 {
        let full = match self.newest {
            Some(newest) => complete(timestamp, newest),
            None => u64::from(timestamp),
        };
        self.newest = Some(self.newest.map_or(full, |n| n.max(full)));
        let difference = (now.as_micros() as i64).wrapping_sub(full as i64);
        self.smallest.add(now, difference);
        let minimum = self.smallest.get().unwrap_or(difference);
        difference.wrapping_sub(minimum).max(0) as u64
    }

    /// The newest timestamp.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// The timestamp of a datagram that arrives at `now` with the smallest delay.
    pub(crate) fn remote(&self, now: Time) -> Option<u64> {
        let full = (now.as_micros() as i64).wrapping_sub(self.smallest.get()?);
        Some(full.max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queueing_delay_is_the_excess_over_the_minimum_even_across_the_wrap() {
        let mut clock = RemoteClock::default();
        // The sender's clock wraps its 32 bits in the middle; one-way delay is 30 ms.
        let start = u64::from(u32::MAX) - 5_000_000;
        for ms in 0..10_000u64 {
            let queue = if ms % 100 == 50 { 7_000 } else { 0 };
            let sent = start + ms * 1000;
            let now = Time::from_micros(ms * 1000 + 30_000 + queue);
            assert_eq!(clock.observe(now, sent as u32), queue, "at {ms} ms");
            assert_eq!(clock.remote(now), Some(sent + queue));
        }
    }

    #[test]
    fn a_drifting_clock_is_followed() {
        let mut clock = RemoteClock::default();
        let mut last = 0;
        for ms in (0..100_000u64).step_by(7) {
            // The sender's clock is slow by 100 ppm: differences grow by 10 ms in 100 s.
            let sent = ms * 1000 - ms / 10;
            last = clock.observe(Time::from_micros(ms * 1000), sent as u32);
        }
        assert!(last <= 2_100, "{last} us");
    }
}
