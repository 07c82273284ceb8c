//! Delay that is not a queue.
//!
//! Radio links and busy machines hold packets and let them go together, or let them overtake each
//! other. Packets that waited in a queue arrive in order, one after the other. So where packets that
//! left one after the other arrive together, again and again, the path itself moves the delay. The
//! mean delay of packets that met no queue of this flow is then the path's own.

use std::collections::VecDeque;

use core::time::Duration;

use super::progress::Progress;
use super::round::{Point, Round};
use crate::time::Time;

/// A shorter hold is noise of timers, in seconds.
const LEAST_HOLD: f64 = 0.5e-3;
/// The path moves the delay if it holds packets for this part of the time, and if a hold has at least
/// this part of the mean delay. Other flows' packets in a queue spread packets, and hold none.
const OFTEN: f64 = 0.25;
const PART: f64 = 1.0 / 16.0;
/// Weight that older rounds keep.
const KEPT: f64 = 7.0 / 8.0;
/// Means are taken over this many rounds and this time.
const ROUNDS: usize = 4;
const TIME: Duration = Duration::from_millis(200);

/// What the path takes is known anew at a rate that is higher by this factor.
const FASTER: f64 = 1.25;
/// Weight that the packets of older rounds keep in the mean round trip.
const KEPT_TRIPS: f64 = 0.5;

/// Tells the delay of the path from that of a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Jitter {
    /// When the newest packet left, and its delay.
    newest: Option<(Time, f64)>,
    /// Sums of holds, of their squares, and of the time between departures, in seconds, with
    /// forgetting.
    holds: f64,
    squares: f64,
    time: f64,
    /// Delays of the packets of this round, and of the round before.
    round: Mean,
    last: Mean,
    /// Delays and round trips of the last rounds' packets, with forgetting.
    recent: Mean,
    /// The last rounds at full rate, the newest last.
    full: VecDeque<Full>,
    /// Delays of packets that met no queue of this flow, and their mean in the last drains.
    rested: Mean,
    own: Option<Own>,
    growth: Growth,
}

/// What the path itself takes: the mean delay and the mean round trip, in seconds.
#[derive(Clone, Copy, Debug)]
struct Own {
    delay: f64,
    trip: f64,
    /// Bytes a second that arrived before the drain.
    rate: f64,
}

/// A round at full rate.
#[derive(Clone, Copy, Debug)]
struct Full {
    end: Point,
    delays: Mean,
    window: f64,
}

/// Delays and round trips of packets, added up, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    delays: f64,
    trips: f64,
    /// Times on the return path, and their distances from the mean of the round before.
    backs: f64,
    apart: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, other: Mean) {
        self.delays += other.delays;
        self.trips += other.trips;
        self.backs += other.backs;
        self.apart += other.apart;
        self.count += other.count;
    }

    fn forget(&mut self, kept: f64) {
        self.delays *= kept;
        self.trips *= kept;
        self.backs *= kept;
        self.apart *= kept;
        self.count *= kept;
    }

    fn delay(self) -> f64 {
        self.delays / self.count.max(1.0)
    }

    fn trip(self) -> f64 {
        self.trips / self.count.max(1.0)
    }

    fn back(self) -> f64 {
        self.backs / self.count.max(1.0)
    }
}

impl Jitter {
    /// The next report, with the delay of the packet that arrived last. Reports come with each
    /// packet, but no closer than `interval`: packets of one report arrived together.
    pub(super) fn add(&mut self, progress: &Progress, delay: Duration, interval: Duration) {
        let delay = delay.as_secs_f64();
        let count = progress.count as f64;
        let (before, newest) = self.newest.unwrap_or_default();
        let (hold, mean) = match progress.newest {
            Some((_, sent)) => {
                let took = match self.newest.replace((sent, delay)) {
                    Some(_) => sent.since(before).as_secs_f64(),
                    None => 0.0,
                };
                self.time += took;
                let hold = took * (1.0 - 1.0 / count.max(1.0));
                (hold, delay + hold / 2.0)
            }
            // A later packet overtook it.
            None => (delay - newest, delay),
        };
        let hold = hold - interval.as_secs_f64();
        if hold >= LEAST_HOLD {
            self.holds += hold;
            self.squares += hold * hold;
        }
        let back = progress.rtt.saturating_sub(progress.queue).as_secs_f64();
        self.round.add(Mean {
            delays: mean * count,
            trips: progress.waited.as_secs_f64(),
            backs: back * count,
            apart: (back - self.last.back()).abs() * count,
            count,
        });
        self.growth.add(mean, count);
    }

