//! One QUIC connection.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use quinn::crypto::rustls::HandshakeData;
use quinn::{ConnectionError, SendDatagramError, TransportErrorCode, VarInt};
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;
use tokio::time::timeout;
use weftline_proto::{CloseReason, printable};

use super::super::congestion::Unlimited;
use super::super::{BUSY, NOT_ALLOWED, PATH_REMOVED, RESERVED_CODES, TIMED_OUT, tls};
use super::dial::Dialled;
use super::early::{Handshake, Outcome};
use super::join::Bond;
use super::outlet::Outlet;
use super::together::Place;
use crate::{ConnectError, ExportError, Fingerprint, Packets};

/// Bytes by which the header of early data is longer than that of other packets: version, source
/// connection ID, the lengths of both IDs, and that of the packet (RFC 9000, section 17.2.3).
const LONG_HEADER: usize = 4 + 20 + 2 + 4;

/// A close is answered within two round trips and this, or not at all.
const ANSWERED: Duration = Duration::from_millis(100);

const NO_DATAGRAMS: &str = "the peer takes no QUIC datagrams";

/// A QUIC connection whose peer is known.
pub(crate) struct Link {
    pub(super) connection: quinn::Connection,
    /// Beside QUIC's own task.
    place: Place,
    /// Bytes that QUIC takes while nothing waits.
    room: usize,
    peer: Fingerprint,
    ours: Fingerprint,
    idle: Duration,
    /// How the connection ended, before this end's own close hides it.
    ended: OnceLock<ConnectionError>,
    early: Option<Early>,
    /// Where it was dialled from, on the client's side.
    pub(super) dialled: Option<Box<Dialled>>,
    /// Its socket, if it is not the endpoint's.
    pub(super) own: Mutex<Option<Box<Outlet>>>,
    /// What tells the client of a further path that it has joined the session.
    pub(super) answer: OnceLock<Bytes>,
    is_path: bool,
}

/// What is special about a connection that carries data before its handshake has ended.
pub(super) struct Early {
    pub(super) handshake: Handshake,
    pub(super) limit: Duration,
    /// The round trip took this long when the peer was last met.
    pub(super) rtt: Option<Duration>,
    /// Where the handshake leaves the peer that it refused.
    pub(super) refused: tls::Refused,
}

impl Link {
    /// The peer has shown its key; with `early` its handshake goes on while data is carried already.
    pub(super) fn new(
        connection: quinn::Connection,
        place: Place,
        ours: Fingerprint,
        idle: Duration,
        early: Option<Early>,
    ) -> Option<Self> {
        let peer = fingerprint(&connection)?;
        Link::to(connection, place, peer, ours, idle, early)
    }

    /// The peer can only be this one.
    pub(super) fn to(
        connection: quinn::Connection,
        place: Place,
        peer: Fingerprint,
        ours: Fingerprint,
        idle: Duration,
        early: Option<Early>,
    ) -> Option<Self> {
        connection.max_datagram_size()?;
        Some(Link {
            is_path: alpn(&connection).is_some_and(|name| tls::is_path(&name)),
            dialled: None,
            own: Mutex::new(None),
            answer: OnceLock::new(),
            room: connection.datagram_send_buffer_space(),
            connection,
            place,
            peer,
            ours,
            idle,
            ended: OnceLock::new(),
            early,
        })
    }

