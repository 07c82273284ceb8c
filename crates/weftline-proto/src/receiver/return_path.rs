//! Reports must not queue on their way back.
//!
//! The lower edge of the sender, which each numbered datagram has, shows which reports have reached
//! it, and the timestamps tell when. So the receiver sees how long its reports wait, without a word
//! from the sender, and whatever the queue of the forward path is. While they wait, it sends fewer of
//! them, as a receiver of RFC 9000, section 13.2, may.
//!
//! Jitter is no queue: it spares some report in each round trip. And a queue of reports drains where
//! fewer of them leave. So whatever thins reports out is a trial: if they wait as long as before, they
//! leave as often as before, and so long a wait is tolerated for a while.

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
/// The shortest of more waits than this is little longer for jitter.
const ENOUGH: u32 = 8;
/// Where fewer reports wait as long, what delays them is not their own queue: up to this wait or a
/// round trip is tolerated, for so long.
const MOST_TOLERATED: Duration = Duration::from_millis(50);
const TOLERATED_FOR: Duration = Duration::from_secs(10);
/// Half a trial lasts as long as the wait at its beginning, so that it drains, up to this.
const LONGEST_HALF: Duration = Duration::from_secs(2);
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
    /// `None` before the first answer; most sessions are idle, and small.
    round: Option<Box<Round>>,
    /// The wait that the reports do not cause themselves, and until when this is believed.
    tolerated: (Duration, Time),
    /// The sender knows the fate of all transmissions below this number (unless it came to an edge that a lost report
    /// told by giving symbols up).
    listed: u64,
}

/// Answers of about a round trip; in a trial, of two.
#[derive(Clone, Debug)]
struct Round {
    /// The answer at which it began: when it arrived and left, and the number of the report.
    began: Time,
    left: u64,
    number: u64,
    /// The interval then.
    interval: Duration,
    /// It was lengthened, from this one, to see whether reports wait less.
    trial: Option<Duration>,
    /// The answers since.
    answers: u64,
    /// Those that count.
    counted: u32,
    /// When the first answer that counts arrived, and how long the report had waited.
    first: Option<(Time, Duration)>,
    /// The shortest waits; in a trial, in each of its halves.
    shortest: [Option<Duration>; 2],
}

impl Round {
    fn new(began: Time, left: u64, number: u64, interval: Duration) -> Self {
        Round {
            began,
            left,
            number,
            interval,
            trial: None,
            answers: 0,
            counted: 0,
            first: None,
            shortest: [None; 2],
        }
    }
}

/// A report: its number, the edge that it told, the number below which it listed all transmissions that the sender
/// may not know, and when it left.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    edge: Esi,
    below: u64,
    at: Time,
}

impl ReturnPath {
    /// The shortest time between two reports.
    pub(super) fn interval(&self, now: Time) -> Duration {
        match (&self.round, self.asked.front()) {
            (None, Some(first)) => (now.since(first.at) / UNANSWERED).min(self.longest()),
            _ => self.interval,
        }
    }

    fn longest(&self) -> Duration {
        LONGEST
            .max(self.round_trip / LONGEST_SHARE)
            .min(LONGEST_EVER)
    }

    /// How many transmission numbers up to `largest` a report must list, that one at least: the sender may not know
    /// their fate. (QUIC leaves out what it knows to be acknowledged as well: RFC 9000, section 13.2.4.)
    pub(super) fn unknown(&self, largest: u64) -> u64 {
        largest.saturating_add(1).saturating_sub(self.listed).max(1)
    }

    /// This transmission arrived after larger ones: only later reports list it as received.
    pub(super) fn on_late(&mut self, number: u64) {
        self.listed = self.listed.min(number);
        let after = |asked: &&mut Asked| asked.below > number;
        for asked in self.asked.iter_mut().rev().take_while(after) {
            asked.below = number;
        }
    }

