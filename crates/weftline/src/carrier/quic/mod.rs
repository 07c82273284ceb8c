//! QUIC DATAGRAM (RFC 9221) through quinn: the default carrier.
//!
//! Each datagram of the engine is one QUIC DATAGRAM; QUIC streams are not used. QUIC brings
//! encryption, both ends' identities, address validation, migration and path MTU discovery.

mod early;
mod link;
mod transport;
mod twice;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connecting, ConnectionError, Runtime, ServerConfig, TokioRuntime, VarInt,
};
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};

use weftline_proto::printable;

use super::{NOT_ALLOWED, tls};
use crate::known::{Pair, Resumable};
use crate::{Allowed, BindError, ConnectError, EndpointConfig, Fingerprint, Identity, Refusal};

use early::{Admission, Guard, Handshake, Outcome, Pass};
use link::{Early, connect_error};
use transport::transport;
use twice::Twice;

pub(crate) use link::Link;

/// What QUIC adds to a datagram: short header with 8-byte connection ID and a packet number of
/// at most 4 bytes, AEAD tag, and the frame's type and length.
pub(crate) const OVERHEAD: u16 = 1 + 8 + 4 + 16 + 3;

/// Datagrams waiting in QUIC: a few packets, so that the engine decides late what to send.
const SEND_BUFFER: usize = 8 << 10;
/// QUIC outlives the engine's idle timeout by this much, so that the engine reports it.
const IDLE_MARGIN: Duration = Duration::from_secs(5);
/// Unfinished handshakes from which on a client must first prove its address.
const RETRY_FROM: usize = 16;
/// Unfinished handshakes from which on further ones are refused.
const MAX_HANDSHAKES: usize = 128;
/// Tickets that a server has given out and keeps; of more, the oldest go.
const TICKETS: usize = 1024;
/// TLS wants a name; peers are known by their keys, and it is not sent.
const SERVER_NAME: &str = "weftline";

/// An endpoint of this carrier.
pub(crate) struct Quic {
    endpoint: quinn::Endpoint,
    identity: Identity,
    config: EndpointConfig,
    idle: Duration,
    /// The names in TLS of the protocols that this end speaks.
    alpn: Arc<[Vec<u8>]>,
    again: Option<Again>,
    listener: Mutex<Option<Listener>>,
    /// There is a listener.
    serves: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Listener {
    config: ServerConfig,
    allowed: Allowed,
    alpn: Arc<[Vec<u8>]>,
    again: Option<Again>,
    /// How long a handshake may take.
    limit: Duration,
}

/// What is needed for clients that come again, with data in their first packets.
#[derive(Clone)]
struct Again {
    tickets: Arc<dyn StoresServerSessions>,
    guard: Guard,
}

impl Quic {
    pub(crate) fn new(
        socket: UdpSocket,
        identity: Identity,
        allowed: Allowed,
        config: &EndpointConfig,
    ) -> Result<Self, BindError> {
        // Before anything is bound to it: the settings may contradict each other.
        transport(config, None)?;
        let serves = Arc::new(AtomicBool::new(false));
        let endpoint = quinn::Endpoint::new_with_abstract_socket(
            quinn::EndpointConfig::default(),
            None,
            wrap(socket, &serves).map_err(BindError::Given)?,
            Arc::new(TokioRuntime),
        );
        let quic = Quic {
            endpoint: endpoint.map_err(BindError::Given)?,
            identity,
            config: config.clone(),
            idle: config.session.idle_timeout.saturating_add(IDLE_MARGIN),
            alpn: tls::alpn(&config.application_protocols).into(),
            again: config.early_data.then(|| Again {
                tickets: ServerSessionMemoryCache::new(TICKETS),
                guard: Guard::default(),
            }),
            listener: Mutex::new(None),
            serves,
        };
        quic.set_allowed(allowed)?;
        Ok(quic)
    }

    /// Accepts these peers from now on.
    pub(crate) fn set_allowed(&self, allowed: Allowed) -> Result<(), BindError> {
        let listener = match allowed.is_nobody() {
            true => None,
            false => Some(self.make_listener(allowed)?),
        };
        let mut current = self.lock();
        self.serves.store(listener.is_some(), Ordering::Relaxed);
        let config = listener.as_ref().map(|l| l.config.clone());
        self.endpoint.set_server_config(config);
        *current = listener;
        Ok(())
    }

