//! Questions in a pause: the end of a burst of symbols may be lost with all its repairs, and nobody would know
//! before the next burst. A datagram without a symbol asks, and its answer starts what is to be sent again.

use core::time::Duration;

use super::{Price, QUESTION};
use crate::sender::situation::Situation;
use crate::time::Time;

/// Questions are this part of the usual gap between bursts apart.
const APART: u32 = 8;

impl Price {
    /// Whether to ask now what has arrived.
    pub(in super::super) fn should_ask(&self, at: &Situation<'_>) -> bool {
        // Only what leaves on the same path tells of what left before.
        self.options.ingredients.tail
            && self.left_on(at.path())
            && !at.is_idle()
            && (self.question_time(at.srtt())).is_some_and(|time| time <= at.now())
    }

    /// When the next question is due, if it is worth its price. Questions are apart, so that a run of losses
    /// that lasts for a time does not take all of them.
    pub(super) fn question_time(&self, srtt: Duration) -> Option<Time> {
        // A single loss does not hide an end and its repairs.
        let gap = self.usual_gap(srtt).filter(|_| self.has_runs())?;
        let worth = self.belief.unheard(&self.losses);
        (worth > QUESTION * self.tail_price(srtt)).then(|| self.last_sent + gap / APART)
    }
}
