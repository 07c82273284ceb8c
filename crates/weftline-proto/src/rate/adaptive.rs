//! [`RateControl::Adaptive`](crate::RateControl::Adaptive): it follows the queue, not the losses.
//!
//! The window in flight follows the queueing delay that the peer reports for the forward path, as
//! in Vegas (Brakmo and Peterson 1995), FAST TCP (Wei et al. 2006) and Swift (Kumar et al. 2020).
//! While the queue is shorter than a target, the windows of all flows grow by about the same amount.
//! While it is longer, they shrink in proportion, which makes shares equal. Losses without congestion
//! do not slow a flow down.

use core::time::Duration;

use super::base::Base;
use super::competition::{Competition, Share};
use super::losses::Losses;
use super::progress::Progress;
use super::rates::Rates;
use super::round::{Point, Round};
use super::watch::{Sight, Watch};
use crate::time::Time;

/// The target of the queue is this part of the round trip, within these bounds. Below the lower bound
/// is the noise of timers; above the upper one other flows would suffer.
const TARGET_SHARE: u32 = 8;
const TARGET_MIN: Duration = Duration::from_millis(4);
const TARGET_MAX: Duration = Duration::from_millis(20);
/// The target is at least this many packets: on slow paths a packet takes longer than the bounds.
const TARGET_PACKETS: f64 = 2.5;

/// A new session may have in flight what a path of this many bytes a second holds, between these
/// numbers of packets. The longer the first answer takes, the more this gains.
const INITIAL_RATE: f64 = 5e6 / 8.0;
const INITIAL_PACKETS: core::ops::RangeInclusive<f64> = 10.0..=128.0;
/// This many packets leave at once, the others in this part of the round trip.
const INITIAL_BURST: u32 = 10;
const INITIAL_SHARE: f64 = 1.0 / 8.0;
const MIN_PACKETS: f64 = 2.0;
/// The assumed bytes of a datagram before the first one is sent.
const USUAL_PACKET: f64 = 1250.0;

/// The window leaves this many times faster than a round trip takes. In the start, arrivals then show
/// what the path can carry. Later, the window stays in use even if timers are late.
const START_GAIN: f64 = 2.0;
const STEADY_GAIN: f64 = 1.25;
/// A train that probes the path's rate leaves this many times faster than that rate.
const TRAIN_GAIN: f64 = 4.0;

/// The window may exceed what was delivered in a round trip by this factor. It bounds the overload
/// on a path without a queue, and the tolerated loss, to a third.
const HEADROOM: f64 = 1.5;
/// A loss rate above this ends the start, if it was measured over this many packets. On a path that
/// loses one in five, four of ten packets may be lost by chance.
const START_LOSS: f64 = 0.3;
const START_SAMPLE: f64 = 40.0;
/// The window may exceed a round's worth by this many packets, so that it can grow from nothing.
const SLACK_PACKETS: f64 = 10.0;

/// A window of `w` packets grows by `GROWTH * w^POWER` in a round. This is less than proportional, so
/// that shares become equal, and more than constant, so that fast paths are filled.
const GROWTH: f64 = 0.285;
const POWER: f64 = 0.7;
/// The part of the window that it loses in a round with the queue at its target. The loss is
/// proportional to the queue. At the target it balances the growth of a window of 130 packets.
const SHRINK: f64 = 0.065;
const MOST_SHRINK: f64 = 0.3;
/// Part of an unwanted queue that a round removes.
const MOST_GAIN: f64 = 0.5;
/// The growth doubles with each round without a queue, up to this many rounds: the start did not end
/// at the path's rate.
const CALM: u32 = 5;

/// A standing queue of all flows would soon look like the path's own delay (the peer forgets after
/// ten seconds). So the window falls to this part of what the path holds, for a round, when the flow
/// has not seen the empty queue for this many rounds, between these two times. All flows see the
/// queue empty at the same time, so that their next drains coincide.
const DRAIN_EVERY: core::ops::RangeInclusive<Duration> =
    Duration::from_secs(4)..=Duration::from_secs(9);
