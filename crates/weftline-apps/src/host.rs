//! Serving a port: each connection goes to the service that it asks for.

use std::pin::Pin;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::interval;
use weftline::{Allowed, Connection, Fingerprint, Port, Refusal};

use crate::close;
use crate::error::SessionError;
use crate::protocol::{Protocol, accept};
use crate::quota::{Budget, OverLimit, Place};
use crate::session::farewell;
use crate::stopper::Stopper;

/// What a [`Service`] does meanwhile.
pub type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What clients of one application protocol get on a port.
pub trait Service: Send + Sync + 'static {
    /// The protocol of its clients.
    fn protocol(&self) -> Protocol;

    /// Serves one session until it ends or must end, and closes it; one that has no `place` at once.
    fn serve(self: Arc<Self>, connection: Connection, place: Result<Place, OverLimit>) -> Work<()>;

    /// Reports a peer that was turned away.
    fn turned_away(&self, refusal: &Refusal);

    /// Forgets what is over; called every second.
    fn check(&self) {}

    /// What it does besides, if anything, until it fails.
    fn work(self: Arc<Self>) -> Option<Work<SessionError>> {
        None
    }

    /// Lets what clients have begun end, for a bounded time. Clients are still served.
    fn drain(self: Arc<Self>, _stopper: Stopper) -> Work<()> {
        Box::pin(async {})
    }

    /// Lets what is in flight arrive, for a second at most. Sessions are closed after that.
    fn flush(self: Arc<Self>) -> Work<()> {
        Box::pin(async {})
    }

    /// Waits, for a bounded time, until nothing of its sessions is left. They have been closed.
    fn settle(self: Arc<Self>) -> Work<()> {
        Box::pin(async {})
    }
}

/// A service of a port, and the peers that may use it.
#[derive(Clone)]
pub struct Hosted {
    service: Arc<dyn Service>,
    guard: Option<Guard>,
}

/// Which peers may use a service, and who is told of others.
#[derive(Clone)]
struct Guard {
    allowed: Allowed,
    on_refusal: Arc<dyn Fn(Fingerprint) + Send + Sync>,
}

impl Hosted {
    /// A service for all peers that the endpoint lets in.
    pub fn new(service: Arc<dyn Service>) -> Self {
        let guard = None;
        Hosted { service, guard }
    }

    /// A service for those of them that are `allowed`; others are told that they may not use it, and
    /// `on_refusal` learns who they are.
    pub fn only_for(
        service: Arc<dyn Service>,
        allowed: Allowed,
        on_refusal: impl Fn(Fingerprint) + Send + Sync + 'static,
    ) -> Self {
        let guard = Some(Guard {
            allowed,
            on_refusal: Arc::new(on_refusal),
        });
        Hosted { service, guard }
    }

    fn admits(&self, connection: &Connection) -> bool {
        let Some(guard) = &self.guard else {
            return true;
        };
        let peer = connection.peer();
        let admits = peer.is_some_and(|peer| guard.allowed.allows(&peer));
        if let Some(peer) = peer.filter(|_| !admits) {
            (guard.on_refusal)(peer);
        }
        admits
    }
}

/// Serves the clients of `port` until `stopper` stops it. Each service has a protocol of its own. No other
/// code may accept connections or refusals of this port, whose configuration is made with
/// [`Protocol::offer`]. A connection that names no protocol, as on plain UDP, is for the first service.
///
/// When this returns, the services have let go of what they hold.
///
/// # Errors
/// The port is closed, or a service fails.
pub async fn host(
    port: &Port,
    services: &[Hosted],
    budget: &Arc<Budget>,
    stopper: &Stopper,
) -> Result<(), SessionError> {
    let mut hosting = Hosting {
        port,
        services,
        budget,
        sessions: JoinSet::new(),
        work: JoinSet::new(),
    };
    let all = || services.iter().map(|hosted| hosted.service.clone());
    for work in all().filter_map(Service::work) {
        hosting.work.spawn(work);
    }
    let ended = tokio::select! {
        ended = hosting.serve(true) => ended,
        () = stopper.asked() => Ok(()),
    };
    let ended = match ended {
        Ok(()) => {
            let drained = together(all().map(|service| service.drain(stopper.clone())));
            tokio::select! {
                ended = hosting.serve(false) => ended,
                () = drained => Ok(()),
            }
        }
        failed => failed,
    };
    let (code, reason) = match ended {
        Ok(()) => {
            together(all().map(Service::flush)).await;
            (close::INTERRUPTED, "stopped")
        }
        Err(_) => (close::FAILED, "the service failed"),
    };
    farewell(port, code, reason).await;
    together(all().map(Service::settle)).await;
    // A session that is dropped closes with a code of its own, and a device gives the network back.
    hosting.sessions.shutdown().await;
    hosting.work.shutdown().await;
    ended
}

