//! When a flow drains its queue, and what the drains show.
//!
//! A drain of one of many flows does not empty the queue, but all flows see the queue fall. So each
//! counts the time to its next drain from the time at which the queue was lowest: soon they drain
//! together, and see the empty queue.

use core::time::Duration;

use crate::time::Time;

/// A standing queue of all flows would soon look like the path's own delay (the peer forgets after
/// ten seconds). So the next drain is due this many round trips after the lowest queue, between
/// these two times.
const EVERY: core::ops::RangeInclusive<Duration> = Duration::from_secs(4)..=Duration::from_secs(9);
const EVERY_ROUNDS: u32 = 40;
/// It comes this many times sooner if the last one did not show the empty queue, because other flows
/// filled it meanwhile.
const SOONER: u32 = 4;
/// A queue is lower if it is below this part of the lowest.
const LOWER: f64 = 0.8;

#[derive(Clone, Debug)]
pub(super) struct Drains {
    /// When the queue was last seen at its lowest, and when it was last drained.
    low: Time,
    drained: Option<Time>,
    /// The shortest queue since the last drain began.
    lowest: Duration,
    /// The last drain showed the empty queue.
    shown: bool,
    /// The shortest round trip before the last drain, or since it became shorter.
    base: Duration,
    /// It has become shorter since the last drain began.
    fell: bool,
}

impl Drains {
    pub(super) fn new(now: Time) -> Self {
        Drains {
            low: now,
            drained: None,
            lowest: Duration::MAX,
            shown: false,
            base: Duration::MAX,
            fell: false,
        }
    }

    /// A report has told of this queue on a path with this round trip. Returns whether the path is
    /// certainly shorter than it seemed to be: it had a standing queue.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        base: Duration,
        queue: Duration,
        target: Duration,
    ) -> bool {
        if base + target / 2 < self.base {
            self.base = base;
            self.fell = true;
            self.shown = false;
            self.low = now;
            self.lowest = queue;
            return true;
        }
        let is_empty = self.shown && is_empty(queue, target);
        if is_empty || queue < self.lowest.mul_f64(LOWER) {
            self.low = now;
            self.lowest = queue;
        }
        false
    }

    fn pause(&self, rtt: Duration) -> Duration {
        let usual = (rtt * EVERY_ROUNDS).clamp(*EVERY.start(), *EVERY.end());
        match self.shown {
            true => usual,
            false => usual / SOONER,
        }
    }

    pub(super) fn is_due(&self, now: Time, rtt: Duration) -> bool {
        now.since(self.low) >= self.pause(rtt)
    }

    /// The last drain is so recent that another would show nothing new.
    pub(super) fn is_recent(&self, now: Time) -> bool {
        self.drained
            .is_some_and(|at| now.since(at) < *EVERY.start())
    }

    /// Whether the last drain showed the empty queue.
    pub(super) fn has_shown(&self) -> bool {
        self.shown
    }

    /// A drain begins on a path with this round trip.
    pub(super) fn begin(&mut self, base: Duration) {
        self.base = base;
        self.fell = false;
        self.lowest = Duration::MAX;
    }

    /// The shortest queue of the drain's last round.
    pub(super) fn on_drained(&mut self, queue: Duration, target: Duration) {
        self.shown = is_empty(queue, target);
    }

    /// The shortest queue of the packets that left during the drain.
    pub(super) fn on_rested(&mut self, queue: Duration, target: Duration) {
        self.shown |= is_empty(queue, target);
    }

    /// What the drain showed is the path's own delay.
    pub(super) fn show_the_path(&mut self, now: Time) {
        self.shown = true;
        self.low = now;
    }

    /// The packets that left during the drain are reported.
    pub(super) fn end(&mut self, now: Time, base: Duration, target: Duration) {
        // The round trip is shorter than ever before: it may become shorter still.
        self.shown &= !self.fell && base + target / 8 >= self.base;
        self.drained = Some(now);
    }
}

fn is_empty(queue: Duration, target: Duration) -> bool {
    queue <= target / 4
}
