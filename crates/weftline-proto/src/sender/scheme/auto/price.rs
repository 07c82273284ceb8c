//! The price rule of scheme `auto`: redundancy by the belief about the receiver.
//!
//! A repair symbol is sent when its expected worth exceeds a price. One rule gives the spacing of
//! repairs without news, top-ups when a report shows a deficit, and the repairs after the last
//! symbol; only the price differs. The price follows from the share of repairs that the target delay
//! needs.

mod paths;
mod question;
mod queue;
mod riding;

use std::collections::VecDeque;

use core::time::Duration;
use weftline_codec::Esi;

use super::belief::{Belief, Effect};
use super::channel::{Channel, Losses};
use super::options::Auto;
use crate::path::PathId;
use crate::sender::flight::Transmission;
use crate::sender::riding::Room;
use crate::sender::situation::{Situation, is_short};
use crate::time::Time;
use paths::Seen;

/// The shortest target: losses are repaired within this part of a round trip, between these bounds.
/// Few applications gain from less than the lower bound, or tolerate more than the upper.
const SHORTEST: u32 = 6;
const SHORT: core::ops::RangeInclusive<Duration> =
    Duration::from_millis(5)..=Duration::from_millis(40);
/// A target that leaves time for a report and its answer allows this many times the horizon.
const WITH_REPORTS: f64 = 4.0;
/// Such a target is at least this many round trips.
const ENOUGH: f64 = 0.75;
/// A flow that is backlogged for this many round trips is a long transfer: reports come in time for
/// it.
const LONG: u32 = 2;
/// A long transfer that is coded nevertheless has this many times as long for its repairs: its rate needs them to be
/// few, and what goes beside it still need not wait for reports.
const RELAXED: u32 = 2;
/// A flow of fewer source symbols a second may spend more than the usual limit.
const FEW: f64 = 50.0;
/// Losses are rare if they are fewer than this share.
const RARE: f64 = 0.01;
/// Repairs after the last symbol cost this part of the price: they delay nothing, and without them a
/// loss would wait for the timer.
const TAIL: f64 = 0.02;
/// Symbols come in bursts if each round trip has a gap of more than this many mean gaps.
const BURST: u32 = 3;
/// The pause after a burst begins in this part of the usual gap.
const EARLY: u32 = 32;
/// A question what has arrived and its answer are short: together they cost this part of the bytes of a repair.
const QUESTION: f64 = 0.12;
/// Prices stay within these bounds.
const PRICES: core::ops::RangeInclusive<f64> = 0.02..=5.0;
/// Round trips over which the share of repairs is measured.
const ROUNDS: usize = 8;
/// The price keeps the share of repairs at the limit, but needs some round trips to settle. Repairs
/// beyond this multiple of the limit are held back.
const LEEWAY: f64 = 1.2;
/// Lost symbols are sent again if a deficit would last for more round trips than this, plus one for
/// each loss in a round trip. The more is lost in a round trip, the less one retransmission helps.
const PATIENCE: f64 = 2.0;
/// An answer to a deficit also covers losses to come from this number of expected ones on.
const HALF: f64 = 0.5;
/// Losses come in runs if the mean run is longer than this.
const LONG_RUN: f64 = 2.0;
/// The slack of a deadline that cannot be met.
const LEAST_SLACK: Duration = Duration::from_millis(1);
/// Round trips until the answer to a report has arrived, with the time to notice the loss.
const REPORT_AND_ANSWER: f64 = 1.1;
/// Repairs by which the limit may be exceeded at any time: the first symbols of a session need some.
const SLACK: f64 = 4.0;

/// A path is near if its shortest round trip is shorter than this, and a flow is busy with this many symbols in a
/// round trip.
const NEAR: Duration = Duration::from_millis(1);
/// The same with the queue that a flow makes.
const NEAR_WITH_QUEUE: Duration = Duration::from_millis(10);
/// An end that waits for its processor makes round trips longer for a moment.
const MOMENT: Duration = Duration::from_millis(100);
const BUSY: f64 = 64.0;

/// The default limit: enough for the target delay on most paths.
///
/// In a flow of few symbols a second even one repair for each costs very little. Where hardly
/// anything is lost, all limits fall with the losses: a path without losses needs no repairs.
fn default_limit(rate: f64, per_second: f64) -> f64 {
    let limit = (2.4 * rate).max(FEW / per_second.max(1.0)).clamp(0.28, 1.0);
    limit * (rate / RARE).min(1.0)
}

/// Sources and repairs sent in a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    sources: u32,
    /// One that rides counts as the share that it costs of one in a datagram of its own.
    repairs: f64,
    /// The longest time between two sources, in microseconds.
    gap: u32,
}

