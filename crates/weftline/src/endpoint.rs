//! A UDP port that opens sessions and accepts them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use weftline_proto::{CloseReason, Role};

use crate::carrier::quic::{Knock, Quic};
use crate::carrier::udp::Udp;
use crate::carrier::{BUSY, Carrier};
use crate::shared::Shared;
use crate::{
    Allowed, BindError, ConnectError, Connection, EndpointConfig, Fingerprint, Identity, Refusal,
    driver,
};

/// Refusals kept until they are asked for.
const REFUSALS: usize = 64;

/// A UDP port that connects to peers and accepts them. Clones are handles to the same port.
///
/// When the last handle is dropped, no further peers are accepted; open connections go on.
#[derive(Clone)]
pub struct Endpoint(Arc<Inner>);

impl Endpoint {
    /// Binds a QUIC endpoint: encrypted, and both ends know who the other is.
    ///
    /// With [`Allowed::nobody`] it only connects.
    ///
    /// # Errors
    ///
    /// The address is not free, this is not called inside a tokio runtime, or the configuration
    /// contradicts itself.
    pub fn bind(
        addr: SocketAddr,
        identity: Identity,
        allowed: Allowed,
        config: EndpointConfig,
    ) -> Result<Self, BindError> {
        Runtime::try_current().map_err(|_| BindError::NoRuntime)?;
        let quic = Arc::new(Quic::bind(addr, identity, allowed, &config)?);
        Ok(Self::new(Backend::Quic(quic.clone()), config, |door| {
            tokio::spawn(accept_quic(quic, door)).abort_handle()
        }))
    }

    /// Binds a plain UDP endpoint, on which **nothing is encrypted or authenticated**: whoever
    /// reaches the port may open sessions, and whoever sees the packets can read and forge them.
    /// For the lab and for links one owns.
    ///
    /// UDP has no congestion control but the session's: with
    /// [`RateControl::Carrier`](weftline_proto::RateControl::Carrier) only the peer's limits
    /// bound how fast it sends.
    ///
    /// # Errors
    ///
    /// The address is not free, or this is not called inside a tokio runtime.
    pub fn bind_insecure_udp(addr: SocketAddr, config: EndpointConfig) -> Result<Self, BindError> {
        Runtime::try_current().map_err(|_| BindError::NoRuntime)?;
        let (udp, mut incoming) = Udp::bind(addr, &config)?;
        Ok(Self::new(Backend::Udp(udp), config, |door| {
            let accept = async move {
                let mut greeting = JoinSet::new();
                while let Some(link) = incoming.recv().await {
                    while greeting.try_join_next().is_some() {}
                    greeting.spawn(door.clone().admit(Carrier::Udp(link)));
                }
            };
            tokio::spawn(accept).abort_handle()
        }))
    }

