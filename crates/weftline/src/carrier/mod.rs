//! What takes the engine's datagrams across the network.
//!
//! A further carrier is a file here, a variant of [`Carrier`] and of [`Backend`], and a kind of
//! endpoint.
#![cfg_attr(
    not(feature = "quic"),
    allow(unused_variables, reason = "some arguments are for QUIC alone")
)]

#[cfg(feature = "quic")]
mod congestion;
#[cfg(feature = "quic")]
pub(crate) mod quic;
pub(crate) mod socket;
#[cfg(feature = "quic")]
pub(crate) mod tls;
pub(crate) mod udp;
#[cfg(feature = "web")]
pub(crate) mod web;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use weftline_proto::{CloseReason, Config};

use crate::{ConnectError, EndpointConfig, ExportError, Fingerprint, Packets, PathRequest};

/// Application close codes are smaller; the ones from here on are the runtime's own.
const RESERVED_CODES: u64 = 1 << 60;
/// The peer broke the engine's protocol.
pub(crate) const PROTOCOL_ERROR: u64 = RESERVED_CODES;
/// All connections are taken.
pub(crate) const BUSY: u64 = RESERVED_CODES + 1;
/// Nothing was heard of the peer for the idle timeout.
pub(crate) const TIMED_OUT: u64 = RESERVED_CODES + 2;
/// The peer's key, which it has proved to hold before, is not allowed now.
#[cfg(feature = "quic")]
pub(crate) const NOT_ALLOWED: u64 = RESERVED_CODES + 3;
/// A further connection may not join a session, or not this one.
#[cfg(feature = "quic")]
pub(crate) const PATH_REFUSED: u64 = RESERVED_CODES + 4;
/// The other end wants this path no longer; the session goes on.
#[cfg(feature = "quic")]
pub(crate) const PATH_REMOVED: u64 = RESERVED_CODES + 5;

/// A bound port of one of the carriers.
pub(crate) enum Backend {
    #[cfg(feature = "quic")]
    Quic(Arc<quic::Quic>),
    Udp(Arc<udp::Udp>),
    #[cfg(feature = "web")]
    Web(Arc<web::Web>),
}

impl Backend {
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            #[cfg(feature = "quic")]
            Backend::Quic(quic) => quic.local_addr(),
            Backend::Udp(udp) => udp.local_addr(),
            #[cfg(feature = "web")]
            Backend::Web(web) => web.local_addr(),
        }
    }

    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        match self {
            #[cfg(feature = "quic")]
            Backend::Quic(quic) => Some(quic.fingerprint()),
            Backend::Udp(_) => None,
            #[cfg(feature = "web")]
            Backend::Web(_) => None,
        }
    }

    /// Answers no further peers.
    pub(crate) fn stop_listening(&self) {
        match self {
            #[cfg(feature = "quic")]
            Backend::Quic(quic) => quic.stop_listening(),
            Backend::Udp(udp) => udp.stop_listening(),
            #[cfg(feature = "web")]
            Backend::Web(web) => web.stop_listening(),
        }
    }

    /// Waits until everything that the carrier has to say has left.
    pub(crate) async fn wait_idle(&self) {
        match self {
            #[cfg(feature = "quic")]
            Backend::Quic(quic) => quic.wait_idle().await,
            Backend::Udp(_) => {}
            #[cfg(feature = "web")]
            Backend::Web(web) => web.wait_idle().await,
        }
    }
}

/// One connection's way to its peer.
pub(crate) enum Carrier {
    #[cfg(feature = "quic")]
    Quic(quic::Link),
    Udp(udp::Link),
    #[cfg(feature = "web")]
    Web(web::Link),
}