const DRAIN_EVERY_ROUNDS: u32 = 40;
const DRAIN_SHARE: f64 = 0.5;
/// The next drain comes this many times sooner if the last one did not show the empty queue, because
/// other flows filled it meanwhile.
const SOONER: u32 = 4;

/// The first rate beside competing traffic, as a part of the highest rate seen.
const FAIR_GUESS: f64 = 0.45;

/// A flow that the window held up for this many rounds fills any window.
const BACKLOGGED: u32 = 6;
/// A round with marks (ECN) leaves this part of the window (RFC 8511 allows it).
const MARKED: f64 = 0.8;

/// After a silence of this length the path may have changed.
const STALE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The window doubles until the path is found full.
    Start,
    Steady,
    /// A small window empties the queue, for a round.
    Drain,
    /// The packets sent while the queue was drained are reported.
    Rested,
}

/// The measurements at the end of a round.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The round trip without a queue.
    base: Duration,
    /// The shortest queue, and the target.
    queue: Duration,
    target: Duration,
    /// Bytes a second that arrive.
    rate: f64,
}

/// Packets that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Train {
    None,
    /// They leave in this round.
    Leaving,
    /// They are reported in this round, or the session is in its start.
    Arriving,
}

#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    phase: Phase,
    /// Bytes that may be in flight.
    window: f64,
    /// The window after the drain.
    after: f64,
    /// Bytes of the longest datagram.
    packet: f64,
    base: Base,
    srtt: Duration,
    /// The time between two reports. An acknowledgement waits half of it on average.
    interval: Duration,
    measured: bool,
    round: Round,
    /// Rounds in a row that saw hardly any queue.
    calm: u32,
    /// Rounds in a row that the window held up.
    backlogged: u32,
    /// When the queue was last seen empty, and when it was last drained.
    emptied: Time,
    drained: Option<Time>,
    /// The last drain showed the empty queue.
    shown: bool,
    /// The shortest round trip before the last drain.
    base_before: Duration,
    /// Looks for competing flows that fill the queue.
    watch: Watch,
    competition: Option<Competition>,
    /// The first train beside competing traffic is not reported yet.
    awaits_first_train: bool,
    rates: Rates,
    train: Train,
    losses: Losses,
    marks: u64,
    last_sent: Time,
}

impl Adaptive {
    /// `interval`: the time between two reports of the peer.
    pub(super) fn new(rtt: Duration, interval: Duration, now: Time) -> Self {
        let mut adaptive = Adaptive {
            phase: Phase::Start,
            window: 0.0,
            after: 0.0,
            packet: USUAL_PACKET,
            base: Base::default(),
            srtt: rtt,
            interval,
            measured: false,
            round: Round::new(0, None),
            calm: 0,
            backlogged: 0,
            emptied: now,
            drained: None,
            shown: false,
            base_before: Duration::ZERO,
            watch: Watch::default(),
            competition: None,
            awaits_first_train: false,
            rates: Rates::default(),
            train: Train::Arriving,
            losses: Losses::default(),
            marks: 0,
            last_sent: now,
        };
        adaptive.window = adaptive.initial();
        adaptive
    }

    fn initial(&self) -> f64 {
        let least = INITIAL_PACKETS.start() * self.packet;
        let most = INITIAL_PACKETS.end() * self.packet;
        (INITIAL_RATE * self.srtt.as_secs_f64()).clamp(least, most)
    }

    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Bytes a second that may leave.
    pub(super) fn pace(&self) -> f64 {
        if self.train == Train::Leaving {
            return TRAIN_GAIN * self.rates.path();
        }
        if let Some(gain) = self
            .competition
            .as_ref()
            .and_then(|c| c.pace(self.rates.share()))
        {
            return gain * self.rates.best() / (1.0 - self.losses.random().min(START_LOSS));
        }
        let gain = match self.phase {
            _ if !self.measured => 1.0 / INITIAL_SHARE,
            Phase::Start => START_GAIN,
            _ => STEADY_GAIN,
        };
        gain * self.window / self.srtt.as_secs_f64().max(1e-4)
    }

