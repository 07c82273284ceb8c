//! [`RateControl::Adaptive`](crate::RateControl::Adaptive): it follows the queue, not the losses.
//!
//! The window in flight follows the queueing delay that the peer reports for the forward path, as
//! in Vegas (Brakmo and Peterson 1995), FAST TCP (Wei et al. 2006) and Swift (Kumar et al. 2020).
//! While the queue is shorter than a target, the windows of all flows grow by about the same amount.
//! While it is longer, they shrink in proportion, which makes shares equal. Losses without congestion
//! do not slow a flow down.

mod demand;
mod drain;
mod sharing;
mod start;

use core::time::Duration;

use super::base::Base;
use super::competition::Competition;
use super::jitter::Jitter;
use super::losses::Losses;
use super::progress::Progress;
use super::rates::Rates;
use super::round::{Point, Round};
use super::steps::Steps;
use super::swing::Swing;
use super::watch::Watch;
use crate::time::Time;
use demand::Demand;

/// The target of the queue at this round trip. It grows as the round trip to the power `1 - POWER`: then flows
/// with different round trips have equal rates in one queue.
const TARGET: f64 = 6.5e-3;
const TARGET_TRIP: f64 = 60e-3;
/// A window of `w` packets has a target longer by this part divided by `w`: where many flows have a packet or two
/// each in the queue, a shorter queue cannot be told from an empty one.
const FEW_PACKETS: f64 = 0.6;
/// Where the path moves the delay, it is this part of the shortest round trip.
const MOVING_TARGET: u32 = 8;
/// The bounds of the target. Below the lower one is the noise of timers; above the upper one other flows would
/// suffer.
const TARGET_MIN: Duration = Duration::from_millis(4);
const TARGET_MAX: Duration = Duration::from_millis(20);
/// The target is at least this many packets: on slow paths a packet takes longer than the bounds. A
/// window of few packets grows beyond it, to about two packets and a half.
const TARGET_PACKETS: f64 = 1.0;

/// What of the first window does not leave at once leaves in this part of the round trip.
const INITIAL_SHARE: f64 = 1.0 / 8.0;
const MIN_PACKETS: f64 = 2.0;
/// The assumed bytes of a datagram before the first one is sent.
const USUAL_PACKET: f64 = 1250.0;

/// The window leaves this many times faster than a round trip takes. In the start, arrivals then show
/// what the path can carry. Later, the window stays in use even if timers are late.
const START_GAIN: f64 = 2.0;
const STEADY_GAIN: f64 = 1.25;
/// The same while the window fills again after a drain, for the round trip with the queue at the target: about this
/// many times faster than the path carries. What leaves faster waits in the queue until the next round.
const REFILL_GAIN: f64 = 1.1;
/// The same where the path moves the delay: bursts would be held for longer than even packets, and
/// reports come in bursts there.
const MOVING_GAIN: f64 = 1.05;
/// Where reports are late, the window may leave faster by this part of the target of the queue: then
/// the window, not the pace, decides how much leaves between two reports, and a queue that it does
/// not fill cannot build up.
const LATE_GAIN: f64 = 1.0;
/// With late reports, the start sends this many times faster than the path has proved. What is too
/// much fills the queue for a round trip: no more than about this time of it.
const LATE_START_GAIN: f64 = 1.5;
const START_QUEUE: Duration = Duration::from_millis(50);
/// With late reports, a short start follows this many rounds without a queue.
const LATE_CALM: u8 = 3;
/// While the start waits for late reports, it asks for them this many times in a row without a new
/// rate.
const ASKS: u8 = 4;

/// A datagram counts for this many later, shorter ones, if it was longer than usual.
const USUAL_LONGEST: f64 = 1540.0;
const FORGET_LONG: f64 = 1.0 / 32.0;

/// A train that probes the path's rate leaves this many times faster than that rate.
const TRAIN_GAIN: f64 = 4.0;

/// The window may exceed what was delivered in a round trip by this factor. It bounds the overload
/// on a path without a queue, and the tolerated loss, to a third.
const HEADROOM: f64 = 1.5;
/// The same where the path moves the delay: it takes some rounds until a queue is seen.
const MOVING_HEADROOM: f64 = 1.25;
/// A loss rate above this ends the start.
const START_LOSS: f64 = 0.3;
/// The window may exceed a round's worth by this many packets, so that it can grow from nothing.
const SLACK_PACKETS: f64 = 10.0;

/// Where a round loses much, the window may exceed it only by the path's own losses, up to this rate.
const MOST_LOSS: f64 = 0.9;

