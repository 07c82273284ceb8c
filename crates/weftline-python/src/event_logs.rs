//! The event logs of connections as files.

use std::path::PathBuf;

use pyo3::prelude::*;

/// Writes the event log of each connection of all endpoints that have this in their ``Config`` to a file of its own in one
/// folder: what was sent, received, decoded and delivered, and when. ``weftline-lab why`` names the cause of what was late.
///
/// The form is qlog (``.sqlog``). A file has the peer's address and fingerprint and no data, and only the user of this
/// process can read it. The logs of 64 connections are kept, the newest.
///
/// :param folder: it is made when the first endpoint is bound. Endpoints of one process that log to the same folder
///     share this object.
/// :param size: bytes of the log of one connection, 1 MiB at least; of a longer log the newest half or more is kept.
#[pyclass(frozen, module = "weftline")]
pub(crate) struct EventLogs(pub(crate) weftline::EventLogs);

#[pymethods]
impl EventLogs {
    #[new]
    #[pyo3(signature = (folder, size = 64_000_000))]
    fn new(folder: PathBuf, size: u64) -> Self {
        EventLogs(weftline::EventLogs::new(folder, size))
    }

    /// Where the logs are.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    /// Wait until everything that has happened so far is in the files. It blocks the calling thread: call it at the
    /// end of a program, after the endpoints are closed.
    fn flush(&self, py: Python<'_>) {
        py.detach(|| self.0.flush());
    }

    fn __repr__(&self) -> String {
        format!("<EventLogs in {}>", self.0.folder().display())
    }
}
