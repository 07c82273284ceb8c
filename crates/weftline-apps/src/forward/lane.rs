//! Connections of local programs, and the session that they go through.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use weftline::{Connection, EndpointConfig};

use super::bounds::Bounds;
use super::counts::Snapshot;
use super::event::{Event, OnEvent};
use super::near::Near;
use super::options::{Entry, OpenError};
use crate::stopper::Stopper;
use crate::target::Target;

/// At the end, how long data in flight may take to be acknowledged, and connections to be reset.
const SETTLE: Duration = Duration::from_secs(1);

/// Local listeners, whose connections go as streams through a session that somebody else keeps: that of
/// `forward`'s [`Client`](super::Client), or that of a [tunnel](crate::tun::Client).
pub struct Lane {
    pub(super) near: Arc<Near>,
    listening: Mutex<JoinSet<()>>,
    bounds: Bounds,
    on_event: OnEvent,
}

impl Lane {
    /// Listens at these addresses. A connection waits for a session for `wait` at most.
    ///
    /// # Errors
    /// A local address cannot be used.
    pub async fn open(
        listen: &[(SocketAddr, Entry)],
        bounds: Bounds,
        wait: Duration,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        Self::with(listen, Vec::new(), (bounds, wait), Arc::new(on_event)).await
    }

    /// As [`open`](Self::open), with targets of connections that programs make at the server.
    pub(super) async fn with(
        listen: &[(SocketAddr, Entry)],
        reverse: Vec<Target>,
        (bounds, wait): (Bounds, Duration),
        on_event: OnEvent,
    ) -> Result<Self, OpenError> {
        let (mut entries, mut listeners) = (Vec::new(), Vec::new());
        for (addr, entry) in listen {
            let failed = |source| OpenError::Listen {
                addr: *addr,
                source,
            };
            let listener = TcpListener::bind(addr).await.map_err(failed)?;
            entries.push((listener.local_addr().map_err(failed)?, entry.clone()));
            listeners.push((listener, entry.clone()));
        }
        let near = Near::new(
            entries,
            reverse,
            bounds.connections(),
            wait,
            on_event.clone(),
        );
        let near = Arc::new(near);
        let mut listening = JoinSet::new();
        for (listener, entry) in listeners {
            listening.spawn(near.clone().listen(listener, entry));
        }
        Ok(Lane {
            near,
            listening: Mutex::new(listening),
            bounds,
            on_event,
        })
    }

    /// The bound local addresses, and what each leads to.
    pub fn entries(&self) -> &[(SocketAddr, Entry)] {
        &self.near.entries
    }

    /// Current counters.
    pub fn snapshot(&self) -> Snapshot {
        self.near.snapshot()
    }

    /// Gives sessions that carry messages too the limits that its connections need.
    pub(crate) fn apply(&self, config: &mut EndpointConfig) {
        self.bounds.apply_beside_messages(config);
    }

    /// From now on connections use this session.
    pub(crate) fn attach(&self, connection: &Connection) {
        self.near.attach(connection.clone());
    }

    /// From now on connections wait for a session.
    pub(crate) fn detach(&self) {
        self.near.detach();
    }

    /// Accepts nothing more, lets open connections finish for a while, and their data arrive.
    pub(crate) async fn drain(&self, connection: &Connection, stopper: &Stopper) {
        self.listening.lock().await.shutdown().await;
        let open = self.near.snapshot().open;
        let patience = self.bounds.drain();
        if open > 0 {
            (self.on_event)(Event::Draining { open, patience });
        }
        let drained = async {
            self.near.drained().await;
            let _ = timeout(SETTLE, connection.flushed()).await;
        };
        tokio::select! {
            _ = timeout(patience, drained) => {}
            () = stopper.insisted() => {}
        }
    }

    /// Waits, for a bounded time, until the connections of a closed session are reset.
    pub(crate) async fn settle(&self) {
        let _ = timeout(SETTLE, self.near.drained()).await;
    }
}