/// A queue whose shortest length is below this part of its mean was short for a moment only.
const STANDING: f64 = 0.75;

/// A window of `w` packets grows by `GROWTH * w^POWER` in a round. This is less than proportional, so
/// that shares become equal, and more than constant, so that fast paths are filled.
const GROWTH: f64 = 0.285;
const POWER: f64 = 0.7;
/// The part of the window that it loses in a round with the queue at its target. The loss is
/// proportional to the queue. At the target it balances the growth of a window of 130 packets.
const SHRINK: f64 = 0.065;
const MOST_SHRINK: f64 = 0.3;
/// A round adds no more than this part of the window, and no more than this one after as many rounds
/// without a queue as double the growth: a link is back from an outage.
const MOST_GROWTH: f64 = 1.0 / 8.0;
const CALM_GROWTH: f64 = 1.0 / 3.0;
/// Part of an unwanted queue that a round removes.
const MOST_GAIN: f64 = 0.5;
/// The growth doubles with each round without a queue, up to this many rounds: the start did not end
/// at the path's rate.
const CALM: u8 = 5;

/// A standing queue of all flows would soon look like the path's own delay (the peer forgets after
/// ten seconds). So the window falls for a round when the flow has not seen the empty queue for this
/// many rounds, between these two times. All flows see the queue empty at the same time, so that their
/// next drains coincide.
const DRAIN_EVERY: core::ops::RangeInclusive<Duration> =
    Duration::from_secs(4)..=Duration::from_secs(9);
const DRAIN_EVERY_ROUNDS: u32 = 40;
/// The next drain comes this many times sooner, or after this many round trips, if the last one did not show
/// the empty queue, because other flows filled it meanwhile.
const SOONER: u32 = 4;
const SOONER_ROUNDS: u32 = 8;

/// A flow that does not fill the window needs no drain to see the empty queue: it sees it for this time. A queue that
/// competing traffic fills is never that short for so long.
const SEEN_EMPTY: Duration = Duration::from_secs(1);

/// A start that ended with a queue begins again if the path turns out to move the delay within this many rounds and
/// this time: on a long path a new start takes longer than it gains.
const DOUBTFUL: u8 = 8;
const DOUBTFUL_FOR: Duration = Duration::from_secs(1);
/// It must do so for this many rounds in a row: the pause after the start may look like a hold once.
const MOVED: u8 = 2;
/// Where the path moves the delay, a queue beyond the target in this many rounds in a row may be the path's own
/// delay, of which the last drain saw too little.
const CROWDED: u8 = 8;

/// A flow that always had more to send for this many rounds fills any window.
const BACKLOGGED: u8 = 6;
/// A round with marks (ECN) leaves this part of the window (RFC 8511 allows it).
const MARKED: f64 = 0.8;

/// After a silence of this length the path may have changed.
const STALE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The window doubles until the path is found full.
    Start,
    Steady,
    /// A small window empties the queue, for a round, or for more if the path moves the delay: it has
    /// taken this many so far.
    Drain(u32),
    /// The packets sent while the queue was drained are reported.
    Rested,
    /// The packets that filled the window again are reported: the first of them met an empty queue, which says
    /// nothing about the window.
    Refilled,
}

/// The measurements at the end of a round.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The round trip without a queue.
    base: Duration,
    /// The shortest queue, or if the path moves the delay, the mean queue of this flow; and the target.
    queue: Duration,
    target: Duration,
    /// The target on a link whose capacity does not change.
    least: Duration,
    /// The delay beyond the path's smallest.
    delay: Duration,
    /// Bytes a second that arrive.
    rate: f64,
    /// The path moves the delay.
    moves: bool,
}

