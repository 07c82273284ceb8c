//! Peers that want to connect, and their handshakes.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::{Connecting, ConnectionError, VarInt};
use tokio::task::JoinSet;
use tokio::time::timeout;
use weftline_proto::printable;

use super::super::{NOT_ALLOWED, canonical, tls};
use super::early::{self, Admission, Handshake, Outcome, Pass};
use super::gate::{FINISH_WITHIN, Gate, Seat};
use super::join::{Joined, Sessions};
use super::link::{self, Early, Link};
use super::outlet::Outlet;
use super::{Listener, jumbo, quic_server};
use crate::{Identity, Refusal};

/// A peer that wants to connect.
pub(crate) struct Knock {
    pub(super) incoming: quinn::Incoming,
    pub(super) host: Host,
}

/// What a peer meets that knocks.
pub(super) struct Host {
    pub(super) listener: Listener,
    pub(super) identity: Identity,
    pub(super) idle: Duration,
    pub(super) outlet: Outlet,
}

impl Knock {
    /// Gives the peer's handshake a place at `gate` and spawns `greet` with it, or turns the peer away.
    pub(crate) fn admit<F>(
        self,
        gate: &Gate,
        tasks: &mut JoinSet<()>,
        greet: impl FnOnce(Guest) -> F,
    ) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Knock { incoming, host } = self;
        gate.admit(incoming, tasks, |incoming, seat| {
            let knock = Knock { incoming, host };
            greet(Guest { knock, seat })
        })
    }
}

/// What a handshake has brought.
pub(crate) enum Arrival {
    /// A new session's first connection.
    Session(Link),
    /// That of a peer that has asked for what strangers may ask for.
    Stranger(Link),
    /// A further one of a session that is here already.
    Path(Joined),
}

/// A peer whose handshake has a place.
pub(crate) struct Guest {
    knock: Knock,
    seat: Seat,
}

impl Guest {
    /// Does the handshake, for as long as a place is kept: `None` if the peer does not finish it. A further
    /// path keeps its place until it has joined its session.
    pub(crate) async fn open(self, sessions: &Sessions) -> Option<Result<Arrival, Refusal>> {
        let Guest { knock, mut seat } = self;
        let limit = FINISH_WITHIN.min(knock.host.listener.limit);
        let strangers = knock.host.listener.strangers();
        let open = async {
            let link = knock.open().await?;
            match (link.is_path(), link.is_of(strangers.as_deref())) {
                (true, _) => link.welcome(sessions).await.map(Arrival::Path),
                (_, true) => Ok(Arrival::Stranger(link)),
                (_, false) => Ok(Arrival::Session(link)),
            }
        };
        let opened = timeout(limit, open).await.ok()?;
        // What a stranger takes comes back slowly, whatever becomes of it.
        seat.welcome = matches!(opened, Ok(Arrival::Session(_) | Arrival::Path(_)));
        Some(opened)
    }
}

impl Knock {
    /// Does the handshake, which proves who the peer is and that it is allowed, or asks for nothing but
    /// what strangers may ask for. One that was here
    /// before has done that; then the link is there at once, and the handshake goes on.
    pub(super) async fn open(self) -> Result<Link, Refusal> {
        let Knock { incoming, host } = self;
        let addr = canonical(incoming.remote_address());
        let failed = |reason: String| Refusal::Handshake {
            addr,
            reason: printable(&reason),
        };
        let strangers = host.listener.strangers();
        let (again, id) = (host.listener.again, incoming.orig_dst_cid());
        let pass = match again.as_ref().map(|a| a.guard.enter(id, Instant::now())) {
            Some(Admission::Replay) => {
                incoming.refuse();
                return Err(failed("its first packets have been here before".to_owned()));
            }
            Some(Admission::Early(pass)) => Some(pass),
            Some(Admission::Plain) | None => None,
        };
        let tickets = again.map(|again| tls::Tickets {
            storage: again.tickets,
            early: pass.is_some(),
        });
        // A TLS configuration of its own lets this handshake say which peer it refused.
        let refused = tls::Refused::default();
        let (mut config, allowed) = (host.listener.config, host.listener.allowed);
        let alpn = &host.listener.alpn;
        if jumbo::is_likely(addr) {
            config.transport_config(host.listener.jumbo);
        }
        config.crypto = quic_server(&host.identity, &allowed, alpn, &refused, tickets)
            .map_err(|e| failed(e.to_string()))?;
        let ours = host.identity.fingerprint();
        let begun = host
            .outlet
            .begin(|_| incoming.accept_with(Arc::new(config)));
        let (connecting, place) = begun.map_err(|e| failed(link::handshake_error(&e, ours)))?;
        let limit = host.listener.limit.min(early::LONGEST);
        let opened = match pass {
            Some(pass) => resume(connecting, pass, limit).await,
            None => connecting.await.map(Opened::Ended),
        };
        let opened = opened.map_err(|error| match refused.take() {
            Some(peer) => Refusal::UnknownPeer { peer, addr },
            None => failed(link::handshake_error(&error, ours)),
        })?;
        let (connection, early) = match opened {
            Opened::Ended(connection) => (connection, None),
            Opened::Early(connection, handshake) => {
                let early = Early {
                    handshake,
                    limit,
                    rtt: None,
                    refused,
                };
                (connection, Some(early))
            }
        };
        // One that resumes a session has shown its key in an earlier handshake: the rule may have
        // changed since.
        if let Some(peer) = link::fingerprint(&connection)
            && !allowed.allows(&peer)
            && !link::is_of(&connection, strangers.as_deref())
        {
            // Until then QUIC hides from the peer what the application says.
            if let Some(early) = &early {
                early.handshake.ended().await;
            }
            let code = VarInt::from_u64(NOT_ALLOWED).unwrap_or(VarInt::MAX);
            connection.close(code, b"not allowed any more");
            return Err(Refusal::UnknownPeer { peer, addr });
        }
        let link = Link::new(connection, place, ours, host.idle, early);
        link.ok_or_else(|| failed("it takes no datagrams".to_owned()))
    }
}

/// How far a handshake is when data may flow.
enum Opened {
    Ended(quinn::Connection),
    /// The peer is the one of the session that it resumes.
    Early(quinn::Connection, Handshake),
}

/// Waits for the end of the handshake, unless it resumes a session: then only for its beginning.
async fn resume(
    mut connecting: Connecting,
    pass: Pass,
    limit: Duration,
) -> Result<Opened, ConnectionError> {
    connecting.handshake_data().await?;
    let (connection, ended) = match connecting.into_0rtt() {
        Ok(opened) => opened,
        // Only a client's is ever refused.
        Err(connecting) => return connecting.await.map(Opened::Ended),
    };
    if link::fingerprint(&connection).is_none() {
        let ended_well = ended.await;
        return match connection.close_reason() {
            Some(error) if !ended_well => Err(error),
            _ => Ok(Opened::Ended(connection)),
        };
    }
    let handshake = Handshake::watch(&connection, ended, limit, move |outcome| match outcome {
        Outcome::Confirmed { .. } => drop(pass),
        Outcome::Failed | Outcome::TimedOut => pass.remember(),
    });
    Ok(Opened::Early(connection, handshake))
}
