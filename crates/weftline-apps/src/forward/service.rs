//! State that all sessions of a server share.

use std::sync::Arc;

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;
use weftline::Fingerprint;

use super::counts::Counts;
use super::event::OnEvent;
use super::listeners::Listeners;
use super::moving::{Left, Room, WAITS};
use super::options::ServerOptions;
use super::wire::{Reply, Status};
use crate::lock::lock;
use crate::quota::{Limit, OverLimit, Place, Quota, Share, Unit};

/// Most connections of all sessions together.
const MOST_RUNNING: u32 = 100_000;

/// Memory that a connection takes beside what its session holds: two buffers, and what its stream
/// keeps for reuse.
const CONNECTION: u64 = 200_000;

/// What an open connection has; it is given back when this is dropped.
pub(super) struct Admitted<'a> {
    _connection: Share,
    _memory: Share,
    _running: SemaphorePermit<'a>,
}

/// State that all sessions of a server share.
pub(super) struct Service {
    pub(super) options: ServerOptions,
    pub(super) counts: Counts,
    pub(super) on_event: OnEvent,
    pub(super) listeners: Listeners,
    /// Each connection holds a permit.
    running: Semaphore,
    connections: Arc<Quota>,
    /// Turns true once, when nothing new may start.
    pub(super) leaving: watch::Sender<bool>,
    /// For connections that leave their sessions.
    pub(super) room: Room,
    /// Connections that are in no session, and since when, by whose they are and what they are called.
    kept: Mutex<BTreeMap<(Fingerprint, String), (Instant, Left)>>,
}

impl Service {
    pub(super) fn new(options: ServerOptions, on_event: OnEvent) -> Self {
        let limit = |limit: u32, option| Limit {
            limit: limit.into(),
            option,
        };
        let each = limit(options.bounds.connections(), Some("--connections"));
        let connections = Quota::new(Unit::Connections, each, limit(MOST_RUNNING, None));
        Service {
            connections,
            options,
            counts: Counts::default(),
            on_event,
            listeners: Listeners::default(),
            running: Semaphore::new(MOST_RUNNING as usize),
            leaving: watch::Sender::new(false),
            room: Room::default(),
            kept: Mutex::default(),
        }
    }

    /// Admits a further connection of the client that has this place.
    ///
    /// # Errors
    /// There are too many, or they take too much memory.
    pub(super) fn admit(&self, place: &Place) -> Result<Admitted<'_>, Reply> {
        let refuse = |over: OverLimit| Reply::new(Status::TooMany, over.to_string());
        let leaving = |_| Reply::new(Status::Leaving, "the peer is stopping");
        Ok(Admitted {
            _connection: self.connections.take(place.who(), 1).map_err(refuse)?,
            _memory: place.take(CONNECTION).map_err(refuse)?,
            // There are as many as connections, unless the server waits for their end.
            _running: self.running.try_acquire().map_err(leaving)?,
        })
    }

    /// Keeps a connection that is in no session.
    pub(super) fn keep(&self, left: Left) {
        let name = (left.peer, left.token.clone());
        lock(&self.kept).insert(name, (Instant::now(), left));
    }

    /// The connection that this client calls so; it is no longer kept.
    pub(super) fn kept(&self, peer: Fingerprint, token: &str) -> Option<Left> {
        let kept = lock(&self.kept).remove(&(peer, token.to_owned()));
        kept.map(|(_, left)| left)
    }

    /// All connections that are in no session; they are no longer kept.
    pub(super) fn all_kept(&self) -> Vec<Left> {
        let kept = std::mem::take(&mut *lock(&self.kept));
        kept.into_values().map(|(_, left)| left).collect()
    }

    /// Resets connections with which no session has gone on for a while.
    pub(super) fn forget(&self) {
        let kept = |since: Instant| since.elapsed() < WAITS;
        lock(&self.kept).retain(|_, (since, _)| kept(*since));
    }

    /// Whether the server is stopping, so that nothing new may start.
    pub(super) fn is_leaving(&self) -> bool {
        *self.leaving.borrow()
    }

    /// Waits until there are no connections; none can start while the result is held.
    pub(super) async fn drained(&self) -> impl Sized {
        // This fails only if the semaphore is closed, which never happens.
        self.running.acquire_many(MOST_RUNNING).await
    }
}
