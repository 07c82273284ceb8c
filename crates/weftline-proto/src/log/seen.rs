//! What a log remembers between its hooks.

use std::collections::BTreeSet;

use weftline_codec::Esi;

use super::buffer::EventLog;
use super::entry::{EsiRun, HoldReason, LogEvent, RepairReason};
use crate::path::{MAX_PATHS, PathId};
use crate::time::Time;
use crate::wire::complete;

/// What a receiver has, as far as a log tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReceiverState {
    /// The in-order edge.
    pub(crate) edge: Esi,
    /// Missing symbols, and equations about them.
    pub(crate) unknowns: u64,
    pub(crate) rank: u64,
    /// Useful source symbols, useful repair symbols, and missing symbols given up, since the session
    /// began.
    pub(crate) sources: u64,
    pub(crate) useful_repairs: u64,
    pub(crate) given_up: u64,
}

/// What has a number in the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    /// Each path has numbers of its own.
    Transmission,
    Report,
}

/// What is remembered of a path.
#[derive(Debug, Default)]
struct OnPath {
    /// Largest numbers of transmissions, sent and received.
    sent: Option<u64>,
    received: Option<u64>,
    held: Option<HoldReason>,
}

/// Paths that are remembered: those that are open, and some that have just gone.
const REMEMBERED: usize = 2 * MAX_PATHS;

/// Completes a number from its low 32 bits, and keeps the largest. The second is true if it is that.
fn note(largest: &mut Option<u64>, low: u32) -> (u64, bool) {
    let number = complete(low, largest.map_or(0, |n| n.saturating_add(1)));
    let news = largest.is_none_or(|n| number > n);
    if news {
        *largest = Some(number);
    }
    (number, news)
}

#[derive(Debug)]
pub(super) struct Seen {
    receiver: ReceiverState,
    /// Since when in-order delivery has stalled.
    stalled: Option<Time>,
    /// Symbols that became known by the current datagram.
    known: Vec<Esi>,
    /// Known symbols in which a stream ends, from the in-order edge on.
    fins: BTreeSet<Esi>,
    /// The oldest first: few, and most entries are of the first.
    paths: Vec<(PathId, OnPath)>,
    /// Largest numbers of reports, sent and received.
    reports_sent: Option<u64>,
    reports_received: Option<u64>,
    /// What the application wrote and no entry has told yet, since the time was not known: streams, and
    /// bytes.
    written: Vec<(u64, u64)>,
    /// Why the symbol being written is sent, if it is a repair symbol, or whether it was sent before.
    reason: RepairReason,
    again: bool,
    edge: Esi,
    all_acknowledged: bool,
}

impl Seen {
    pub(super) fn new(edge: Esi, receiver: ReceiverState) -> Self {
        Seen {
            receiver,
            stalled: None,
            known: Vec::new(),
            fins: BTreeSet::new(),
            paths: Vec::new(),
            reports_sent: None,
            reports_received: None,
            written: Vec::new(),
            reason: RepairReason::Scheduled,
            again: false,
            edge,
            all_acknowledged: true,
        }
    }
}

/// `esis`, ascending, as runs.
fn runs(esis: impl Iterator<Item = Esi>) -> Vec<EsiRun> {
    let mut runs: Vec<EsiRun> = Vec::new();
    for esi in esis {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == esi => *count += 1,
            _ => runs.push((esi, 1)),
        }
    }
    runs
}

impl EventLog {
    /// What the receiver had before the current datagram.
    pub(crate) fn before(&self) -> &ReceiverState {
        &self.seen.receiver
    }

    /// The session is about to write a symbol.
    pub(crate) fn on_action(&mut self, reason: RepairReason, again: bool) {
        self.seen.reason = reason;
        self.seen.again = again;
    }

    /// Why the repair symbol just written was sent.
    pub(crate) fn reason(&self) -> RepairReason {
        self.seen.reason
    }

    /// Whether the source symbol just written was sent before.
    pub(crate) fn is_again(&self) -> bool {
        self.seen.again
    }

    /// The number of which `low` are the low 32 bits, and that this end sent just now.
    pub(crate) fn sent_number(&mut self, of: Numbered, low: u32) -> u64 {
        note(self.largest_sent(of), low).0
    }

    /// The same, of a number that this end sent before.
    pub(crate) fn sent_before(&mut self, of: Numbered, low: u32) -> u64 {
        complete(low, self.largest_sent(of).unwrap_or(0))
    }

    /// The same, of a number that arrived just now, and whether it is the largest.
    pub(crate) fn received_number(&mut self, of: Numbered, low: u32) -> (u64, bool) {
        note(self.largest_received(of), low)
    }

    /// The same, of a number that arrived before.
    pub(crate) fn received_before(&mut self, of: Numbered, low: u32) -> u64 {
        complete(low, self.largest_received(of).unwrap_or(0))
    }

    fn largest_sent(&mut self, of: Numbered) -> &mut Option<u64> {
        match of {
            Numbered::Transmission => &mut self.on_path().sent,
            Numbered::Report => &mut self.seen.reports_sent,
        }
    }

    fn largest_received(&mut self, of: Numbered) -> &mut Option<u64> {
        match of {
            Numbered::Transmission => &mut self.on_path().received,
            Numbered::Report => &mut self.seen.reports_received,
        }
    }

    /// What is remembered of the path of the next entries.
    fn on_path(&mut self) -> &mut OnPath {
        let (path, paths) = (self.path(), &mut self.seen.paths);
        let index = paths.iter().position(|(id, _)| *id == path);
        let index = index.unwrap_or_else(|| {
            if paths.len() > REMEMBERED {
                paths.remove(0);
            }
            paths.push((path, OnPath::default()));
            paths.len() - 1
        });
        &mut paths[index].1
    }