    /// Whether the path moves the delay, so much that this explains `delay`.
    pub(super) fn explains(&self, delay: Duration) -> bool {
        self.holds > OFTEN * self.time && self.squares > PART * delay.as_secs_f64() * self.holds
    }

    /// The usual length of a hold.
    pub(super) fn hold(&self) -> Duration {
        Duration::from_secs_f64(self.squares / self.holds.max(1e-9))
    }

    /// A round has ended. `window`: bytes that were in flight, if it was at full rate.
    pub(super) fn on_round(&mut self, round: &Round, window: Option<f64>) {
        self.holds *= KEPT;
        self.squares *= KEPT;
        self.time *= KEPT;
        self.last = core::mem::take(&mut self.round);
        self.recent.forget(KEPT_TRIPS);
        self.recent.add(self.last);
        self.growth.end_round(self.last);
        let (Some(window), Some(end)) = (window, round.newest()) else {
            return;
        };
        self.full.push_back(Full {
            end,
            delays: self.last,
            window,
        });
        while self.full.len() > ROUNDS && end.at.since(self.full[1].end.at) >= TIME {
            self.full.pop_front();
        }
    }

    /// Mean delay of the last round.
    pub(super) fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.last.delay())
    }

    /// Bytes a second that arrived in the last rounds at full rate, if there were enough.
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, last) = (self.full.front()?.end, self.full.back()?.end);
        let took = last.at.since(first.at).as_secs_f64();
        let is_long = self.full.len() >= ROUNDS && took > 0.0;
        is_long.then(|| (last.arrived - first.arrived) as f64 / took)
    }

    /// The queue that this flow has built up with this window, if it is known.
    pub(super) fn queue(&self, window: f64) -> Option<Duration> {
        let own = self.own?;
        let mut means = Mean::default();
        self.full.iter().for_each(|full| means.add(full.delays));
        let before = self.full.iter().map(|full| full.window).sum::<f64>() / self.full.len() as f64;
        // A smaller window has shortened the queue since.
        let since = (window - before).min(0.0) / self.rate()?;
        // The smallest delay, from which delays count, may have become smaller, and the return path may be
        // slower than in the drain: each lengthens one of them.
        let longer = (means.delay() - own.delay).min(means.trip() - own.trip);
        Some(Duration::from_secs_f64((longer + since).max(0.0)))
    }

    /// The mean time from a packet's departure until it is reported. Both directions may move their delay.
    pub(super) fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.last.trip())
    }

    /// By how much the return path moves the delay of reports.
    pub(super) fn apart(&self) -> Duration {
        Duration::from_secs_f64(self.recent.apart / self.recent.count.max(1.0))
    }

    /// The same without the forward path's delay beyond its smallest.
    pub(super) fn trip(&self) -> Duration {
        Duration::from_secs_f64((self.recent.trip() - self.recent.delay()).max(0.0))
    }

    /// The mean delay of the path itself, if it is known.
    pub(super) fn own(&self) -> Option<Duration> {
        self.own.map(|own| Duration::from_secs_f64(own.delay))
    }

    /// Packets of the last round met no queue of this flow.
    pub(super) fn on_rested_round(&mut self) {
        self.rested.add(self.last);
    }

    /// A drain has ended. `anew`: what earlier drains showed does not hold any more. Returns by how
    /// much the path's own delay is longer than was known.
    pub(super) fn end_rest(&mut self, anew: bool) -> Duration {
        let rested = core::mem::take(&mut self.rested);
        let rate = self.rate().unwrap_or(0.0);
        self.full.clear();
        if rested.count == 0.0 {
            return Duration::ZERO;
        }
        let before = self.own.map_or(0.0, |own| own.delay);
        let (delay, trip) = (rested.delay(), rested.trip());
        // Where packets keep their order, one waits for more others the more there are.
        let own = match self.own {
            Some(own) if !anew && rate <= FASTER * own.rate => Own {
                delay: (own.delay + delay) / 2.0,
                trip: (own.trip + trip) / 2.0,
                rate,
            },
            _ => Own { delay, trip, rate },
        };
        self.own = Some(own);
        Duration::from_secs_f64((own.delay - before).max(0.0))
    }

    /// The path does not move the delay any more.
    pub(super) fn forget(&mut self) {
        self.own = None;
        self.full.clear();
    }

    /// In the start: by how much the delay has grown since the round with the shortest.
    pub(super) fn grown(&self) -> Duration {
        Duration::from_secs_f64(self.growth.grown())
    }

    /// At the end of a round of the start, in which `rate` bytes a second arrived: the mean rate of the
    /// last rounds, if a larger window brings no higher one any more.
    pub(super) fn full_rate(&mut self, rate: f64) -> Option<f64> {
        self.growth.full_rate(rate)
    }

    /// The start has ended.
    pub(super) fn end_start(&mut self) {
        self.growth = Growth::default();
    }

    /// How fast the window may grow in the start: 1 doubles it in a round trip. Not after a round that was hardly
    /// faster than one before, which may have been chance; after further ones half as fast: a window that stays as
    /// it is brings no higher rate either, and one that is too large brings a queue.
    pub(super) fn start_growth(&self) -> f64 {
        match self.growth.stalls {
            0 => 1.0,
            1 => 0.0,
            _ => 0.5,
        }
    }
}