    /// Datagrams that may leave at once, regardless of the pace.
    pub(super) fn burst(&self) -> u32 {
        if self.measured { 0 } else { INITIAL_BURST }
    }

    /// The window or the pace held a datagram back.
    pub(super) fn on_limited(&mut self) {
        self.round.limited = true;
    }

    pub(super) fn on_sent(&mut self, now: Time, bytes: usize) {
        self.packet = self.packet.max(bytes as f64);
        if now.since(self.last_sent) > STALE {
            self.phase = Phase::Start;
            self.rates.forget();
            self.window = (self.window / 2.0).max(self.initial());
        }
        self.last_sent = now;
    }

    /// The path has marked `count` datagrams in all: it finds its queue too long.
    pub(super) fn on_marks(&mut self, count: u64) {
        if count > self.marks && !core::mem::replace(&mut self.round.marked, true) {
            self.calm = 0;
            if self.phase == Phase::Start {
                self.phase = Phase::Steady;
            }
            self.set_window(MARKED * self.window);
        }
        self.marks = count;
    }

    /// The peer did not answer repeated probes.
    pub(super) fn on_timeouts(&mut self) {
        self.phase = Phase::Start;
        self.window = MIN_PACKETS * self.packet;
    }

    pub(super) fn on_report(&mut self, now: Time, progress: &Progress) {
        self.base.add(now, progress.rtt);
        self.srtt = match self.measured {
            true => (self.srtt * 7 + progress.rtt) / 8,
            false => progress.rtt,
        };
        self.measured = true;
        let before = self.round.newest();
        let point = Point::new(progress);
        self.round.add(point);
        if self.train == Train::Arriving {
            self.rates.trains.add(point, self.packet);
        }
        if self.phase == Phase::Start {
            let arrived = before.map_or(0, |before| point.arrived - before.arrived);
            self.on_report_in_start(arrived as f64);
        }
        if progress.number >= self.round.end {
            let round = core::mem::replace(&mut self.round, Round::new(progress.next, Some(point)));
            self.end_round(now, &round);
        }
    }

    fn target(&self, base: Duration, rate: f64) -> Duration {
        let rate = self.rates.peak().max(rate);
        let packets = Duration::from_secs_f64(TARGET_PACKETS * self.packet / rate.max(1e3));
        let target = (base / TARGET_SHARE).clamp(TARGET_MIN, TARGET_MAX);
        target.max(packets.min(Duration::from_secs(1)))
    }

    /// A report in the start: `arrived` bytes are new.
    fn on_report_in_start(&mut self, arrived: f64) {
        let Some(base) = self.base.get() else { return };
        let kept = 1.0 - self.round.loss().min(START_LOSS);
        if self.round.limited {
            self.window += arrived / kept;
        }
        let Some(rate) = self.round.rate(self.packet) else {
            return;
        };
        let sustained = rate / kept;
        // Losses in runs need a larger sample.
        let sample = START_SAMPLE * (2.0 * self.round.burst() - 1.0);
        let overloaded =
            self.round.packets(self.packet) >= sample && self.round.loss() > START_LOSS;
        let target = self.target(base, rate);
        if self.round.recent_queue() > target || overloaded {
            self.phase = Phase::Steady;
            self.rates.add(rate);
            let holds = sustained * (base + self.interval + target / 2).as_secs_f64();
            self.set_window(holds);
        } else {
            // A train that passed without a queue shows what the path can carry at least.
            self.window = self
                .window
                .max(sustained * (self.srtt + self.interval).as_secs_f64());
        }
    }

    fn set_window(&mut self, bytes: f64) {
        self.window = bytes.max(MIN_PACKETS * self.packet);
    }

