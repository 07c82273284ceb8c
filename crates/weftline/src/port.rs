//! A UDP port with its connections: the inside that both kinds of endpoint share.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use weftline_proto::{Limits, Role};

#[cfg(feature = "quic")]
use crate::carrier::quic::{Arrival, Sessions};
use crate::carrier::{BUSY, Backend, Carrier};
use crate::lock::lock;
#[cfg(feature = "quic")]
use crate::paths;
use crate::quota::{self, Quota, Tell};
use crate::shared::Shared;
use crate::{ConnectError, Connection, EndpointConfig, Fingerprint, Refusal, driver, random};

/// Refusals kept until they are asked for.
const REFUSALS: usize = 64;
/// Connections of strangers at a time.
#[cfg(feature = "quic")]
const STRANGERS: usize = 8;

/// What [`Endpoint`](crate::Endpoint) and [`InsecureEndpoint`](crate::InsecureEndpoint) have in
/// common: a UDP port that accepts connections and closes them. Both give it by dereferencing, so
/// a program that serves either takes a `Port`. Clones are handles to the same port.
#[derive(Clone)]
pub struct Port(Arc<Inner>);

struct Inner {
    backend: Backend,
    registry: Arc<Registry>,
    /// Peers may connect.
    listening: watch::Sender<bool>,
    accepted: tokio::sync::Mutex<mpsc::Receiver<Connection>>,
    #[cfg(feature = "quic")]
    strangers: tokio::sync::Mutex<mpsc::Receiver<Connection>>,
    refusals: tokio::sync::Mutex<mpsc::Receiver<Refusal>>,
    listener: AbortHandle,
}

impl Port {
    pub(crate) fn new(
        backend: Backend,
        config: EndpointConfig,
        listening: bool,
        listen: impl FnOnce(Door) -> AbortHandle,
    ) -> Self {
        let (accepted_tx, accepted) = mpsc::channel(config.max_sessions);
        let (refusals_tx, refusals) = mpsc::channel(REFUSALS);
        #[cfg(feature = "quic")]
        let (strangers_tx, strangers) = mpsc::channel(STRANGERS);
        let most = config.max_sessions;
        let registry = Arc::new(Registry::new(config));
        let door = Door {
            registry: registry.clone(),
            accepted: Hall::new(most, accepted_tx, None),
            #[cfg(feature = "quic")]
            strangers: Hall::new(STRANGERS, strangers_tx, Some(Limits::LEAST)),
            refusals: refusals_tx,
            quota: Arc::default(),
        };
        Port(Arc::new(Inner {
            backend,
            registry,
            listening: watch::Sender::new(listening),
            accepted: tokio::sync::Mutex::new(accepted),
            #[cfg(feature = "quic")]
            strangers: tokio::sync::Mutex::new(strangers),
            refusals: tokio::sync::Mutex::new(refusals),
            listener: listen(door),
        }))
    }

