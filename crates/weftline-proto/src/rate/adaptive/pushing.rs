//! Pushes: a large window makes the queue longer, to see whether others give way.

use super::{Adaptive, Found, Phase};
use crate::rate::push::HEIGHT;
use crate::time::Time;

impl Adaptive {
    pub(super) fn wants_push(&self, found: &Found) -> bool {
        // Late reports, like a path that moves the delay, would show too late what a push does.
        let shows = self.late.is_zero() && !found.moves;
        shows && self.push.as_ref().is_some_and(|push| push.is_due())
    }

    pub(super) fn push(&mut self, now: Time, found: &Found) {
        let Some(push) = &mut self.push else {
            return;
        };
        push.begin(now, self.srtt);
        self.phase = Phase::Push;
        self.after = self.window;
        self.rate_before = found.rate;
        let more = HEIGHT * found.target.as_secs_f64() * self.rates.path();
        self.set_window(self.window + more);
    }

    /// A round of a push has ended. A drain follows the push.
    pub(super) fn go_on_pushing(&mut self, now: Time, found: &Found) {
        let push = self.push.as_mut();
        if !push.is_some_and(|push| push.goes_on(now, found.queue)) {
            self.set_window(self.after);
            self.drain(self.rate_before, found.base);
        }
    }

    /// A drain has ended. Returns whether a push before it has shown that others fill the queue.
    pub(super) fn end_push(&mut self, now: Time, found: &Found) -> bool {
        match &mut self.push {
            Some(push) => push.end(now, self.shown, found.queue, found.target),
            None => false,
        }
    }
}
