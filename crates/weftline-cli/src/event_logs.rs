//! The event logs of this process: a program ends without waiting for its tasks, but not without what the
//! logs lack.

use std::path::Path;
use std::sync::OnceLock;

use weftline::EventLogs;

/// A process runs one command, which has one folder.
static LOGS: OnceLock<EventLogs> = OnceLock::new();

/// The logs of the command, in this folder, of at most `size` bytes for each session.
pub(crate) fn of(folder: &Path, size: u64) -> EventLogs {
    LOGS.get_or_init(|| EventLogs::new(folder, size)).clone()
}

/// Waits until the logs have everything.
pub(crate) fn flush() {
    if let Some(logs) = LOGS.get() {
        logs.flush();
    }
}