    /// A report leaves, which tells this edge and the largest transmission number.
    pub(super) fn on_report(&mut self, now: Time, number: u64, edge: Esi, largest: u64) {
        if self.asked.len() < WATCHED && edge > self.told.max(self.edge) {
            self.asked.push_back(Asked {
                number,
                edge,
                below: largest.saturating_add(1),
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
            self.listed = self.listed.max(asked.below);
            self.on_answer(now, &asked, before, sent);
        }
    }

    /// The report reached the sender between `before` and `sent`.
    fn on_answer(&mut self, now: Time, asked: &Asked, before: u64, sent: u64) {
        let since = |clock: u64| (clock as i64).wrapping_sub(asked.at.as_micros() as i64);
        self.smallest.add(now, since(sent));
        let least = self.smallest.get().unwrap_or_default();
        let waited = since(before).saturating_sub(least).max(0) as u64;
        let waited = Duration::from_micros(waited);
        let round_trip = now.since(asked.at);
        let Some(mut round) = self.round.take() else {
            self.round_trip = round_trip;
            let round = Round::new(now, sent, asked.number, Duration::ZERO);
            self.round = Some(Box::new(round));
            return;
        };
        self.round_trip = self.round_trip.min(round_trip);
        round.answers += 1;
        // In a trial, only reports that left in it count.
        if round.trial.is_none() || asked.at >= round.began {
            self.on_wait(now, asked.number, sent, waited, &mut round);
        }
        self.round = Some(round);
    }

    /// The report `number`, which `waited`, counts in this round.
    fn on_wait(&mut self, now: Time, number: u64, sent: u64, waited: Duration, round: &mut Round) {
        let (began, first) = *round.first.get_or_insert((now, waited));
        round.counted += 1;
        let tries = round.trial.is_some();
        let (halves, half, allowed) = match tries {
            true => (
                2,
                self.round_trip.max(first.min(LONGEST_HALF)),
                first + self.tolerable(),
            ),
            false => (1, self.round_trip, self.tolerated(now) + 3 * self.bound()),
        };
        let is_over = |halves| now >= began + half * halves && round.counted > ENOUGH * halves;
        let (second, is_over) = (tries && is_over(1), is_over(halves));
        let shortest = &mut round.shortest[usize::from(second)];
        *shortest = Some(shortest.map_or(waited, |least| least.min(waited)));
        // Reports that wait for each other reach the sender as often as the path takes them.
        let time = sent.saturating_sub(round.left);
        let apart = Duration::from_micros(time / number.saturating_sub(round.number).max(1));
        let grows = waited > allowed;
        if grows && !tries {
            // The queue must not grow until the end of the round, which tells whether it is one.
            self.interval = self.interval.max(self.drains(waited, apart));
        }
        let failed = grows && tries;
        if !(is_over || failed) {
            return;
        }
        let waits = match round.shortest {
            _ if failed => [waited; 2],
            [early, late] => [early, late.or(early)].map(|wait| wait.unwrap_or(waited)),
        };
        // A queue that is full loses reports: fewer are answered than leave.
        let arrive = time / round.answers <= 9 * micros(self.interval.max(apart)) / 8;
        if !tries {
            self.interval = round.interval;
        }
        let trial = self.judge(now, round.trial, waits, apart, arrive && !grows);
        *round = Round::new(now, sent, number, self.interval);
        round.trial = trial;
    }

    /// The time between reports that lets a queue drain. Half as many reports as the path takes let
    /// a queue of a round trip or more do so.
    fn drains(&self, waited: Duration, apart: Duration) -> Duration {
        let drain = waited.as_secs_f64() / self.round_trip.as_secs_f64().max(1e-6);
        let apart = apart.min(self.longest()).mul_f64(1.0 + drain.min(1.0));
        apart.min(self.longest())
    }

    /// Reports that wait for longer may wait for each other.
    fn bound(&self) -> Duration {
        WAIT.max(self.round_trip / WAIT_SHARE)
    }

    /// The longest wait that is tolerated where reports do not cause it.
    fn tolerable(&self) -> Duration {
        MOST_TOLERATED.max(self.round_trip)
    }

    fn tolerated(&self, now: Time) -> Duration {
        let (wait, until) = self.tolerated;
        if now < until { wait } else { Duration::ZERO }
    }

    /// A round is over, in which no report waited for less than this, early and late in it. Returns
    /// the former interval if a trial follows.
    fn judge(
        &mut self,
        now: Time,
        trial: Option<Duration>,
        [early, late]: [Duration; 2],
        apart: Duration,
        arrive: bool,
    ) -> Option<Duration> {
        let waits = late > self.tolerated(now) + self.bound();
        match trial {
            // The queue drains.
            Some(_) if waits && late <= early / 2 => Some(self.interval),
            // Fewer reports wait as long: the queue is not theirs.
            Some(before) if waits && late <= self.tolerable() && arrive => {
                self.tolerated = (late.max(early), now + TOLERATED_FOR);
                self.interval = before;
                None
            }
            _ if waits => {
                let before = self.interval;
                let longer = before.mul_f64(GROWTH).min(self.longest());
                self.interval = longer.max(self.drains(late, apart));
                Some(before)
            }
            _ => {
                let shorter = self.interval.mul_f64(1.0 - DECAY);
                self.interval = match shorter < SHORTEST {
                    true => Duration::ZERO,
                    false => shorter,
                };
                None
            }
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
        /// Reports take longer than usual by at most this, at random, and by this.
        jitter: u64,
        step: u64,
        random: u64,
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
                    let lacks = self.sent - self.edge;
                    assert!(self.path.unknown(self.sent) >= lacks, "{lacks}");
                    self.free = self.free.max(self.now) + service;
                    self.waited = self.waited.max(self.free - service - self.now);
                    if !lost(self.reports) {
                        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005) + 1;
                        let late = (self.random >> 33) % (self.jitter + 1) + self.step;
                        let before = self.on_way.back().map_or(0, |report| report.0);
                        let arrives = (self.free + WAY + late).max(before);
                        self.on_way.push_back((arrives, self.sent));
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
    fn what_delays_reports_without_a_queue_does_not_thin_them_out() {
        let jitters = [2_000, 10_000, 20_000].map(|jitter| (jitter, 0));
        let steps = [15_000, 30_000, 45_000].map(|step| (0, step));
        for (jitter, step) in jitters.into_iter().chain(steps) {
            let mut bench = Bench::new();
            bench.run(1000, 100, 500, none);
            (bench.jitter, bench.step) = (jitter, step);
            let reports = bench.run(5000, 100, 500, none);
            assert!(reports > 2_500, "{reports} at {jitter} and {step} us");
        }
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
    fn reports_list_what_the_sender_lacks_and_little_more() {
        let mut bench = Bench::new();
        bench.run(1000, 100, 500, none);
        // A round trip has 120 datagrams.
        let unknown = |bench: &Bench| bench.path.unknown(bench.sent);
        assert!((120..280).contains(&unknown(&bench)), "{}", unknown(&bench));
        // The return path becomes slow: 125 reports a second.
        bench.run(11_000, 8000, 500, none);
        assert!((120..400).contains(&unknown(&bench)), "{}", unknown(&bench));
        // It is fast again, and loses 120 reports of 1000, one after the other.
        bench.run(20_000, 100, 500, |number| number % 1000 < 120);
    }

    #[test]
    fn what_arrives_late_is_listed_until_a_later_report_is_there() {
        let mut path = ReturnPath::default();
        let at = |ms: u64| Time::from_micros(1000 * ms);
        let answer = |path: &mut ReturnPath, ms, edge| {
            path.on_edge(edge);
            path.on_datagram(at(ms), 1000 * ms, 1000 * ms);
        };
        path.on_report(at(0), 0, 50, 99);
        assert_eq!(path.unknown(99), 100);
        answer(&mut path, 10, 50);
        assert_eq!(path.unknown(109), 10);
        path.on_report(at(20), 1, 60, 109);
        path.on_late(80);
        path.on_report(at(30), 2, 70, 119);
        // This report left before 80 arrived.
        answer(&mut path, 40, 60);
        assert_eq!(path.unknown(119), 40);
        answer(&mut path, 50, 70);
        assert_eq!([119, 129].map(|largest| path.unknown(largest)), [1, 10]);
        // Of two reports with the same edge nobody knows which one arrived: the first counts.
        path.on_report(at(60), 3, 80, 129);
        path.on_report(at(70), 4, 80, 139);
        answer(&mut path, 80, 80);
        assert_eq!(path.unknown(149), 20);
    }

    const MS: Duration = Duration::from_millis(1);

    /// A path with a round trip of 80 ms and 8 ms between reports, and its round, which began at zero.
    fn settled(trial: Option<Duration>) -> (ReturnPath, Round) {
        let path = ReturnPath {
            round_trip: 80 * MS,
            interval: 8 * MS,
            ..ReturnPath::default()
        };
        let mut round = Round::new(Time::ZERO, 0, 0, path.interval);
        round.trial = trial;
        (path, round)
    }

    /// The next report is answered at this time. Returns the interval.
    fn answer(path: &mut ReturnPath, round: &mut Round, ms: u64, waited: Duration) -> Duration {
        let (now, number) = (
            Time::from_micros(1000 * ms),
            round.number + round.answers + 1,
        );
        round.answers += 1;
        path.on_wait(now, number, 1000 * ms, waited, round);
        path.interval
    }

    #[test]
    fn a_round_has_a_round_trip_and_enough_reports_and_a_trial_has_twice_as_many() {
        for (trial, halves) in [(None, 1), (Some(4 * MS), 2)] {
            let (mut path, mut round) = settled(trial);
            for late in 1..=ENOUGH * halves {
                answer(
                    &mut path,
                    &mut round,
                    1000 * u64::from(late),
                    Duration::ZERO,
                );
                assert_eq!(round.counted, late);
            }
            answer(&mut path, &mut round, 20_000, Duration::ZERO);
            assert_eq!((round.counted, round.trial), (0, None));

            let (mut path, mut round) = settled(trial);
            for ms in 0..80 * halves {
                answer(&mut path, &mut round, ms.into(), Duration::ZERO);
                assert_eq!(round.counted, ms + 1);
            }
            answer(&mut path, &mut round, (80 * halves).into(), Duration::ZERO);
            assert_eq!((round.counted, round.trial), (0, None));
        }
    }

    #[test]
    fn a_growing_queue_thins_reports_out_until_the_round_tells_what_it_is() {
        let (mut path, mut round) = settled(None);
        // Three times the shortest wait that counts, and more.
        assert_eq!(answer(&mut path, &mut round, 8, 30 * MS), 8 * MS);
        assert_eq!(answer(&mut path, &mut round, 16, 31 * MS), 111 * MS / 10);
        for ms in [24, 32, 40, 48, 56, 64, 72, 80] {
            answer(&mut path, &mut round, ms, Duration::ZERO);
        }
        // One report of the round did not wait: it was no queue.
        assert_eq!(answer(&mut path, &mut round, 88, 5 * MS), 31 * MS / 4);

        // A trial ends at once when the queue grows by more than a round trip.
        let (mut path, mut round) = settled(Some(4 * MS));
        answer(&mut path, &mut round, 8, Duration::ZERO);
        assert_eq!(answer(&mut path, &mut round, 16, 80 * MS), 8 * MS);
        assert_eq!(round.trial, Some(4 * MS));
        assert_eq!(answer(&mut path, &mut round, 24, 81 * MS), 16 * MS);
        assert_eq!(round.trial, Some(8 * MS));
    }

    #[test]
    fn the_waits_of_a_round_decide_how_often_reports_leave() {
        let now = Time::from_micros(1_000_000);
        // What the next trial began with, the interval, and the wait that is tolerated.
        let judge = |trial, waits: [u32; 2], arrive| {
            let (mut path, _) = settled(None);
            let next = path.judge(now, trial, waits.map(|ms| ms * MS), 8 * MS, arrive);
            let almost = now + TOLERATED_FOR - Duration::from_micros(1);
            assert_eq!(path.tolerated(now + TOLERATED_FOR), Duration::ZERO);
            (next, path.interval, path.tolerated(almost))
        };
        let (none, before, zero) = (None, Some(4 * MS), Duration::ZERO);
        assert_eq!(judge(none, [10, 10], true), (None, 31 * MS / 4, zero));
        assert_eq!(judge(none, [11, 11], true), (Some(8 * MS), 10 * MS, zero));
        // The queue drains, or it is not that of the reports.
        assert_eq!(judge(before, [60, 30], true), (Some(8 * MS), 8 * MS, zero));
        assert_eq!(judge(before, [60, 31], true), (None, 4 * MS, 60 * MS));
        assert_eq!(judge(before, [60, 80], true), (None, 4 * MS, 80 * MS));
        // Reports are lost, or they wait for too long.
        let lost = judge(before, [60, 31], false);
        assert_eq!(lost, (Some(8 * MS), 111 * MS / 10, zero));
        assert_eq!(judge(before, [60, 81], true), (Some(8 * MS), 16 * MS, zero));
    }

    #[test]
    fn the_time_between_reports_has_bounds() {
        let longest = [40, 400, 4000].map(|ms| {
            let (mut path, _) = settled(None);
            path.round_trip = ms * MS;
            path.longest()
        });
        assert_eq!(longest, [20 * MS, 100 * MS, 250 * MS]);
        let (mut path, _) = settled(None);
        path.interval = Duration::from_nanos(103_226);
        for interval in [SHORTEST, Duration::ZERO] {
            path.judge(Time::ZERO, None, [Duration::ZERO; 2], 8 * MS, true);
            assert_eq!(path.interval, interval);
        }
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
        // It answers nothing.
        let mut path = ReturnPath::default();
        for number in 0..100 {
            path.on_report(Time::from_micros(number), number, 1 + number, number);
        }
        assert_eq!(path.asked.len(), WATCHED);
    }
}
