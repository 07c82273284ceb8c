//! Evenly spaced repairs, and lost symbols sent again rather than coded (CRLNC-FB, Gabriel et al.).

use std::ops::Range;

use weftline_proto::EncodingWindow;
use weftline_proto::scheme::{Action, Rule, Situation};

const WINDOW: EncodingWindow = EncodingWindow::Elastic { max: 256 };
/// Repair symbols for each source symbol: that of scheme `streaming`.
const SHARE: f64 = 1.0 / 6.0;

#[derive(Debug, Default)]
pub(super) struct Uncoded {
    /// Repairs that the source symbols have earned.
    owed: f64,
}

impl Rule for Uncoded {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        if let Some(esi) = at.lost_from(0) {
            return Some(Action::Again(esi));
        }
        // Sums of sixths miss whole numbers by a hair.
        if self.owed >= 1.0 - 1e-9 && !at.is_idle() {
            return Some(Action::repair(at.newest_window(WINDOW)));
        }
        at.can_send_new().then_some(Action::New)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::top_up(at.oldest_window(WINDOW))
    }

    fn on_source(&mut self, _at: &Situation<'_>, _esi: u64) {
        self.owed += SHARE;
    }

    fn on_repair(
        &mut self,
        _at: &Situation<'_>,
        _window: &Range<u64>,
        top_up: bool,
    ) -> Option<u64> {
        if !top_up {
            self.owed -= 1.0;
        }
        None
    }
}
