//! What one end of a forwarding has done.

use std::sync::atomic::{AtomicU64, Ordering};

use weftline::Stats;

use super::wire::Reply;

/// How a connection ended that there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Both directions came to their end.
    Done,
    /// It broke, or the session did; the program has been told by a reset.
    Broken,
}

/// Counts of a running end.
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

/// Counts of one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Sessions so far.
    pub sessions: u64,
    /// Connections that there are.
    pub open: u64,
    /// Connections so far, whatever became of them.
    pub total: u64,
    /// Those that came to their end.
    pub done: u64,
    /// Those that broke, or whose session did.
    pub broken: u64,
    /// Those that never came to be.
    pub refused: u64,
    /// Bytes that connections here brought.
    pub sent: u64,
    /// Bytes that connections here took.
    pub delivered: u64,
    /// The session of the moment, or one of them.
    pub session: Option<Stats>,
}

impl Counts {
    /// Bytes that a connection here brought.
    pub(super) fn out(&self, bytes: usize) {
        self.out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes that a connection here took.
    pub(super) fn inward(&self, bytes: usize) {
        self.inward.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A session has begun.
    pub(super) fn session(&self) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection for as long as `carried` takes, and what becomes of it.
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

    /// How things stand.
    pub(super) fn snapshot(&self, session: Option<Stats>) -> Snapshot {
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
            session,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::wire::Status;

    #[tokio::test]
    async fn what_becomes_of_a_connection_is_counted_once() {
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
