//! How far a transfer has come, over all its sessions.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use weftline_apps::transfer::Event;

use crate::ui::summary::SoFar;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(250);

/// How far the sessions of a transfer have come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    best: Reached,
    /// When it last came further than ever before; before that, when it began.
    pub(super) last: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Progress {
            best: Reached::default(),
            last: Instant::now(),
        }
    }
}

/// Entries that are in place, and bytes of the next one that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reached {
    entries: u64,
    bytes: u64,
}

impl Progress {
    /// Follows a session, for as long as it is polled.
    pub(super) async fn watch(&mut self, look: impl Fn() -> Reached) -> Infallible {
        let mut timer = tokio::time::interval(PERIOD);
        loop {
            timer.tick().await;
            self.note(look(), Instant::now());
        }
    }

    fn note(&mut self, reached: Reached, now: Instant) {
        if reached > self.best {
            (self.best, self.last) = (reached, now);
        }
    }
}

/// The place that a session has reached in a transfer.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// What this session has done.
    pub(super) so_far: SoFar,
    /// Bytes written when the last entry was in place.
    before: u64,
    /// Bytes of the next entry that earlier sessions brought.
    resumed: u64,
}

impl Place {
    /// `written` counts the bytes of this session so far.
    pub(super) fn note(&mut self, event: &Event<'_>, written: u64) {
        self.so_far.note(event);
        match event {
            Event::InPlace => (self.before, self.resumed) = (written, 0),
            Event::Resumed { bytes, .. } => self.resumed = *bytes,
            Event::StartedAgain { .. } => self.resumed = 0,
            _ => {}
        }
    }

    /// Of the bytes written, up to `held` have not arrived.
    pub(super) fn reached(&self, written: u64, held: u64) -> Reached {
        let arrived = written.saturating_sub(self.before).saturating_sub(held);
        Reached {
            entries: self.so_far.complete.into(),
            bytes: self.resumed + arrived,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_session_reached_before_is_progress() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut progress = Progress::default();
        let mut first = Place::default();
        progress.note(first.reached(1000, 900), at(1));
        assert_eq!(progress.last, at(1));
        // Written, but not arrived.
        progress.note(first.reached(5000, 4900), at(2));
        assert_eq!(progress.last, at(1));
        first.note(&Event::InPlace, 8000);
        progress.note(first.reached(8000, 0), at(3));
        progress.note(first.reached(9000, 100), at(4));
        assert_eq!(progress.last, at(4));
        // The next session brings nothing further, until it does.
        let mut second = Place::default();
        second.note(&Event::InPlace, 0);
        progress.note(second.reached(500, 0), at(5));
        assert_eq!(progress.last, at(4));
        let path = "file";
        second.note(&Event::Resumed { path, bytes: 900 }, 0);
        progress.note(second.reached(0, 0), at(6));
        assert_eq!(progress.last, at(4));
        progress.note(second.reached(1, 0), at(7));
        assert_eq!(progress.last, at(7));
    }
}
