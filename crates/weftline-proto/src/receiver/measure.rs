//! The packet error rate of the path, as the receiver measures it for a sender that asks for it
//! (Brulatout et al., REST): in each report a moving average, whose newest value covers a window
//! that slides with the reports. Before the window is full, the value covers what there is.

use std::collections::VecDeque;

use crate::ranges::RangeSet;
use crate::time::Time;
use crate::wire::{LOSS_UNITS, Measuring};

/// A number counts as lost only when one this much larger has arrived, as at the sender. Until then
/// it may be reordered.
const REORDERING: u64 = 3;
/// A window has at least this many numbers, however old they are: after a pause, a few packets
/// must not replace what is known of the path.
const LEAST_NUMBERS: u64 = 50;
/// The window slides in steps of at least this part of it, which bounds the marks.
const STEPS: u32 = 64;

/// Counts transmission numbers: those that arrived, and those that must have been sent.
#[derive(Debug)]
pub(super) struct LossMeter {
    options: Measuring,
    /// Lower numbers do not count: they arrived before the sender asked.
    first: u64,
    /// Numbers from `first` on that arrived.
    arrived: u64,
    /// Where the counts stood at earlier reports. The window begins at the oldest.
    marks: VecDeque<Mark>,
    rate: Option<f64>,
}

/// The counts at a report.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    /// The fates of all lower numbers are settled.
    edge: u64,
    /// Numbers below `edge` that had arrived. One that arrives later counts later, so that it makes
    /// up for its gap.
    arrived: u64,
}

impl LossMeter {
    pub(super) fn new(options: Measuring, seen: &RangeSet) -> Self {
        LossMeter {
            options,
            first: seen.max().map_or(0, |max| max + 1),
            arrived: 0,
            marks: VecDeque::new(),
            rate: None,
        }
    }

    /// A transmission arrived that had not arrived before.
    pub(super) fn on_arrival(&mut self, transmission: u64) {
        self.arrived += u64::from(transmission >= self.first);
    }

    /// The rate for a report at `now`, in [`LOSS_UNITS`]. `seen` has all arrivals.
    pub(super) fn report(&mut self, now: Time, seen: &RangeSet) -> u16 {
        let mark = self.mark(now, seen);
        let begin = self.slide(&mark);
        let sent = mark.edge.saturating_sub(begin.edge);
        if sent > 0 {
            let arrived = mark.arrived.saturating_sub(begin.arrived);
            let newest = sent.saturating_sub(arrived) as f64 / sent as f64;
            let weight = f64::from(self.options.weight) / f64::from(Measuring::WEIGHT_UNITS);
            let before = self.rate.unwrap_or(newest);
            self.rate = Some(weight * newest + (1.0 - weight) * before);
        }
        (self.rate.unwrap_or(0.0) * f64::from(LOSS_UNITS)).round() as u16
    }

    fn mark(&self, now: Time, seen: &RangeSet) -> Mark {
        let end = seen.max().map_or(0, |max| max + 1);
        let edge = end.saturating_sub(REORDERING).max(self.first);
        let unsettled = (edge..end).filter(|n| !seen.is_new(*n)).count() as u64;
        Mark {
            at: now,
            edge,
            arrived: self.arrived.saturating_sub(unsettled),
        }
    }

