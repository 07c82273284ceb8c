//! Drains: a small window empties the queue and shows the path's own delay and losses.

use core::time::Duration;

use super::{Adaptive, Found, Phase, START_LOSS};
use crate::rate::round::Round;
use crate::time::Time;

/// In a drain, the window falls to this part of what the path holds.
const DRAIN_SHARE: f64 = 0.5;
/// The same while the queue falls below what was taken for an empty one.
const EBB_SHARE: f64 = 0.25;
/// If the path moves the delay, the drain lasts for longer. There packets wait for others, and for more the
/// faster they come: the rate must be nearly the usual one to show what the path takes.
const MOVING_SHARE: f64 = 0.85;
/// If the path moves the delay, a drain takes this many of its holds.
const DRAIN_HOLDS: u32 = 5;

/// A flow that does not fill the window needs no drain to see the empty queue: it sees it for this time. A queue that
/// competing traffic fills is never that short for so long.
pub(super) const SEEN_EMPTY: Duration = Duration::from_secs(1);

impl Adaptive {
    /// Looks at a round for a queue that is empty, or that was wrongly taken for one.
    pub(super) fn look_for_empty_queue(&mut self, now: Time, round: &Round, found: &Found) {
        let Found {
            base,
            queue,
            target,
            moves,
            ..
        } = *found;
        if !moves && queue <= target / 4 && self.shown {
            self.emptied = now;
        }
        let shortest = base.saturating_sub(self.steps.step());
        let is_short = !moves && queue <= target / 8;
        self.ebbs = is_short && shortest + target / 8 < self.shortest;
        self.shortest = shortest;
        self.shown &= !self.ebbs;
        if round.full || !is_short || self.ebbs {
            self.calm_since = now;
        }
        if now.since(self.calm_since) >= SEEN_EMPTY {
            self.shown = true;
            self.notice_demand(round, found);
        }
    }

    /// What was seen before a silence or a long pause says nothing about the queue now.
    pub(super) fn forget_empty_queue(&mut self, now: Time) {
        self.shown = false;
        self.calm_since = now;
        self.demand = None;
        self.push = None;
    }

    /// Empties the queue, to measure the path's delay and its losses without a queue.
    pub(super) fn drain(&mut self, rate: f64, base: Duration) {
        self.phase = Phase::Drain(0);
        self.taken_over = None;
        // The shortest trip, not the mean one of a path that moves the delay.
        self.base_before = self.base().unwrap_or(base);
        self.rate_before = rate;
        self.shown_before = self.shown;
        self.after = self.window;
        let sent = rate / (1.0 - self.losses.random().min(START_LOSS));
        let share = match self.jitter.own() {
            Some(_) => MOVING_SHARE,
            None if self.ebbs => EBB_SHARE,
            None => DRAIN_SHARE,
        };
        // Of what leaves between two late reports, a part of one round trip's worth is enough.
        let time = match self.late > base {
            true => base.mul_f64(DRAIN_SHARE) + self.late,
            false => (base + self.interval).mul_f64(share),
        };
        self.set_window(self.window.min(sent * time.as_secs_f64()));
    }

    /// Whether a drain that has taken this many rounds shows the mean of a delay that moves.
    pub(super) fn is_drained(&self, rounds: u32) -> bool {
        self.srtt * (rounds + 1) >= DRAIN_HOLDS * self.jitter.hold()
    }

    /// The empty queue was seen before this drain and in it. Among flows that have just begun, one that waited until
    /// its window is full would get less than its share.
    pub(super) fn drains_empty(&self) -> bool {
        self.shown && self.shown_before && self.late.is_zero()
    }

    /// The packets that left during a drain are reported.
    pub(super) fn end_drain(&mut self, now: Time, round: &Round, found: &Found) {
        let Found {
            base,
            queue,
            target,
            ..
        } = *found;
        // These packets were sent into an empty queue, unless other flows filled it.
        if self.late < base && round.mean_queue() <= target / 2 {
            self.losses.on_rested_round(round, self.packet);
        }
        self.shown |= queue <= target / 4;
        let longer = match found.moves {
            true => self.learn_own_delay(base, target),
            // A queue that was never seen empty may be that of others.
            false if !self.shown_before => {
                self.steps.ignore();
                Duration::ZERO
            }
            false => self.steps.on_rested(round.queue.unwrap_or_default()),
        };
        if longer > Duration::ZERO {
            self.set_window(self.window + self.rates.best() * longer.as_secs_f64());
        }
        self.shown |= found.moves || longer > Duration::ZERO;
        let others_stay = self.end_push(now, found);
        let confirmed = self.watch.end_suspicion() && !self.shown && queue > found.least;
        if confirmed || others_stay {
            self.start_competing(now);
        }
        self.phase = match self.drains_empty() && !found.moves && self.competition.is_none() {
            true => Phase::Refilled,
            false => Phase::Steady,
        };
        self.emptied = now;
        self.drained = Some(now);
        // The round trip is shorter than ever before: it may become shorter still. Other flows that see this
        // drain as well.
        let base = self.base().unwrap_or(base);
        let ebbs = base + target / 8 < self.base_before;
        self.shown &= !ebbs;
        if ebbs && !found.moves && self.competition.is_none() {
            let holds = self.rate_before * (base + target).as_secs_f64();
            self.set_window(self.window.min(holds));
            self.ebbs = true;
            self.drain(self.rate_before, base);
        }
    }

    /// A drain has shown the delay of a path that moves it. Returns by how much the delay has stepped.
    pub(super) fn learn_own_delay(&mut self, base: Duration, target: Duration) -> Duration {
        self.jitter.on_rested_round();
        let is_first = self.jitter.own().is_none();
        let stepped = self.steps.has_jumped();
        self.steps.ignore();
        let longer = self.jitter.end_rest(stepped);
        if is_first {
            let holds = base + longer + target;
            self.set_window(self.rates.best() * holds.as_secs_f64());
        }
        match stepped && !is_first {
            true => longer,
            false => Duration::ZERO,
        }
    }
}