    /// The address and port that were bound.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        match &self.0.backend {
            Backend::Quic(quic) => quic.local_addr(),
            Backend::Udp(udp) => udp.local_addr(),
        }
    }

    /// This end's fingerprint; `None` on plain UDP.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        match &self.0.backend {
            Backend::Quic(quic) => Some(quic.fingerprint()),
            Backend::Udp(_) => None,
        }
    }

    /// Opens a session with the peer of this fingerprint at this address, and with no other.
    ///
    /// Returns when the peer has accepted this end and the session is ready.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]: each of its messages says what to do.
    pub async fn connect(
        &self,
        addr: SocketAddr,
        peer: &Fingerprint,
    ) -> Result<Connection, ConnectError> {
        let Backend::Quic(quic) = &self.0.backend else {
            return Err(ConnectError::WrongCarrier { insecure: true });
        };
        let link = async { Ok(Carrier::Quic(quic.connect(addr, *peer).await?)) };
        self.open(addr, link, true).await
    }

    /// As [`Endpoint::connect`], but returns as soon as the peer has proven who it is, a round trip
    /// earlier: what is sent at once goes with the end of the handshake. With
    /// [`EndpointConfig::early_data`] it returns at once if the peer is known, and what is sent goes
    /// with the first packet; if the peer does not take it so, it goes once more after the
    /// handshake. Whether the peer accepts
    /// this end shows later. If it does not, reads and writes fail, and
    /// [`Connection::closed`](crate::Connection::closed) tells why.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]: each of its messages says what to do.
    pub async fn connect_early(
        &self,
        addr: SocketAddr,
        peer: &Fingerprint,
    ) -> Result<Connection, ConnectError> {
        let Backend::Quic(quic) = &self.0.backend else {
            return Err(ConnectError::WrongCarrier { insecure: true });
        };
        let link = async { Ok(Carrier::Quic(quic.connect(addr, *peer).await?)) };
        self.open(addr, link, false).await
    }

    /// Opens a session with whoever answers at this address; only for plain UDP.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]: each of its messages says what to do.
    pub async fn connect_insecure(&self, addr: SocketAddr) -> Result<Connection, ConnectError> {
        let link = async { self.insecure_link(addr) };
        self.open(addr, link, true).await
    }

    /// As [`Endpoint::connect_insecure`], but returns at once, before anybody has answered: what is
    /// sent at once goes with the first datagrams, without a round trip for a handshake. Whether
    /// there is a peer shows later: if not, reads and writes fail after the idle timeout.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`]: each of its messages says what to do.
    pub async fn connect_insecure_early(
        &self,
        addr: SocketAddr,
    ) -> Result<Connection, ConnectError> {
        let link = async { self.insecure_link(addr) };
        self.open(addr, link, false).await
    }

    fn insecure_link(&self, addr: SocketAddr) -> Result<Carrier, ConnectError> {
        let Backend::Udp(udp) = &self.0.backend else {
            return Err(ConnectError::WrongCarrier { insecure: false });
        };
        let link = udp.connect(addr).map_err(|e| ConnectError::Address {
            addr,
            reason: e.to_string(),
        })?;
        Ok(Carrier::Udp(link))
    }

    /// The next session that a peer opened; `None` once the endpoint is closed, or at once if it
    /// accepts nobody.
    ///
    /// Peers that were turned away are not seen here: see [`Endpoint::refused`].
    pub async fn accept(&self) -> Option<Connection> {
        self.0.accepted.lock().await.recv().await
    }

    /// The next peer that was turned away, for the log; `None` as with [`Endpoint::accept`].
    /// A bounded number is kept: when nobody asks, the newest are dropped.
    pub async fn refused(&self) -> Option<Refusal> {
        self.0.refusals.lock().await.recv().await
    }

    /// Closes all connections with this code and reason, and accepts and opens no more.
    ///
    /// Then wait for [`Endpoint::wait_idle`], so that the peers learn of it.
    pub fn close(&self, code: u64, reason: &str) {
        self.0.registry.closed.store(true, Ordering::SeqCst);
        self.0.stop_listening();
        for shared in self.0.registry.live() {
            shared.close(code, reason);
        }
    }

    /// Waits until all connections are over and their last datagrams have left.
    pub async fn wait_idle(&self) {
        self.0.registry.wait_idle().await;
        if let Backend::Quic(quic) = &self.0.backend {
            quic.wait_idle().await;
        }
    }

    fn new(
        backend: Backend,
        config: EndpointConfig,
        listen: impl FnOnce(Door) -> AbortHandle,
    ) -> Self {
        let (accepted_tx, accepted) = mpsc::channel(config.max_sessions.max(1));
        let (refusals_tx, refusals) = mpsc::channel(REFUSALS);
        let registry = Arc::new(Registry::default());
        let door = Door {
            slots: Arc::new(Semaphore::new(config.max_sessions)),
            config: Arc::new(config.clone()),
            registry: registry.clone(),
            accepted: accepted_tx,
            refusals: refusals_tx,
        };
        Endpoint(Arc::new(Inner {
            backend,
            config,
            registry,
            accepted: tokio::sync::Mutex::new(accepted),
            refusals: tokio::sync::Mutex::new(refusals),
            listener: listen(door),
        }))
    }

    async fn open(
        &self,
        addr: SocketAddr,
        link: impl Future<Output = Result<Carrier, ConnectError>>,
        until_ready: bool,
    ) -> Result<Connection, ConnectError> {
        let limit = self.0.config.connect_timeout;
        let open = async {
            let registry = &self.0.registry;
            let still_open = || match registry.closed.load(Ordering::SeqCst) {
                true => Err(ConnectError::EndpointClosed),
                false => Ok(()),
            };
            still_open()?;
            let carrier = link.await?;
            still_open()?;
            let connection = registry.start(carrier, Role::Client, &self.0.config, None);
            if !until_ready {
                return Ok(connection);
            }
            match ready(connection.shared()).await {
                Ok(()) => Ok(connection),
                Err(reason) => {
                    let carrier = &connection.shared().carrier;
                    Err(carrier
                        .connect_error(addr)
                        .unwrap_or(ConnectError::Closed { addr, reason }))
                }
            }
        };
        match timeout(limit, open).await {
            Ok(result) => result,
            Err(_) => Err(ConnectError::TimedOut {
                addr,
                seconds: limit.as_secs(),
            }),
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("local_addr", &self.local_addr().ok())
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

struct Inner {
    backend: Backend,
    config: EndpointConfig,
    registry: Arc<Registry>,
    accepted: tokio::sync::Mutex<mpsc::Receiver<Connection>>,
    refusals: tokio::sync::Mutex<mpsc::Receiver<Refusal>>,
    listener: AbortHandle,
}

enum Backend {
    Quic(Arc<Quic>),
    Udp(Udp),
}

impl Inner {
    fn stop_listening(&self) {
        match &self.backend {
            Backend::Quic(quic) => quic.stop_listening(),
            Backend::Udp(udp) => udp.stop_listening(),
        }
        self.listener.abort();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

/// The sessions of an endpoint that are not over.
#[derive(Default)]
struct Registry {
    sessions: Mutex<Vec<Weak<Shared>>>,
    running: std::sync::atomic::AtomicUsize,
    idle: Notify,
    closed: AtomicBool,
}

impl Registry {
    /// Starts a session on a carrier that is ready.
    fn start(
        self: &Arc<Self>,
        carrier: Carrier,
        role: Role,
        config: &EndpointConfig,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Connection {
        let mut session = config.session.clone();
        if let Carrier::Quic(_) = carrier {
            session.rate = config.quic_rate();
        }
        carrier.fit(&mut session);
        let mut seed = [0; 8];
        aws_lc_rs::rand::fill(&mut seed).expect("the system's random source works");
        let seed = u64::from_ne_bytes(seed);
        let shared = Arc::new(Shared::new(carrier, role, session, seed));
        self.running.fetch_add(1, Ordering::SeqCst);
        {
            let mut sessions = self.lock();
            sessions.retain(|session| session.strong_count() > 0);
            sessions.push(Arc::downgrade(&shared));
        }
        if role == Role::Client && shared.carrier.is_early() {
            tokio::spawn(resend_if_refused(shared.clone()));
        }
        let registry = self.clone();
        driver::spawn(shared.clone(), move || {
            drop(permit);
            registry.running.fetch_sub(1, Ordering::SeqCst);
            registry.idle.notify_waiters();
        });
        Connection::new(shared)
    }

    fn live(&self) -> Vec<Arc<Shared>> {
        self.lock().iter().filter_map(Weak::upgrade).collect()
    }

    async fn wait_idle(&self) {
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            idle.as_mut().enable();
            if self.running.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Shared>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where peers come in.
#[derive(Clone)]
struct Door {
    config: Arc<EndpointConfig>,
    registry: Arc<Registry>,
    slots: Arc<Semaphore>,
    accepted: mpsc::Sender<Connection>,
    refusals: mpsc::Sender<Refusal>,
}

impl Door {
    async fn greet(self, knock: Knock) {
        let limit = self.config.connect_timeout;
        match timeout(limit, knock.open()).await {
            Ok(Ok(link)) => self.admit(Carrier::Quic(link)).await,
            Ok(Err(refusal)) => self.refuse(refusal),
            // A peer that stops half-way is no news.
            Err(_) => tracing::debug!("a handshake took too long"),
        }
    }

    /// Starts the session of a peer that may come in, and hands it over once it is ready.
    async fn admit(self, carrier: Carrier) {
        let addr = carrier.remote_addr();
        let Ok(permit) = self.slots.clone().try_acquire_owned() else {
            self.refuse(Refusal::Full { addr });
            carrier.close(BUSY, "all sessions are taken").await;
            return;
        };
        let connection = self
            .registry
            .start(carrier, Role::Server, &self.config, Some(permit));
        let limit = self.config.connect_timeout;
        match timeout(limit, ready(connection.shared())).await {
            // There is a place for each session that holds a permit, but one may have ended while
            // it waited; then this one is dropped.
            Ok(Ok(())) => drop(self.accepted.try_send(connection)),
            Ok(Err(reason)) => self.refuse(Refusal::Handshake {
                addr,
                reason: reason.to_string(),
            }),
            Err(_) => tracing::debug!(%addr, "no HELLO in time"),
        }
    }

    fn refuse(&self, refusal: Refusal) {
        tracing::info!("{refusal}");
        self.refusals.try_send(refusal).ok();
    }
}

async fn accept_quic(quic: Arc<Quic>, door: Door) {
    let mut handshakes = JoinSet::new();
    while let Some(knock) = quic.knock().await {
        while handshakes.try_join_next().is_some() {}
        if let Some(knock) = knock.admit(handshakes.len()) {
            handshakes.spawn(door.clone().greet(knock));
        }
    }
}

/// Early data that the peer refused goes once more, at once: QUIC has dropped it.
async fn resend_if_refused(shared: Arc<Shared>) {
    if shared.carrier.early_data_refused().await {
        tracing::debug!("the peer took no early data; it is sent again");
        shared.with(|state, now| state.session.carrier_dropped_all(now));
    }
}

/// Waits until both ends know each other's limits.
async fn ready(shared: &Shared) -> Result<(), CloseReason> {
    use std::task::Poll;
    shared
        .wait(&shared.connected, |state, _| match state.over() {
            Some(reason) => Poll::Ready(Err(reason.clone())),
            None if state.connected => Poll::Ready(Ok(())),
            None => Poll::Pending,
        })
        .await
}
