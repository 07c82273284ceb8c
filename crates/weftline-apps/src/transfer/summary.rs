//! The result of a transfer.

use serde::Serialize;

use super::event::{Event, OnEvent};
use super::wire::Verdict;
use crate::printable::printable;

/// The results of all entries of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Entries in place: files and directories.
    pub complete: u32,
    /// Files among them that were complete before this transfer.
    pub already_there: u32,
    /// Bytes of file data that crossed the network in this transfer.
    pub bytes: u64,
    /// Bytes that an earlier, interrupted transfer had brought.
    pub resumed_bytes: u64,
    /// Entries that are not in place.
    pub failed: Vec<Outcome>,
    /// Entries that the sender skipped on purpose, for people.
    pub skipped: Vec<String>,
}

/// An entry that is not in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Its path.
    pub path: String,
    /// Why, for people.
    pub reason: String,
    /// Its content arrived damaged: the received content is not the sent content.
    pub corrupt: bool,
}

impl Summary {
    /// Every entry is in place.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Some entry's content was damaged.
    pub fn is_corrupt(&self) -> bool {
        self.failed.iter().any(|f| f.corrupt)
    }

    pub(super) fn record(
        &mut self,
        path: &str,
        verdict: Verdict,
        text: &str,
        on_event: OnEvent<'_>,
    ) {
        let path = printable(path);
        if verdict.is_good() {
            self.complete += 1;
            if verdict == Verdict::AlreadyThere {
                self.already_there += 1;
                on_event(Event::AlreadyThere { path: &path });
            }
            return;
        }
        let reason = printable(text);
        on_event(Event::Failed {
            path: &path,
            reason: &reason,
        });
        self.failed.push(Outcome {
            path,
            reason,
            corrupt: verdict == Verdict::Corrupt,
        });
    }
}
