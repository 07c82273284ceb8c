//! What rules over a sliding window have in common when only the times of repairs differ.

use std::fmt::Debug;
use std::ops::Range;

use weftline_proto::scheme::{Action, Rule, Situation};
use weftline_proto::{EncodingWindow, Time};

const WINDOW: EncodingWindow = EncodingWindow::Elastic { max: 1024 };

/// When a system sends repair symbols.
pub(super) trait Timing: Debug + Send {
    /// A new source symbol left.
    fn on_source(&mut self, at: &Situation<'_>);
    /// Whether a repair symbol is due.
    fn is_due(&mut self, at: &Situation<'_>) -> bool;
    /// A repair symbol that was due left.
    fn on_repair(&mut self);
    /// A timer fired.
    fn on_timeout(&mut self, _now: Time) {}
    /// When [`Timing::is_due`] may become true although nothing happens.
    fn next_timeout(&self, _at: &Situation<'_>) -> Option<Time> {
        None
    }
}

/// A rule that sends repairs of the newest symbols when they are due, and of the oldest where the
/// newest do not reach.
#[derive(Debug)]
pub(super) struct Windowed<T> {
    timing: T,
    /// Nothing has happened since the retransmission timer's top-ups were enough.
    is_sated: bool,
}

impl<T: Timing> Windowed<T> {
    pub(super) fn new(timing: T) -> Self {
        Windowed {
            timing,
            is_sated: true,
        }
    }
}

impl<T: Timing> Rule for Windowed<T> {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        if !self.is_sated {
            if at.is_stalled()
                && let Some(action) = at.answer_deficit(WINDOW)
            {
                return Some(action);
            }
            self.is_sated = true;
        }
        if !at.is_idle() && self.timing.is_due(at) {
            return Some(Action::repair(match at.is_out_of_reach(WINDOW) {
                true => at.oldest_window(WINDOW),
                false => at.newest_window(WINDOW),
            }));
        }
        at.can_send_new().then_some(Action::New)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::top_up(at.oldest_window(WINDOW))
    }

    fn on_source(&mut self, at: &Situation<'_>, _esi: u64) {
        self.timing.on_source(at);
    }

    fn on_repair(
        &mut self,
        _at: &Situation<'_>,
        _window: &Range<u64>,
        top_up: bool,
    ) -> Option<u64> {
        if !top_up {
            self.timing.on_repair();
        }
        None
    }

    fn on_news(&mut self) {
        self.is_sated = false;
    }

    fn on_silence(&mut self, _at: &Situation<'_>) {
        self.is_sated = false;
    }

    fn on_timeout(&mut self, at: &Situation<'_>) {
        self.timing.on_timeout(at.now());
    }

    fn next_timeout(&self, at: &Situation<'_>) -> Option<Time> {
        let waits = !at.is_idle();
        waits.then(|| self.timing.next_timeout(at)).flatten()
    }
}

/// AC-RLNC's answer to reports: missing equations, expected ones too, against those added.
pub(super) fn lacks(at: &Situation<'_>, threshold: f64) -> bool {
    let missing = at.missing() as f64 + at.loss() * at.sources_in_flight() as f64;
    let added = at.rank() as f64 + (1.0 - at.loss()) * at.repairs_in_flight() as f64;
    at.missing() > 0 && missing > (1.0 + threshold) * added
}
