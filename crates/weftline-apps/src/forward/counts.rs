//! Counters of one end of `forward`.

use std::sync::atomic::{AtomicU64, Ordering};

use weftline::{Connection, PathInfo, Stats};

use super::wire::Reply;

/// How an established connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Both directions ended normally.
    Done,
    /// It failed, or the session did; the program has received a reset.
    Broken,
}

/// Counters of a running end.
#[derive(Debug, Default)]
pub(super) struct Counts {
    sessions: AtomicU64,
    open: AtomicU64,
    total: AtomicU64,
    done: AtomicU64,
    broken: AtomicU64,
    refused: AtomicU64,
    out: AtomicU64,
    inward: AtomicU64,
}

/// Counters at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Sessions so far.
    pub sessions: u64,
    /// Connections that are open.
    pub open: u64,
    /// Connections so far, with any result.
    pub total: u64,
    /// Connections that ended normally.
    pub done: u64,
    /// Connections that failed, or whose session did.
    pub broken: u64,
    /// Connections that were never established.
    pub refused: u64,
    /// Bytes read from local connections.
    pub sent: u64,
    /// Bytes written to local connections.
    pub delivered: u64,
    /// The current session, or one of them.
    pub session: Option<Stats>,
    /// Its paths.
    pub paths: Vec<PathInfo>,
}

impl Counts {
    /// Counts bytes read from a local connection.
    pub(super) fn out(&self, bytes: usize) {
        self.out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes written to a local connection.
    pub(super) fn inward(&self, bytes: usize) {
        self.inward.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a new session.
    pub(super) fn session(&self) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection while `carried` runs, and then its result.
    pub(super) async fn connection(
        &self,
        carried: impl Future<Output = Result<Ended, Reply>>,
    ) -> Result<Ended, Reply> {
        self.total.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        let ended = carried.await;
        self.open.fetch_sub(1, Ordering::Relaxed);
        let counter = match ended {
            Ok(Ended::Done) => &self.done,
            Ok(Ended::Broken) => &self.broken,
            Err(_) => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        ended
    }

    /// Current counters.
    pub(super) fn snapshot(&self, session: Option<&Connection>) -> Snapshot {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Snapshot {
            sessions: load(&self.sessions),
            open: load(&self.open),
            total: load(&self.total),
            done: load(&self.done),
            broken: load(&self.broken),
            refused: load(&self.refused),
            sent: load(&self.out),
            delivered: load(&self.inward),
            session: session.map(Connection::stats),
            paths: session.map(Connection::paths).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::wire::Status;

    #[tokio::test]
    async fn the_result_of_a_connection_is_counted_once() {
        let counts = Counts::default();
        let refused = Err(Reply::new(Status::Refused, "no"));
        for ended in [Ok(Ended::Done), Ok(Ended::Broken), refused] {
            let carried = async {
                assert_eq!(counts.snapshot(None).open, 1);
                ended
            };
            let _ = counts.connection(carried).await;
        }
        let now = counts.snapshot(None);
        assert_eq!((now.open, now.total), (0, 3));
        assert_eq!((now.done, now.broken, now.refused), (1, 1, 1));
    }
}
