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

/// A longer mean round trip is a mistake, in seconds.
const LONGEST_TRIP: f64 = 10.0;

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
    /// The last rounds at full rate, the newest last.
    full: VecDeque<Full>,
    /// Delays of packets that met no queue of this flow, and their mean in the last drains.
    rested: Mean,
    own: Option<f64>,
    growth: Growth,
}

/// A round at full rate.
#[derive(Clone, Copy, Debug)]
struct Full {
    end: Point,
    delays: Mean,
    window: f64,
}

/// A sum, and of how many.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, other: Mean) {
        self.sum += other.sum;
        self.count += other.count;
    }

    fn get(self) -> f64 {
        self.sum / self.count.max(1.0)
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
        self.round.add(Mean {
            sum: mean * count,
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
        self.growth.end_round(self.last.get());
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
        Duration::from_secs_f64(self.last.get())
    }

    /// Bytes a second that arrived in the last rounds at full rate, if there were enough.
    pub(super) fn rate(&self) -> Option<f64> {
        let (first, last) = (self.full.front()?.end, self.full.back()?.end);
        let took = last.at.since(first.at).as_secs_f64();
        let is_long = self.full.len() >= ROUNDS && took > 0.0;
        is_long.then(|| (last.arrived - first.arrived) as f64 / took)
    }

    /// Mean delay of the last rounds at full rate, and the mean window, if there was one.
    fn means(&self) -> Option<(f64, f64)> {
        let mut delays = Mean::default();
        self.full.iter().for_each(|full| delays.add(full.delays));
        let windows = self.full.iter().map(|full| full.window).sum::<f64>();
        (!self.full.is_empty()).then(|| (delays.get(), windows / self.full.len() as f64))
    }

    /// The queue that this flow has built up with this window, if it is known.
    pub(super) fn queue(&self, window: f64) -> Option<Duration> {
        let (delay, before) = self.means()?;
        // A smaller window has shortened the queue since.
        let since = (window - before).min(0.0) / self.rate()?;
        Some(Duration::from_secs_f64(
            (delay - self.own? + since).max(0.0),
        ))
    }

    /// The mean round trip without the forward path's delay beyond its smallest: what is in flight
    /// arrives within a round trip (Little's law). The return path may move its delay too.
    pub(super) fn trip(&self) -> Option<Duration> {
        let (delay, window) = self.means()?;
        let rate = self.rate().filter(|rate| *rate > 0.0)?;
        Some(Duration::from_secs_f64(
            (window / rate - delay).clamp(0.0, LONGEST_TRIP),
        ))
    }

    /// The mean delay of the path itself, if it is known.
    pub(super) fn own(&self) -> Option<Duration> {
        self.own.map(Duration::from_secs_f64)
    }

    /// Packets of the last round met no queue of this flow.
    pub(super) fn on_rested_round(&mut self) {
        self.rested.add(self.last);
    }

    /// A drain has ended. `anew`: what earlier drains showed does not hold any more. Returns by how
    /// much the path's own delay is longer than was known.
    pub(super) fn end_rest(&mut self, anew: bool) -> Duration {
        let rested = core::mem::take(&mut self.rested);
        self.full.clear();
        if rested.count == 0.0 {
            return Duration::ZERO;
        }
        let before = self.own.unwrap_or(0.0);
        let own = match self.own {
            Some(own) if !anew => (own + rested.get()) / 2.0,
            _ => rested.get(),
        };
        self.own = Some(own);
        Duration::from_secs_f64((own - before).max(0.0))
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

    /// At the end of a round of the start, in which `rate` bytes a second arrived: whether a larger
    /// window brings no higher rate any more.
    pub(super) fn is_full(&mut self, rate: f64) -> bool {
        self.growth.is_full(rate)
    }
}

/// Delays and rates of the start.
#[derive(Clone, Debug, Default)]
struct Growth {
    /// Mean delay of the last packets, and of the round with the shortest.
    recent: f64,
    shortest: Option<f64>,
    /// The highest rate of a round, and rounds in a row that were hardly faster.
    best: f64,
    stalls: u32,
}

impl Growth {
    /// Packets of a mean.
    const PACKETS: f64 = 16.0;
    /// A mean this much longer than the shortest shows a queue, in seconds.
    const QUEUE: f64 = 15e-3;
    /// A round is faster by this factor. After this many that are not, the path is full; with a queue
    /// after one.
    const FASTER: f64 = 1.25;
    const STALLS: u32 = 3;

    fn add(&mut self, mean: f64, count: f64) {
        self.recent += (mean - self.recent) * (count / Self::PACKETS).min(1.0);
    }

    fn end_round(&mut self, mean: f64) {
        self.shortest = Some(self.shortest.map_or(mean, |shortest| shortest.min(mean)));
    }

    fn grown(&self) -> f64 {
        (self.recent - self.shortest.unwrap_or(self.recent)).max(0.0)
    }

    fn is_full(&mut self, rate: f64) -> bool {
        self.stalls = match rate > Self::FASTER * self.best {
            true => 0,
            false => self.stalls + 1,
        };
        self.best = self.best.max(rate);
        let enough = match self.grown() > Self::QUEUE {
            true => 1,
            false => Self::STALLS,
        };
        self.stalls >= enough
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
                count: core::mem::take(&mut count),
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
        let trip = jitter.trip().expect("known");
        assert!(trip.abs_diff(millis(90.0 - 21.5)) < millis(1.0), "{trip:?}");
    }
}