    fn make_listener(&self, allowed: Allowed) -> Result<Listener, BindError> {
        let (alpn, refused) = (self.alpn.clone(), tls::Refused::default());
        let tls = quic_server(&self.identity, &allowed, &alpn, &refused, None)?;
        let mut config = ServerConfig::with_crypto(tls);
        config.transport_config(Arc::new(transport(&self.config, None)?));
        config.max_incoming(MAX_HANDSHAKES);
        Ok(Listener {
            config,
            allowed,
            alpn,
            again: self.again.clone(),
            limit: self.config.connect_timeout,
        })
    }

    /// Moves to another socket.
    pub(crate) fn rebind(&self, socket: UdpSocket) -> io::Result<()> {
        self.endpoint.rebind_abstract(wrap(socket, &self.serves)?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Listener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.endpoint.local_addr()
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.identity.fingerprint()
    }

    pub(crate) async fn connect(
        &self,
        addr: SocketAddr,
        expected: Fingerprint,
    ) -> Result<Link, ConnectError> {
        let pair = Pair {
            ours: self.fingerprint(),
            peer: expected,
            protocols: self.alpn.clone(),
        };
        let address = |reason: String| ConnectError::Address { addr, reason };
        let Resumable {
            config, refused, ..
        } = self.client_tls(&pair).map_err(address)?;
        let known = &self.config.known_peers;
        let rtt = known.rtt(&pair, addr);
        let transport = transport(&self.config, rtt).map_err(|e| address(e.to_string()))?;
        let mut config = ClientConfig::new(config);
        config.transport_config(Arc::new(transport));
        let connecting = match self.endpoint.connect_with(config, addr, SERVER_NAME) {
            Ok(connecting) => connecting,
            Err(quinn::ConnectError::EndpointStopping) => return Err(ConnectError::EndpointClosed),
            Err(error) => return Err(address(error.to_string())),
        };
        let ours = pair.ours;
        let link = match connecting.into_0rtt() {
            Ok((connection, accepted)) => {
                let limit = self.config.connect_timeout.min(early::LONGEST);
                let (known, path) = (known.clone(), connection.clone());
                let done = move |outcome| {
                    if let Outcome::Confirmed { .. } = outcome {
                        known.measured(pair, addr, path.rtt());
                    }
                };
                let early = Early {
                    handshake: Handshake::watch(&connection, accepted, limit, done),
                    limit,
                    rtt,
                    refused,
                };
                Link::to(connection, expected, ours, self.idle, Some(early))
            }
            Err(connecting) => {
                let connection = connecting.await.map_err(|error| match refused.take() {
                    Some(got) => ConnectError::PeerMismatch {
                        addr,
                        expected,
                        got,
                    },
                    None => connect_error(&error, addr, ours, self.idle),
                })?;
                known.measured(pair, addr, connection.rtt());
                Link::new(connection, ours, self.idle, None)
            }
        };
        link.ok_or_else(|| ConnectError::NotWeftline {
            addr,
            reason: "it takes no datagrams".to_owned(),
        })
    }

    /// The TLS configuration for this peer: with early data the one that keeps its tickets.
    fn client_tls(&self, pair: &Pair) -> Result<Resumable, String> {
        let early = self.config.early_data;
        let make = || {
            let refused = tls::Refused::default();
            let tickets = tls::TicketStore::default();
            let store = early.then(|| tickets.clone());
            let tls = tls::client(
                &self.identity,
                pair.peer,
                &pair.protocols,
                refused.clone(),
                store,
            )
            .map_err(|e| e.to_string())?;
            let config = QuicClientConfig::try_from(tls).map_err(|e| e.to_string())?;
            Ok(Resumable {
                config: Arc::new(config),
                tickets,
                refused,
            })
        };
        match early {
            true => self.config.known_peers.tls(pair.clone(), make),
            false => make(),
        }
    }

    /// The next peer that knocks; `None` when the endpoint has ended.
    ///
    /// Cancel safe.
    pub(crate) async fn knock(&self) -> Option<Knock> {
        loop {
            let incoming = self.endpoint.accept().await?;
            // It came before the rule changed.
            let Some(listener) = self.lock().clone() else {
                incoming.ignore();
                continue;
            };
            return Some(Knock {
                incoming,
                listener,
                identity: self.identity.clone(),
                idle: self.idle,
            });
        }
    }

    /// Answers no further peers.
    pub(crate) fn stop_listening(&self) {
        self.endpoint.set_server_config(None);
    }

    pub(crate) async fn wait_idle(&self) {
        self.endpoint.wait_idle().await;
    }
}

/// A peer that wants to connect.
pub(crate) struct Knock {
    incoming: quinn::Incoming,
    listener: Listener,
    identity: Identity,
    idle: Duration,
}

impl Knock {
    /// Lets the peer on to its handshake unless too many are going on: then it must first prove
    /// that its address is its own, or is turned away.
    pub(crate) fn admit(self, handshakes: usize) -> Option<Self> {
        if handshakes >= MAX_HANDSHAKES {
            self.incoming.refuse();
            None
        } else if handshakes >= RETRY_FROM && self.incoming.may_retry() {
            self.incoming.retry().ok();
            None
        } else {
            Some(self)
        }
    }

