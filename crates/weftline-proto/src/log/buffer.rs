//! Entries that wait for the owner of the session.

use std::collections::VecDeque;

use weftline_codec::Esi;

use super::entry::{LogEntry, LogEvent};
use super::seen::{ReceiverState, Seen};
use crate::path::PathId;
use crate::time::Time;

/// A bounded queue of entries, and what the hooks must remember between them.
#[derive(Debug)]
pub(crate) struct EventLog {
    entries: VecDeque<LogEntry>,
    capacity: usize,
    /// Entries that found no room, and the time of the newest.
    refused: u64,
    refused_at: Time,
    /// The path that the next entries are of.
    path: PathId,
    pub(super) seen: Seen,
}

impl EventLog {
    /// An empty log of at most `capacity` entries, and one that says how many are missing.
    pub(crate) fn new(capacity: usize, edge: Esi, receiver: ReceiverState) -> Self {
        EventLog {
            entries: VecDeque::new(),
            capacity,
            refused: 0,
            refused_at: Time::ZERO,
            path: PathId::FIRST,
            seen: Seen::new(edge, receiver),
        }
    }

    /// The next entries are of this path.
    pub(crate) fn set_path(&mut self, path: PathId) {
        self.path = path;
    }

    pub(super) fn path(&self) -> PathId {
        self.path
    }

    pub(crate) fn push(&mut self, time: Time, event: LogEvent) {
        if self.entries.len() >= self.capacity {
            self.refused += 1;
            self.refused_at = time;
            return;
        }
        self.push_gap();
        let path = self.path;
        self.entries.push_back(LogEntry { time, path, event });
    }

    /// The newest entry tells that the in-order edge moved over `count` symbols from `first` on, if it is of
    /// the source symbol that did it.
    pub(super) fn tell_delivered(&mut self, first: Esi, count: u64) -> bool {
        match self.entries.back_mut().map(|newest| &mut newest.event) {
            Some(LogEvent::SourceReceived { esi, delivered, .. }) if *esi == first => {
                *delivered = count;
                true
            }
            _ => false,
        }
    }

    /// The oldest entry. A gap comes where its entries would have been.
    pub(crate) fn pop(&mut self) -> Option<LogEntry> {
        if self.entries.is_empty() {
            self.push_gap();
        }
        self.entries.pop_front()
    }

    /// All entries, in exchange for an empty queue.
    pub(crate) fn take(&mut self, empty: &mut VecDeque<LogEntry>) {
        debug_assert!(empty.is_empty(), "what is in it would be logged again");
        self.push_gap();
        core::mem::swap(&mut self.entries, empty);
    }

    fn push_gap(&mut self) {
        let entries = core::mem::take(&mut self.refused);
        if entries > 0 {
            self.entries.push_back(LogEntry {
                time: self.refused_at,
                path: PathId::FIRST,
                event: LogEvent::Gap { entries },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(capacity: usize) -> EventLog {
        EventLog::new(capacity, 0, ReceiverState::default())
    }

    fn push(log: &mut EventLog, micros: u64) {
        let event = LogEvent::HelloSent { size: 1 };
        log.push(Time::from_micros(micros), event);
    }

    #[test]
    fn a_full_log_says_how_many_entries_are_missing_and_where() {
        let mut log = log(2);
        (0..5).for_each(|n| push(&mut log, n));
        assert_eq!(log.pop().unwrap().time, Time::from_micros(0));
        push(&mut log, 7);
        let rest: Vec<_> = core::iter::from_fn(|| log.pop()).collect();
        let times: Vec<_> = rest.iter().map(|e| e.time.as_micros()).collect();
        assert_eq!(times, [1, 4, 7]);
        assert_eq!(rest[1].event, LogEvent::Gap { entries: 3 });
    }

    #[test]
    fn all_entries_can_be_taken_at_once() {
        let mut log = log(2);
        (0..3).for_each(|n| push(&mut log, n));
        let mut taken = VecDeque::new();
        log.take(&mut taken);
        let gap = LogEvent::Gap { entries: 1 };
        assert_eq!((taken.len(), &taken[2].event), (3, &gap));
        taken.clear();
        push(&mut log, 7);
        log.take(&mut taken);
        assert_eq!(taken.len(), 1);
    }

    #[test]
    fn a_gap_at_the_end_is_told_too() {
        let mut log = log(1);
        (0..3).for_each(|n| push(&mut log, n));
        log.pop();
        assert_eq!(log.pop().unwrap().event, LogEvent::Gap { entries: 2 });
        assert_eq!(log.pop(), None);
    }
}
