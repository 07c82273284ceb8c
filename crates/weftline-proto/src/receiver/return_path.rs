//! Reports must not queue on their way back.
//!
//! The lower edge of the sender, which each numbered datagram has, shows which reports have reached
//! it, and the timestamps tell when. So the receiver sees how long its reports wait, without a word
//! from the sender, and whatever the queue of the forward path is. While they wait, it sends fewer and
//! shorter ones, as a receiver of RFC 9000, section 13.2, may.

use core::time::Duration;
use std::collections::VecDeque;

use weftline_codec::Esi;

use crate::clock::Smallest;
use crate::time::{Time, micros};

/// Reports that wait for longer than this, and than this part of the round trip, wait for each other
/// or for other traffic.
const WAIT: Duration = Duration::from_millis(10);
const WAIT_SHARE: u32 = 8;
/// In each round trip the time between reports grows by this factor if they wait, and else falls by
/// this part of it.
const GROWTH: f64 = 1.25;
const DECAY: f64 = 1.0 / 32.0;
/// Before the first answer, the time between reports is this part of the wait for it.
const UNANSWERED: u32 = 8;
/// The longest time between reports is this part of a round trip, or this: a sender that learns late
/// sends little.
const LONGEST_SHARE: u32 = 4;
/// An outage looks like a long round trip: reports must not stay away after it.
const LONGEST_EVER: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_millis(20);
/// Shorter times are none.
const SHORTEST: Duration = Duration::from_micros(100);
/// While reports wait, a report also lists what at least this number of earlier reports listed.
const REPEATS: u64 = 8;
/// At most this many reports are watched.
const WATCHED: usize = 32;

/// How long reports wait, and what follows from it.
#[derive(Clone, Debug, Default)]
pub(super) struct ReturnPath {
    /// The sender's edge, and the highest one that a report has told.
    edge: Esi,
    told: Esi,
    /// Reports that move the sender's edge, and are not answered.
    asked: VecDeque<Asked>,
    /// The sender's clock when a report reached it, less the receiver's when the report left.
    smallest: Smallest,
    /// The shortest time from a report to its answer, with the wait for the next datagram.
    round_trip: Duration,
    /// The shortest time between two reports.
    interval: Duration,
    /// When the interval was last changed, the last report that was answered by then, and when the
    /// answer left.
    changed: Option<(Time, u64, u64)>,
    /// The largest transmission numbers at the last report whose number [`REPEATS`] divides, and at
    /// the one before it.
    listed: [u64; 2],
}

/// A report: its number, the edge that it told, and when it left.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    edge: Esi,
    at: Time,
}

impl ReturnPath {
    /// The shortest time between two reports.
    pub(super) fn interval(&self, now: Time) -> Duration {
        match (self.changed, self.asked.front()) {
            (None, Some(first)) => (now.since(first.at) / UNANSWERED).min(self.longest()),
            _ => self.interval,
        }
    }

    fn longest(&self) -> Duration {
        LONGEST
            .max(self.round_trip / LONGEST_SHARE)
            .min(LONGEST_EVER)
    }

    /// How many transmission numbers a report covers at most, up to `largest`.
    pub(super) fn covered(&self, largest: u64) -> u64 {
        match self.interval.is_zero() {
            true => u64::MAX,
            false => largest.saturating_sub(self.listed[1]) + 1,
        }
    }

    /// A report leaves, which tells this edge and the largest transmission number.
    pub(super) fn on_report(&mut self, now: Time, number: u64, edge: Esi, largest: u64) {
        if number.is_multiple_of(REPEATS) {
            self.listed = [largest, self.listed[0]];
        }
        if self.asked.len() < WATCHED && edge > self.told.max(self.edge) {
            self.asked.push_back(Asked {
                number,
                edge,
                at: now,
            });
        }
        self.told = self.told.max(edge);
    }

    /// A datagram has this edge.
    pub(super) fn on_edge(&mut self, edge: Esi) {
        self.edge = self.edge.max(edge);
    }

    /// The datagram left at `sent`, and the one before it at `before`, on the sender's clock.
    pub(super) fn on_datagram(&mut self, now: Time, before: u64, sent: u64) {
        let answered = self.asked.partition_point(|asked| asked.edge <= self.edge);
        // Of several, the newest arrived. Others may have been lost on their way.
        let newest = self.asked.drain(..answered).next_back();
        if let Some(asked) = newest.filter(|asked| asked.edge == self.edge) {
            self.on_answer(now, &asked, before, sent);
        }
    }