/// What the newest report said.
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    /// Symbols that the receiver knew of and lacked.
    missing: u64,
    /// Equations that it had for them.
    rank: u64,
    /// One past the highest symbol that it had heard of.
    heard: Esi,
}

/// The state of the rule.
#[derive(Clone, Debug)]
pub(super) struct Price {
    options: Auto,
    /// Each path's losses, as far as fates are known.
    seen: Vec<Seen>,
    /// The losses of all datagrams in flight.
    losses: Losses,
    belief: Belief,
    /// The place of the path of the last datagram in the belief.
    last: usize,
    /// Memory to put the transmissions of several paths in order.
    merged: Vec<(Time, PathId, Transmission)>,
    report: Report,
    updated_at: Option<Time>,
    /// The belief does not include the newest report yet.
    stale: bool,
    /// Equations that the receiver certainly lacked, and repairs sent since.
    deficit: u64,
    under_way: u64,
    /// Corrects the price for effects that the formula leaves out.
    correction: f64,
    rounds: VecDeque<Round>,
    /// The round trip, the source symbols in it and whether time is relaxed, for which the share was computed, and
    /// the share: it is needed several times for each datagram.
    known_share: Option<(Duration, f64, bool, f64)>,
    round: Round,
    round_end: Time,
    /// The room for repairs in the datagram of the newest source symbol.
    room: Option<Room>,
    /// Repairs that the limit still allows.
    allowance: f64,
    /// Since when more data has waited than could be sent at once.
    waiting_since: Option<Time>,
    last_source: Time,
    last_sent: Time,
    /// When the price was asked for last, or a timer was due.
    looked_at: Time,
    /// Data waits that the path does not take: there is no pause to wait for.
    held_back: bool,
    /// More waits than the path takes, and has for some round trips.
    is_long: bool,
    /// A busy flow on a short path codes nothing but a few repairs after its last symbol.
    is_near: bool,
    /// When the round trip was last that of a short path.
    near_at: Option<Time>,
}

impl Price {
    pub(super) fn new(options: Auto, now: Time) -> Self {
        Price {
            options,
            seen: Vec::new(),
            losses: Channel::default().losses(),
            belief: Belief::certain(0),
            last: 0,
            merged: Vec::new(),
            report: Report::default(),
            updated_at: None,
            stale: false,
            deficit: 0,
            under_way: 0,
            correction: 1.0,
            rounds: VecDeque::new(),
            known_share: None,
            round: Round::default(),
            round_end: now,
            room: None,
            allowance: SLACK,
            waiting_since: None,
            last_source: now,
            last_sent: now,
            looked_at: now,
            held_back: false,
            is_long: false,
            is_near: false,
            near_at: None,
        }
    }

    /// A report arrived. The receiver lacks `missing` symbols that are still useful, has `rank`
    /// equations for them, and had heard of all symbols below `heard`.
    pub(super) fn on_report(&mut self, missing: u64, rank: u64, heard: Esi) {
        self.report = Report {
            missing,
            rank,
            heard,
        };
        self.stale = true;
    }

    /// The fates of more transmissions may be known, even without a report.
    pub(super) fn on_news(&mut self) {
        self.stale = true;
    }

    /// Whether what leaves now is held back for long, at this end or in the path's queue: the path
    /// takes no more, and a repair would delay all that follows.
    pub(super) fn is_held_back(&mut self, at: &Situation<'_>) -> bool {
        let (now, source) = (at.now(), at.can_send_new());
        self.waiting_since = match source {
            true => self.waiting_since.or(Some(now)),
            false => None,
        };
        let waited = self.waiting_since.map_or(Duration::ZERO, |t| now.since(t));
        let long = waited > at.srtt() * LONG;
        let queue = &mut self.seen(at.path()).queue;
        let full = queue.is_full(now, at.queue(), at.overdue(), at.shortest_rtt(), at.hold());
        let held_back = self.options.ingredients.backlog && (long || full);
        self.held_back = held_back && source;
        self.is_long = long;
        held_back
    }

    /// Whether the flow is busy on a path so short that a symbol sent again is there as soon as timers allow a repair
    /// to be. Coding would cost both ends more processor time than the symbols themselves.
    pub(super) fn notice_near(&mut self, at: &Situation<'_>) -> bool {
        let wants_time = self.options.delay.is_some() || self.options.deadline.is_some();
        // The shortest round trip may be that of a path from which the session has moved to a longer one.
        if at.srtt() < NEAR_WITH_QUEUE {
            self.near_at = Some(at.now());
        }
        self.is_near = at.shortest_rtt() < NEAR
            && self.near_at.is_some_and(|near| at.now() < near + MOMENT)
            && self.per_round() >= BUSY
            && !wants_time
            && self.options.ingredients.retransmit
            && self.options.overhead.is_none()
            && !at.has_several_paths();
        self.is_near
    }

