//! The event log of an experiment: both ends' entries and those of the path, in the order of what
//! happened.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use weftline_netem::Fate;
use weftline_proto::{LogEntry, LogEvent, Session, Time};

/// A record of the log: an event of qlog, of one of three groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Where it happened.
    #[serde(rename = "group_id")]
    pub end: Place,
    /// What happened, and when.
    #[serde(flatten)]
    pub entry: Entry,
}

/// Where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The end with the application that writes.
    Writer,
    /// The end that reads.
    Reader,
    /// Between them.
    Path,
}

/// What happened at an end or on the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// To a datagram on a link.
    Path(PathEntry),
    /// In a session.
    Session(LogEntry),
}

/// The fate of a datagram, told when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathEntry {
    /// When it was sent, in milliseconds.
    pub time: f64,
    /// The path's number, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<usize>,
    /// What became of it.
    #[serde(rename = "name")]
    pub event: PathEvent,
    /// Which datagram it is.
    #[serde(rename = "data")]
    pub datagram: PathDatagram,
}

/// A datagram on a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathDatagram {
    /// Who sent it.
    pub from: Place,
    /// What it is.
    pub kind: DatagramKind,
    /// Its transmission number, or for a report the report's number.
    pub number: Option<u64>,
    /// Bytes of the datagram, without the headers that the link counts.
    pub size: u32,
    /// When it arrives, in microseconds.
    pub arrives_us: Option<u64>,
    /// When a second copy arrives.
    pub copy_arrives_us: Option<u64>,
}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathEvent {
    /// It arrives.
    #[serde(rename = "weftline:path_delivered")]
    PathDelivered,
    /// The link's loss model dropped it.
    #[serde(rename = "weftline:path_lost")]
    PathLost,
    /// The queue was full, or the link was down.
    #[serde(rename = "weftline:path_queue_drop")]
    PathQueueDrop,
    /// It is longer than the MTU.
    #[serde(rename = "weftline:path_too_big")]
    PathTooBig,
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatagramKind {
    /// HELLO.
    Hello,
    /// A source symbol.
    Source,
    /// A repair symbol.
    Repair,
    /// A probe.
    Probe,
    /// A report.
    Report,
    /// CLOSE.
    Close,
    /// A part of a datagram.
    Piece,
}

/// A log has more entries than its reader allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log has more than {most} entries: simulate a shorter time, or less data")]
pub struct TooManyEntries {
    /// The bound.
    pub most: usize,
}

/// All lines of a run so far.
#[derive(Debug)]
pub(crate) struct Log {
    lines: Vec<LogLine>,
    most: usize,
    full: bool,
}

impl Log {
    pub(super) fn new(most: usize) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Log {
            lines: Vec::new(),
            most,
            full: false,
        }))
    }

    fn push(&mut self, line: LogLine) {
        self.full |= self.lines.len() >= self.most;
        if !self.full {
            self.lines.push(line);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The lines, which are taken out.
    pub(super) fn finish(&mut self) -> Result<Vec<LogLine>, TooManyEntries> {
        match self.full {
            true => Err(TooManyEntries { most: self.most }),
            false => Ok(std::mem::take(&mut self.lines)),
        }
    }
}

/// What one end adds to the log.
#[derive(Debug)]
pub(crate) struct Recording {
    end: Place,
    log: Rc<RefCell<Log>>,
    /// The newest datagram that left.
    newest: Option<(DatagramKind, Option<u64>, u32)>,
}

impl Recording {
    /// Entries of a session between two calls of its driver; there are never as many.
    pub(crate) const CAPACITY: usize = 1 << 16;

    pub(crate) fn new(end: Place, log: &Rc<RefCell<Log>>) -> Self {
        Recording {
            end,
            log: Rc::clone(log),
            newest: None,
        }
    }

    /// Takes what the session has logged.
    pub(crate) fn take(&mut self, session: &mut Session) {
        let mut log = self.log.borrow_mut();
        while let Some(entry) = session.poll_log() {
            self.newest = sent(&entry.event).or(self.newest);
            log.push(LogLine {
                end: self.end,
                entry: Entry::Session(entry),
            });
        }
    }

    /// The path decided about the newest datagram.
    pub(super) fn on_fate(&mut self, now: Time, path: Option<usize>, fate: Fate) {
        let Some((kind, number, size)) = self.newest else {
            debug_assert!(false, "a datagram that was sent is logged");
            return;
        };
        let micros = |at: std::time::Duration| at.as_micros() as u64;
        let (event, at, copy) = match fate {
            Fate::Delivered { at, duplicate, .. } => {
                (PathEvent::PathDelivered, Some(at), duplicate)
            }
            Fate::QueueDrop => (PathEvent::PathQueueDrop, None, None),
            Fate::TooBig => (PathEvent::PathTooBig, None, None),
            _ => (PathEvent::PathLost, None, None),
        };
        let entry = PathEntry {
            time: now.as_micros() as f64 / 1e3,
            path,
            event,
            datagram: PathDatagram {
                from: self.end,
                kind,
                number,
                size,
                arrives_us: at.map(micros),
                copy_arrives_us: copy.map(micros),
            },
        };
        self.log.borrow_mut().push(LogLine {
            end: Place::Path,
            entry: Entry::Path(entry),
        });
    }
}

/// Kind, number and size of the datagram that an entry says was sent.
fn sent(event: &LogEvent) -> Option<(DatagramKind, Option<u64>, u32)> {
    Some(match *event {
        LogEvent::HelloSent { size } => (DatagramKind::Hello, None, size),
        LogEvent::SourceSent { number, size, .. } => (DatagramKind::Source, Some(number), size),
        LogEvent::RepairSent { number, size, .. } => (DatagramKind::Repair, Some(number), size),
        LogEvent::ProbeSent { number, size, .. } => (DatagramKind::Probe, Some(number), size),
        LogEvent::ReportSent(ref report) => {
            (DatagramKind::Report, Some(report.report), report.size)
        }
        LogEvent::CloseSent { size } => (DatagramKind::Close, None, size),
        LogEvent::PieceSent { size } => (DatagramKind::Piece, None, size),
        _ => return None,
    })
}