    /// Runs the engine's work.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.place.spawn(work);
    }

    /// Waits until the peer has proved that it is live.
    pub(crate) async fn confirmed(&self) -> Result<(), CloseReason> {
        let Some(early) = &self.early else {
            return Ok(());
        };
        match early.handshake.ended().await {
            Outcome::Confirmed { .. } => Ok(()),
            Outcome::Failed | Outcome::TimedOut => Err(self.end(self.connection.closed().await)),
        }
    }

    /// Waits for the end of the handshake; true: the peer took none of the early data.
    pub(crate) async fn early_data_refused(&self) -> bool {
        match &self.early {
            Some(early) => early.handshake.ended().await == Outcome::Confirmed { taken: false },
            None => false,
        }
    }

    /// The handshake goes on.
    pub(crate) fn is_early(&self) -> bool {
        let early = self.early.as_ref();
        early.is_some_and(|early| early.handshake.outcome().is_none())
    }

    pub(crate) fn room(&self) -> usize {
        self.connection.datagram_send_buffer_space()
    }

    pub(crate) async fn send(&self, datagrams: &mut VecDeque<Bytes>) -> Result<(), CloseReason> {
        while let Some(datagram) = datagrams.front() {
            match self.connection.send_datagram_wait(datagram.clone()).await {
                Ok(()) => {}
                Err(SendDatagramError::TooLarge) => {
                    tracing::debug!("the path shrank below the symbol size; datagram dropped");
                }
                Err(SendDatagramError::ConnectionLost(error)) => return Err(self.end(error)),
                Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {
                    return Err(CloseReason::Carrier(NO_DATAGRAMS.to_owned()));
                }
            }
            datagrams.pop_front();
        }
        Ok(())
    }

    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        let first = self.connection.read_datagram().await;
        batch.push(first.map_err(|error| self.end(error))?);
        while batch.len() < limit {
            let mut more = pin!(self.connection.read_datagram());
            match poll_fn(|cx| Poll::Ready(more.as_mut().poll(cx))).await {
                Poll::Ready(Ok(datagram)) => batch.push(datagram),
                // An error is met again by the next call, after this batch was handled.
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
        if self.is_path {
            self.take_joins(batch);
        }
        Ok(())
    }

    /// QUIC drops what it has queued when it closes, so this waits until the queue is empty.
    pub(crate) async fn close(&self, code: u64, reason: &str) {
        const STEP: Duration = Duration::from_millis(1);
        for _ in 0..100 {
            let space = self.connection.datagram_send_buffer_space();
            if self.connection.close_reason().is_some() || space + size_of::<Bytes>() >= self.room {
                break;
            }
            tokio::time::sleep(STEP).await;
        }
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        self.connection.close(code, reason.as_bytes());
        let own = self
            .own
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(own) = own {
            // The peer answers at once, if it is there.
            let answer = 2 * self.connection.rtt() + ANSWERED;
            timeout(answer, own.endpoint.wait_idle()).await.ok();
        }
    }

    pub(crate) fn peer(&self) -> Fingerprint {
        self.peer
    }

    #[cfg(test)]
    pub(super) fn ours(&self) -> Fingerprint {
        self.ours
    }

    pub(crate) fn application_protocol(&self) -> Option<String> {
        tls::application(&alpn(&self.connection)?)
    }

    pub(crate) fn dialled(&self) -> Option<&Dialled> {
        self.dialled.as_deref()
    }

    /// The other end has removed this path of the session.
    pub(crate) fn is_removed(&self) -> bool {
        let removed = |error: &ConnectionError| match error {
            ConnectionError::ApplicationClosed(close) => {
                close.error_code.into_inner() == PATH_REMOVED
            }
            _ => false,
        };
        self.ended.get().is_some_and(removed)
    }

    /// Both ends have agreed on this name in TLS.
    pub(super) fn is_of(&self, name: Option<&[u8]>) -> bool {
        is_of(&self.connection, name)
    }

    /// It wants to be a further path of a session.
    pub(super) fn is_path(&self) -> bool {
        self.is_path
    }

    /// What the two ends of the session that this connection began have in common.
    pub(crate) fn bond(&self) -> Option<Bond> {
        Bond::of(self)
    }

    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportError> {
        // Before that rustls has secrets of early data only, which a recording may repeat.
        if self.is_early() {
            return Err(ExportError::TooEarly);
        }
        let length = output.len();
        self.connection
            .export_keying_material(output, label, context)
            .map_err(|_| ExportError::TooLong { length })
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        self.connection.remote_address()
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        match &self.early {
            Some(early) if self.is_early() => early.rtt,
            _ => Some(self.connection.rtt()),
        }
    }

    pub(crate) fn packets(&self) -> Packets {
        let stats = self.connection.stats();
        Packets {
            sent: stats.udp_tx.datagrams,
            sent_bytes: stats.udp_tx.bytes,
            received: stats.udp_rx.datagrams,
            received_bytes: stats.udp_rx.bytes,
        }
    }

    /// How often the path has marked datagrams (ECN), as far as acknowledgements tell.
    pub(crate) fn congestion_marks(&self) -> u64 {
        Unlimited::marks(self.connection.congestion_state())
    }

    /// The largest datagram now: path MTU discovery raises it, a black hole or another path
    /// lowers it. 0 when the connection is over.
    pub(crate) fn max_datagram(&self) -> usize {
        let most = self.connection.max_datagram_size().unwrap_or(0);
        match self.is_early() {
            // quinn 0.11 reckons with the short header; a datagram that does not fit behind the
            // long one of early data would make it send empty packets without end.
            true => most.saturating_sub(LONG_HEADER),
            false => most,
        }
    }

    pub(crate) fn connect_error(&self, addr: SocketAddr) -> Option<ConnectError> {
        let error = self.ended.get()?;
        if let Some(got) = self.early.as_ref().and_then(|early| early.refused.take()) {
            let expected = self.peer;
            return Some(ConnectError::PeerMismatch {
                addr,
                expected,
                got,
            });
        }
        Some(connect_error(error, addr, self.ours, self.idle))
    }

    pub(super) fn end(&self, error: ConnectionError) -> CloseReason {
        match self.ended.get_or_init(|| error) {
            ConnectionError::ApplicationClosed(close) => {
                let code = close.error_code.into_inner();
                let reason = printable(&String::from_utf8_lossy(&close.reason));
                if code < RESERVED_CODES {
                    CloseReason::Peer { code, reason }
                } else if code == TIMED_OUT {
                    // It heard nothing from here, as this end would have of it before long.
                    CloseReason::TimedOut {
                        seconds: self.idle.as_secs(),
                    }
                } else {
                    CloseReason::Refused(reason)
                }
            }
            ConnectionError::LocallyClosed => match &self.early {
                Some(early) if early.handshake.outcome() == Some(Outcome::TimedOut) => {
                    CloseReason::TimedOut {
                        seconds: early.limit.as_secs(),
                    }
                }
                _ => CloseReason::Local,
            },
            ConnectionError::TimedOut => CloseReason::TimedOut {
                seconds: self.idle.as_secs(),
            },
            ConnectionError::Reset => {
                CloseReason::Refused("it no longer knows this connection".to_owned())
            }
            ConnectionError::TransportError(error) => {
                CloseReason::Carrier(printable(&error.to_string()))
            }
            other => CloseReason::Refused(printable(&other.to_string())),
        }
    }
}