    /// Whether a long transfer is coded nevertheless.
    fn is_relaxed(&self) -> bool {
        self.is_long && !self.options.ingredients.backlog
    }

    /// Whether short symbols are copied: a long transfer is under way, and some of it is lost.
    pub(super) fn wants_copies(&self) -> bool {
        self.is_long && self.losses.rate >= RARE && self.options.ingredients.copies
    }

    /// Whether symbols that repairs no longer cover are sent again.
    pub(super) fn should_retransmit(&self) -> bool {
        self.options.ingredients.retransmit
    }

    /// Whether to send a repair symbol, not a source symbol or nothing.
    pub(super) fn is_repair_worthwhile(&mut self, at: &Situation<'_>, source: bool) -> bool {
        let (now, srtt) = (at.now(), at.srtt());
        self.update_belief(at);
        let share = self.share(srtt);
        self.known_share = Some((srtt, self.per_round(), self.is_relaxed(), share));
        let losses = self.losses_on(at.path());
        let worth = self.belief.worth(&losses, 0);
        // Symbols that the receiver is known to lack are repaired at any price and beyond any limit.
        let lacking = is_short(self.deficit as f64, self.under_way, self.losses.rate);
        let worthwhile = worth > self.current_price(now, srtt, source) && self.allowance >= 1.0;
        let wants = worthwhile || self.deficit > 0 && lacking;
        self.looked_at = now;
        wants
    }

    /// A timer was due. While something else is to be sent and the pace holds it back, nobody asks
    /// for a repair, and the timer must not stay due.
    pub(super) fn notice_pause(&mut self, now: Time) {
        self.looked_at = now;
    }

    fn current_price(&self, now: Time, srtt: Duration, source: bool) -> f64 {
        match !source && self.is_paused(now, srtt) && self.options.ingredients.tail {
            true => self.tail_repair_price(srtt),
            false => self.price(srtt) * self.patience(srtt),
        }
    }

    /// The newest source symbol counts as the last.
    pub(super) fn is_paused(&self, now: Time, srtt: Duration) -> bool {
        now >= self.last_source + self.pause(srtt)
    }

    /// After a pause of this length, the newest source symbol counts as the last.
    fn pause(&self, srtt: Duration) -> Duration {
        // Of a busy flow, an application that is at work elsewhere for a moment makes no end.
        if self.is_near {
            return srtt;
        }
        let period = srtt.div_f64(self.per_round().max(1.0));
        let pause = (2 * period).max(srtt / 8);
        match self.usual_gap(srtt) {
            Some(gap) => pause.min(gap / EARLY),
            None => pause,
        }
    }

    /// If symbols come in bursts, as the frames of a video, the pause after a burst is usual, and this long.
    fn usual_gap(&self, srtt: Duration) -> Option<Duration> {
        let period = srtt.div_f64(self.per_round().max(1.0));
        let usual = self.rounds.iter().map(|round| round.gap).min();
        let usual = usual.map(|gap| Duration::from_micros(gap.into()));
        usual.filter(|gap| *gap > BURST * period)
    }

    /// The price of a repair after the last symbol while the limit leaves plenty. Questions count from it.
    fn tail_price(&self, srtt: Duration) -> f64 {
        self.price(srtt).min(1.0) * TAIL
    }

    /// The price of a repair after the last symbol. It rises as the limit runs out: what is left of it goes to
    /// the bursts that need it most.
    fn tail_repair_price(&self, srtt: Duration) -> f64 {
        let plenty = self.limit(srtt) * self.per_round();
        let scarcity = plenty / self.allowance.max(1.0);
        self.tail_price(srtt) * scarcity.max(1.0)
    }

    /// When the price falls without an event.
    pub(super) fn next_timeout(&self, srtt: Duration) -> Option<Time> {
        if !self.options.ingredients.tail || self.held_back {
            return None;
        }
        let pause = self.last_source + self.pause(srtt);
        // The belief of a busy flow is computed once there is a pause.
        let waits = pause > self.looked_at
            && (self.is_near || self.belief.worth(&self.losses, 0) > self.tail_repair_price(srtt));
        let question = self.question_time(srtt).filter(|at| *at > self.looked_at);
        let pause = waits.then_some(pause);
        pause.into_iter().chain(question).min()
    }