    fn end_round(&mut self, now: Time, round: &Round) {
        let (Some(base), Some(queue)) = (self.base.get(), round.queue) else {
            return;
        };
        if let Some(rate) = round.mean_rate() {
            self.rates.add(rate);
        }
        self.advance_train();
        let rate = self.rates.recent();
        let target = self.target(base, rate);
        let found = Found {
            base,
            queue,
            target,
            rate,
        };
        if queue <= target / 4 {
            self.emptied = now;
        }
        self.look_for_competition(now, &found);
        match self.phase {
            Phase::Start => {}
            Phase::Drain => {
                self.shown = queue <= target / 4;
                self.phase = Phase::Rested;
                self.set_window(self.after);
            }
            Phase::Rested => {
                // These packets were sent into an empty queue, unless other flows filled it.
                if round.mean_queue() <= target / 2 {
                    self.losses.on_rested_round(round, self.packet);
                }
                self.shown |= queue <= target / 4;
                if self.watch.end_suspicion() && !self.shown {
                    self.start_competing(now);
                }
                // The round trip is shorter than ever before: it may become shorter still.
                self.shown &= base + target / 8 >= self.base_before;
                self.phase = Phase::Steady;
                self.emptied = now;
                self.drained = Some(now);
            }
            Phase::Steady if round.limited => {
                self.backlogged += 1;
                match &self.competition {
                    Some(_) => self.compete(now, round, &found),
                    None => self.follow_queue(now, round, &found),
                }
            }
            Phase::Steady => self.backlogged = 0,
        }
    }

    /// The train that left in the last round is reported in the round that begins.
    fn advance_train(&mut self) {
        self.train = match self.train {
            Train::Leaving => Train::Arriving,
            Train::Arriving if self.phase != Phase::Start => {
                self.rates.trains.end();
                if core::mem::take(&mut self.awaits_first_train) {
                    self.set_window(self.window.max(self.fair_window()));
                }
                Train::None
            }
            train => train,
        };
    }

    /// Sets the window after a round beside flows that fill the queue.
    fn compete(&mut self, now: Time, round: &Round, found: &Found) {
        let share = Share {
            window: self.window,
            packet: self.packet,
            holds: self.rates.best() * (found.base + self.interval).as_secs_f64(),
            share: self.rates.share(),
            queue: found.queue,
            rtt: self.srtt,
        };
        let congested = self.losses.is_excessive(round, self.packet);
        let Some(competition) = &mut self.competition else {
            return;
        };
        let window = competition.window(now, congested, &share);
        if competition.is_refilling() {
            self.train = Train::Leaving;
        }
        self.set_window(window);
    }

    /// Sets the window after a round alone or among flows of this kind.
    fn follow_queue(&mut self, now: Time, round: &Round, found: &Found) {
        let Found {
            base,
            queue,
            target,
            rate,
        } = *found;
        let excess = self.losses.excess(round, self.packet);
        let usual =
            (self.srtt * DRAIN_EVERY_ROUNDS).clamp(*DRAIN_EVERY.start(), *DRAIN_EVERY.end());
        let pause = match self.shown {
            true => usual,
            false => usual / SOONER,
        };
        let rested = self.drained.is_some_and(|at| now.since(at) < pause);
        let wants = now.since(self.emptied) >= pause
            || self.watch.is_suspicious()
            || excess != Some(0.0) && !rested;
        // A flow that the window rarely holds up does not fill the queue, and a drain would delay it.
        if wants && self.backlogged >= BACKLOGGED {
            self.drain(rate, base);
            return;
        }
        if let Some(excess) = excess.filter(|excess| *excess > 0.0) {
            self.calm = 0;
            self.set_window(self.window * (1.0 - excess.min(MOST_SHRINK)));
            return;
        }
        self.calm = match queue > target / 4 {
            true => 0,
            false => (self.calm + 1).min(CALM),
        };
        let faster = f64::from(1u32 << self.calm.saturating_sub(1));
        let longer = queue.as_secs_f64() / target.as_secs_f64();
        // A change takes a round trip to show. A queue that is short compared with the path must not
        // be corrected in one round.
        let ease = target.as_secs_f64() / (base + target).as_secs_f64();
        let ease = (MOST_GAIN * ease / SHRINK).min(1.0);
        let step = ease * (self.growth() * faster - SHRINK * longer * self.window);
        let window = self.window + step.clamp(-MOST_SHRINK * self.window, self.window / 8.0);
        let most = HEADROOM * rate * (base + self.interval + queue).as_secs_f64()
            + SLACK_PACKETS * self.packet;
        self.set_window(window.min(most));
    }

