//! The event logs of connections as files, one for each connection.
//!
//! The engine keeps the entries of a connection in a queue of its own. One thread takes them from all
//! connections several times a second and writes them: a driver only waits while two queues are exchanged.

mod file;
#[cfg(feature = "quic-qlog")]
mod quic;
mod text;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use weftline_proto::Role;

use crate::BindError;
use crate::lock::lock;
use crate::shared::Shared;
use writer::Writer;

/// Entries that wait for the thread that writes them: more than a connection makes in the meantime at
/// 10 Gbit/s. If it is late, the newest are left out, and a `gap` in the log says how many.
pub(crate) const CAPACITY: usize = 1 << 17;

/// Writes the event log of each connection of all endpoints that have this in their
/// [`EndpointConfig`](crate::EndpointConfig) to a file of its own in one folder: what the engine sent,
/// received, decoded and delivered, and when. The form is qlog (`.sqlog`); `docs/reference/event-log.md`
/// explains every entry. Clones share the folder.
///
/// A file is named by the time when this process began to log, the process, a number and the role of this
/// end, and only the user of this process can read it. It holds the peer's address and fingerprint,
/// and no data.
///
/// Bounds: a file of a connection has at most half of `size` bytes. A longer log goes on in a new one, and
/// the one before is kept with the ending `.old.sqlog`, so that the newest half of `size` at least is there.
/// There are at most [`EventLogs::MOST`] connections in the folder: the oldest that is over makes room
/// for a new one, and a connection for which there is no room has no log. Files of earlier processes
/// are left alone.
///
/// With the feature `quic-qlog`, a server's endpoint, and each connection that is opened, has a file of QUIC's own events too, of at most
/// `size` bytes: [`EventLogs::MOST`] files besides.
#[derive(Clone)]
pub struct EventLogs(Arc<Logs>);

struct Logs {
    folder: PathBuf,
    size: u64,
    writer: Mutex<Option<Writer>>,
}

impl EventLogs {
    /// Connections whose logs are kept.
    pub const MOST: usize = 64;
    /// The least `size`, in bytes.
    pub const LEAST_SIZE: u64 = 1 << 20;

    /// Logs in this folder, of at most `size` bytes for each connection. The folder is made when the first
    /// endpoint is bound, readable for this user alone.
    pub fn new(folder: impl Into<PathBuf>, size: u64) -> Self {
        EventLogs(Arc::new(Logs {
            folder: folder.into(),
            size,
            writer: Mutex::new(None),
        }))
    }

    /// Where the logs are.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Waits until everything that has happened so far is in the files. It blocks the calling thread:
    /// call it at the end of a program.
    pub fn flush(&self) {
        let flushed = lock(&self.0.writer).as_ref().map(Writer::flush);
        if let Some(flushed) = flushed {
            // The thread has ended if nothing comes.
            flushed.recv().ok();
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.size
    }

    /// Makes the folder and starts the thread, the first time.
    pub(crate) fn open(&self) -> Result<(), BindError> {
        let Logs { folder, size, .. } = &*self.0;
        let mut writer = lock(&self.0.writer);
        if writer.is_none() {
            let started = Writer::start(folder, *size);
            *writer = Some(started.map_err(|source| BindError::EventLogs {
                folder: folder.clone(),
                source,
            })?);
        }
        Ok(())
    }

    /// A connection begins: the number of its log.
    pub(crate) fn begin(&self, role: Role, shared: &Arc<Shared>) -> Option<u64> {
        lock(&self.0.writer).as_mut()?.begin(role, shared)
    }

    /// The connection of the log with this number is over.
    pub(crate) fn end(&self, number: u64, shared: &Shared) {
        if let Some(writer) = lock(&self.0.writer).as_mut() {
            writer.end(number, shared);
        }
    }
}

impl fmt::Debug for EventLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Logs { folder, size, .. } = &*self.0;
        f.debug_struct("EventLogs")
            .field("folder", folder)
            .field("size", size)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