impl Found {
    /// The capacity of the path does not change within round trips.
    fn is_even(&self) -> bool {
        self.target - self.least <= self.least / 8
    }
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
    /// The window after the drain, or before the silence.
    after: f64,
    /// The peer has not answered repeated probes.
    is_silent: bool,
    /// Bytes of the longest datagram; one longer than usual is forgotten.
    packet: f64,
    base: Base,
    srtt: Duration,
    /// The time between two reports. An acknowledgement waits half of it on average.
    interval: Duration,
    /// The same if reports follow a clock, zero if they follow the datagrams: then the window leaves
    /// in a round trip.
    late: Duration,
    /// With late reports: the highest rate that arrivals have shown in the start, losses included;
    /// zero if there is none.
    proven: f64,
    /// How much faster the start sends.
    start_gain: f64,
    /// Requests for a report that are left, and the time of the last one.
    asks: u8,
    asked: Option<Time>,
    measured: bool,
    round: Round,
    /// Rounds in a row that saw hardly any queue.
    calm: u8,
    /// Rounds in a row in which there always was more to send.
    backlogged: u8,
    /// When the queue was last seen empty, and when it was last drained.
    emptied: Time,
    drained: Option<Time>,
    /// The last drain, or a second in which the flow met no queue, showed the empty queue, and the round trip has not
    /// been shorter since.
    shown: bool,
    /// The same before that drain.
    shown_before: bool,
    /// Since when a flow that does not fill the window has met no queue.
    calm_since: Time,
    demand: Demand,
    /// The shortest round trip and the rate before the last drain.
    base_before: Duration,
    rate_before: f64,
    /// The shortest round trip in the last round, without the step of the path's own delay.
    shortest: Duration,
    /// It became shorter in that round: a queue that was taken for the path's own delay falls.
    ebbs: bool,
    began: Time,
    /// Looks for competing flows that fill the queue.
    watch: Watch,
    competition: Option<Box<Competition>>,
    /// The first train beside competing traffic is not reported yet.
    awaits_first_train: bool,
    rates: Rates,
    train: Train,
    losses: Losses,
    /// Delay that is not a queue.
    jitter: Jitter,
    /// The mean time until a packet is reported, if the path moves the delay.
    mean_trip: Option<Duration>,
    steps: Steps,
    swing: Swing,
    marks: u64,
    last_sent: Time,
    /// Rounds in which the end of the start may still prove to be a mistake.
    doubtful: u8,
    /// Rounds in a row in which the path moved the delay, and in which it then showed a queue beyond the target.
    moved: u8,
    crowded: u8,
    /// The flow has moved to this path from one that fell silent, and its start here goes on.
    taken_over: bool,
    /// The part that this path has of what the session takes from this bottleneck.
    own_part: f32,
}

impl Adaptive {
    /// `interval`: the time between two reports of the peer; `late`: the same if they follow a clock.
    pub(super) fn new(rtt: Duration, interval: Duration, late: Duration, now: Time) -> Self {
        let mut adaptive = Adaptive {
            phase: Phase::Start,
            window: 0.0,
            after: 0.0,
            is_silent: false,
            packet: USUAL_PACKET,
            base: Base::default(),
            srtt: rtt,
            interval,
            late,
            proven: 0.0,
            start_gain: LATE_START_GAIN,
            asks: ASKS,
            asked: None,
            measured: false,
            round: Round::new(0, None),
            calm: 0,
            backlogged: 0,
            emptied: now,
            drained: None,
            shown: false,
            shown_before: false,
            calm_since: now,
            demand: Demand::default(),
            base_before: Duration::ZERO,
            rate_before: 0.0,
            shortest: Duration::ZERO,
            ebbs: false,
            began: now,
            watch: Watch::default(),
            competition: None,
            awaits_first_train: false,
            rates: Rates::default(),
            train: Train::Arriving,
            losses: Losses::default(),
            jitter: Jitter::default(),
            mean_trip: None,
            steps: Steps::default(),
            swing: Swing::default(),
            marks: 0,
            last_sent: now,
            doubtful: 0,
            moved: 0,
            crowded: 0,
            taken_over: false,
            own_part: 1.0,
        };
        adaptive.window = adaptive.initial();
        adaptive
    }

    pub(super) fn window(&self) -> f64 {
        let proven = self.start_gain * self.proven * self.span().as_secs_f64();
        match (self.phase, self.mean_trip) {
            (Phase::Start, _) => self.window.max(proven),
            // Reports that the return path holds must not stop the flow.
            (_, Some(trip)) => {
                let held = self.jitter.apart().as_secs_f64() / trip.as_secs_f64().max(1e-4);
                self.window * (1.0 + held)
            }
            _ => self.window,
        }
    }

    pub(super) fn set_part(&mut self, part: f64) {
        self.own_part = part as f32;
    }

    /// The first window is that of the true round trip.
    pub(super) fn on_first_measurement(&mut self, rtt: Duration) {
        self.srtt = rtt;
        self.window = self.window.max(self.initial());
    }

    /// The start goes on from `rate` bytes a second. If that is too much, it ends within a round trip.
    pub(super) fn take_over(&mut self, rate: f64) {
        self.phase = Phase::Start;
        self.taken_over = true;
        // What the path carried so far was not all that it can carry.
        self.rates.trains.end();
        self.train = Train::Arriving;
        // Few packets tell little about how the path moves their delay.
        self.jitter = Jitter::default();
        let window = rate * self.span().as_secs_f64();
        self.window = self.window.max(window);
    }