async fn together(work: impl Iterator<Item = Work<()>>) {
    work.collect::<JoinSet<()>>().join_all().await;
}

/// A port that is served.
struct Hosting<'a> {
    port: &'a Port,
    services: &'a [Hosted],
    budget: &'a Arc<Budget>,
    sessions: JoinSet<()>,
    work: JoinSet<SessionError>,
}

impl Hosting<'_> {
    /// Serves the port until something fails. Unless it `admits`, newcomers are told that it stops.
    async fn serve(&mut self, admits: bool) -> Result<(), SessionError> {
        let protocols = self.services.iter().map(|hosted| hosted.service.protocol());
        let protocols: Vec<Protocol> = protocols.collect();
        let mut check = interval(Budget::CHECK);
        loop {
            tokio::select! {
                accepted = accept(self.port, &protocols) => match accepted {
                    None => return Err(SessionError::EndpointClosed),
                    Some((_, connection)) if !admits => connection.close(close::INTERRUPTED, "stopped"),
                    Some((protocol, connection)) => self.admit(protocol, connection),
                },
                Some(refusal) = self.port.refused() => {
                    // Nobody knows which service it would have asked for.
                    if let Some(first) = self.services.first() {
                        first.service.turned_away(&refusal);
                    }
                }
                Some(_) = self.sessions.join_next() => {}
                Some(ended) = self.work.join_next() => {
                    return Err(ended.unwrap_or_else(|error| SessionError::Failed(error.to_string())));
                }
                _ = check.tick() => {
                    self.budget.check();
                    for hosted in self.services {
                        hosted.service.check();
                    }
                }
            }
        }
    }

    /// Serves the connection, unless its peer may not use this service.
    fn admit(&mut self, protocol: Protocol, connection: Connection) {
        let mut services = self.services.iter();
        let Some(hosted) = services.find(|hosted| hosted.service.protocol() == protocol) else {
            return;
        };
        if !hosted.admits(&connection) {
            return connection.close(close::NOT_ALLOWED, protocol.name());
        }
        let place = self.budget.enter(&connection);
        let served = hosted.service.clone().serve(connection, place);
        self.sessions.spawn(served);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::timeout;
    use weftline::{CloseReason, Endpoint, EndpointConfig, Identity};

    use super::*;
    use crate::quota::Limits;

    /// Serves sessions until they end, and ends what it does when it is told to.
    struct Idle {
        protocol: Protocol,
        sessions: AtomicUsize,
        may_stop: Notify,
        fails: Notify,
    }

    impl Idle {
        fn new(protocol: Protocol) -> Arc<Self> {
            Arc::new(Idle {
                protocol,
                sessions: AtomicUsize::new(0),
                may_stop: Notify::new(),
                fails: Notify::new(),
            })
        }
    }

    impl Service for Idle {
        fn protocol(&self) -> Protocol {
            self.protocol
        }

        fn serve(
            self: Arc<Self>,
            connection: Connection,
            place: Result<Place, OverLimit>,
        ) -> Work<()> {
            Box::pin(async move {
                let _place = match place {
                    Ok(place) => place,
                    Err(over) => return connection.close(close::FAILED, &over.to_string()),
                };
                self.sessions.fetch_add(1, Ordering::SeqCst);
                connection.closed().await;
                self.sessions.fetch_sub(1, Ordering::SeqCst);
            })
        }

        fn turned_away(&self, _refusal: &Refusal) {}

        fn work(self: Arc<Self>) -> Option<Work<SessionError>> {
            Some(Box::pin(async move {
                self.fails.notified().await;
                SessionError::Device("gone".into())
            }))
        }

        fn drain(self: Arc<Self>, _stopper: Stopper) -> Work<()> {
            Box::pin(async move { self.may_stop.notified().await })
        }
    }

    fn budget() -> Arc<Budget> {
        Budget::new(Limits::default())
    }

    fn endpoint(protocols: impl FnOnce(&mut EndpointConfig)) -> Endpoint {
        let mut config = EndpointConfig::default();
        protocols(&mut config);
        let (any, identity) = ("127.0.0.1:0".parse().unwrap(), Identity::generate());
        Endpoint::bind(any, identity, Allowed::anyone(), config).unwrap()
    }

    async fn soon<T>(work: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), work).await.expect("soon")
    }

    async fn until(is_so: impl Fn() -> bool) {
        soon(async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    fn code(reason: CloseReason) -> u64 {
        match reason {
            CloseReason::Peer { code, .. } => code,
            other => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn sessions_go_on_while_others_drain_and_newcomers_are_told() {
        let server = endpoint(Protocol::offer);
        let (at, peer) = (server.local_addr().unwrap(), server.fingerprint());
        let [slow, quick] = [Protocol::Forward, Protocol::Relay].map(Idle::new);
        let services = [Hosted::new(slow.clone()), Hosted::new(quick.clone())];
        let (port, stopper) = (server.into(), Stopper::new());
        let client = endpoint(|config| Protocol::Relay.ask(config));
        let stops = stopper.clone();
        let hosting = async { host(&port, &services, &budget(), &stops).await };
        let using = async {
            let connection = soon(client.connect(at, peer)).await.unwrap();
            until(|| quick.sessions.load(Ordering::SeqCst) == 1).await;
            quick.may_stop.notify_one();
            stopper.stop();
            let late = client.connect(at, peer).await;
            let reason = match late {
                Ok(late) => soon(late.closed()).await,
                Err(weftline::ConnectError::Closed { reason, .. }) => reason,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(code(reason), close::INTERRUPTED);
            assert!(connection.close_reason().is_none());
            slow.may_stop.notify_one();
            assert_eq!(code(soon(connection.closed()).await), close::INTERRUPTED);
        };
        let (ended, ()) = soon(async { tokio::join!(hosting, using) }).await;
        ended.unwrap();
        // Nothing holds them any more.
        drop(services);
        assert_eq!(
            (Arc::strong_count(&slow), Arc::strong_count(&quick)),
            (1, 1)
        );
    }

    #[tokio::test]
    async fn a_service_that_fails_ends_all_and_lets_go_of_what_it_held() {
        let server = endpoint(Protocol::offer);
        let services = [Protocol::Tun, Protocol::Files].map(Idle::new);
        let hosted = services.clone().map(|service| Hosted::new(service));
        services[0].fails.notify_one();
        let ended = soon(host(&server.into(), &hosted, &budget(), &Stopper::new())).await;
        assert!(matches!(ended, Err(SessionError::Device(_))), "{ended:?}");
        drop(hosted);
        assert_eq!(services.map(|service| Arc::strong_count(&service)), [1, 1]);
    }

    #[tokio::test]
    async fn one_host_has_a_bounded_number_of_sessions_with_all_services() {
        let server = endpoint(Protocol::offer);
        let (at, peer) = (server.local_addr().unwrap(), server.fingerprint());
        let kinds = [Protocol::Relay, Protocol::Files].map(Idle::new);
        let services = kinds.clone().map(|service| Hosted::new(service));
        let (port, stopper) = (server.into(), Stopper::new());
        let identity = Identity::generate();
        let client = |protocol: Protocol, identity| {
            let mut config = EndpointConfig::default();
            protocol.ask(&mut config);
            let any = "127.0.0.1:0".parse().unwrap();
            Endpoint::bind(any, identity, Allowed::nobody(), config).unwrap()
        };
        let greedy = client(Protocol::Relay, identity.clone());
        let greedy_too = client(Protocol::Files, identity);
        let other = client(Protocol::Relay, Identity::generate());
        let budget = Budget::new(Limits {
            client_sessions: 3,
            ..Limits::default()
        });
        let served = || {
            kinds
                .iter()
                .map(|kind| kind.sessions.load(Ordering::SeqCst))
        };
        let using = async {
            let mut kept = Vec::new();
            for endpoint in [&greedy, &greedy_too, &greedy] {
                kept.push(soon(endpoint.connect(at, peer)).await.unwrap());
            }
            until(|| served().sum::<usize>() == 3).await;
            let reason = match soon(greedy_too.connect(at, peer)).await {
                Ok(further) => soon(further.closed()).await,
                Err(weftline::ConnectError::Closed { reason, .. }) => reason,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(code(reason), close::FAILED);
            let _other = soon(other.connect(at, peer)).await.unwrap();
            until(|| served().sum::<usize>() == 4).await;
            // A place that is given back is free.
            kept.swap_remove(0).close(close::DONE, "");
            until(|| served().sum::<usize>() == 3).await;
            let _again = soon(greedy_too.connect(at, peer)).await.unwrap();
            until(|| served().eq([2, 2])).await;
        };
        tokio::select! {
            ended = host(&port, &services, &budget, &stopper) => panic!("{ended:?}"),
            () = using => {}
        }
    }
}
