//! How far a datagram may fall behind later ones before it counts as lost.
//!
//! Where datagrams overtake each other, some arrive after they were counted as lost. From then on a
//! datagram has as much more time as they needed (the idea of RACK's reordering window, RFC 8985). A
//! path that keeps the order costs nothing.

use std::collections::VecDeque;

use core::ops::Range;
use core::time::Duration;

use crate::time::Time;

/// The sender remembers this number of datagrams that it counted as lost: on a fast path with much jitter, as
/// many may count as lost before the first of them arrives.
const REMEMBERED: usize = 1024;
/// The time shrinks to about a third while this many datagrams arrive and none was counted as lost
/// too soon.
const MEMORY: f64 = 1000.0;
/// A datagram may be late by this many round trips.
const MOST_LATE: f64 = 2.0;
/// Datagrams of the mean round trip.
const TRIPS: f64 = 64.0;

#[derive(Debug, Default)]
pub(super) struct Reordering {
    /// Datagrams that were counted as lost, in order.
    lost: VecDeque<Lost>,
    /// Seconds that a datagram may be late.
    window: f64,
    /// Mean time until a datagram is reported, in seconds.
    trip: f64,
}

#[derive(Clone, Copy, Debug)]
struct Lost {
    number: u64,
    sent: Time,
    size: u16,
}

impl Reordering {
    /// The time that a datagram has beyond the round trip of a later one. Zero if the path has kept
    /// the order.
    pub(super) fn window(&self) -> Duration {
        // Less than a timer can tell.
        match self.window < 0.5e-3 {
            true => Duration::ZERO,
            false => Duration::from_secs_f64(self.window),
        }
    }

    /// A datagram that left at `sent` counts as lost from now on.
    pub(super) fn on_lost(&mut self, number: u64, sent: Time, size: u16) {
        if self.lost.len() == REMEMBERED {
            self.lost.pop_front();
        }
        let place = self.place(number);
        self.lost.insert(place, Lost { number, sent, size });
    }

    /// The lowest number that matters.
    pub(super) fn first(&self) -> Option<u64> {
        self.lost.front().map(|lost| lost.number)
    }

    /// A datagram arrived that did not count as lost, and was reported after this time.
    pub(super) fn on_arrival(&mut self, took: Duration) {
        self.window -= self.window / MEMORY;
        self.add(took);
    }

    fn add(&mut self, took: Duration) {
        self.trip += (took.as_secs_f64() - self.trip) / TRIPS;
    }

    /// The peer has these. Later ones took `rtt`. Returns how many of them counted as lost, and their
    /// bytes.
    pub(super) fn on_run(&mut self, now: Time, run: Range<u64>, rtt: Duration) -> (u64, u64) {
        let place = self.place(run.start);
        let (mut count, mut bytes) = (0, 0);
        while let Some(Lost { number, sent, size }) = self.lost.get(place).copied()
            && number < run.end
        {
            self.lost.remove(place);
            count += 1;
            bytes += u64::from(size);
            let took = now.since(sent);
            self.add(took);
            // The newest of the datagrams in a report have taken less than others.
            let most = MOST_LATE * rtt.as_secs_f64().max(self.trip);
            let late = took.saturating_sub(rtt).as_secs_f64().min(most);
            self.window = self.window.max(late);
        }
        (count, bytes)
    }

    /// Where this number is or would be. A report has many runs, and hardly any has one of these.
    fn place(&self, number: u64) -> usize {
        self.lost.partition_point(|lost| lost.number < number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::from_micros(1000 * ms)
    }

    #[test]
    fn a_datagram_that_arrives_after_all_gives_the_later_ones_more_time() {
        let mut reordering = Reordering::default();
        assert_eq!(reordering.window(), Duration::ZERO);
        reordering.on_lost(7, at(10), 100);
        // It took 75 ms, and a later one 60.
        reordering.on_run(at(85), 9..12, 60 * MS);
        assert_eq!(reordering.window(), Duration::ZERO);
        reordering.on_run(at(85), 5..9, 60 * MS);
        assert_eq!(reordering.window(), 15 * MS);
        assert_eq!(reordering.first(), None);
    }

    #[test]
    fn the_time_is_bounded_and_forgotten_when_the_order_is_kept() {
        let mut reordering = Reordering::default();
        reordering.on_lost(7, at(0), 100);
        assert_eq!(reordering.on_run(at(200), 7..8, 60 * MS), (1, 100));
        assert_eq!(reordering.window(), 120 * MS);
        for _ in 0..6000 {
            reordering.on_arrival(60 * MS);
        }
        assert_eq!(reordering.window(), Duration::ZERO);
    }

    #[test]
    fn few_losses_are_remembered() {
        let mut reordering = Reordering::default();
        for number in 0..2000 {
            reordering.on_lost(number, at(number), 100);
        }
        assert_eq!(reordering.first(), Some(2000 - REMEMBERED as u64));
    }
}
