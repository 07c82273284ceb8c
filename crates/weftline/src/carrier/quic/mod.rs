//! QUIC DATAGRAM (RFC 9221) through quinn: the default carrier.
//!
//! Each datagram of the engine is one QUIC DATAGRAM; QUIC streams are not used. QUIC brings
//! encryption, both ends' identities, address validation, migration and path MTU discovery.

mod crowd;
mod dial;
mod early;
mod gate;
mod join;
mod jumbo;
mod knock;
mod link;
mod outlet;
mod together;
mod transport;
mod twice;
mod wire;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{ServerConfig, TransportConfig, ValidationTokenConfig};
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};

use super::tls;
use crate::config::LONGEST_PROTOCOL;
use crate::lock::lock;
use crate::{Allowed, BindError, EndpointConfig, Fingerprint, Identity};

use early::Guard;
use knock::Host;

pub(crate) use dial::Dialler;
pub(crate) use gate::Gate;
#[cfg(feature = "web")]
pub(crate) use gate::{FINISH_WITHIN, Seat};
pub(crate) use join::{Bond, Joined, Sessions};
pub(crate) use knock::{Arrival, Guest, Knock};
pub(crate) use link::Link;
pub(crate) use outlet::Outlet;
pub(crate) use transport::transport;
#[cfg(feature = "web")]
pub(crate) use wire::{ANSWERED, Wire, closed_by_peer};

/// What QUIC adds to a datagram: short header with 8-byte connection ID and a packet number of
/// at most 4 bytes, AEAD tag, and the frame's type and length.
pub(crate) const OVERHEAD: u16 = 1 + 8 + 4 + 16 + 3;

/// QUIC outlives the engine's idle timeout by this much, so that the engine reports it.
pub(crate) const IDLE_MARGIN: Duration = Duration::from_secs(5);
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
    outlet: Outlet,
    identity: Mutex<Identity>,
    /// Held while the identity or the rule for peers is replaced.
    changing: Mutex<()>,
    config: EndpointConfig,
    idle: Duration,
    /// The names in TLS of the protocols that this end speaks.
    alpn: Arc<[Vec<u8>]>,
    again: Mutex<Option<Again>>,
    listener: Mutex<Option<Listener>>,
    /// There is a listener.
    serves: Arc<AtomicBool>,
    gate: Gate,
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

impl Listener {
    /// The name in TLS of what strangers may ask for.
    fn strangers(&self) -> Option<Vec<u8>> {
        self.allowed.strangers().map(tls::strangers_alpn)
    }
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
        let secret = |purpose: &str, port| identity.secret(purpose, port);
        let outlet = Outlet::new(socket, secret, serves.clone()).map_err(BindError::Given)?;
        let quic = Quic {
            outlet,
            identity: Mutex::new(identity),
            changing: Mutex::default(),
            config: config.clone(),
            idle: config.session.idle_timeout.saturating_add(IDLE_MARGIN),
            alpn: tls::alpn(&config.application_protocols).into(),
            again: Mutex::new(config.early_data.then(|| Again {
                tickets: ServerSessionMemoryCache::new(TICKETS),
                guard: Guard::default(),
            })),
            listener: Mutex::new(None),
            serves,
            gate: Gate::new(config),
        };
        quic.set_allowed(allowed)?;
        Ok(quic)
    }

    /// Has this identity from now on.
    pub(crate) fn set_identity(&self, identity: Identity) -> Result<(), BindError> {
        let _alone = lock(&self.changing);
        *lock(&self.identity) = identity;
        if let Some(again) = &mut *lock(&self.again) {
            // Tickets of the old key would stand for it.
            again.tickets = ServerSessionMemoryCache::new(TICKETS);
        }
        let allowed = lock(&self.listener).as_ref().map(|l| l.allowed.clone());
        allowed.map_or(Ok(()), |allowed| self.listen(allowed))
    }

    fn identity(&self) -> Identity {
        lock(&self.identity).clone()
    }

    /// Accepts these peers from now on.
    pub(crate) fn set_allowed(&self, allowed: Allowed) -> Result<(), BindError> {
        let _alone = lock(&self.changing);
        self.listen(allowed)
    }

    fn listen(&self, allowed: Allowed) -> Result<(), BindError> {
        let listener = match allowed.is_nobody() {
            true => None,
            false => Some(self.make_listener(allowed)?),
        };
        let mut current = lock(&self.listener);
        self.serves.store(listener.is_some(), Ordering::Relaxed);
        let config = listener.as_ref().map(|l| l.config.clone());
        self.outlet.endpoint.set_server_config(config);
        *current = listener;
        Ok(())
    }

    fn make_listener(&self, allowed: Allowed) -> Result<Listener, BindError> {
        let mut alpn = tls::with_paths(&self.alpn);
        if let Some(protocol) = allowed.strangers() {
            check_protocol(protocol, &self.config)?;
            alpn.push(tls::strangers_alpn(protocol));
        }
        let refused = tls::Refused::default();
        let tls = quic_server(&self.identity(), &allowed, &alpn, &refused, None)?;
        Ok(Listener {
            config: server_config(tls, transport(&self.config, None, false)?),
            allowed,
            alpn: alpn.into(),
            again: lock(&self.again).clone(),
            limit: self.config.connect_timeout,
            jumbo: Arc::new(transport(&self.config, None, true)?),
        })
    }

    /// Moves to another socket.
    pub(crate) fn rebind(&self, socket: UdpSocket) -> io::Result<()> {
        self.outlet.rebind(socket, self.serves.clone())
    }

    pub(crate) fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.outlet.endpoint.local_addr()
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.identity().fingerprint()
    }

    /// The next peer that knocks; `None` when the endpoint has ended.
    ///
    /// Cancel safe.
    pub(crate) async fn knock(&self) -> Option<Knock> {
        loop {
            let incoming = self.outlet.endpoint.accept().await?;
            // It came before the rule changed.
            let Some(listener) = lock(&self.listener).clone() else {
                incoming.ignore();
                continue;
            };
            return Some(Knock {
                incoming,
                host: Host {
                    listener,
                    identity: self.identity(),
                    idle: self.idle,
                    outlet: self.outlet.clone(),
                },
            });
        }
    }

    /// Where peers get places for their handshakes.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Answers no further peers.
    pub(crate) fn stop_listening(&self) {
        self.outlet.endpoint.set_server_config(None);
    }

    pub(crate) async fn wait_idle(&self) {
        self.outlet.endpoint.wait_idle().await;
    }
}

/// The settings of a port that answers clients.
pub(crate) fn server_config(
    tls: Arc<QuicServerConfig>,
    transport: TransportConfig,
) -> ServerConfig {
    // Whatever quinn's features are in this build: clients get no tokens, which would need a memory.
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    let mut config = ServerConfig::with_crypto(tls);
    config
        .transport_config(Arc::new(transport))
        .validation_token_config(tokens)
        .max_incoming(KNOCKING)
        .incoming_buffer_size(KNOCKING_BYTES)
        .incoming_buffer_size_total(ALL_KNOCKING_BYTES);
    config
}

/// What strangers may ask for is nothing that others do.
fn check_protocol(name: &str, config: &EndpointConfig) -> Result<(), BindError> {
    if (1..=LONGEST_PROTOCOL).contains(&name.len())
        && !config.application_protocols.iter().any(|own| own == name)
    {
        return Ok(());
    }
    Err(BindError::Invalid {
        field: "and_strangers_for",
        value: format!("{name:?}"),
        allowed: "1 to 244 bytes, and none of application_protocols",
    })
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
