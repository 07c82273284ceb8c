//! What a receiver that stays has received, for people and for programs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::ui::progress::{megabits, size};
use crate::ui::report::Standing;
use crate::ui::summary::{Record, count};
use weftline_apps::lock;

/// Counters of the transfers that have ended. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals(Arc<Mutex<Counts>>);

/// Counters at some moment.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Counts {
    /// Transfers that have ended, one way or the other.
    transfers: u64,
    /// Of them, those that were not complete.
    failed_transfers: u64,
    /// Files and directories that are in place.
    complete: u64,
    /// Those that are not in place.
    not_complete: u64,
    /// Bytes of files, without what was there before.
    bytes: u64,
    /// Bytes that earlier transfers had left.
    resumed_bytes: u64,
}

impl Totals {
    pub(super) fn add(&self, record: &Record) {
        let mut counts = lock(&self.0);
        counts.transfers += 1;
        counts.failed_transfers += u64::from(record.failure.is_some());
        if let Some(summary) = &record.summary {
            counts.complete += u64::from(summary.complete);
            counts.not_complete += u64::from(summary.not_complete);
            counts.bytes += summary.bytes;
            counts.resumed_bytes += summary.resumed_bytes;
        }
        if let Some(done) = &record.so_far {
            counts.complete += u64::from(done.complete);
            counts.bytes += done.bytes;
            counts.resumed_bytes += done.resumed_bytes;
        }
    }

    pub(crate) fn now(&self) -> Counts {
        *lock(&self.0)
    }
}

impl Standing for Counts {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn has_served(&self) -> bool {
        self.transfers > 0
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        format!(
            "{}, {}, {:.1} Mbit/s",
            count(self.transfers, "transfer", "transfers"),
            count(self.complete, "entry", "entries"),
            megabits(self.bytes - since.bytes, time)
        )
    }

    fn sentence(&self, time: Duration) -> String {
        format!(
            "received {} ({}) in {} within {:.0} s; {} not complete",
            count(self.complete, "entry", "entries"),
            size(self.bytes),
            count(self.transfers, "transfer", "transfers"),
            time.as_secs_f64(),
            self.failed_transfers
        )
    }

    fn json(&self) -> Value {
        json!(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_tells_what_came_and_what_did_not() {
        let counts = Counts {
            transfers: 2,
            failed_transfers: 1,
            complete: 1,
            bytes: 6,
            ..Counts::default()
        };
        let text = counts.sentence(Duration::from_secs(2));
        assert_eq!(
            text,
            "received 1 entry (6 B) in 2 transfers within 2 s; 1 not complete"
        );
    }
}