    /// Source symbols in a round trip.
    fn per_round(&self) -> f64 {
        if self.rounds.is_empty() {
            return f64::from(self.round.sources);
        }
        let sum: u32 = self.rounds.iter().map(|r| r.sources).sum();
        f64::from(sum) / self.rounds.len() as f64
    }

    /// The share of repairs that the target delay needs, within the limit: enough to repair the
    /// losses of one horizon within it, with a margin of about one standard deviation.
    fn share(&self, srtt: Duration) -> f64 {
        let per_round = self.per_round();
        // With a deadline it also depends on what rides with the newest source symbol.
        if self.options.deadline.is_none()
            && let Some((round_trip, symbols, relaxed, share)) = self.known_share
            && (round_trip, symbols, relaxed) == (srtt, per_round, self.is_relaxed())
        {
            return share;
        }
        let Losses { rate, spread, .. } = self.losses;
        let (slack, delay) = (self.slack(srtt), self.aim(srtt));
        let rounds = delay.as_secs_f64() / srtt.as_secs_f64().max(1e-6);
        // Data may sometimes miss a target, but must not miss a deadline.
        let (ease, deviations) = match slack {
            // Where repairs ride, the same bytes buy a larger margin.
            Some(_) if self.patience(srtt) > 1.0 => (1.0, 5.0),
            Some(_) => (1.0, 2.0),
            None if rounds >= ENOUGH => (WITH_REPORTS, self.usual_deviations()),
            None => (1.0, self.usual_deviations()),
        };
        let horizon = (ease * rounds * per_round).max(1.0);
        let variance = spread * rate * (1.0 - rate);
        let mut share = rate;
        for _ in 0..3 {
            let margin = deviations * (variance * (1.0 + share) / horizon).sqrt();
            share = (rate + 1.0 / horizon + margin) / (1.0 - rate);
        }
        share.min(self.limit(srtt))
    }

    /// The time in which losses are to be repaired.
    fn aim(&self, srtt: Duration) -> Duration {
        let shortest = (srtt / SHORTEST).clamp(*SHORT.start(), *SHORT.end());
        let wanted = self.slack(srtt).or(self.options.delay);
        wanted.unwrap_or(match self.is_relaxed() {
            true => shortest * RELAXED,
            false => shortest,
        })
    }

    fn usual_deviations(&self) -> f64 {
        if self.has_runs() { 2.0 } else { 1.0 }
    }

    fn has_runs(&self) -> bool {
        self.losses.mean_run() > LONG_RUN
    }

    /// The time that the deadline leaves for repairs.
    fn slack(&self, srtt: Duration) -> Option<Duration> {
        let deadline = self.options.deadline?;
        Some(deadline.saturating_sub(srtt / 2).max(LEAST_SLACK))
    }

    /// Whether it is better to send lost symbols again than to code.
    pub(super) fn should_resend(&self, srtt: Duration) -> bool {
        self.options.ingredients.retransmit && (self.has_time(srtt) || self.is_scarce(srtt))
    }

    /// Whether to send each lost symbol again while no repairs are planned: a coded answer is of use once no
    /// other symbol before it is missing. It covers the losses to come only where half a symbol or more is
    /// expected.
    pub(super) fn should_answer_each(&mut self, at: &Situation<'_>) -> bool {
        self.update_losses(at);
        self.options.ingredients.retransmit
            && self.losses.mean * (at.sources_in_flight() as f64) < HALF
    }

    /// Whether symbols that are sent again arrive before the deadline. After a run of losses they are
    /// more certain than repairs, all of which must wait for the last one needed.
    fn has_time(&self, srtt: Duration) -> bool {
        let needed = srtt.mul_f64(REPORT_AND_ANSWER);
        self.has_runs() && self.slack(srtt).is_some_and(|slack| slack > needed)
    }

    /// Whether there are hardly more repairs than losses. Symbols that several repairs recover
    /// together then wait longer for the last repair than for a retransmission. A deficit that
    /// drifts down by `spare` for each source symbol, with this variance, lasts for
    /// variance / (2 spare^2) symbols.
    fn is_scarce(&self, srtt: Duration) -> bool {
        let Losses { mean, spread, .. } = self.losses;
        let share = self.share(srtt);
        let spare = share * (1.0 - mean) - mean;
        let variance = spread * mean * (1.0 - mean) * (1.0 + share);
        let per_round = self.per_round().max(1.0);
        let rounds = variance / (2.0 * spare * spare * per_round);
        let patience = PATIENCE + mean * per_round;
        spare <= 0.0 || rounds > patience
    }