    /// Moves the window: it ends at `newest` now. Returns where it begins.
    fn slide(&mut self, newest: &Mark) -> Mark {
        let is_enough = |mark: &Mark| {
            newest.at.since(mark.at) >= self.options.window
                && newest.edge - mark.edge >= LEAST_NUMBERS
        };
        while self.marks.get(1).is_some_and(is_enough) {
            self.marks.pop_front();
        }
        if self.marks.is_empty() {
            self.marks.push_back(Mark {
                at: newest.at,
                edge: self.first,
                arrived: 0,
            });
        }
        let (begin, last) = (self.marks[0], self.marks[self.marks.len() - 1]);
        let step = self.options.window / STEPS;
        if newest.edge > last.edge && newest.at.since(last.at) >= step {
            self.marks.push_back(*newest);
        }
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    struct Bench {
        meter: LossMeter,
        seen: RangeSet,
        now: Time,
        next: u64,
    }

    impl Bench {
        fn new() -> Self {
            let seen = RangeSet::default();
            let options = Measuring {
                window: Duration::from_secs(3),
                weight: 800,
            };
            Bench {
                meter: LossMeter::new(options, &seen),
                seen,
                now: Time::ZERO,
                next: 0,
            }
        }

        fn arrive(&mut self, number: u64) {
            assert!(self.seen.insert(number));
            self.meter.on_arrival(number);
        }

        /// Sends `count` packets over `millis`, of which those in `lost` are lost, and reports.
        fn report(&mut self, millis: u64, count: u64, lost: &[u64]) -> f64 {
            for number in 0..count {
                if !lost.contains(&number) {
                    self.arrive(self.next + number);
                }
            }
            self.next += count;
            self.now += Duration::from_millis(millis);
            f64::from(self.meter.report(self.now, &self.seen)) / f64::from(LOSS_UNITS)
        }
    }

    #[test]
    fn the_first_report_has_a_rate_before_the_window_is_full() {
        assert_eq!(Bench::new().report(200, 23, &[3, 4, 9, 15]), 0.2);
    }

    #[test]
    fn the_newest_value_has_four_fifths_of_the_weight() {
        let mut bench = Bench::new();
        assert_eq!(bench.report(1000, 103, &[]), 0.0);
        // 10 of 200 in the window.
        let lost: Vec<u64> = (0..10).collect();
        assert_eq!(bench.report(1000, 100, &lost), 0.04);
    }

    #[test]
    fn the_window_slides_with_each_report() {
        let mut bench = Bench::new();
        let half: Vec<u64> = (0..50).collect();
        for _ in 0..10 {
            bench.report(500, 100, &half);
        }
        // Three seconds later nothing of it is in the window, and a fifth of the rest after each
        // report.
        let rates: Vec<f64> = (0..9).map(|_| bench.report(500, 100, &[])).collect();
        assert!(rates.is_sorted_by(|a, b| a > b), "{rates:?}");
        assert!(rates[5] < 0.05 && rates[8] < 0.001, "{rates:?}");
    }

    #[test]
    fn a_reordered_packet_does_not_stay_lost() {
        let mut bench = Bench::new();
        assert_eq!(bench.report(200, 103, &[7, 8]), 0.02);
        bench.arrive(7);
        bench.arrive(8);
        assert_eq!(bench.report(200, 100, &[]), 0.004);
        // One that is only just missing is not lost yet.
        let mut bench = Bench::new();
        assert_eq!(bench.report(200, 100, &[98]), 0.0);
    }

    #[test]
    fn after_a_pause_few_packets_do_not_replace_what_is_known() {
        let mut bench = Bench::new();
        let lost: Vec<u64> = (0..300).step_by(10).collect();
        assert_eq!(bench.report(1000, 303, &lost), 0.1);
        let rate = bench.report(60_000, 4, &[0, 1]);
        assert!((rate - 0.1).abs() < 0.01, "{rate}");
        // Nothing arrived: hardly anything changes.
        assert!((bench.report(60_000, 0, &[]) - rate).abs() < 0.001);
    }

    #[test]
    fn the_marks_are_bounded_however_often_and_seldom_packets_arrive() {
        let mut bench = Bench::new();
        let mut most = 0;
        for report in 0..20_000 {
            let millis = if report % 3000 < 1000 { 1 } else { 50 };
            bench.report(millis, 1 + report % 2, &[]);
            most = most.max(bench.meter.marks.len());
        }
        assert!(most <= 2 * STEPS as usize, "{most}");
    }
}