/// Delays and rates of the start.
#[derive(Clone, Debug, Default)]
struct Growth {
    /// Mean delay of the last packets, and of the round with the shortest.
    recent: f64,
    shortest: Option<f64>,
    /// Mean round trips of the last rounds, the newest first.
    trips: VecDeque<f64>,
    /// The highest rate of a round, and rounds in a row that were hardly faster.
    best: f64,
    stalls: u32,
    /// The rates of those, added up.
    stalled: f64,
}

impl Growth {
    /// Packets of a mean.
    const PACKETS: f64 = 16.0;
    /// A round is faster by this factor.
    const FASTER: f64 = 1.25;
    /// A mean round trip this many times longer than the mean of so many, itself among them, shows a queue.
    const LONGER: f64 = 1.25;
    const TRIPS: usize = 4;
    /// The path is full after this many rounds that are not faster, if there is a queue; otherwise after
    /// more.
    const STALLS: u32 = 2;
    const CALM_STALLS: u32 = 4;

    fn add(&mut self, mean: f64, count: f64) {
        self.recent += (mean - self.recent) * (count / Self::PACKETS).min(1.0);
    }

    fn end_round(&mut self, round: Mean) {
        let delay = round.delay();
        self.shortest = Some(self.shortest.map_or(delay, |shortest| shortest.min(delay)));
        self.trips.truncate(Self::TRIPS - 1);
        self.trips.push_front(round.trip());
    }

    fn grown(&self) -> f64 {
        (self.recent - self.shortest.unwrap_or(self.recent)).max(0.0)
    }

    fn full_rate(&mut self, rate: f64) -> Option<f64> {
        if rate > Self::FASTER * self.best {
            self.stalls = 0;
            self.stalled = 0.0;
        } else {
            self.stalls += 1;
            self.stalled += rate;
        }
        self.best = self.best.max(rate);
        let mean = self.trips.iter().sum::<f64>() / self.trips.len().max(1) as f64;
        let enough = match self
            .trips
            .front()
            .is_some_and(|newest| *newest > Self::LONGER * mean)
        {
            true => Self::STALLS,
            false => Self::CALM_STALLS,
        };
        (self.stalls >= enough).then(|| self.stalled / f64::from(self.stalls))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_micros(250);

    fn millis(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1e3)
    }