    /// The report reached the sender between `before` and `sent`.
    fn on_answer(&mut self, now: Time, asked: &Asked, before: u64, sent: u64) {
        let since = |clock: u64| (clock as i64).wrapping_sub(asked.at.as_micros() as i64);
        self.smallest.add(now, since(sent));
        let least = self.smallest.get().unwrap_or_default();
        let waited = since(before).saturating_sub(least).max(0) as u64;
        let round_trip = now.since(asked.at);
        let (at, number, left) = *self.changed.get_or_insert_with(|| {
            self.round_trip = round_trip;
            (now, asked.number, sent)
        });
        self.round_trip = self.round_trip.min(round_trip);
        let is_next = asked.at >= at;
        if waited > micros(WAIT.max(self.round_trip / WAIT_SHARE)) {
            // Reports that wait for each other arrive as often as the path takes them. Half as many
            // let a queue of a round trip or more drain.
            let apart = sent.saturating_sub(left) / asked.number.saturating_sub(number).max(1);
            let drain = 1.0 + (waited as f64 / micros(self.round_trip).max(1) as f64).min(1.0);
            let growth = if is_next { GROWTH } else { 1.0 };
            let longer = self.interval.mul_f64(growth);
            let apart = Duration::from_micros(apart).min(self.longest());
            self.interval = longer.max(apart.mul_f64(drain)).min(self.longest());
        } else if is_next {
            let shorter = self.interval.mul_f64(1.0 - DECAY);
            self.interval = match shorter < SHORTEST {
                true => Duration::ZERO,
                false => shorter,
            };
        }
        if is_next {
            self.changed = Some((now, asked.number, sent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Microseconds from one end to the other.
    const WAY: u64 = 30_000;

    /// A sender that transmits at even intervals, and a receiver that reports at once where its
    /// return path lets it.
    #[derive(Default)]
    struct Bench {
        path: ReturnPath,
        now: u64,
        sent: u64,
        reports: u64,
        next_report: u64,
        /// When the return path is free, and reports on it: when they arrive, and their edges.
        free: u64,
        on_way: VecDeque<(u64, Esi)>,
        edge: Esi,
        /// The longest wait of a report.
        waited: u64,
    }

    impl Bench {
        /// Runs for `millis` milliseconds. The return path takes `service` microseconds for a report;
        /// the sender transmits each `apart` microseconds. `lost` tells which reports are lost.
        /// Returns the reports.
        fn run(&mut self, millis: u64, service: u64, apart: u64, lost: fn(u64) -> bool) -> u64 {
            let (before, end) = (self.reports, self.now + 1000 * millis);
            self.waited = 0;
            while self.now < end {
                self.now += apart;
                // The clocks differ by an hour. What arrives now left a while ago.
                let sent = self.now + 3_600_000_000 - WAY;
                while let Some(&(_, edge)) = self.on_way.front().filter(|r| r.0 + WAY <= self.now) {
                    self.on_way.pop_front();
                    self.edge = edge;
                }
                self.path.on_edge(self.edge);
                let now = Time::from_micros(self.now);
                self.path.on_datagram(now, sent - apart, sent);
                self.sent += 1;
                if self.now >= self.next_report {
                    self.path.on_report(now, self.reports, self.sent, self.sent);
                    self.free = self.free.max(self.now) + service;
                    self.waited = self.waited.max(self.free - service - self.now);
                    if !lost(self.reports) {
                        self.on_way.push_back((self.free + WAY, self.sent));
                    }
                    self.reports += 1;
                    self.next_report = self.now + micros(self.path.interval(now));
                }
            }
            self.reports - before
        }

        fn new() -> Self {
            Bench {
                now: 2 * WAY,
                ..Bench::default()
            }
        }
    }

    fn none(_: u64) -> bool {
        false
    }

    #[test]
    fn reports_come_as_often_as_the_return_path_takes_them() {
        let mut bench = Bench::new();
        let first = bench.run(70, 100, 500, none);
        assert!((30..120).contains(&first), "{first} before an answer");
        assert_eq!(bench.run(2000, 100, 500, none), 4000, "nothing waits");
        bench.run(6000, 8000, 500, none);
        // At most 125 a second.
        let seldom = bench.run(5000, 8000, 500, none);
        assert!((400..=625).contains(&seldom), "{seldom}");
        assert!(bench.waited < 30_000, "{} us", bench.waited);
        // The path is faster again.
        bench.run(20_000, 100, 500, none);
        assert_eq!(bench.run(1000, 100, 500, none), 2000);
    }

    #[test]
    fn lost_reports_and_a_pausing_sender_are_no_queue() {
        let mut bench = Bench::new();
        bench.run(1000, 100, 500, none);
        let runs = |number| number % 40 < 8;
        assert_eq!(bench.run(5000, 100, 500, runs), 10_000);
        // A datagram each 200 ms, which is longer than a round trip.
        assert_eq!(bench.run(10_000, 100, 200_000, none), 50);
    }

    #[test]
    fn while_reports_wait_they_repeat_only_what_the_last_ones_told() {
        let mut bench = Bench::new();
        bench.run(1000, 100, 500, none);
        assert_eq!(bench.path.covered(bench.sent), u64::MAX);
        bench.run(3000, 8000, 500, none);
        // Eight reports, 8 ms apart, of 16 datagrams each; twice as many at most.
        let covered = bench.path.covered(bench.sent);
        assert!((100..600).contains(&covered), "{covered}");
    }

    #[test]
    fn nothing_that_a_sender_claims_overflows() {
        let mut path = ReturnPath::default();
        for number in 0..100u64 {
            let now = Time::from_micros(number * 100_000);
            path.on_report(now, number, 3 * number, number);
            path.on_edge([3 * number, u64::MAX, 0][number as usize % 3]);
            let clock = [u64::MAX, 0, 1 << 63][number as usize % 3];
            path.on_datagram(now, clock, clock.wrapping_mul(3));
            assert!(path.interval(now) <= Duration::from_secs(1));
            assert!(path.asked.len() <= WATCHED);
        }
    }
}