    /// The time in which a window leaves.
    fn span(&self) -> Duration {
        self.srtt + self.late
    }

    /// The part of the window that leaves in a round trip. The rest waits for late reports.
    fn part(&self, base: Duration) -> f64 {
        base.as_secs_f64() / (base + self.late).as_secs_f64().max(1e-6)
    }

    /// Bytes a second that may leave while `in_flight` bytes are.
    pub(super) fn pace(&self, in_flight: u64) -> f64 {
        if self.phase == Phase::Start && self.proven > 0.0 {
            // In one round trip the path proves a higher rate. Until reports show that it has, more
            // would only fill its queue.
            // A shorter time than this is less than timers can tell.
            let base = self.base().unwrap_or(self.srtt).max(TARGET_MIN);
            let more = base.mul_f64(self.start_gain - 1.0).min(START_QUEUE);
            let holds = self.proven * (base + more).as_secs_f64();
            let in_flight = in_flight as f64;
            let gain = match in_flight < holds {
                true => self.start_gain,
                false => 1.0,
            };
            // The least window may always leave in a round trip: after an outage the path may have
            // proven next to nothing.
            let least = MIN_PACKETS * self.packet;
            let floor = match in_flight <= least {
                true => least / self.srtt.as_secs_f64().max(1e-4),
                false => 0.0,
            };
            return floor.max(gain * self.proven);
        }
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
        if let Some(trip) = self.mean_trip
            && self.phase != Phase::Start
        {
            return MOVING_GAIN * self.window / trip.as_secs_f64().max(1e-4);
        }
        if self.phase == Phase::Rested && self.drains_empty() {
            let base = self.base().unwrap_or(self.srtt);
            let full = base + self.target(base, self.rates.recent());
            return REFILL_GAIN * self.window / full.as_secs_f64().max(1e-4);
        }
        let gain = match self.phase {
            _ if !self.measured && self.late.is_zero() => 1.0 / INITIAL_SHARE,
            _ if !self.measured => 1.0,
            Phase::Start => START_GAIN,
            _ if self.late > Duration::ZERO => self.late_gain(),
            _ => STEADY_GAIN,
        };
        let span = match self.phase {
            Phase::Start => self.srtt,
            _ => self.span(),
        };
        gain * self.window / span.as_secs_f64().max(1e-4)
    }

    fn late_gain(&self) -> f64 {
        let target = self.target(self.base().unwrap_or(self.srtt), self.rates.recent());
        let gain = 1.0 + LATE_GAIN * target.as_secs_f64() / self.span().as_secs_f64().max(1e-4);
        gain.min(STEADY_GAIN)
    }

    /// The window, or only the pace, held a datagram back.
    pub(super) fn on_limited(&mut self, by_window: bool) {
        self.round.limited = true;
        self.round.full |= by_window;
    }

    /// There was nothing to send.
    pub(super) fn on_idle(&mut self) {
        self.round.idle = true;
    }

    pub(super) fn on_sent(&mut self, now: Time, bytes: usize) {
        let beyond = (self.packet - USUAL_LONGEST).max(0.0);
        self.packet = (self.packet - FORGET_LONG * beyond).max(bytes as f64);
        if now.since(self.last_sent) > SEEN_EMPTY {
            self.calm_since = now;
        }
        if now.since(self.last_sent) > STALE {
            self.shown = false;
            self.demand = Demand::default();
            self.rates.forget();
            self.steps = Steps::default();
            self.window = (self.window / 2.0).max(self.initial());
            if self.late > Duration::ZERO {
                self.proven = match self.phase {
                    Phase::Start => self.proven,
                    _ => self.window / self.span().as_secs_f64(),
                } / 2.0;
                self.window = self.initial();
            }
            self.phase = Phase::Start;
        }
        self.last_sent = now;
    }

    /// The path has marked `count` datagrams in all: it finds its queue too long.
    pub(super) fn on_marks(&mut self, count: u64) {
        if count > self.marks && !core::mem::replace(&mut self.round.marked, true) {
            self.calm = 0;
            if self.phase == Phase::Start {
                self.phase = Phase::Steady;
                self.taken_over = false;
            }
            self.set_window(MARKED * self.window);
        }
        self.marks = count;
    }

