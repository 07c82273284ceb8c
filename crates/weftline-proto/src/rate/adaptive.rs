//! [`RateControl::Adaptive`](crate::RateControl::Adaptive): it follows the queue, not the losses.
//!
//! The window in flight follows the queueing delay that the peer reports for the forward path, as
//! in Vegas (Brakmo and Peterson 1995), FAST TCP (Wei et al. 2006) and Swift (Kumar et al. 2020).
//! While the queue is shorter than a target, the windows of all flows grow by about the same amount.
//! While it is longer, they shrink in proportion, which makes shares equal. Losses without congestion
//! do not slow a flow down.

mod demand;
mod drain;
mod follow;
mod found;
mod offer;
mod pace;
mod pushing;
mod sharing;
mod start;
#[cfg(test)]
mod tests;

use core::time::Duration;

use super::base::Base;
use super::competition::Competition;
use super::jitter::Jitter;
use super::losses::Losses;
use super::progress::Progress;
use super::push::Push;
use super::rates::Rates;
use super::round::{Point, Round};
use super::steps::Steps;
use super::swing::Swing;
use super::watch::Watch;
use crate::time::Time;
use demand::Demand;
use drain::SEEN_EMPTY;
use found::{Found, TARGET_MIN};

/// A window holds at least this many packets.
const MIN_PACKETS: f64 = 2.0;
/// The assumed bytes of a datagram before the first one is sent.
const USUAL_PACKET: f64 = 1250.0;

/// With late reports, the start sends this many times faster than the path has proved. What is too
/// much fills the queue for a round trip: no more than about this time of it.
const LATE_START_GAIN: f64 = 1.5;
const START_QUEUE: Duration = Duration::from_millis(50);
/// While the start waits for late reports, it asks for them this many times in a row without a new
/// rate.
const ASKS: u8 = 4;

/// A datagram counts for this many later, shorter ones, if it was longer than usual.
const USUAL_LONGEST: f64 = 1540.0;
const FORGET_LONG: f64 = 1.0 / 32.0;

/// A loss rate above this ends the start, on a path that moves the delay only if it stays.
const START_LOSS: f64 = 0.3;

/// A start that ended with a queue begins again if the path turns out to move the delay within this time, which
/// counts as this many rounds.
const DOUBTFUL: core::ops::RangeInclusive<u8> = 3..=8;
const DOUBTFUL_FOR: Duration = Duration::from_secs(1);

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
    /// A large window makes the queue longer for a time, to see whether others give way.
    Push,
    /// The packets sent while the queue was drained are reported.
    Rested,
    /// The packets that filled the window again are reported: the first of them met an empty queue, which says
    /// nothing about the window.
    Refilled,
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
    /// The window after the drain, or before the silence or the end of the start.
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
    demand: Option<Box<Demand>>,
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
    push: Option<Box<Push>>,
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
    /// Bytes that have left in all.
    sent: f64,
    /// Rounds in which the end of the start may still prove to be a mistake.
    doubtful: u8,
    /// Rounds in a row in which the path moved the delay, and in which it then showed a queue beyond the target.
    moved: u8,
    crowded: u8,
    /// The flow has moved to this path from one that fell silent, and its start here goes on. What it sends while
    /// a round trip takes longer than usual, in bytes.
    taken_over: Option<f64>,
    /// The part that this path has of what the session takes from this bottleneck.
    own_part: f32,
    /// Bytes that left in the largest round; with each round it counts for less.
    largest: f32,
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
            demand: None,
            base_before: Duration::ZERO,
            rate_before: 0.0,
            shortest: Duration::ZERO,
            ebbs: false,
            began: now,
            watch: Watch::default(),
            push: None,
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
            sent: 0.0,
            doubtful: 0,
            moved: 0,
            crowded: 0,
            taken_over: None,
            own_part: 1.0,
            largest: 0.0,
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

    /// The start goes on from `rate` bytes a second, and `lost` bytes that leave again besides. If that is too
    /// much, it ends within a round trip. Round trips take up to `later` longer than usual; not even the end of the
    /// start takes that from the flow.
    pub(super) fn take_over(&mut self, rate: f64, lost: f64, later: Duration) {
        self.phase = Phase::Start;
        self.push = None;
        let later = later.min(self.srtt);
        let more = rate * later.as_secs_f64();
        self.taken_over = Some(more);
        // What the path carried so far was not all that it can carry.
        self.rates.trains.end(None);
        self.train = Train::Arriving;
        // Few packets tell little about how the path moves their delay.
        self.jitter = Jitter::default();
        self.base = Base::default();
        let window = rate * self.span().as_secs_f64() + more + lost;
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
            self.forget_empty_queue(now);
            self.rates.forget();
            self.train = Train::Arriving;
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
        self.sent += bytes as f64;
        self.advance_check();
    }

    /// The path has marked `count` datagrams in all: it finds its queue too long.
    pub(super) fn on_marks(&mut self, count: u64) {
        if count > self.marks && !core::mem::replace(&mut self.round.marked, true) {
            self.calm = 0;
            // This was no jitter.
            self.doubtful = 0;
            if self.phase == Phase::Start {
                self.phase = Phase::Steady;
                self.taken_over = None;
            }
            self.set_window(MARKED * self.window);
        }
        self.marks = count;
    }

    /// The peer did not answer repeated probes.
    pub(super) fn on_timeouts(&mut self) {
        if !core::mem::replace(&mut self.is_silent, true) {
            self.after = match self.phase {
                Phase::Drain(_) | Phase::Push => self.after,
                _ => self.window(),
            };
        }
        self.phase = Phase::Start;
        self.proven = 0.0;
        self.start_gain = LATE_START_GAIN;
        self.window = MIN_PACKETS * self.packet;
        // What was measured before the silence says nothing about the path after it.
        self.round = Round::new(self.round.end, None);
        self.jitter = Jitter::default();
        if self.taken_over.take().is_some() {
            self.rates.trains.end(None);
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
            self.forget_empty_queue(now);
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
            self.on_report_in_start(now, arrived as f64);
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

    fn set_window(&mut self, bytes: f64) {
        self.window = bytes.max(MIN_PACKETS * self.packet);
    }

    fn end_round(&mut self, now: Time, round: &Round) {
        let (Some(base), Some(_)) = (self.base(), round.queue) else {
            return;
        };
        let found = self.measure(now, round, base);
        let Found {
            base,
            queue,
            target,
            ..
        } = found;
        if found.moves {
            self.steps.on_moving_round(queue, target);
        }
        self.look_for_empty_queue(now, round, &found);
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
        // Beside others their queue may look like it for a round.
        let moves_delay = found.moves && self.demanded() == 0.0;
        match self.phase {
            Phase::Start if self.late > Duration::ZERO && queue <= target / 2 => {
                self.losses.on_rested_round(round, self.packet);
            }
            Phase::Start if moves_delay && round.limited && !round.idle => {
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
            Phase::Push => self.go_on_pushing(now, &found),
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
            Phase::Steady if moves_delay && round.is_spread() => self.backlogged = 0,
            // The start took the path's own delay for a queue.
            Phase::Steady if moves_delay && self.jitter.own().is_none() && is_doubtful => {
                self.doubtful = 0;
                self.phase = Phase::Start;
                self.set_window(self.window.max(self.after));
            }
            Phase::Steady if moves_delay && self.jitter.own().is_none() => {
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
}

/// The part of a round's bytes that arrived. Heavier losses than [`START_LOSS`] count as that much.
fn arrived_part(round: &Round) -> f64 {
    1.0 - round.loss().min(START_LOSS)
}