    /// Packets from this one on, which leave every ms and reach the peer with these delays, in order.
    /// Each report has the packets that arrived within a quarter of a ms.
    fn report(jitter: &mut Jitter, first: usize, delays: impl Iterator<Item = f64>) {
        let (mut arrived, mut count) = (0.0f64, 0);
        let mut packets = (first..).zip(delays).peekable();
        while let Some((number, delay)) = packets.next() {
            arrived = arrived.max(number as f64 + delay);
            count += 1;
            let next = packets.peek().map(|(n, d)| *n as f64 + d);
            if next.is_some_and(|next| next <= arrived + 0.25) {
                continue;
            }
            let sent = number as u64;
            let progress = Progress {
                newest: Some((sent, Time::from_micros(1000 * sent))),
                // Those that arrived with it left earlier.
                waited: millis(60.0 + delay + f64::from(count - 1) / 2.0) * count,
                count: u64::from(core::mem::take(&mut count)),
                rtt: millis(60.0 + delay),
                queue: millis(arrived - number as f64),
                arrived: 1000 * (sent + 1),
                lost: 0,
                burst: 1.0,
                next: sent + 1,
            };
            jitter.add(&progress, progress.queue, INTERVAL);
        }
    }

    fn explains(delay: f64, delays: impl Iterator<Item = f64>) -> bool {
        let mut jitter = Jitter::default();
        report(&mut jitter, 0, delays);
        jitter.explains(millis(delay))
    }

    #[test]
    fn holds_explain_a_delay_and_queues_do_not() {
        // Everything is held for up to 20 ms, and then let go.
        assert!(explains(10.0, (0..200).map(|n| f64::from(19 - n % 20))));
        // A queue that grows and is drained, and one that others fill with bursts of 4 ms.
        let saw = |n: i32| f64::from((n % 100).min(100 - n % 100)) / 2.0;
        assert!(!explains(25.0, (0..400).map(saw)));
        assert!(!explains(
            40.0,
            (0..200).map(|n| 40.0 + f64::from(n % 5) * 0.8)
        ));
        // Timers of 2 ms do not explain a long queue.
        assert!(!explains(60.0, (0..200).map(|n| 60.0 + f64::from(n % 2))));
    }

    #[test]
    fn what_is_beyond_the_paths_own_delay_is_a_queue() {
        let mut jitter = Jitter::default();
        let mut rounds = 0;
        let mut round = |jitter: &mut Jitter, extra: f64, window| {
            let delays = (0..100).map(|n| extra + f64::from(19 - n % 20));
            report(jitter, 100 * rounds, delays);
            rounds += 1;
            let number = rounds as u64;
            let mut round = Round::new(0, None);
            let progress = Progress {
                newest: None,
                count: 1,
                waited: Duration::ZERO,
                rtt: millis(60.0),
                queue: Duration::ZERO,
                arrived: 100_000 * number,
                lost: 0,
                burst: 1.0,
                next: 0,
            };
            round.add(Point::new(
                Time::from_micros(100_000 * number),
                &progress,
                Duration::ZERO,
            ));
            jitter.on_round(&round, window);
        };
        for _ in 0..2 {
            round(&mut jitter, 0.0, None);
        }
        jitter.on_rested_round();
        let own = jitter.end_rest(false);
        assert!(own.abs_diff(millis(9.5)) < millis(1.0), "{own:?}");
        for _ in 0..ROUNDS {
            round(&mut jitter, 12.0, Some(90_000.0));
        }
        let queue = jitter.queue(90_000.0).expect("known");
        assert!(queue.abs_diff(millis(12.0)) < millis(1.0), "{queue:?}");
        // A MB a second: a window that has shrunk by 5,000 bytes has shortened the queue by 5 ms.
        assert_eq!(jitter.queue(85_000.0), Some(queue - millis(5.0)));
        assert!(jitter.trip().abs_diff(millis(60.0)) < millis(1.0));
    }

