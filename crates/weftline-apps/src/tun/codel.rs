//! CoDel (RFC 8289): drops from a queue whose packets have waited too long for too long.

use std::time::{Duration, Instant};

/// Bounds of the time for which a standing queue is accepted; the first is that of RFC 8289, section
/// 4.2.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(40);
/// Bounds of how long it may stand before the first drop; the first is that of RFC 8289, section 4.2.
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(1);
/// A queue that grows again this soon, in intervals, is dropped from at nearly the rate of before.
const SOON: u32 = 16;

/// What CoDel aims at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// A standing queue this long is accepted.
    target: Duration,
    /// How long it may stand before the first drop.
    interval: Duration,
}

impl Aim {
    /// For a path with this round trip.
    ///
    /// CUBIC (RFC 9438) lowers its window to 0.7 of what it was. If the queue was 0.43 of a round trip
    /// long, the path stays busy then. Nobody else waits in it: each flow has its own. Its sender
    /// learns of a drop, and acts on it, within two of the round trips that repairs make longer.
    pub(super) fn new(round_trip: Duration) -> Self {
        Aim {
            target: (round_trip / 2).clamp(SHORTEST, LONGEST),
            interval: (round_trip * 4).clamp(LEAST, MOST),
        }
    }
}

/// When the packets of one queue are dropped.
#[derive(Debug, Default)]
pub(super) struct Codel {
    /// When the queue will have stood for an interval, if it stands.
    standing_at: Option<Instant>,
    /// The next drop, while it drops.
    next: Option<Instant>,
    /// The last one that was set, whether it drops or not.
    last_next: Option<Instant>,
    /// Drops since it began to drop.
    count: u32,
    /// [`Self::count`] when it began to drop the last time.
    last_count: u32,
}

impl Codel {
    /// Whether the packet that leaves the queue now is one to drop, or to mark. It has waited for
    /// `sojourn`; `is_last` says that less than a packet of full length waits behind it.
    ///
    /// Ask again for the packet that takes the place of a dropped one.
    pub(super) fn should_drop(
        &mut self,
        now: Instant,
        sojourn: Duration,
        is_last: bool,
        aim: Aim,
    ) -> bool {
        if !self.has_stood(now, sojourn, is_last, aim) {
            self.next = None;
            return false;
        }
        match self.next {
            Some(next) if now < next => return false,
            Some(next) => {
                self.count = self.count.saturating_add(1);
                self.set_next(next, aim);
            }
            None => {
                let again = self.count.saturating_sub(self.last_count);
                let recent = self.last_next;
                let is_soon = recent
                    .is_some_and(|at| now.saturating_duration_since(at) < aim.interval * SOON);
                self.count = if is_soon && again > 1 { again } else { 1 };
                self.last_count = self.count;
                self.set_next(now, aim);
            }
        }
        true
    }

    /// Whether the queue has stood for an interval.
    fn has_stood(&mut self, now: Instant, sojourn: Duration, is_last: bool, aim: Aim) -> bool {
        if sojourn < aim.target || is_last {
            self.standing_at = None;
            return false;
        }
        now >= *self.standing_at.get_or_insert(now + aim.interval)
    }

    /// The control law (section 4.3): the gaps between drops shrink with the root of their number.
    fn set_next(&mut self, from: Instant, aim: Aim) {
        let next = from + aim.interval.div_f64(f64::from(self.count).sqrt());
        (self.next, self.last_next) = (Some(next), Some(next));
    }
}
