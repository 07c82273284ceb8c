//! What a flow does that does not fill its window, such as a stream or a video, once others fill the queue.
//!
//! Such a flow has not made the queue. If it gave way, an application that wants a part of its share would wait for
//! seconds, until the flow knows that the others react to losses only. So it goes on at its rate, unless the queue
//! may be its own, since the path carries less than before.

use core::time::Duration;

use super::{Adaptive, Found};
use crate::rate::round::Round;

/// The window may hold this many times what the application sent in a round trip while it met no queue: what has
/// waited meanwhile leaves soon.
const ROOM: f64 = 1.25;
/// Where the flow fills its window and less than this part of its rate arrives, the path carries less than before.
const ARRIVES: f64 = 0.65;
/// The same where the flow always has more to send for this many rounds.
const BEHIND: u32 = 20;
/// A longer queue is not left to others.
const LONGEST: Duration = Duration::from_millis(250);

impl Adaptive {
    /// The flow has met no queue for a time. On a path whose capacity changes by itself, a queue says nothing about
    /// others.
    pub(super) fn notice_demand(&mut self, found: &Found) {
        if found.is_even() {
            self.demand = self.rates.best() as f32;
        }
    }

    /// The bytes that the window keeps with this queue, as it is not this flow's.
    pub(super) fn kept(&mut self, round: &Round, found: &Found, queue: Duration) -> f64 {
        let demand = f64::from(self.demand);
        let is_own = self.late > Duration::ZERO
            || found.moves
            || queue > LONGEST
            || self.backlogged >= BEHIND
            || round.full && self.rates.recent() < ARRIVES * demand;
        if is_own {
            self.demand = 0.0;
            return 0.0;
        }
        ROOM * demand * (found.base + queue).as_secs_f64()
    }
}