    /// The application wrote to a stream, now or since the last call that knew the time.
    pub(crate) fn on_written(&mut self, stream: u64, bytes: u64) {
        match self.seen.written.last_mut() {
            Some((last, sum)) if *last == stream => *sum += bytes,
            _ => self.seen.written.push((stream, bytes)),
        }
    }

    /// The time is known: tells what was written before.
    #[inline]
    pub(crate) fn on_time(&mut self, now: Time) {
        self.set_path(PathId::FIRST);
        // Nearly always: every call of the driver and the application comes here.
        if !self.seen.written.is_empty() {
            self.tell_written(now);
        }
    }

    fn tell_written(&mut self, now: Time) {
        let mut written = core::mem::take(&mut self.seen.written);
        for (stream, bytes) in written.drain(..) {
            let written = LogEvent::Written {
                stream: Some(stream),
                message: None,
                bytes,
            };
            self.push(now, written);
        }
        self.seen.written = written;
    }

    /// Data waits on this path for this reason, or does not.
    pub(crate) fn on_held(&mut self, now: Time, path: PathId, by: Option<HoldReason>) {
        self.set_path(path);
        let before = core::mem::replace(&mut self.on_path().held, by);
        if before != by {
            self.push(now, LogEvent::Held { by });
        }
    }

    /// A symbol became known; `fin`: a stream ends in it.
    pub(crate) fn on_known(&mut self, esi: Esi, fin: bool) {
        self.seen.known.push(esi);
        if fin {
            self.seen.fins.insert(esi);
        }
    }

    /// The datagram is handled: tells what it changed. `own` is the source symbol that it carried.
    pub(crate) fn on_received(&mut self, now: Time, own: Option<Esi>, state: ReceiverState) {
        let mut known = core::mem::take(&mut self.seen.known);
        known.retain(|esi| own != Some(*esi));
        if !known.is_empty() {
            known.sort_unstable();
            let decoded = LogEvent::Decoded {
                symbols: runs(known.iter().copied()),
                count: known.len() as u64,
                unknowns: state.unknowns,
                rank: state.rank,
            };
            self.push(now, decoded);
            known.clear();
        }
        self.seen.known = known;
        let before = core::mem::replace(&mut self.seen.receiver, state);
        if state.edge > before.edge {
            let (first, count) = (before.edge, state.edge - before.edge);
            let given_up = state.given_up.saturating_sub(before.given_up);
            // Where nothing is lost, each datagram would have two entries.
            let is_told = own == Some(first) && given_up == 0 && self.tell_delivered(first, count);
            if !is_told {
                let delivered = LogEvent::Delivered {
                    first,
                    count,
                    given_up,
                };
                self.push(now, delivered);
            }
            let later = self.seen.fins.split_off(&state.edge);
            for esi in core::mem::replace(&mut self.seen.fins, later) {
                self.push(now, LogEvent::EndOfData { esi });
            }
        }
        match self.seen.stalled {
            None if state.unknowns > 0 => {
                self.seen.stalled = Some(now);
                self.push(now, LogEvent::StallBegan { esi: state.edge });
            }
            Some(began) if state.unknowns == 0 => {
                self.seen.stalled = None;
                let next = state.edge;
                self.push(now, LogEvent::StallEnded { began, next });
            }
            _ => {}
        }
    }

    /// New source symbols are not acknowledged.
    pub(crate) fn on_new_source(&mut self) {
        self.seen.all_acknowledged = false;
    }

    /// The sender may have moved its edge; `all`: the peer has everything.
    pub(crate) fn on_acknowledged(&mut self, now: Time, edge: Esi, next: Esi, all: bool) {
        let previous = core::mem::replace(&mut self.seen.edge, edge);
        if edge > previous {
            self.push(
                now,
                LogEvent::EdgeMoved {
                    previous,
                    edge,
                    next,
                },
            );
        }
        if all && !core::mem::replace(&mut self.seen.all_acknowledged, true) {
            self.push(now, LogEvent::AllAcknowledged { next });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_esis_are_one_run() {
        let esis = [3, 4, 5, 9, 11, 12];
        assert_eq!(runs(esis.into_iter()), [(3, 3), (9, 1), (11, 2)]);
        assert_eq!(runs([].into_iter()), []);
    }

    #[test]
    fn numbers_are_completed_by_the_largest_of_their_kind_and_path() {
        let mut log = EventLog::new(9, 0, ReceiverState::default());
        let (of, largest) = (Numbered::Transmission, u64::from(u32::MAX));
        assert_eq!(log.sent_number(of, u32::MAX), largest);
        assert_eq!(log.sent_number(of, 0), largest + 1);
        assert_eq!(log.sent_before(of, u32::MAX), largest);
        assert_eq!(log.sent_number(Numbered::Report, 0), 0);
        assert_eq!(log.received_number(of, 0), (0, true));
    }

    #[test]
    fn a_stall_lasts_until_nothing_is_missing() {
        let mut log = EventLog::new(9, 0, ReceiverState::default());
        for (ms, unknowns) in [(1, 2), (2, 1), (3, 0), (4, 0)] {
            let state = ReceiverState {
                unknowns,
                ..ReceiverState::default()
            };
            log.on_received(Time::from_micros(1000 * ms), None, state);
        }
        let began = Time::from_micros(1000);
        let told = core::iter::from_fn(|| log.pop()).map(|e| (e.time.as_micros(), e.event));
        let stall = [
            (1000, LogEvent::StallBegan { esi: 0 }),
            (3000, LogEvent::StallEnded { began, next: 0 }),
        ];
        assert!(told.eq(stall));
    }
}