/// The name in TLS that both ends agreed on.
fn alpn(connection: &quinn::Connection) -> Option<Vec<u8>> {
    let data = connection.handshake_data()?;
    data.downcast::<HandshakeData>().ok()?.protocol
}

/// Both ends have agreed on this name in TLS.
pub(super) fn is_of(connection: &quinn::Connection, name: Option<&[u8]>) -> bool {
    name.is_some() && alpn(connection).as_deref() == name
}

/// The peer's key, which it has proved to hold: now, or in the session that is being resumed.
pub(super) fn fingerprint(connection: &quinn::Connection) -> Option<Fingerprint> {
    let identity = connection.peer_identity()?;
    let keys = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    Some(Fingerprint::of_public_key(keys.first()?))
}

/// What a failed handshake of a client means to the server with this fingerprint.
pub(super) fn handshake_error(error: &ConnectionError, ours: Fingerprint) -> String {
    let alert = |alert: AlertDescription| TransportErrorCode::crypto(alert.into());
    match error {
        ConnectionError::ConnectionClosed(close)
            if close.error_code == alert(AlertDescription::AccessDenied) =>
        {
            format!("it expects another peer than this one, {ours}")
        }
        ConnectionError::TransportError(error)
            if error.code == alert(AlertDescription::NoApplicationProtocol) =>
        {
            "it asks for no application protocol that is served here".to_owned()
        }
        error => error.to_string(),
    }
}

/// What a failed connection means to the caller of connect.
pub(super) fn connect_error(
    error: &ConnectionError,
    addr: SocketAddr,
    ours: Fingerprint,
    idle: Duration,
) -> ConnectError {
    let alert = |alert: AlertDescription| TransportErrorCode::crypto(alert.into());
    match error {
        ConnectionError::ConnectionClosed(close)
            if close.error_code == alert(AlertDescription::AccessDenied) =>
        {
            ConnectError::Refused { addr, ours }
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == alert(AlertDescription::NoApplicationProtocol) =>
        {
            ConnectError::ApplicationProtocol { addr }
        }
        // The server gave the handshake up: its place went to a newer one.
        ConnectionError::ConnectionClosed(close)
            if [
                TransportErrorCode::CONNECTION_REFUSED,
                TransportErrorCode::APPLICATION_ERROR,
            ]
            .contains(&close.error_code) =>
        {
            ConnectError::Busy { addr }
        }
        ConnectionError::ApplicationClosed(close)
            if close.error_code.into_inner() == NOT_ALLOWED =>
        {
            ConnectError::Refused { addr, ours }
        }
        ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == BUSY => {
            ConnectError::Busy { addr }
        }
        ConnectionError::ApplicationClosed(close) => ConnectError::Closed {
            addr,
            reason: CloseReason::Peer {
                code: close.error_code.into_inner(),
                reason: printable(&String::from_utf8_lossy(&close.reason)),
            },
        },
        ConnectionError::TimedOut => ConnectError::TimedOut {
            addr,
            seconds: idle.as_secs(),
        },
        ConnectionError::LocallyClosed => ConnectError::EndpointClosed,
        other => ConnectError::NotWeftline {
            addr,
            reason: printable(&other.to_string()),
        },
    }
}
