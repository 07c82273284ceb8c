//! The end of a session.

use core::time::Duration;

use crate::event::CloseReason;
use crate::path::PathId;
use crate::time::Time;
use crate::violation::Violation;
use crate::wire::{CloseClass, put_close};

/// CLOSE is sent this often, one linger interval apart, and once more for each datagram of a
/// peer that has not heard it, up to the second number.
const REPEATS: u32 = 3;
const MAX_SENT: u32 = 10;

/// A session that is over: it only tells the peer so.
#[derive(Debug)]
pub(super) struct Closing {
    reason: CloseReason,
    /// The CLOSE datagram, unless the peer knows or is gone.
    datagram: Option<Vec<u8>>,
    /// If it has a report: the path that the report is about, and CLOSE without it for the others.
    reported: Option<(PathId, Vec<u8>)>,
    due: bool,
    /// Paths on which it has left since it was due.
    told: Vec<PathId>,
    sent: u32,
    timer: Option<Time>,
    interval: Duration,
    repeats: u32,
}

impl Closing {
    /// The application closed it. `report` is the last FEEDBACK, empty if nothing has arrived.
    pub(super) fn by_us(
        now: Time,
        linger: Duration,
        (path, report): (PathId, &[u8]),
        code: u64,
        reason: &str,
    ) -> Self {
        let mut datagram = Vec::new();
        put_close(report, CloseClass::Application, code, reason, &mut datagram);
        let mut closing = Closing::telling(now, linger, CloseReason::Local, datagram);
        if !report.is_empty() {
            let mut plain = Vec::new();
            put_close(&[], CloseClass::Application, code, reason, &mut plain);
            closing.reported = Some((path, plain));
        }
        closing
    }

    /// The peer broke the protocol.
    pub(super) fn by_violation(now: Time, linger: Duration, violation: Violation) -> Self {
        let mut datagram = Vec::new();
        let words = violation.to_string();
        put_close(&[], CloseClass::Protocol, 1, &words, &mut datagram);
        Closing::telling(now, linger, CloseReason::Violation(violation), datagram)
    }

    fn telling(now: Time, linger: Duration, reason: CloseReason, datagram: Vec<u8>) -> Self {
        Closing {
            reason,
            reported: None,
            told: Vec::new(),
            datagram: Some(datagram),
            due: true,
            sent: 0,
            timer: Some(now + linger),
            interval: linger,
            repeats: 1,
        }
    }

    /// The peer closed it.
    pub(super) fn by_peer(reason: CloseReason) -> Self {
        Closing::silent(reason)
    }

    /// There is nobody to tell.
    pub(super) fn silent(reason: CloseReason) -> Self {
        Closing {
            reason,
            reported: None,
            told: Vec::new(),
            datagram: None,
            due: false,
            sent: 0,
            timer: None,
            interval: Duration::ZERO,
            repeats: 0,
        }
    }

    pub(super) fn reason(&self) -> &CloseReason {
        &self.reason
    }

    /// The peer still talks: it has not heard CLOSE, or its datagram crossed with it. While it does,
    /// this end stays to tell it.
    pub(super) fn datagram_arrived(&mut self, now: Time) {
        if let Some(timer) = self.timer.filter(|_| self.sent < MAX_SENT) {
            self.ask();
            self.timer = Some(timer.max(now + self.interval));
        }
    }

    pub(super) fn timer(&mut self, now: Time) {
        if self.timer.is_none_or(|t| now < t) {
            return;
        }
        if self.repeats < REPEATS {
            self.repeats += 1;
            self.ask();
            self.timer = Some(now + self.interval);
        } else {
            self.timer = None;
            self.due = false;
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.timer
    }

    fn ask(&mut self) {
        self.due = true;
        self.told.clear();
    }

    /// Writes CLOSE for this path. With a report it leaves on the path that the report is about; on the
    /// others it leaves without, from the first repetition on.
    pub(super) fn write(&mut self, path: PathId, out: &mut Vec<u8>) -> bool {
        let Some(datagram) = self.datagram.as_ref().filter(|_| self.due) else {
            return false;
        };
        let plain = self.reported.as_ref().filter(|(about, _)| *about != path);
        if self.told.contains(&path) || plain.is_some() && self.repeats == 1 {
            return false;
        }
        out.extend_from_slice(plain.map_or(datagram, |(_, plain)| plain));
        self.sent += u32::from(self.told.is_empty());
        self.told.push(path);
        true
    }
}