    /// A report of `count` packets, with the delay and the time on the return path in ms.
    fn packets(count: u32, delay: f64, back: f64) -> Progress {
        Progress {
            newest: None,
            count: u64::from(count),
            waited: millis(delay + back) * count,
            rtt: millis(delay + back),
            queue: millis(delay),
            arrived: 0,
            lost: 0,
            burst: 1.0,
            next: 0,
        }
    }

    /// Packets that arrive without a hold.
    fn arrive(jitter: &mut Jitter, count: u32, delay: f64, back: f64) {
        let progress = packets(count, delay, back);
        // What a later packet has overtaken is a hold only if it was later than that one.
        jitter.newest = Some((Time::ZERO, 1.0));
        jitter.add(&progress, progress.queue, Duration::ZERO);
    }

    /// The newest of `count` packets left `took` µs after the one before.
    fn depart(jitter: &mut Jitter, took: u64, count: u32, interval: Duration) {
        let before = jitter.newest.map_or(Time::ZERO, |(sent, _)| sent);
        let mut progress = packets(count, 0.0, 0.0);
        progress.newest = Some((0, before + Duration::from_micros(took)));
        jitter.add(&progress, Duration::ZERO, interval);
    }

    /// A round at full rate: until this time in ms, so many bytes have arrived.
    fn end_round(jitter: &mut Jitter, ms: u64, arrived: u64, window: f64) {
        let mut round = Round::new(0, None);
        let mut progress = packets(1, 0.0, 0.0);
        progress.arrived = arrived;
        let end = Time::from_micros(1000 * ms);
        round.add(Point::new(end, &progress, Duration::ZERO));
        jitter.on_round(&round, Some(window));
    }

    /// A round of the start, or of a drain.
    fn end_other_round(jitter: &mut Jitter) {
        jitter.on_round(&Round::new(0, None), None);
    }

    /// A drain in which packets had this delay, after four rounds of 100 ms at this rate.
    fn drain(jitter: &mut Jitter, rate: u64, delay: f64, back: f64, anew: bool) -> Duration {
        for round in 0..4 {
            end_round(jitter, 100 * round, round * rate / 10, 1000.0);
        }
        arrive(jitter, 1, delay, back);
        end_other_round(jitter);
        jitter.on_rested_round();
        jitter.end_rest(anew)
    }

    fn close(left: Duration, right: f64) -> bool {
        left.abs_diff(millis(right)) < Duration::from_micros(1)
    }

    #[test]
    fn the_path_moves_the_delay_if_it_holds_packets_for_more_than_a_quarter_of_the_time() {
        // Two packets of 20 ms arrive together, so that one of them was held for 10 ms, less what the
        // peer waited for others. Then single packets follow for some ms.
        let held = |single: u64| {
            let mut jitter = Jitter::default();
            for _ in 0..10 {
                depart(&mut jitter, 20_000, 2, INTERVAL);
                depart(&mut jitter, 1000 * single, 1, INTERVAL);
            }
            // Before the first packet nothing was held.
            depart(&mut jitter, 20_000, 2, INTERVAL);
            jitter
        };
        let often = held(15);
        assert!(close(often.hold(), 9.75));
        // The hold is at least a sixteenth of the delay.
        assert!(often.explains(millis(155.0)));
        assert!(!often.explains(millis(157.0)));
        assert!(!held(20).explains(millis(1.0)));
    }

    #[test]
    fn holds_of_just_a_quarter_of_the_time_or_a_sixteenth_of_the_delay_explain_nothing() {
        // In powers of two, of which sums are exact: 1/64 s.
        let mut jitter = Jitter::default();
        depart(&mut jitter, 0, 1, Duration::ZERO);
        depart(&mut jitter, 15_625, 2, Duration::ZERO);
        assert!(jitter.explains(millis(124.0)));
        assert!(!jitter.explains(millis(125.0)));
        depart(&mut jitter, 15_625, 1, Duration::ZERO);
        assert!(!jitter.explains(millis(1.0)));
    }