    /// The peer did not answer repeated probes.
    pub(super) fn on_timeouts(&mut self) {
        if !core::mem::replace(&mut self.is_silent, true) {
            self.after = match self.phase {
                Phase::Drain(_) => self.after,
                _ => self.window(),
            };
        }
        self.phase = Phase::Start;
        self.demand = Demand::default();
        self.proven = 0.0;
        self.start_gain = LATE_START_GAIN;
        self.window = MIN_PACKETS * self.packet;
        // What was measured before the silence says nothing about the path after it.
        self.round = Round::new(self.round.end, None);
        self.jitter = Jitter::default();
        if core::mem::take(&mut self.taken_over) {
            self.rates.trains.end();
            self.train = Train::None;
        }
    }

    pub(super) fn on_report(&mut self, now: Time, progress: &Progress) {
        let Some((number, sent)) = progress.newest else {
            let queue = progress.queue.saturating_sub(self.steps.step());
            self.jitter.add(progress, queue, self.interval);
            return;
        };
        let queue = self.steps.queue(number, progress.queue, self.service());
        self.jitter.add(progress, queue, self.interval);
        self.base.add(now, progress.rtt);
        self.srtt = match self.measured {
            true => (self.srtt * 7 + progress.rtt) / 8,
            false => progress.rtt,
        };
        if !self.measured && self.late > Duration::ZERO {
            // Nothing but late reports would show that this is too much for a short path.
            self.window = self.window.min(self.initial());
        }
        if !core::mem::replace(&mut self.measured, true) {
            self.calm_since = now;
        }
        if core::mem::take(&mut self.is_silent) {
            self.calm_since = now;
            self.shown = false;
            // A link is back from an outage.
            let half = self.after / 2.0;
            match self.late.is_zero() {
                true => self.window = self.window.max(half),
                false => self.proven = half / self.span().as_secs_f64().max(1e-4),
            }
        }
        let before = self.round.newest();
        let point = Point::new(sent, progress, queue);
        self.round.add(point);
        if self.train == Train::Arriving {
            self.rates.trains.add(point, self.packet);
        }
        if self.phase == Phase::Start {
            let arrived = before.map_or(0, |before| point.arrived - before.arrived);
            self.on_report_in_start(arrived as f64);
        }
        if self.asked.is_none_or(|at| now.since(at) >= self.late) {
            self.asks = ASKS;
        }
        // Reports that the start asked for come often: a round must be long enough to show a rate. So
        // must one that loses more than the start may: on a slow path, a round trip shows none.
        let shows = match self.phase {
            Phase::Start if self.late > Duration::ZERO => self.round.rate(self.packet).is_some(),
            Phase::Start => !self.round.limited || self.round.loss() <= START_LOSS,
            _ => true,
        };
        if number >= self.round.end && shows {
            let round = core::mem::replace(&mut self.round, Round::new(progress.next, Some(point)));
            self.end_round(now, &round);
        }
    }

    fn target(&self, base: Duration, rate: f64) -> Duration {
        let trips = base.as_secs_f64() / TARGET_TRIP;
        let few = self.few(self.window_outside_drains());
        let target = Duration::from_secs_f64(TARGET * few * trips.powf(1.0 - POWER));
        self.at_least_a_packet(target.clamp(TARGET_MIN, TARGET_MAX), rate)
    }

    /// How much longer the target is with this window, as it has few packets.
    fn few(&self, window: f64) -> f64 {
        1.0 + FEW_PACKETS * self.packet / window.max(self.packet)
    }

    fn window_outside_drains(&self) -> f64 {
        match self.phase {
            Phase::Drain(_) => self.after,
            _ => self.window,
        }
    }

    fn at_least_a_packet(&self, target: Duration, rate: f64) -> Duration {
        let rate = self.rates.peak().max(rate);
        let packets = Duration::from_secs_f64(TARGET_PACKETS * self.packet / rate.max(1e3));
        target.max(packets.min(Duration::from_secs(1)))
    }

    fn set_window(&mut self, bytes: f64) {
        self.window = bytes.max(MIN_PACKETS * self.packet);
    }

