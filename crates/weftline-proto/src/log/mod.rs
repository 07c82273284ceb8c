//! The event log of a session: what it sent, received, decoded and delivered, and when.
//!
//! A log is off until [`Session::start_log`](crate::Session::start_log), and costs one branch at
//! each hook then. Entries hold numbers and nothing that the peer wrote.
//! `docs/reference/event-log.md` names every key of its JSON form.

mod buffer;
mod entry;
mod few;
mod seen;

pub(crate) use buffer::EventLog;
pub use entry::{
    CodingVectorKind, DropReason, EndReason, EsiRun, HoldReason, LogEntry, LogEvent, LogReport,
    RepairReason,
};
pub use few::Few;
pub(crate) use seen::{Numbered, ReceiverState};