    #[test]
    fn older_rounds_weigh_less_in_what_the_path_holds() {
        let mut jitter = Jitter::default();
        depart(&mut jitter, 0, 1, INTERVAL);
        for _ in 0..10 {
            depart(&mut jitter, 20_000, 2, INTERVAL);
            depart(&mut jitter, 15_000, 1, INTERVAL);
        }
        end_other_round(&mut jitter);
        // Nothing new is known.
        assert!(close(jitter.hold(), 9.75));
        assert!(jitter.explains(millis(1.0)));
        // Seven eighths of the holds, 85.3 ms, are less than a quarter of 306 ms and these.
        depart(&mut jitter, 40_000, 1, INTERVAL);
        assert!(!jitter.explains(millis(1.0)));
    }

    #[test]
    fn a_packet_that_a_later_one_overtook_was_held_for_as_long_as_it_is_later() {
        let mut jitter = Jitter::default();
        for (newest, delay) in [(Some((1, Time::ZERO)), 5.0), (None, 15.0)] {
            let mut progress = packets(1, delay, 60.0);
            progress.newest = newest;
            jitter.add(&progress, progress.queue, INTERVAL);
        }
        assert!(close(jitter.hold(), 9.75));
    }

    #[test]
    fn means_are_those_of_the_last_round_and_of_all_its_packets() {
        let mut jitter = Jitter::default();
        arrive(&mut jitter, 1, 90.0, 90.0);
        end_other_round(&mut jitter);
        arrive(&mut jitter, 1, 10.0, 50.0);
        arrive(&mut jitter, 3, 20.0, 60.0);
        end_other_round(&mut jitter);
        assert!(close(jitter.delay(), 17.5));
        assert!(close(jitter.round_trip(), 75.0));
    }

    #[test]
    fn the_return_path_is_known_from_the_last_few_rounds() {
        let mut jitter = Jitter::default();
        let mut rounds = |backs: [f64; 2]| {
            for _ in 0..20 {
                for back in backs {
                    arrive(&mut jitter, 2, 10.0, back);
                }
                end_other_round(&mut jitter);
            }
            (jitter.apart(), jitter.trip())
        };
        let (apart, trip) = rounds([30.0, 30.0]);
        assert!(close(apart, 0.0) && close(trip, 30.0), "{apart:?} {trip:?}");
        let (apart, trip) = rounds([75.0, 85.0]);
        assert!(close(apart, 5.0) && close(trip, 80.0), "{apart:?} {trip:?}");
    }

    #[test]
    fn a_rate_is_that_of_four_rounds_and_of_200_ms_at_least() {
        let mut jitter = Jitter::default();
        for ms in [0, 20, 40] {
            end_round(&mut jitter, ms, 1000 * ms, 1000.0);
        }
        assert_eq!(jitter.rate(), None);
        for ms in (60..=300).step_by(20) {
            end_round(&mut jitter, ms, 1000 * ms, 1000.0);
        }
        assert_eq!(jitter.rate(), Some(1e6));
        // Twice as fast for half of these 200 ms.
        for ms in (320..=400).step_by(20) {
            end_round(&mut jitter, ms, 300_000 + 2000 * (ms - 300), 1000.0);
        }
        assert_eq!(jitter.rate(), Some(1.5e6));
        jitter.forget();
        for _ in 0..ROUNDS {
            end_round(&mut jitter, 500, 500_000, 1000.0);
        }
        assert_eq!(jitter.rate(), None, "nothing took time");
    }

    #[test]
    fn drains_of_the_same_path_are_averaged_and_those_of_another_replace_what_was_known() {
        let mut jitter = Jitter::default();
        assert_eq!(jitter.own(), None);
        assert!(close(
            drain(&mut jitter, 1_000_000, 10.0, 50.0, false),
            10.0
        ));
        // A rate that is a quarter higher is the same.
        assert!(close(drain(&mut jitter, 1_250_000, 14.0, 50.0, false), 2.0));
        assert!(close(jitter.own().expect("known"), 12.0));
        // Further below the new rate, where less waits, it is known anew.
        assert!(close(drain(&mut jitter, 1_600_000, 8.0, 50.0, false), 0.0));
        assert!(close(jitter.own().expect("known"), 8.0));
        assert!(close(drain(&mut jitter, 1_600_000, 30.0, 50.0, true), 22.0));
        assert!(close(jitter.own().expect("known"), 30.0));
        jitter.forget();
        assert_eq!(jitter.own(), None);
    }

