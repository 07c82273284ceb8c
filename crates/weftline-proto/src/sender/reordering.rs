//! How far a datagram may fall behind later ones before it counts as lost.
//!
//! Where datagrams overtake each other, some arrive after they were counted as lost. From then on a
//! datagram has as much more time as they needed (the idea of RACK's reordering window, RFC 8985). A
//! path that keeps the order costs nothing.

use std::collections::VecDeque;

use core::ops::Range;
use core::time::Duration;

use crate::time::Time;

/// The sender remembers this number of datagrams that it counted as lost.
const REMEMBERED: usize = 64;
/// The time shrinks to about a third while this many datagrams arrive and none was counted as lost
/// too soon.
const MEMORY: f64 = 1000.0;

#[derive(Debug, Default)]
pub(super) struct Reordering {
    /// Numbers of datagrams that were counted as lost, in order, and when they left.
    lost: VecDeque<(u64, Time)>,
    /// Seconds that a datagram may be late.
    window: f64,
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
    pub(super) fn on_lost(&mut self, number: u64, sent: Time) {
        if self.lost.len() == REMEMBERED {
            self.lost.pop_front();
        }
        let place = self.lost.partition_point(|(other, _)| *other < number);
        self.lost.insert(place, (number, sent));
    }

    /// The lowest number that matters.
    pub(super) fn first(&self) -> Option<u64> {
        self.lost.front().map(|(number, _)| *number)
    }

    /// A datagram arrived that did not count as lost.
    pub(super) fn on_arrival(&mut self) {
        self.window -= self.window / MEMORY;
    }

    /// The number of datagrams that are remembered.
    pub(super) fn len(&self) -> usize {
        self.lost.len()
    }

    /// The peer has these. Later ones took `rtt`; a datagram may be late by `most`. The runs of a report
    /// come from the newest to the oldest, and of the remembered datagrams only the first `place` are not
    /// newer than this run; returns how many are older.
    pub(super) fn on_run(
        &mut self,
        now: Time,
        run: Range<u64>,
        mut place: usize,
        rtt: Duration,
        most: Duration,
    ) -> usize {
        while let Some((number, sent)) = self.lost.range(..place).next_back().copied()
            && number >= run.start
        {
            place -= 1;
            if number < run.end {
                self.lost.remove(place);
                let late = now.since(sent).saturating_sub(rtt).min(most);
                self.window = self.window.max(late.as_secs_f64());
            }
        }
        place
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
        reordering.on_lost(7, at(10));
        // It took 75 ms, and a later one 60.
        reordering.on_run(at(85), 9..12, 1, 60 * MS, 120 * MS);
        assert_eq!(reordering.window(), Duration::ZERO);
        reordering.on_run(at(85), 5..9, 1, 60 * MS, 120 * MS);
        assert_eq!(reordering.window(), 15 * MS);
        assert_eq!(reordering.first(), None);
    }

    #[test]
    fn the_time_is_bounded_and_forgotten_when_the_order_is_kept() {
        let mut reordering = Reordering::default();
        reordering.on_lost(7, at(0));
        reordering.on_run(at(5000), 7..8, 1, 60 * MS, 120 * MS);
        assert_eq!(reordering.window(), 120 * MS);
        for _ in 0..6000 {
            reordering.on_arrival();
        }
        assert_eq!(reordering.window(), Duration::ZERO);
    }

    #[test]
    fn few_losses_are_remembered() {
        let mut reordering = Reordering::default();
        for number in 0..1000 {
            reordering.on_lost(number, at(number));
        }
        assert_eq!(reordering.first(), Some(1000 - REMEMBERED as u64));
    }
}