    /// Does the handshake, which proves who the peer is and that it is allowed. One that was here
    /// before has done that; then the link is there at once, and the handshake goes on.
    pub(crate) async fn open(self) -> Result<Link, Refusal> {
        let addr = super::canonical(self.incoming.remote_address());
        let failed = |reason: String| Refusal::Handshake {
            addr,
            reason: printable(&reason),
        };
        let (again, id) = (self.listener.again, self.incoming.orig_dst_cid());
        let pass = match again.as_ref().map(|a| a.guard.enter(id, Instant::now())) {
            Some(Admission::Replay) => {
                self.incoming.refuse();
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
        let (mut config, allowed) = (self.listener.config, self.listener.allowed);
        let alpn = &self.listener.alpn;
        config.crypto = quic_server(&self.identity, &allowed, alpn, &refused, tickets)
            .map_err(|e| failed(e.to_string()))?;
        let connecting = self
            .incoming
            .accept_with(Arc::new(config))
            .map_err(|e| failed(e.to_string()))?;
        let ours = self.identity.fingerprint();
        let limit = self.listener.limit.min(early::LONGEST);
        let opened = match pass {
            Some(pass) => resume(connecting, pass, limit).await,
            None => connecting.await.map(Opened::Ended),
        };
        let opened = opened.map_err(|error| match refused.take() {
            Some(peer) => Refusal::UnknownPeer { peer, addr },
            None => failed(error.to_string()),
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
        {
            // Until then QUIC hides from the peer what the application says.
            if let Some(early) = &early {
                early.handshake.ended().await;
            }
            let code = VarInt::from_u64(NOT_ALLOWED).unwrap_or(VarInt::MAX);
            connection.close(code, b"not allowed any more");
            return Err(Refusal::UnknownPeer { peer, addr });
        }
        let link = Link::new(connection, ours, self.idle, early);
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

/// The socket as QUIC uses it.
fn wrap(socket: UdpSocket, serves: &Arc<AtomicBool>) -> io::Result<Arc<Twice>> {
    socket.set_nonblocking(true)?;
    let socket = TokioRuntime.wrap_udp_socket(socket)?;
    Ok(Twice::new(socket, serves.clone()))
}

fn quic_server(
    identity: &Identity,
    allowed: &Allowed,
    alpn: &[Vec<u8>],
    refused: &tls::Refused,
    tickets: Option<tls::Tickets>,
) -> Result<Arc<QuicServerConfig>, BindError> {
    let tls = tls::server(identity, allowed.clone(), alpn, refused.clone(), tickets)
        .map_err(|e| BindError::Tls(e.to_string()))?;
    let tls = QuicServerConfig::try_from(tls).map_err(|e| BindError::Tls(e.to_string()))?;
    Ok(Arc::new(tls))
}

#[cfg(test)]
mod tests;