    #[test]
    fn a_queue_lengthens_the_delay_and_the_round_trip() {
        // In the drains the delay was 12 ms, and the round trip 72 ms.
        let queue = |delay, back| {
            let mut jitter = Jitter::default();
            drain(&mut jitter, 1_000_000, 10.0, 50.0, false);
            drain(&mut jitter, 1_000_000, 14.0, 70.0, false);
            for round in 0..4 {
                arrive(&mut jitter, 1, delay, back);
                end_round(&mut jitter, 100 * round, 100_000 * round, 1000.0);
            }
            jitter.queue(1000.0).expect("known")
        };
        assert!(close(queue(22.0, 60.0), 10.0));
        // The smallest delay became smaller, and the return path slower.
        assert!(close(queue(22.0, 54.0), 4.0));
        assert!(close(queue(16.0, 66.0), 4.0));
    }

    #[test]
    fn in_the_start_the_delay_has_grown_since_the_round_with_the_shortest() {
        let mut jitter = Jitter::default();
        assert_eq!(jitter.grown(), Duration::ZERO);
        for delay in [10.0, 30.0] {
            arrive(&mut jitter, 16, delay, 50.0);
            end_other_round(&mut jitter);
        }
        assert!(close(jitter.grown(), 20.0));
        // Half of sixteen packets move the mean by half.
        arrive(&mut jitter, 8, 50.0, 50.0);
        assert!(close(jitter.grown(), 30.0));
        arrive(&mut jitter, 32, 50.0, 50.0);
        assert!(close(jitter.grown(), 40.0));
        jitter.end_start();
        assert_eq!(jitter.grown(), Duration::ZERO);
    }

    /// What rounds of the start with these mean round trips, in ms, and rates tell.
    fn start(rounds: &[(f64, f64)]) -> (Option<f64>, f64) {
        let mut jitter = Jitter::default();
        let mut full = None;
        for (trip, rate) in rounds {
            arrive(&mut jitter, 1, 0.0, *trip);
            end_other_round(&mut jitter);
            full = jitter.full_rate(*rate);
        }
        (full, jitter.start_growth())
    }

    #[test]
    fn a_start_is_over_after_four_rounds_that_are_hardly_faster_or_two_with_a_queue() {
        let calm = [100.0, 125.0, 110.0, 120.0, 105.0].map(|rate| (60.0, rate));
        assert_eq!(start(&calm[..1]), (None, 1.0));
        assert_eq!(start(&calm[..2]), (None, 0.0));
        assert_eq!(start(&calm[..4]), (None, 0.5));
        assert_eq!(start(&calm), (Some(115.0), 0.5));
        // A round that is faster begins anew.
        let mut faster = calm;
        faster[3].1 = 157.0;
        assert_eq!(start(&faster[..4]), (None, 1.0));
        assert_eq!(start(&faster), (None, 0.0));
        // The newest round trip is longer than the last four by more than a quarter.
        let queue = [(200.0, 50.0), (60.0, 100.0), (60.0, 126.0), (60.0, 110.0)];
        let with = |trip| [&queue[..], &[(trip, 120.0)]].concat();
        assert_eq!(start(&with(90.0)), (Some(115.0), 0.5));
        assert_eq!(start(&with(80.0)), (None, 0.5));
    }

    #[test]
    fn a_round_trip_longer_by_just_a_quarter_shows_no_queue() {
        let mut growth = Growth {
            trips: [0.625, 0.375].into(),
            best: 100.0,
            ..Growth::default()
        };
        assert_eq!([100.0, 100.0].map(|rate| growth.full_rate(rate)), [None; 2]);
    }
}