    fn end_round(&mut self, now: Time, round: &Round) {
        let (Some(base), Some(_)) = (self.base(), round.queue) else {
            return;
        };
        let found = self.measure(round, base);
        let Found {
            base,
            queue,
            target,
            ..
        } = found;
        if found.moves {
            self.steps.on_moving_round(queue, target);
        } else if queue <= target / 4 && self.shown {
            self.emptied = now;
        }
        let shortest = base.saturating_sub(self.steps.step());
        self.ebbs = !found.moves && queue <= target / 8 && shortest + target / 8 < self.shortest;
        self.shortest = shortest;
        self.shown &= !self.ebbs;
        let met_none = !round.full && !found.moves && !self.ebbs && queue <= target / 8;
        if !met_none {
            self.calm_since = now;
        }
        if now.since(self.calm_since) >= SEEN_EMPTY {
            self.shown = true;
            self.notice_demand(round, &found);
        }
        self.watch_demand(now, round, &found);
        self.look_for_competition(now, round, &found);
        let before_jump = self.steps.on_round(self.window);
        self.moved = match found.moves {
            true => self.moved.saturating_add(1),
            false => 0,
        };
        // A shorter hold is noise of timers; a longer one than a round trip may be that of what this flow sent.
        let is_doubtful = self.doubtful > 0 && (TARGET_MIN..=base).contains(&self.jitter.hold());
        self.doubtful = self.doubtful.saturating_sub(1);
        match self.phase {
            Phase::Start if self.late > Duration::ZERO && queue <= target / 2 => {
                self.losses.on_rested_round(round, self.packet);
            }
            Phase::Start if found.moves && round.limited && !round.idle => {
                let rate = round.mean_rate().unwrap_or(0.0);
                if let Some(rate) = self.jitter.full_rate(rate) {
                    self.jitter.end_start();
                    self.rates.add(rate);
                    let longest = base + found.delay;
                    self.set_window(rate * longest.as_secs_f64());
                    self.drain(rate, longest);
                }
            }
            Phase::Start => {}
            Phase::Drain(rounds) if found.moves && !self.is_drained(rounds) => {
                // The packets of the first round left before the drain.
                if rounds > 0 {
                    self.jitter.on_rested_round();
                }
                self.phase = Phase::Drain(rounds + 1);
            }
            Phase::Drain(_) => {
                self.shown = queue <= target / 4;
                // Reports later than a round trip: these packets, not the next ones, met no queue.
                if self.late >= base && queue <= target / 2 {
                    self.losses.on_rested_round(round, self.packet);
                }
                self.phase = Phase::Rested;
                self.set_window(self.after);
            }
            Phase::Rested => self.end_drain(now, round, &found),
            Phase::Refilled => self.phase = Phase::Steady,
            Phase::Steady if !round.limited => self.backlogged = 0,
            Phase::Steady if found.moves && round.is_spread() => self.backlogged = 0,
            // The start took the path's own delay for a queue.
            Phase::Steady if found.moves && self.jitter.own().is_none() && is_doubtful => {
                if self.moved >= MOVED {
                    self.doubtful = 0;
                    self.phase = Phase::Start;
                }
            }
            Phase::Steady if found.moves && self.jitter.own().is_none() => {
                self.drain(found.rate, base + found.delay);
            }
            // There is no mean since the last drain.
            Phase::Steady if found.moves && self.jitter.rate().is_none() => {}
            Phase::Steady => {
                self.backlogged = match round.idle {
                    true => 0,
                    false => self.backlogged.saturating_add(1),
                };
                if self.competition.is_some() {
                    self.compete(now, round, &found);
                } else if let Some(window) = before_jump {
                    self.drain(found.rate, base);
                    self.after = window;
                } else {
                    self.follow_queue(now, round, &found);
                }
            }
        }
    }

    /// The measurements at the end of a round.
    fn measure(&mut self, round: &Round, base: Duration) -> Found {
        let at_full_rate = self.phase == Phase::Steady && round.limited && !round.is_spread();
        self.jitter
            .on_round(round, at_full_rate.then_some(self.window));
        if self.late > Duration::ZERO || self.competition.is_some() {
            self.steps.ignore();
        }
        let moves = self.moves(round.mean_queue());
        self.mean_trip = moves.then(|| self.jitter.round_trip());
        let rate = match moves {
            true => self.jitter.rate(),
            false => round.mean_rate(),
        };
        if let Some(rate) = rate {
            self.rates.add(rate);
        }
        self.advance_train();
        if moves {
            let base = base.max(self.jitter.trip());
            let rate = self.rates.newest();
            let target = (base / MOVING_TARGET).clamp(TARGET_MIN, TARGET_MAX);
            let target = self.at_least_a_packet(target, rate);
            // A hold in which the link runs empty costs more than a longer queue.
            let target = (target + (target + self.jitter.hold()) / 8).min(target.max(TARGET_MAX));
            return Found {
                base,
                queue: self.jitter.queue(self.window).unwrap_or_default(),
                delay: self.jitter.delay(),
                target,
                least: target,
                rate,
                moves,
            };
        }
        self.jitter.forget();
        let queue = round.queue.unwrap_or_default();
        let rate = self.rates.recent();
        let target = self.target(base, rate);
        if at_full_rate {
            self.swing.add(queue, target);
        }
        Found {
            base,
            queue,
            delay: queue,
            least: target,
            target: target + self.swing.more(target, self.service()).min(TARGET_MAX),
            rate,
            moves,
        }
    }

