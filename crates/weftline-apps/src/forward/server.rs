//! The server end: its rules and its sessions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use weftline::{Connection, Refusal};

use super::counts::Snapshot;
use super::event::Event;
use super::far::Far;
use super::moving::Left;
use super::options::ServerOptions;
use super::service::Service;
use crate::close;
use crate::error::SessionError;
use crate::host::{self, Work};
use crate::lock::lock;
use crate::on_drop::OnDrop;
use crate::protocol::Protocol;
use crate::quota::{OverLimit, Place};
use crate::stopper::Stopper;

/// At the end, how long data in flight may take to be acknowledged, and connections to be reset.
const SETTLE: Duration = Duration::from_secs(1);

/// How long a server that leaves its connections takes to stop, at most: until they have left their sessions, and others are
/// over. A service manager does not wait much longer.
const WHOLE: Duration = Duration::from_secs(10);

/// The server end of `forward`, for [`host`](crate::host::host).
pub struct Server {
    pub(super) service: Arc<Service>,
    sessions: Mutex<BTreeMap<u64, Arc<Far>>>,
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
        let sessions = lock(&self.sessions);
        Snapshot {
            client_limit: Some(self.service.options.bounds.connections()),
            ..self
                .service
                .counts
                .snapshot(sessions.values().next().map(|far| &far.connection))
        }
    }

    /// Serves the streams of a session, which may be another service's, until it ends or must end; returns the
    /// reason.
    pub(crate) async fn carry(&self, connection: &Connection, place: Arc<Place>) -> SessionError {
        self.service.counts.session();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let far = Far::new(self.service.clone(), connection.clone(), place);
        let far = Arc::new(far);
        lock(&self.sessions).insert(number, far.clone());
        let _gone = OnDrop(|| {
            lock(&self.sessions).remove(&number);
        });
        far.serve().await
    }

    /// Goes on with connections that an earlier start of this server has left: their clients find them.
    pub fn adopt(&self, left: Vec<Left>) {
        for one in left {
            self.service.keep(one);
        }
    }

    /// The connections that it leaves to its next start, once it has stopped.
    pub fn left(&self) -> Vec<Left> {
        self.service.all_kept()
    }

    fn all(&self) -> Vec<Arc<Far>> {
        lock(&self.sessions).values().cloned().collect()
    }

    /// Lets the connections of all sessions leave them.
    async fn let_go(&self) {
        // No other start of this server has it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let key = format!("{:x}", since.unwrap_or_default().as_nanos());
        let mut going = JoinSet::new();
        for far in self.all() {
            let key = key.clone();
            going.spawn(async move { far.let_go(&key).await });
        }
        going.join_all().await;
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
                Ok(place) => self.carry(&connection, Arc::new(place)).await,
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

    fn check(&self) {
        // What has just left waits for the next start.
        if !self.service.is_leaving() {
            self.service.forget();
        }
    }

    fn turned_away(&self, refusal: &Refusal) {
        (self.service.on_event)(Event::TurnedAway(refusal));
    }

    /// Lets open connections finish for a while, and their data arrive.
    fn drain(self: Arc<Self>, stopper: Stopper) -> Work<()> {
        Box::pin(async move {
            let service = &self.service;
            let mut patience = service.options.bounds.drain();
            if service.options.leaves_connections {
                // Those that have left wait for the next start meanwhile.
                patience = patience.min(WHOLE);
                let began = Instant::now();
                tokio::select! {
                    _ = timeout(patience, self.let_go()) => {}
                    () = stopper.insisted() => return,
                }
                patience = patience.saturating_sub(began.elapsed());
            }
            service.leaving.send_replace(true);
            let open = self.snapshot().open;
            if open > 0 {
                (service.on_event)(Event::Draining { open, patience });
            }
            let drained = async {
                drop(service.drained().await);
                let sessions = self.all();
                let flushed = async {
                    for far in &sessions {
                        // An ended session has nothing to wait for.
                        let _ = far.connection.flushed().await;
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
