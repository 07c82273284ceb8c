//! What good sessions sent, and what came back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counted while the sessions run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sent: AtomicU64,
    answered: AtomicU64,
    delays: Mutex<Vec<f64>>,
}

impl Tally {
    pub(super) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer that came `delay` seconds after what it answers.
    pub(super) fn answered(&self, delay: f64) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let mut delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        delays.push(delay);
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.load(Ordering::Relaxed),
            answered: self.answered.load(Ordering::Relaxed),
        }
    }

    /// The delays since the last call, sorted.
    pub(super) fn delays(&self) -> Vec<f64> {
        let mut delays = self.delays.lock().unwrap_or_else(PoisonError::into_inner);
        let mut delays = std::mem::take(&mut *delays);
        delays.sort_by(f64::total_cmp);
        delays
    }
}

/// Sent and answered until some moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    sent: u64,
    answered: u64,
}

impl Counts {
    /// The share that was answered since an earlier look.
    pub(super) fn since(&self, earlier: &Counts) -> f64 {
        let sent = (self.sent - earlier.sent).max(1);
        (self.answered - earlier.answered) as f64 / sent as f64
    }
}