    /// The time that a packet takes to pass the path.
    fn service(&self) -> Duration {
        Duration::from_secs_f64(self.packet / self.rates.recent().max(1e3))
    }

    /// The round trip without a queue.
    fn base(&self) -> Option<Duration> {
        self.base.get().map(|base| base + self.steps.step())
    }

    /// For how long the path usually holds datagrams back, if that explains the delay of the last round.
    pub(super) fn hold(&self) -> Duration {
        match self.moves(self.jitter.delay()) {
            true => self.jitter.hold(),
            false => Duration::ZERO,
        }
    }

    /// Whether the path itself explains this delay.
    fn moves(&self, delay: Duration) -> bool {
        self.late.is_zero() && self.competition.is_none() && self.jitter.explains(delay)
    }

    /// Sets the window after a round alone or among flows of this kind.
    fn follow_queue(&mut self, now: Time, round: &Round, found: &Found) {
        let Found {
            base,
            queue,
            delay,
            target,
            rate,
            ..
        } = *found;
        let excess = self.losses.excess(round, self.packet, START_LOSS);
        let usual =
            (self.srtt * DRAIN_EVERY_ROUNDS).clamp(*DRAIN_EVERY.start(), *DRAIN_EVERY.end());
        let pause = match self.shown {
            true => usual,
            false => (usual / SOONER).min(self.srtt * SOONER_ROUNDS),
        };
        let rested = self.drained.is_some_and(|at| now.since(at) < pause);
        self.crowded = match found.moves && queue > target {
            true => self.crowded.saturating_add(1),
            false => 0,
        };
        let wants = now.since(self.emptied) >= pause
            || self.crowded >= CROWDED
            || self.ebbs
            || self.watch.is_suspicious()
            || excess != Ok(0.0) && !rested;
        // A flow that is idle now and then does not fill the queue, and a drain would delay it.
        if wants && self.backlogged >= BACKLOGGED {
            self.crowded = 0;
            self.drain(rate, base + self.jitter.own().unwrap_or_default());
            return;
        }
        // If a drain did not empty the queue, others fill it, and it loses packets.
        let excess = excess.unwrap_or_else(|losses| match rested && !self.shown {
            true => losses,
            false => 0.0,
        });
        if excess > 0.0 {
            self.demand = Demand::default();
            self.calm = 0;
            self.set_window(self.window * (1.0 - excess.min(MOST_SHRINK)));
            return;
        }
        let queue = match found.moves {
            true => queue,
            // The queue of a video lasts as long as a frame, not a round.
            false if round.is_spread() => queue.max(round.longest),
            // After a pause of this end the queue falls for a moment, round after round, until the gap closes.
            false if self.has_steady_rate(found) => queue.max(round.mean_queue().mul_f64(STANDING)),
            false => queue,
        };
        self.calm = match queue > target / 4 {
            true => 0,
            false => (self.calm + 1).min(CALM),
        };
        if self.late > base && self.calm >= LATE_CALM {
            self.restart();
            return;
        }
        let faster = f64::from(1u32 << self.calm.saturating_sub(1));
        // A change of the window shows in the queue as it does without late reports: by its bytes.
        let part = self.part(base);
        let window = part * self.window;
        let longer = queue.as_secs_f64() / target.as_secs_f64();
        // A change takes a round trip to show. A queue that is short compared with the path must not
        // be corrected in one round.
        let ease = target.as_secs_f64() / (base + target).as_secs_f64();
        let ease = (MOST_GAIN * ease / SHRINK).min(1.0);
        let step = ease * (self.growth(window) * faster - SHRINK * longer * window);
        // Flows that grow although they lose so much would fill the queue together.
        let heavy = round.loss() > START_LOSS && self.losses.is_excessive(round, self.packet);
        let step = if heavy { step.min(0.0) } else { step };
        let most = match self.calm < CALM {
            true => MOST_GROWTH,
            false => CALM_GROWTH,
        };
        let step = step.clamp(-MOST_SHRINK * window, most * window);
        let most = match self.late > Duration::ZERO {
            false => {
                // Reports may wait on the return path.
                let (headroom, trip) = match self.jitter.own() {
                    Some(own) if found.moves => {
                        let kept = 1.0 - round.loss().min(START_LOSS);
                        (MOVING_HEADROOM / kept, base + own + target)
                    }
                    _ => (HEADROOM, self.srtt.max(base + delay)),
                };
                headroom * rate * (trip + self.interval).as_secs_f64()
            }
            true => {
                let sent = rate / (1.0 - round.loss().min(START_LOSS));
                sent * ((base + queue).mul_f64(HEADROOM) + self.late).as_secs_f64()
            }
        };
        // A window that loses much, though it has made a queue or the path's own losses are known to be
        // fewer, has grown enough.
        let random = self.losses.random().min(MOST_LOSS);
        let at_limit = queue > target / 2 || self.losses.are_known();
        let most = match at_limit && round.loss() > START_LOSS.max(random) {
            true => most / (1.0 - random),
            false => most + SLACK_PACKETS * self.packet,
        };
        // The pace spreads each frame of a video. What arrives of such a flow does not show what the path can
        // carry.
        let most = match round.is_spread() && round.loss() <= START_LOSS.max(random) {
            true => most.max(self.window),
            false => most,
        };
        let kept = self.kept(base, queue);
        self.set_window((self.window + step).min(most).max(kept));
    }

