//! QUIC DATAGRAM (RFC 9221) through quinn: the default carrier.
//!
//! Each datagram of the engine is one QUIC DATAGRAM; QUIC streams are not used. QUIC brings
//! encryption, both ends' identities, address validation, migration and path MTU discovery.

mod crowd;
mod early;
mod jumbo;
mod knock;
mod link;
mod together;
mod transport;
mod twice;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_lc_rs::hmac;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Runtime, ServerConfig, TokioRuntime, TransportConfig};
use quinn_proto::HashedConnectionIdGenerator;
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};

use super::tls;
use crate::known::{Pair, Resumable};
use crate::{Allowed, BindError, ConnectError, EndpointConfig, Fingerprint, Identity};

use crowd::Crowd;
use early::{Guard, Handshake, Outcome};
use link::{Early, connect_error};
use together::Together;
use transport::transport;
use twice::Twice;

pub(crate) use knock::{Guest, Knock};
pub(crate) use link::Link;

/// What QUIC adds to a datagram: short header with 8-byte connection ID and a packet number of
/// at most 4 bytes, AEAD tag, and the frame's type and length.
pub(crate) const OVERHEAD: u16 = 1 + 8 + 4 + 16 + 3;

/// QUIC outlives the engine's idle timeout by this much, so that the engine reports it.
const IDLE_MARGIN: Duration = Duration::from_secs(5);
/// Clients that QUIC holds until [`Quic::knock`] takes them, and the bytes of theirs that it holds.
const KNOCKING: usize = 4096;
const KNOCKING_BYTES: u64 = 16 << 10;
const ALL_KNOCKING_BYTES: u64 = 16 << 20;
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
    crowd: Arc<Mutex<Crowd>>,
    runtime: Arc<Together>,
}

#[derive(Clone)]
struct Listener {
    config: ServerConfig,
    allowed: Allowed,
    alpn: Arc<[Vec<u8>]>,
    again: Option<Again>,
    /// How long a handshake may take.
    limit: Duration,
    /// QUIC's settings for paths that may take jumbo frames.
    jumbo: Arc<TransportConfig>,
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
        transport(config, None, false)?;
        let serves = Arc::new(AtomicBool::new(false));
        let port = socket.local_addr().map_err(BindError::Given)?.port();
        let runtime = Arc::new(Together::default());
        let endpoint = quinn::Endpoint::new_with_abstract_socket(
            reset_config(&identity, port),
            None,
            wrap(socket, &serves).map_err(BindError::Given)?,
            runtime.clone(),
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
            crowd: Arc::default(),
            runtime,
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
        config.transport_config(Arc::new(transport(&self.config, None, false)?));
        config
            .max_incoming(KNOCKING)
            .incoming_buffer_size(KNOCKING_BYTES)
            .incoming_buffer_size_total(ALL_KNOCKING_BYTES);
        Ok(Listener {
            config,
            allowed,
            alpn,
            again: self.again.clone(),
            limit: self.config.connect_timeout,
            jumbo: Arc::new(transport(&self.config, None, true)?),
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
        let jumbo = jumbo::is_likely(addr);
        let transport = transport(&self.config, rtt, jumbo).map_err(|e| address(e.to_string()))?;
        let mut config = ClientConfig::new(config);
        config.transport_config(Arc::new(transport));
        let begin = || self.endpoint.connect_with(config, addr, SERVER_NAME);
        let (connecting, place) = match self.runtime.begin(begin) {
            Ok(begun) => begun,
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
                Link::to(connection, place, expected, ours, self.idle, Some(early))
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
                Link::new(connection, place, ours, self.idle, None)
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
                crowd: self.crowd.clone(),
                runtime: self.runtime.clone(),
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

/// Lets a server that was restarted at this port tell its earlier clients at once that it no longer
/// knows them (stateless reset, RFC 9000, section 10.3).
fn reset_config(identity: &Identity, port: u16) -> quinn::EndpointConfig {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &identity.secret("reset", port));
    let ids = identity.secret("connection id", port);
    let ids = u64::from_be_bytes(std::array::from_fn(|n| ids[n]));
    let mut config = quinn::EndpointConfig::new(Arc::new(key));
    if config.max_udp_payload_size(jumbo::LONGEST).is_err() {
        debug_assert!(false, "QUIC allows this size");
    }
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(ids)));
    config
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