    /// The address and port that are bound.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.backend.local_addr()
    }

    /// This end's fingerprint; `None` on plain UDP.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.0.backend.fingerprint()
    }

    #[cfg(feature = "quic")]
    pub(crate) fn is_closed(&self) -> bool {
        self.0.registry.closed.load(Ordering::SeqCst)
    }

    /// The next connection that a peer has opened; `None` once the endpoint is closed, or as soon
    /// as it [allows](crate::Allowed) nobody.
    ///
    /// Peers that were turned away are not seen here: see [`Port::refused`].
    ///
    /// Cancel safe: a connection that was not returned is returned by the next call.
    pub async fn accept(&self) -> Option<Connection> {
        let mut listening = self.0.listening.subscribe();
        tokio::select! {
            biased;
            connection = async { self.0.accepted.lock().await.recv().await } => connection,
            _ = listening.wait_for(|listening| !listening) => None,
        }
    }

    /// The next connection of a peer that asked for what strangers may ask for.
    #[cfg(feature = "quic")]
    pub(crate) async fn accept_stranger(&self) -> Option<Connection> {
        let mut listening = self.0.listening.subscribe();
        tokio::select! {
            biased;
            connection = async { self.0.strangers.lock().await.recv().await } => connection,
            _ = listening.wait_for(|listening| !listening) => None,
        }
    }

    /// The next peer that was turned away, for the log; `None` as with [`Port::accept`].
    /// When many are turned away, the first eight in ten seconds are given, then
    /// [`Refusal::More`] with the number of the others. At most 64 are kept: when nobody asks, the
    /// newest are dropped.
    ///
    /// Cancel safe: a refusal that was not returned is returned by the next call.
    pub async fn refused(&self) -> Option<Refusal> {
        let mut listening = self.0.listening.subscribe();
        tokio::select! {
            biased;
            refusal = async { self.0.refusals.lock().await.recv().await } => refusal,
            _ = listening.wait_for(|listening| !listening) => None,
        }
    }

    /// Closes all connections with this code and reason; accepts and opens no more.
    ///
    /// Then wait for [`Port::wait_idle`], so that the peers learn of it.
    pub fn close(&self, code: u64, reason: &str) {
        self.0.registry.closed.store(true, Ordering::SeqCst);
        self.0.stop_listening();
        for shared in self.0.registry.live() {
            shared.close(code, reason);
        }
    }

    /// Waits until all connections are over and their last datagrams have left.
    ///
    /// Cancel safe.
    pub async fn wait_idle(&self) {
        self.0.registry.wait_idle().await;
        self.0.backend.wait_idle().await;
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.0.registry
    }

    /// Peers may connect from now on, or may not.
    #[cfg(feature = "quic")]
    pub(crate) fn set_listening(&self, listening: bool) {
        self.0.listening.send_replace(listening);
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("local_addr", &self.local_addr().ok())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn stop_listening(&self) {
        self.backend.stop_listening();
        self.listener.abort();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

/// The connections of a port that are not over.
pub(crate) struct Registry {
    config: EndpointConfig,
    /// Those that may get further paths.
    #[cfg(feature = "quic")]
    pub(crate) sessions: Sessions,
    /// By their addresses in memory, until their drivers have ended.
    connections: Mutex<HashMap<usize, Arc<Shared>>>,
    idle: Notify,
    closed: AtomicBool,
}

impl Registry {
    pub(crate) fn new(config: EndpointConfig) -> Self {
        Registry {
            config,
            #[cfg(feature = "quic")]
            sessions: Sessions::default(),
            connections: Mutex::default(),
            idle: Notify::new(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn config(&self) -> &EndpointConfig {
        &self.config
    }

    pub(crate) fn still_open(&self) -> Result<(), ConnectError> {
        match self.closed.load(Ordering::SeqCst) {
            true => Err(ConnectError::EndpointClosed),
            false => Ok(()),
        }
    }

    /// Starts a connection on a carrier that is ready, within these limits or those of the configuration.
    pub(crate) fn start(
        self: &Arc<Self>,
        carrier: Carrier,
        role: Role,
        permit: Option<OwnedSemaphorePermit>,
        limits: Option<Limits>,
    ) -> Connection {
        let protocol = carrier.application_protocol();
        let mut session = self.config.session_of(protocol.as_deref()).clone();
        session.limits = limits.unwrap_or(session.limits);
        carrier.fit(&self.config, &mut session);
        let shared = Arc::new(Shared::new(carrier, role, session, random::number()));
        let key = Arc::as_ptr(&shared) as usize;
        lock(&self.connections).insert(key, shared.clone());
        if role == Role::Client && shared.first.carrier.is_early() {
            tokio::spawn(resend_if_refused(shared.clone()));
        }
        let registry = self.clone();
        let number = self.config.monitor.enter(role, &shared);
        #[cfg(feature = "event-log")]
        let log = (self.config.event_logs.as_ref()).and_then(|logs| logs.begin(role, &shared));
        let ended = Arc::downgrade(&shared);
        driver::spawn(shared.clone(), move || {
            drop(permit);
            if let Some(ended) = ended.upgrade() {
                #[cfg(feature = "event-log")]
                if let (Some(logs), Some(number)) = (&registry.config.event_logs, log) {
                    logs.end(number, &ended);
                }
                registry.config.monitor.leave(number, &ended);
                #[cfg(feature = "quic")]
                if let Some(bond) = ended.bond.get() {
                    registry.sessions.remove(&bond.name);
                }
            }
            // Who waits until the port is idle finds the log and the counters complete.
            lock(&registry.connections).remove(&key);
            registry.idle.notify_waiters();
        });
        #[cfg(feature = "quic")]
        match role {
            Role::Client if self.config.paths.len() > 1 || self.config.all_interfaces => {
                tokio::spawn(paths::open_all(shared.clone(), self.config.clone()));
            }
            Role::Client => {}
            Role::Server => self.name(&shared),
        }
        Connection::new(shared)
    }

    /// Lets a server's session get further paths, once its peer has proved that it is live.
    #[cfg(feature = "quic")]
    fn name(self: &Arc<Self>, shared: &Arc<Shared>) {
        match shared.first.carrier.is_early() {
            false => self.name_now(shared),
            true => {
                let (registry, shared) = (self.clone(), shared.clone());
                tokio::spawn(async move {
                    if shared.first.carrier.confirmed().await.is_ok() {
                        registry.name_now(&shared);
                    }
                });
            }
        }
    }

    #[cfg(feature = "quic")]
    fn name_now(&self, shared: &Arc<Shared>) {
        let Carrier::Quic(link) = &shared.first.carrier else {
            return;
        };
        if let Some(bond) = link.bond() {
            let bond = shared.bond.get_or_init(|| bond);
            self.sessions.add(bond.clone(), link.peer(), shared);
            // It may have ended meanwhile.
            if shared
                .done
                .get()
                .is_none_or(|done| done.strong_count() == 0)
            {
                self.sessions.remove(&bond.name);
            }
        }
    }

    fn live(&self) -> Vec<Arc<Shared>> {
        lock(&self.connections).values().cloned().collect()
    }

    async fn wait_idle(&self) {
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            idle.as_mut().enable();
            if lock(&self.connections).is_empty() {
                return;
            }
            idle.await;
        }
    }
}

/// Where peers come in.
#[derive(Clone)]
pub(crate) struct Door {
    registry: Arc<Registry>,
    accepted: Hall,
    #[cfg(feature = "quic")]
    strangers: Hall,
    refusals: mpsc::Sender<Refusal>,
    quota: Arc<Mutex<Quota>>,
}

/// Where connections wait until the application takes them, and the places for those that are open.
#[derive(Clone)]
struct Hall {
    slots: Arc<Semaphore>,
    queue: mpsc::Sender<Connection>,
    /// In place of the configuration's.
    limits: Option<Limits>,
}

impl Hall {
    fn new(most: usize, queue: mpsc::Sender<Connection>, limits: Option<Limits>) -> Self {
        let slots = Arc::new(Semaphore::new(most));
        Hall {
            slots,
            queue,
            limits,
        }
    }
}

impl Door {
    /// Admits a peer whose handshake with the carrier has ended so; `None`: it did not finish.
    #[cfg(feature = "quic")]
    pub(crate) async fn greet(self, handshake: Option<Result<Arrival, Refusal>>) {
        match handshake {
            Some(Ok(Arrival::Session(link))) => self.admit(Carrier::Quic(link)).await,
            Some(Ok(Arrival::Stranger(link))) => {
                let hall = self.strangers.clone();
                self.lead(Carrier::Quic(link), &hall).await;
            }
            Some(Ok(Arrival::Path(joined))) => paths::accept(joined),
            Some(Err(refusal)) => self.refuse(refusal),
            // A peer that stops half-way is no news.
            None => {
                self.registry.config.monitor.unfinished();
                tracing::debug!("a handshake took too long");
            }
        }
    }

    /// The sessions that may get further paths.
    #[cfg(feature = "quic")]
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.registry.sessions
    }

    /// Starts the connection of a peer that may come in, and hands it over once it is ready.
    pub(crate) async fn admit(self, carrier: Carrier) {
        let hall = self.accepted.clone();
        self.lead(carrier, &hall).await;
    }

    async fn lead(self, carrier: Carrier, hall: &Hall) {
        let addr = carrier.remote_addr();
        let Ok(permit) = hall.slots.clone().try_acquire_owned() else {
            self.refuse(Refusal::Full { addr });
            carrier.close(BUSY, "all connections are taken").await;
            return;
        };
        let permit = Some(permit);
        let connection = self
            .registry
            .start(carrier, Role::Server, permit, hall.limits);
        let limit = self.registry.config.connect_timeout;
        match timeout(limit, connection.shared().ready()).await {
            // There is a place for each connection that holds a permit, but one may have ended
            // while it waited; then this one is dropped.
            Ok(Ok(())) => drop(hall.queue.try_send(connection)),
            Ok(Err(reason)) => self.refuse(Refusal::Handshake {
                addr,
                reason: reason.to_string(),
            }),
            Err(_) => {
                self.registry.config.monitor.unfinished();
                tracing::debug!(%addr, "no HELLO in time");
            }
        }
    }

    /// Tells of a peer that was turned away; of many, the first ones and then their number.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        let Some(addr) = refusal.addr() else { return };
        self.registry.config.monitor.refused(&refusal);
        let tell = self.quota().on_refusal(addr, Instant::now());
        match tell {
            Tell::Now => self.tell(refusal),
            Tell::Counted => {}
            Tell::AtTheEnd(end) => {
                // The task must not keep the port's channels alive.
                let (quota, refusals) = (self.quota.clone(), self.refusals.downgrade());
                tokio::spawn(async move {
                    tokio::time::sleep_until(end.into()).await;
                    let untold = lock(&quota).on_end();
                    if let (Some(untold), Some(refusals)) = (untold, refusals.upgrade()) {
                        let more = Refusal::More {
                            count: untold.count,
                            addresses: untold.addresses,
                            seconds: quota::INTERVAL.as_secs(),
                        };
                        tracing::info!("{more}");
                        refusals.try_send(more).ok();
                    }
                });
            }
        }
    }

    fn tell(&self, refusal: Refusal) {
        tracing::info!("{refusal}");
        self.refusals.try_send(refusal).ok();
    }

    fn quota(&self) -> MutexGuard<'_, Quota> {
        lock(&self.quota)
    }
}

/// Early data that the peer refused is sent again at once: QUIC has dropped it.
async fn resend_if_refused(shared: Arc<Shared>) {
    if shared.first.carrier.early_data_refused().await {
        tracing::debug!("the peer refused early data; it is sent again");
        shared.with_all(|state, now| state.session.carrier_dropped_all(now));
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use crate::lock::lock;
    use crate::{EndpointConfig, InsecureEndpoint};

    #[tokio::test]
    async fn a_connection_that_is_over_leaves_nothing_behind() {
        let local = (Ipv4Addr::LOCALHOST, 0).into();
        let bind = || InsecureEndpoint::bind(local, EndpointConfig::default());
        let (server, client) = (bind().expect("a port"), bind().expect("a port"));
        let addr = server.local_addr().expect("an address");
        let connection = client.connect(addr).await.expect("a connection");
        let accepted = server.accept().await.expect("a connection");
        let shared = std::sync::Arc::downgrade(&client.registry().live()[0]);
        connection.close(0, "");
        accepted.closed().await;
        drop((connection, accepted));
        client.wait_idle().await;
        server.wait_idle().await;
        assert!(lock(&client.registry().connections).is_empty());
        assert_eq!(shared.strong_count(), 0);
    }
}
