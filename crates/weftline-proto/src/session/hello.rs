//! The exchange of HELLO: each end repeats its own until it knows that the other has it.

use core::time::Duration;

use crate::config::Config;
use crate::feedback::Feedback;
use crate::limits::Limits;
use crate::rtt::RttEstimator;
use crate::time::Time;
use crate::wire::Hello;

/// Reports until the peer says what it wants.
pub(super) const FEEDBACK_BEFORE_HELLO: Feedback = Feedback::EveryDatagram {
    min_interval: Duration::ZERO,
};

/// HELLO is repeated at least this often, however long the assumed round-trip time.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);
/// And no more often than this, on a path without delay.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Handshake {
    /// The server only answers: the client repeats its HELLO until it has an answer.
    repeats: bool,
    /// The peer's HELLO has arrived.
    heard: bool,
    /// The peer has ours.
    acknowledged: bool,
    /// Send HELLO, and when again.
    due: bool,
    next: Time,
    sent: u32,
}

impl Handshake {
    pub(super) fn new(role: crate::event::Role, now: Time) -> Self {
        let repeats = role == crate::event::Role::Client;
        Handshake {
            repeats,
            heard: false,
            acknowledged: false,
            due: true,
            next: now,
            sent: 0,
        }
    }

    /// True: it is the peer's first.
    pub(super) fn on_hello(&mut self, hello: &Hello) -> bool {
        self.acknowledged |= hello.seen;
        // The peer repeats its HELLO until it hears that it was seen.
        self.due |= !(self.repeats && hello.seen);
        !core::mem::replace(&mut self.heard, true)
    }

    /// What was sent is gone: say it again, unless the peer has it all the same.
    pub(super) fn dropped(&mut self) {
        self.due |= !self.acknowledged;
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.due |= self.repeats && !self.acknowledged && self.next <= now;
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        (self.repeats && !self.acknowledged && !self.due).then_some(self.next)
    }

    pub(super) fn write(
        &mut self,
        now: Time,
        config: &Config,
        limits: &Limits,
        rtt: &RttEstimator,
        out: &mut Vec<u8>,
    ) -> bool {
        if !core::mem::take(&mut self.due) {
            return false;
        }
        // It is small and everything waits for it: four times before each doubling.
        let interval =
            rtt.smoothed().max(SHORTEST_INTERVAL) * 3 / 2 * (1 << (self.sent / 4).min(8));
        self.next = now + interval.min(LONGEST_INTERVAL);
        self.sent += 1;
        let hello = Hello {
            seen: self.heard,
            limits: *limits,
            feedback: config.feedback,
            measuring: config.scheme.measuring(),
            riders: true,
        };
        hello.put(out);
        true
    }
}