    /// The share of repairs that may be spent on losses to come.
    pub(super) fn limit(&self, srtt: Duration) -> f64 {
        let per_second = self.per_round() / srtt.as_secs_f64().max(1e-6);
        let default = || match self.is_near {
            true => 0.0,
            false => default_limit(self.losses.rate, per_second),
        };
        self.options.overhead.unwrap_or_else(default)
    }

    fn price(&self, srtt: Duration) -> f64 {
        let Losses { rate, spread, .. } = self.losses;
        let price = 1.4 * spread.sqrt() * rate * (1.0 - rate) / self.share(srtt).max(1e-3);
        (price * self.correction).clamp(*PRICES.start(), *PRICES.end())
    }

    /// A transmission left.
    pub(super) fn on_sent(&mut self, at: &Situation<'_>, kind: Transmission) {
        let (now, srtt, path) = (at.now(), at.srtt(), at.path());
        let effect = effect(kind);
        // A flow that plans no repairs does not ask for the belief; when it does, all of it is computed again.
        match self.stale && !self.is_recent(now, srtt) {
            true => self.updated_at = None,
            false => self.step(path, effect),
        }
        self.last_sent = now;
        if now >= self.round_end {
            self.end_round(now, srtt);
        }
        let mut cost = 1.0;
        if effect.is_source {
            // The time before the first of a round belongs to that round, too.
            let gap = now.since(self.last_source).as_micros();
            self.round.gap = self.round.gap.max(u32::try_from(gap).unwrap_or(u32::MAX));
            self.last_source = now;
            self.round.sources += 1;
            let limit = LEEWAY * self.limit(srtt);
            let most = (4.0 * limit * self.per_round()).max(SLACK);
            self.allowance = (self.allowance + limit).min(most);
            cost = self.room.map_or(1.0, |room| room.cost);
        }
        // A busy flow on a short path sends as much again as is lost.
        let is_free = self.is_near && matches!(kind, Transmission::Source { again: true, .. });
        if effect.repairs > 0 && !is_free {
            self.under_way += effect.repairs as u64;
            let spent = cost * effect.repairs as f64;
            self.round.repairs += spent;
            self.allowance = (self.allowance - spent).max(-SLACK);
        }
    }

    fn end_round(&mut self, now: Time, srtt: Duration) {
        self.round_end = now + srtt;
        let round = core::mem::take(&mut self.round);
        if round.sources == 0 {
            return;
        }
        if self.rounds.len() == ROUNDS {
            self.rounds.pop_front();
        }
        self.rounds.push_back(round);
        if self.is_near {
            self.allowance = SLACK;
            return;
        }
        let sources: u32 = self.rounds.iter().map(|r| r.sources).sum();
        let repairs: f64 = self.rounds.iter().map(|r| r.repairs).sum();
        let measured = repairs / f64::from(sources);
        let wanted = self.share(srtt);
        let step = ((measured + 0.01) / (wanted + 0.01)).powf(0.1);
        self.correction = (self.correction * step).clamp(0.1, 10.0);
    }
}

/// What a transmission does to the receiver's deficit.
fn effect(kind: Transmission) -> Effect {
    match kind {
        Transmission::Source {
            again: false,
            riders,
            ..
        } => Effect {
            is_source: true,
            repairs: riders.into(),
        },
        Transmission::Source { again: true, .. } | Transmission::Repair { .. } => Effect {
            is_source: false,
            repairs: 1,
        },
        Transmission::Copy(_) | Transmission::Probe => Effect::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_falls_with_the_losses_where_they_are_rare() {
        assert_eq!(default_limit(0.01, 1000.0), 0.28);
        assert!(default_limit(0.0005, 1000.0) < 0.02);
        assert!(default_limit(0.0, 10.0) == 0.0);
    }

    #[test]
    fn repairs_in_a_pause_become_dearer_as_the_limit_runs_out() {
        let srtt = Duration::from_millis(240);
        let mut price = Price::new(Auto::new().overhead(0.25), Time::ZERO);
        price.losses = Losses::independent(0.06);
        // A round trip's worth are 12 repairs.
        price.rounds.push_back(Round {
            sources: 48,
            ..Round::default()
        });
        let usual = price.tail_price(srtt);
        for (left, factor) in [
            (48.0, 1.0),
            (12.0, 1.0),
            (3.0, 4.0),
            (1.0, 12.0),
            (-4.0, 12.0),
        ] {
            price.allowance = left;
            assert_eq!(price.tail_repair_price(srtt), factor * usual, "{left}");
        }
    }
}
