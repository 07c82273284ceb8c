//! Counters of one end of `forward`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use weftline::{Connection, PathInfo, Stats};

use super::wire::Reply;
use crate::flow::{self, FlowInfo, busiest};
use crate::lock::lock;

/// How an established connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Both directions ended normally.
    Done,
    /// It failed, or the session did; the program has received a reset.
    Broken,
    /// The server stops, and its next start goes on with it.
    Left,
}

/// Counters of a running end.
#[derive(Debug, Default)]
pub(super) struct Counts {
    sessions: AtomicU64,
    open: AtomicU64,
    total: AtomicU64,
    done: AtomicU64,
    broken: AtomicU64,
    left: AtomicU64,
    refused: AtomicU64,
    out: AtomicU64,
    inward: AtomicU64,
    /// What each connection has carried that is carried now, by its number.
    carried: Mutex<BTreeMap<u64, Arc<Record>>>,
}

/// What one connection has carried.
#[derive(Debug)]
struct Record {
    number: u64,
    from: String,
    to: String,
    out: AtomicU64,
    inward: AtomicU64,
}

/// A connection that is carried until this is dropped.
pub(super) struct Carried<'a> {
    counts: &'a Counts,
    record: Arc<Record>,
}

impl Carried<'_> {
    /// Counts bytes read from the local connection.
    pub(super) fn out(&self, bytes: usize) {
        for counter in [&self.counts.out, &self.record.out] {
            counter.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Counts bytes written to the local connection.
    pub(super) fn inward(&self, bytes: usize) {
        for counter in [&self.counts.inward, &self.record.inward] {
            counter.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        lock(&self.counts.carried).remove(&self.record.number);
    }
}

impl Record {
    fn info(&self) -> FlowInfo {
        FlowInfo {
            number: self.number,
            from: self.from.clone(),
            to: self.to.clone(),
            sent_bytes: self.out.load(Ordering::Relaxed),
            delivered_bytes: self.inward.load(Ordering::Relaxed),
            ..FlowInfo::default()
        }
    }

    fn bytes(&self) -> u64 {
        self.out.load(Ordering::Relaxed) + self.inward.load(Ordering::Relaxed)
    }
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
    /// Connections that a stopping server left to its next start.
    pub left: u64,
    /// Connections that were never established.
    pub refused: u64,
    /// Bytes read from local connections.
    pub sent: u64,
    /// Bytes written to local connections.
    pub delivered: u64,
    /// The open connections that carried the most, at most [`BUSIEST`](crate::BUSIEST).
    pub busiest: Vec<FlowInfo>,
    /// The current session, or one of them.
    pub session: Option<Stats>,
    /// Its paths.
    pub paths: Vec<PathInfo>,
    /// At the server's end: most connections of one client.
    pub client_limit: Option<u32>,
}

impl Counts {
    /// Begins to carry a connection from this address to this target.
    pub(super) fn carry(&self, from: String, to: String) -> Carried<'_> {
        let record = Arc::new(Record {
            number: flow::number(),
            from,
            to,
            out: AtomicU64::new(0),
            inward: AtomicU64::new(0),
        });
        lock(&self.carried).insert(record.number, record.clone());
        Carried {
            counts: self,
            record,
        }
    }

    fn busiest(&self) -> Vec<FlowInfo> {
        // The counters rise meanwhile; the order needs values that stand still.
        let all = lock(&self.carried);
        let all = all.values().map(|record| (record.bytes(), record.clone()));
        let busiest = busiest(all, |(bytes, _)| *bytes);
        busiest.iter().map(|(_, record)| record.info()).collect()
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
            Ok(Ended::Left) => &self.left,
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
            left: load(&self.left),
            refused: load(&self.refused),
            sent: load(&self.out),
            delivered: load(&self.inward),
            busiest: self.busiest(),
            session: session.map(Connection::stats),
            paths: session.map(Connection::paths).unwrap_or_default(),
            client_limit: None,
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

    #[test]
    fn what_a_connection_carries_counts_for_it_and_for_all() {
        let counts = Counts::default();
        let [first, second] = ["a", "b"].map(|from| counts.carry(from.to_owned(), "c".to_owned()));
        first.out(5);
        second.out(3);
        second.inward(4);
        let now = counts.snapshot(None);
        assert_eq!((now.sent, now.delivered), (8, 4));
        let of = |flow: &FlowInfo| (flow.from.clone(), flow.sent_bytes, flow.delivered_bytes);
        let flows: Vec<_> = now.busiest.iter().map(of).collect();
        assert_eq!(flows, [("a".to_owned(), 5, 0), ("b".to_owned(), 3, 4)]);
        drop(first);
        let now = counts.snapshot(None);
        assert_eq!((now.busiest.len(), now.sent), (1, 8));
    }
}
