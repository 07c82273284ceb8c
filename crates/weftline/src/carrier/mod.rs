//! What takes the session's datagrams across the network.
//!
//! A further carrier is a file here, a variant of [`Carrier`] and a way to bind it.

mod congestion;
pub(crate) mod quic;
mod socket;
mod tls;
pub(crate) mod udp;

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use weftline_proto::{CloseReason, Config};

use crate::{ConnectError, Fingerprint};

pub(crate) use tls::{Refused, TicketStore};

/// Application close codes are smaller; the ones from here on are the runtime's own.
const RESERVED_CODES: u64 = 1 << 60;
/// The peer broke the session's protocol.
pub(crate) const PROTOCOL_ERROR: u64 = RESERVED_CODES;
/// All sessions are taken.
pub(crate) const BUSY: u64 = RESERVED_CODES + 1;
/// Nothing was heard of the peer for the idle timeout.
pub(crate) const TIMED_OUT: u64 = RESERVED_CODES + 2;
/// The peer's key, which it has proved to hold before, is not allowed now.
pub(crate) const NOT_ALLOWED: u64 = RESERVED_CODES + 3;

/// One session's way to its peer.
pub(crate) enum Carrier {
    Quic(quic::Link),
    Udp(udp::Link),
}

impl Carrier {
    /// Waits until there is room, then sends; loss on the way is not an error.
    pub(crate) async fn send(&self, datagram: &[u8]) -> Result<(), CloseReason> {
        match self {
            Carrier::Quic(link) => link.send(datagram).await,
            Carrier::Udp(link) => link.send(datagram).await,
        }
    }

    /// Waits for a datagram, then takes as many as are there, up to `limit`.
    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        match self {
            Carrier::Quic(link) => link.recv(batch, limit).await,
            Carrier::Udp(link) => link.recv(batch, limit).await,
        }
    }

    /// Lets what was sent leave, then ends the carrier.
    pub(crate) async fn close(&self, code: u64, reason: &str) {
        match self {
            Carrier::Quic(link) => link.close(code, reason).await,
            Carrier::Udp(link) => link.close(),
        }
    }

    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        match self {
            Carrier::Quic(link) => Some(link.peer()),
            Carrier::Udp(_) => None,
        }
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        let addr = match self {
            Carrier::Quic(link) => link.remote_addr(),
            Carrier::Udp(link) => link.remote_addr(),
        };
        canonical(addr)
    }

    /// The carrier's own estimate of the round-trip time.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        match self {
            Carrier::Quic(link) => link.rtt(),
            Carrier::Udp(_) => None,
        }
    }

    /// Waits until the peer has shown that it is there, and no recording of it.
    pub(crate) async fn confirmed(&self) -> Result<(), CloseReason> {
        match self {
            Carrier::Quic(link) => link.confirmed().await,
            Carrier::Udp(_) => Ok(()),
        }
    }

    /// Data goes although the peer has not shown that it is there.
    pub(crate) fn is_early(&self) -> bool {
        match self {
            Carrier::Quic(link) => link.is_early(),
            Carrier::Udp(_) => false,
        }
    }

    /// Waits until it has; true: it took nothing of what was sent until then.
    pub(crate) async fn early_data_refused(&self) -> bool {
        match self {
            Carrier::Quic(link) => link.early_data_refused().await,
            Carrier::Udp(_) => false,
        }
    }

    /// How often the path has marked datagrams to say that it is congested (ECN).
    pub(crate) fn congestion_marks(&self) -> u64 {
        match self {
            Carrier::Quic(link) => link.congestion_marks(),
            Carrier::Udp(_) => 0,
        }
    }

    /// Why the carrier ended while connecting, if it knows better than the session.
    pub(crate) fn connect_error(&self, addr: SocketAddr) -> Option<ConnectError> {
        match self {
            Carrier::Quic(link) => link.connect_error(addr),
            Carrier::Udp(_) => None,
        }
    }

    /// The longest datagram that the path takes now: it may grow and shrink.
    pub(crate) fn max_datagram(&self) -> usize {
        match self {
            Carrier::Quic(link) => link.max_datagram(),
            Carrier::Udp(_) => udp::MAX_DATAGRAM,
        }
    }

    /// Fits a session's configuration to this carrier and path.
    pub(crate) fn fit(&self, config: &mut Config) {
        let overhead = match self {
            Carrier::Quic(_) => quic::OVERHEAD,
            Carrier::Udp(_) => udp::OVERHEAD,
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