impl Carrier {
    /// Runs the work that moves datagrams between the engine and this carrier.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.spawn(work),
            Carrier::Udp(_) => drop(tokio::spawn(work)),
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.spawn(work),
        }
    }

    /// Bytes that [`Carrier::send`] takes without waiting, about.
    pub(crate) fn room(&self) -> usize {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.room(),
            Carrier::Udp(_) => udp::ROOM,
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.room(),
        }
    }

    /// Bytes that go before each datagram that [`Carrier::send`] is given.
    pub(crate) fn prefix(&self) -> &'static [u8] {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(_) => &[],
            // It has a header of its own.
            Carrier::Udp(_) => &[],
            #[cfg(feature = "web")]
            Carrier::Web(_) => web::PREFIX,
        }
    }

    /// Path and query of the URL that a page has asked for.
    #[cfg(feature = "web")]
    pub(crate) fn web_path(&self) -> Option<&str> {
        match self {
            Carrier::Web(link) => Some(link.path()),
            _ => None,
        }
    }

    /// Sends these datagrams in order, each as soon as there is room; loss on the way is not an
    /// error. Dropped half-way, it leaves those that were not sent.
    pub(crate) async fn send(&self, datagrams: &mut VecDeque<Bytes>) -> Result<(), CloseReason> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.send(datagrams).await,
            Carrier::Udp(link) => link.send(datagrams).await,
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.send(datagrams).await,
        }
    }

    /// Waits for a datagram, then takes as many as are there, up to `limit`.
    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.recv(batch, limit).await,
            Carrier::Udp(link) => link.recv(batch, limit).await,
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.recv(batch, limit).await,
        }
    }

    /// Packets sent and received so far.
    pub(crate) fn packets(&self) -> Packets {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.packets(),
            Carrier::Udp(link) => link.packets(),
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.packets(),
        }
    }

    /// Lets what was sent leave, then ends the carrier.
    pub(crate) async fn close(&self, code: u64, reason: &str) {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.close(code, reason).await,
            Carrier::Udp(link) => link.close(),
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.close(code, reason).await,
        }
    }

    /// From where to where it was asked to go.
    pub(crate) fn request(&self) -> PathRequest {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link
                .dialled()
                .map(|d| d.request.clone())
                .unwrap_or_default(),
            Carrier::Udp(_) => PathRequest::default(),
            #[cfg(feature = "web")]
            Carrier::Web(_) => PathRequest::default(),
        }
    }

    /// Tells the client of a further path that it has joined its session.
    #[cfg(feature = "quic")]
    pub(crate) fn tell_joined(&self) {
        match self {
            Carrier::Quic(link) => link.tell_joined(),
            Carrier::Udp(_) => {}
            #[cfg(feature = "web")]
            Carrier::Web(_) => {}
        }
    }

    /// Ends a further path that cannot be used.
    #[cfg(feature = "quic")]
    pub(crate) fn refuse(&self, reason: &str) {
        match self {
            Carrier::Quic(link) => link.refuse(reason),
            Carrier::Udp(_) => {}
            #[cfg(feature = "web")]
            Carrier::Web(_) => {}
        }
    }

    /// The other end has removed this path.
    pub(crate) fn is_removed(&self) -> bool {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.is_removed(),
            Carrier::Udp(_) => false,
            #[cfg(feature = "web")]
            Carrier::Web(_) => false,
        }
    }

    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => Some(link.peer()),
            Carrier::Udp(_) => None,
            #[cfg(feature = "web")]
            Carrier::Web(_) => None,
        }
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        let addr = match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.remote_addr(),
            Carrier::Udp(link) => link.remote_addr(),
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.remote_addr(),
        };
        canonical(addr)
    }

    /// The carrier's own estimate of the round-trip time.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.rtt(),
            Carrier::Udp(_) => None,
            #[cfg(feature = "web")]
            Carrier::Web(link) => Some(link.rtt()),
        }
    }

    /// Waits until the peer has proved that it is live, and not a recording.
    pub(crate) async fn confirmed(&self) -> Result<(), CloseReason> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.confirmed().await,
            Carrier::Udp(_) => Ok(()),
            #[cfg(feature = "web")]
            Carrier::Web(_) => Ok(()),
        }
    }

    /// Data is sent although the peer has not yet proved that it is live.
    pub(crate) fn is_early(&self) -> bool {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.is_early(),
            Carrier::Udp(_) => false,
            #[cfg(feature = "web")]
            Carrier::Web(_) => false,
        }
    }

    /// Waits until it has; true: it took nothing of what was sent until then.
    pub(crate) async fn early_data_refused(&self) -> bool {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.early_data_refused().await,
            Carrier::Udp(_) => false,
            #[cfg(feature = "web")]
            Carrier::Web(_) => false,
        }
    }

    /// The application protocol that both ends agreed on.
    pub(crate) fn application_protocol(&self) -> Option<String> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.application_protocol(),
            Carrier::Udp(_) => None,
            #[cfg(feature = "web")]
            Carrier::Web(_) => None,
        }
    }

    /// Fills `output` with keying material of the handshake (RFC 5705).
    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportError> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.export_keying_material(output, label, context),
            Carrier::Udp(_) => Err(ExportError::Insecure),
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.export_keying_material(output, label, context),
        }
    }

    /// How often the path has marked datagrams to say that it is congested (ECN).
    pub(crate) fn congestion_marks(&self) -> u64 {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.congestion_marks(),
            Carrier::Udp(_) => 0,
            #[cfg(feature = "web")]
            Carrier::Web(link) => link.congestion_marks(),
        }
    }

    /// Why the carrier ended while connecting, if it knows better than the engine.
    pub(crate) fn connect_error(&self, addr: SocketAddr) -> Option<ConnectError> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => link.connect_error(addr),
            Carrier::Udp(_) => None,
            #[cfg(feature = "web")]
            Carrier::Web(_) => None,
        }
    }

    /// The longest datagram that the path takes now: it may grow and shrink. 0 when the carrier is
    /// over, and `None` where the engine finds it.
    pub(crate) fn max_datagram(&self) -> Option<usize> {
        match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(link) => Some(link.max_datagram()),
            Carrier::Udp(link) => link.may_fragment().then_some(udp::MAX_DATAGRAM),
            #[cfg(feature = "web")]
            Carrier::Web(link) => Some(link.max_datagram()),
        }
    }

    /// Fits the engine's configuration to this carrier and path.
    pub(crate) fn fit(&self, endpoint: &EndpointConfig, config: &mut Config) {
        let overhead = match self {
            #[cfg(feature = "quic")]
            Carrier::Quic(_) => {
                config.rate = endpoint.quic_rate(config.rate);
                quic::OVERHEAD
            }
            Carrier::Udp(_) => udp::OVERHEAD,
            #[cfg(feature = "web")]
            Carrier::Web(_) => {
                config.rate = endpoint.quic_rate(config.rate);
                web::OVERHEAD
            }
        };
        let ip_and_udp = if self.remote_addr().is_ipv4() { 28 } else { 48 };
        config.datagram_overhead = ip_and_udp + overhead;
        // The carrier's handshake has measured it already.
        if let Some(rtt) = self.rtt() {
            config.initial_rtt = rtt.max(Duration::from_millis(1));
        }
    }
}

/// The address as people write it: an IPv4 address is one even on an IPv6 socket.
pub(crate) fn canonical(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip().to_canonical(), addr.port())
}