    fn look_for_competition(&mut self, now: Time, found: &Found) {
        let window = match self.phase {
            Phase::Drain => self.after,
            _ => self.window,
        };
        let sight = Sight {
            now,
            rtt: self.srtt,
            queue: found.queue,
            target: found.target,
            window,
        };
        if self.competition.is_none() {
            self.watch.on_lone_round(&sight);
        } else if self.watch.on_competing_round(&sight) {
            self.competition = None;
        }
    }

    /// Takes back in one step what the flow has yielded to competing traffic so far.
    fn start_competing(&mut self, now: Time) {
        self.watch = Watch::default();
        self.set_window(self.window.max(self.fair_window()));
        self.competition = Some(Competition::new(self.window, now));
        self.train = Train::Leaving;
        self.awaits_first_train = true;
    }

    fn fair_window(&self) -> f64 {
        FAIR_GUESS * self.rates.path() * self.srtt.as_secs_f64()
    }

    /// Empties the queue, to measure the path's delay and its losses without a queue.
    fn drain(&mut self, rate: f64, base: Duration) {
        self.phase = Phase::Drain;
        self.base_before = base;
        self.after = self.window;
        let holds = rate / (1.0 - self.losses.random().min(START_LOSS))
            * (base + self.interval).as_secs_f64();
        self.set_window(self.window.min(DRAIN_SHARE * holds));
    }

    /// Growth of the window in a round, in bytes.
    fn growth(&self) -> f64 {
        let packets = self.window / self.packet;
        GROWTH * packets.powf(POWER) * self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_take_a_fifth_of_the_window_once_a_round_trip() {
        let mut adaptive = Adaptive::new(Duration::from_millis(60), Duration::ZERO, Time::ZERO);
        let before = adaptive.window();
        adaptive.on_marks(0);
        assert_eq!(adaptive.window(), before);
        for count in 1..5 {
            adaptive.on_marks(count);
        }
        assert_eq!(adaptive.window(), MARKED * before);
        // A report on a datagram sent since then begins the next round.
        adaptive.on_report(
            Time::from_micros(60_000),
            &Progress {
                number: 0,
                sent: Time::ZERO,
                rtt: Duration::from_millis(60),
                queue: Duration::ZERO,
                arrived: 1200,
                lost: 0,
                burst: 1.0,
                next: 1,
            },
        );
        adaptive.on_marks(4);
        let before = adaptive.window();
        adaptive.on_marks(5);
        assert_eq!(adaptive.window(), MARKED * before);
    }

    #[test]
    fn a_longer_path_starts_with_a_larger_window_and_silence_shrinks_it() {
        let window =
            |ms| Adaptive::new(Duration::from_millis(ms), Duration::ZERO, Time::ZERO).window();
        assert_eq!(window(1), 10.0 * USUAL_PACKET);
        assert_eq!(window(60), 37_500.0);
        assert_eq!(window(2000), 128.0 * USUAL_PACKET);
        let mut adaptive = Adaptive::new(Duration::from_millis(60), Duration::ZERO, Time::ZERO);
        adaptive.on_timeouts();
        assert_eq!(adaptive.window(), 2.0 * USUAL_PACKET);
    }
}