    /// The capacity of the path does not change within round trips, and a packet takes a small part of the target.
    fn has_steady_rate(&self, found: &Found) -> bool {
        found.is_even() && self.service() * 8 <= found.least
    }

    /// Growth of a window in a round, in bytes.
    fn growth(&self, window: f64) -> f64 {
        let packets = window / self.packet;
        // Where paths of a session share a queue, their windows add up to that of one flow.
        GROWTH * f64::from(self.own_part).powf(1.0 - POWER) * packets.powf(POWER) * self.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_take_a_fifth_of_the_window_once_a_round_trip() {
        let mut adaptive = Adaptive::new(
            Duration::from_millis(60),
            Duration::ZERO,
            Duration::ZERO,
            Time::ZERO,
        );
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
                newest: Some((0, Time::ZERO)),
                count: 1,
                waited: Duration::ZERO,
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

    /// The peer answers at `at`, after a silence.
    fn answered(mut adaptive: Adaptive, at: u64) -> Adaptive {
        (0..5).for_each(|_| adaptive.on_timeouts());
        let progress = Progress {
            newest: Some((7, Time::from_micros(at - 60_000))),
            count: 1,
            waited: Duration::ZERO,
            rtt: Duration::from_millis(60),
            queue: Duration::ZERO,
            arrived: 1200,
            lost: 0,
            burst: 1.0,
            next: 8,
        };
        adaptive.on_report(Time::from_micros(at), &progress);
        adaptive
    }

    #[test]
    fn after_a_silence_half_of_the_window_is_back_at_the_pace_of_the_path() {
        let rtt = Duration::from_millis(60);
        for late in [Duration::ZERO, Duration::from_secs(1)] {
            let mut adaptive = Adaptive::new(rtt, late, late, Time::ZERO);
            adaptive.phase = Phase::Steady;
            adaptive.measured = true;
            adaptive.window = 400_000.0;
            let span = adaptive.span().as_secs_f64();
            let after = answered(adaptive.clone(), 5_000_000);
            assert!(
                after.pace(0) <= START_GAIN * 200_000.0 / span + 1.0,
                "{late:?}"
            );
            assert!(after.window() >= 200_000.0 - 1.0, "{late:?}");
            // In a drain the window is smaller than what the path has shown.
            adaptive.drain(1e6, rtt);
            let after = answered(adaptive, 5_000_000);
            assert!(after.window() >= 200_000.0 - 1.0, "{late:?}");
        }
    }

    #[test]
    fn a_longer_path_starts_with_a_larger_window_and_silence_shrinks_it() {
        let window = |ms| {
            Adaptive::new(
                Duration::from_millis(ms),
                Duration::ZERO,
                Duration::ZERO,
                Time::ZERO,
            )
            .window()
        };
        assert_eq!(window(1), 10.0 * USUAL_PACKET);
        assert_eq!(window(60), 37_500.0);
        assert_eq!(window(2000), 128.0 * USUAL_PACKET);
        let mut adaptive = Adaptive::new(
            Duration::from_millis(60),
            Duration::ZERO,
            Duration::ZERO,
            Time::ZERO,
        );
        adaptive.on_timeouts();
        assert_eq!(adaptive.window(), 2.0 * USUAL_PACKET);
    }
}
