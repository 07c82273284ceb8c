//! Adaptive causal network coding (Cohen et al., "Adaptive Causal Network Coding With Feedback",
//! 2020).
//!
//! Repairs for the losses expected after each round trip's worth of source symbols, and while a
//! report shows losses, repairs until the equations added and missing are in proportion. The paper
//! counts slots of a link that is always busy; a slot here is a source symbol, for an application
//! that sends less than the link takes leaves room for repairs between its symbols.

use weftline_proto::Time;
use weftline_proto::scheme::Situation;

use super::windowed::{Timing, lacks};

#[derive(Debug)]
pub(super) struct AcRlnc {
    /// Missing over added equations may exceed 1 by this much (the paper's th).
    threshold: f64,
    /// Source symbols in this round trip and in the last one.
    round: u64,
    per_round: u64,
    round_end: Time,
    /// Source symbols since repairs for them were last due.
    unprotected: u64,
    /// Repairs due.
    owed: u64,
}

impl AcRlnc {
    pub(super) fn new(threshold: f64, now: Time) -> Self {
        AcRlnc {
            threshold,
            round: 0,
            per_round: 0,
            round_end: now,
            unprotected: 0,
            owed: 0,
        }
    }
}

impl Timing for AcRlnc {
    fn on_source(&mut self, at: &Situation<'_>) {
        if at.now() >= self.round_end {
            self.per_round = self.round;
            self.round = 0;
            self.round_end = at.now() + at.srtt();
        }
        self.round += 1;
        self.unprotected += 1;
        let round_trip = self.per_round.max(self.round).max(2) - 1;
        if self.unprotected >= round_trip {
            self.owed += (at.loss() * self.unprotected as f64).ceil() as u64;
            self.unprotected = 0;
        }
        // More undecoded than two round trips bring: repairs in every slot.
        let full = at.unacknowledged() > 2 * round_trip + 1;
        self.owed += u64::from(full && at.missing() > 0);
    }

    fn is_due(&mut self, at: &Situation<'_>) -> bool {
        self.owed > 0 || lacks(at, self.threshold)
    }

    fn on_repair(&mut self) {
        self.owed = self.owed.saturating_sub(1);
    }
}
