//! The server end: its rules and its sessions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use weftline::{Connection, Refusal};

use super::counts::Snapshot;
use super::event::Event;
use super::far::Far;
use super::options::ServerOptions;
use super::service::Service;
use crate::close;
use crate::host::{self, Work};
use crate::lock::lock;
use crate::protocol::Protocol;
use crate::quota::{OverLimit, Place};
use crate::stopper::Stopper;

/// At the end, how long data in flight may take to be acknowledged, and connections to be reset.
const SETTLE: Duration = Duration::from_secs(1);

/// The server end of `forward`, for [`host`](crate::host::host).
pub struct Server {
    pub(super) service: Arc<Service>,
    sessions: Mutex<BTreeMap<u64, Connection>>,
    numbers: AtomicU64,
}

impl Server {
    /// A server without clients.
    pub fn new(
        options: ServerOptions,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Server {
            service: Arc::new(Service::new(options, Arc::new(on_event))),
            sessions: Mutex::default(),
            numbers: AtomicU64::new(0),
        })
    }

    /// Current counters of all sessions together.
    pub fn snapshot(&self) -> Snapshot {
        self.service
            .counts
            .snapshot(lock(&self.sessions).values().next())
    }

    #[cfg(test)]
    pub(super) fn sessions(&self) -> usize {
        lock(&self.sessions).len()
    }
}

impl host::Service for Server {
    fn protocol(&self) -> Protocol {
        Protocol::Forward
    }

    fn serve(self: Arc<Self>, connection: Connection, place: Result<Place, OverLimit>) -> Work<()> {
        Box::pin(async move {
            let Some(peer) = connection.peer() else {
                // The QUIC carrier has always authenticated the peer; other sessions get nothing.
                return connection.close(close::FAILED, "unknown");
            };
            let (service, remote) = (&self.service, connection.remote_addr());
            (service.on_event)(Event::Joined { peer, remote });
            let ended = match place {
                Ok(place) => {
                    service.counts.session();
                    let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                    lock(&self.sessions).insert(number, connection.clone());
                    let ended = Far::new(service.clone(), connection.clone(), place).serve();
                    let ended = ended.await;
                    lock(&self.sessions).remove(&number);
                    ended
                }
                Err(over) => over.into(),
            };
            // Unless it is over.
            connection.close(close::FAILED, &ended.to_string());
            (service.on_event)(Event::Left {
                peer,
                remote,
                error: &ended,
            });
        })
    }

    fn turned_away(&self, refusal: &Refusal) {
        (self.service.on_event)(Event::TurnedAway(refusal));
    }

    /// Lets open connections finish for a while, and their data arrive.
    fn drain(self: Arc<Self>, stopper: Stopper) -> Work<()> {
        Box::pin(async move {
            let service = &self.service;
            service.leaving.send_replace(true);
            let open = self.snapshot().open;
            let patience = service.options.bounds.drain();
            if open > 0 {
                (service.on_event)(Event::Draining { open, patience });
            }
            let drained = async {
                drop(service.drained().await);
                let sessions: Vec<Connection> = lock(&self.sessions).values().cloned().collect();
                let flushed = async {
                    for connection in &sessions {
                        // An ended session has nothing to wait for.
                        let _ = connection.flushed().await;
                    }
                };
                let _ = timeout(SETTLE, flushed).await;
            };
            tokio::select! {
                _ = timeout(patience, drained) => {}
                () = stopper.insisted() => {}
            }
        })
    }

    fn settle(self: Arc<Self>) -> Work<()> {
        // Connections that closing resets must be reset before the process ends.
        Box::pin(async move {
            let _ = timeout(SETTLE, self.service.drained()).await;
        })
    }
}
