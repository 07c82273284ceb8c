//! The result of a transfer.

use serde::Serialize;

use super::event::{Event, OnEvent};
use super::wire::{Entry, Kind, Verdict};
use crate::printable;

/// Most outcomes of entries that are not in place that a summary keeps, and longest texts of each
/// in bytes: a peer may name any number of entries.
const MAX_OUTCOMES: usize = 500;
const MAX_SHOWN: usize = 512;
/// Most memory for the names of what was received, in bytes.
const MAX_NAMES: usize = 16 << 20;
/// What a name takes beside its characters.
const PER_NAME: usize = 64;

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
    /// Number of entries that are not in place.
    pub not_complete: u32,
    /// The first 500 entries that are not in place.
    pub failed: Vec<Outcome>,
    /// Number of entries whose content arrived damaged.
    pub damaged: u32,
    /// Entries that the sender skipped on purpose, for people.
    pub skipped: Vec<String>,
    /// Receiver: the entries that this transfer put in place. Bounded to 16 MiB.
    pub received: Vec<Received>,
    /// Receiver: number of further entries that this transfer put in place.
    pub received_more: u32,
}

/// An entry that this transfer put in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// Its path; a directory's ends with `/`.
    pub name: String,
    /// The file's length; a directory has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// An entry that is not in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Its path, truncated.
    pub path: String,
    /// Why, for people, truncated.
    pub reason: String,
    /// Its content arrived damaged: the received content is not the sent content.
    pub corrupt: bool,
}

impl Summary {
    /// Every entry is in place.
    pub fn is_complete(&self) -> bool {
        self.not_complete == 0
    }

    /// Some entry's content was damaged.
    pub fn is_corrupt(&self) -> bool {
        self.damaged > 0
    }

    pub(super) fn record(
        &mut self,
        path: &str,
        verdict: Verdict,
        text: &str,
        on_event: OnEvent<'_>,
    ) {
        if verdict.is_good() {
            self.complete = self.complete.saturating_add(1);
            on_event(Event::InPlace);
            if verdict == Verdict::AlreadyThere {
                self.already_there = self.already_there.saturating_add(1);
                on_event(Event::AlreadyThere {
                    path: &printable(path),
                });
            }
            return;
        }
        let corrupt = verdict == Verdict::Corrupt;
        self.damaged = self.damaged.saturating_add(u32::from(corrupt));
        self.not_complete = self.not_complete.saturating_add(1);
        if self.failed.len() >= MAX_OUTCOMES {
            return;
        }
        let outcome = Outcome {
            path: shown(path),
            reason: shown(text),
            corrupt,
        };
        on_event(Event::Failed {
            path: &outcome.path,
            reason: &outcome.reason,
        });
        self.failed.push(outcome);
    }

    /// Counts entries that the sender cannot even name, and says so.
    pub(super) fn record_left_out(&mut self, entries: u32, on_event: OnEvent<'_>) {
        if entries == 0 {
            return;
        }
        let text = "the sender could not read or name them; it says which";
        let path = format!("{entries} more");
        self.record(&path, Verdict::NotSent, text, on_event);
        self.not_complete = self.not_complete.saturating_add(entries - 1);
    }

    /// Keeps name and size of an entry that this transfer put in place, unless what is kept takes too
    /// much memory (`held`) already.
    pub(super) fn name(&mut self, entry: &Entry, held: &mut usize) {
        let mut name = printable(&entry.path);
        let bytes = match entry.kind {
            Kind::File => entry.meta.size,
            Kind::Directory => {
                name.push('/');
                None
            }
        };
        let cost = name.len() + PER_NAME;
        if *held + cost > MAX_NAMES {
            self.received_more = self.received_more.saturating_add(1);
            return;
        }
        *held += cost;
        self.received.push(Received { name, bytes });
    }
}

/// `text` printable and not longer than a summary keeps.
fn shown(text: &str) -> String {
    let mut text = printable(text);
    if text.len() > MAX_SHOWN {
        let end = (0..=MAX_SHOWN).rfind(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::wire::Meta;
    use super::*;

    #[test]
    fn what_is_listed_is_bounded() {
        let entry = Entry {
            id: 0,
            kind: Kind::File,
            meta: Meta {
                size: Some(7),
                ..Meta::default()
            },
            path: "name".to_owned(),
        };
        // The rest is for what the allocation of the name takes.
        assert!(size_of::<Received>() < PER_NAME);
        let (mut summary, mut held) = (Summary::default(), MAX_NAMES - PER_NAME - 4);
        for _ in 0..3 {
            summary.name(&entry, &mut held);
        }
        let bytes = summary.received.iter().map(|entry| entry.bytes);
        assert_eq!(bytes.collect::<Vec<_>>(), [Some(7)]);
        assert_eq!((held, summary.received_more), (MAX_NAMES, 2));
    }
}
