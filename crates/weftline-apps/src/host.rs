//! Serving a port: each connection goes to the service that it asks for.

use std::pin::Pin;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::interval;
use weftline::{Allowed, Connection, Port, Refusal};

use crate::close;
use crate::error::SessionError;
use crate::protocol::{Protocol, accept};
use crate::quota::CHECK;
use crate::session::farewell;
use crate::stopper::Stopper;

/// What a [`Service`] does meanwhile.
pub type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What clients of one application protocol get on a port.
pub trait Service: Send + Sync + 'static {
    /// The protocol of its clients.
    fn protocol(&self) -> Protocol;

    /// Serves one session until it ends, and closes it.
    fn serve(self: Arc<Self>, connection: Connection) -> Work<()>;

    /// Reports a peer that was turned away.
    fn turned_away(&self, refusal: &Refusal);

    /// Holds its clients to their limits; called every second.
    fn check(&self) {}

    /// What it does besides, if anything, until it fails.
    fn work(self: Arc<Self>) -> Option<Work<SessionError>> {
        None
    }

    /// Begins nothing new, and lets what is under way finish, before its sessions are closed.
    fn drain(self: Arc<Self>, _stopper: Stopper) -> Work<()> {
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
    allowed: Allowed,
}

impl Hosted {
    /// A service for all peers that the endpoint lets in.
    pub fn new(service: Arc<dyn Service>) -> Self {
        Self::only_for(service, Allowed::anyone())
    }

    /// A service for those of them that are `allowed`; others are told that they may not use it.
    pub fn only_for(service: Arc<dyn Service>, allowed: Allowed) -> Self {
        Hosted { service, allowed }
    }

    /// Serves the connection, unless its peer may not use this service.
    fn admit(&self, connection: Connection, sessions: &mut JoinSet<()>) {
        match connection.peer() {
            Some(peer) if !self.allowed.allows(&peer) => {
                let addr = connection.remote_addr();
                connection.close(close::NOT_ALLOWED, self.service.protocol().name());
                (self.service).turned_away(&Refusal::UnknownPeer { peer, addr });
            }
            _ => {
                sessions.spawn(self.service.clone().serve(connection));
            }
        }
    }
}

/// Serves the clients of `port` until `stopper` stops it. Each service has a protocol of its own. No other
/// code may accept connections or refusals of this port, whose configuration is made with
/// [`Protocol::offer`]. A connection that names no protocol, as on plain UDP, is for the first service.
///
/// # Errors
/// The port is closed, or a service fails.
pub async fn host(port: &Port, services: &[Hosted], stopper: &Stopper) -> Result<(), SessionError> {
    let served: Vec<Protocol> = services.iter().map(|s| s.service.protocol()).collect();
    let all = || services.iter().map(|hosted| hosted.service.clone());
    let mut sessions = JoinSet::new();
    let mut work: JoinSet<_> = all().filter_map(Service::work).collect();
    let mut check = interval(CHECK);
    loop {
        tokio::select! {
            accepted = accept(port, &served) => {
                let Some((protocol, connection)) = accepted else {
                    return Err(SessionError::EndpointClosed);
                };
                let mut hosted = services.iter().zip(&served);
                if let Some((hosted, _)) = hosted.find(|(_, its)| **its == protocol) {
                    hosted.admit(connection, &mut sessions);
                }
            }
            Some(refusal) = port.refused() => {
                // Nobody knows which service it would have asked for.
                all().take(1).for_each(|service| service.turned_away(&refusal));
            }
            Some(_) = sessions.join_next() => {}
            Some(Ok(error)) = work.join_next() => {
                farewell(port, close::FAILED, "the service failed").await;
                return Err(error);
            }
            _ = check.tick() => all().for_each(|service| service.check()),
            () = stopper.asked() => break,
        }
    }
    let mut draining: JoinSet<()> = all()
        .map(|service| service.drain(stopper.clone()))
        .collect();
    while !draining.is_empty() {
        tokio::select! {
            _ = draining.join_next() => {}
            _ = check.tick() => all().for_each(|service| service.check()),
        }
    }
    farewell(port, close::INTERRUPTED, "stopped").await;
    let settling: JoinSet<()> = all().map(Service::settle).collect();
    settling.join_all().await;
    // Only now: a session that is dropped closes with a code of its own.
    sessions.shutdown().await;
    Ok(())
}
