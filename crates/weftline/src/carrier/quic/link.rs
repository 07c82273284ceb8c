//! One QUIC connection.

use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use quinn::crypto::rustls::HandshakeData;
use quinn::{ConnectionError, TransportErrorCode, VarInt};
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;
use tokio::time::timeout;
use weftline_proto::{CloseReason, printable};

use super::super::{BUSY, NOT_ALLOWED, PATH_REMOVED, tls};
use super::dial::Dialled;
use super::early::{Handshake, Outcome};
use super::join::Bond;
use super::outlet::Outlet;
use super::together::Place;
use super::wire::{ANSWERED, Wire};
use crate::lock::lock;
use crate::{ConnectError, ExportError, Fingerprint, Packets};

/// Bytes by which the header of early data is longer than that of other packets: version, source
/// connection ID, the lengths of both IDs, and that of the packet (RFC 9000, section 17.2.3).
const LONG_HEADER: usize = 4 + 20 + 2 + 4;

/// A QUIC connection whose peer is known.
pub(crate) struct Link {
    pub(super) wire: Wire,
    peer: Fingerprint,
    ours: Fingerprint,
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
        Some(Link {
            is_path: alpn(&connection).is_some_and(|name| tls::is_path(&name)),
            dialled: None,
            own: Mutex::new(None),
            answer: OnceLock::new(),
            wire: Wire::new(connection, place, idle)?,
            peer,
            ours,
            early,
        })
    }

    /// Runs the engine's work.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.wire.spawn(work);
    }

    /// Waits until the peer has proved that it is live.
    pub(crate) async fn confirmed(&self) -> Result<(), CloseReason> {
        let Some(early) = &self.early else {
            return Ok(());
        };
        match early.handshake.ended().await {
            Outcome::Confirmed { .. } => Ok(()),
            Outcome::Failed | Outcome::TimedOut => {
                Err(self.end(self.wire.connection.closed().await))
            }
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
        self.wire.room()
    }

    pub(crate) async fn send(&self, datagrams: &mut VecDeque<Bytes>) -> Result<(), CloseReason> {
        self.wire.send(datagrams, 0, |error| self.end(error)).await
    }

    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        let received = self.wire.recv(batch, limit).await;
        received.map_err(|error| self.end(error))?;
        if self.is_path {
            self.take_joins(batch);
        }
        Ok(())
    }

    pub(crate) async fn close(&self, code: u64, reason: &str) {
        self.wire.drained().await;
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        self.wire.connection.close(code, reason.as_bytes());
        let own = lock(&self.own).take();
        if let Some(own) = own {
            // The peer answers at once, if it is there.
            let answer = 2 * self.wire.rtt() + ANSWERED;
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
        tls::application(&alpn(&self.wire.connection)?)
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
        self.wire.ended().is_some_and(removed)
    }

    /// Both ends have agreed on this name in TLS.
    pub(super) fn is_of(&self, name: Option<&[u8]>) -> bool {
        is_of(&self.wire.connection, name)
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
        self.wire.export_keying_material(output, label, context)
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        self.wire.remote_addr()
    }

    pub(crate) fn rtt(&self) -> Option<Duration> {
        match &self.early {
            Some(early) if self.is_early() => early.rtt,
            _ => Some(self.wire.rtt()),
        }
    }

    pub(crate) fn packets(&self) -> Packets {
        self.wire.packets()
    }

    /// How often the path has marked datagrams (ECN), as far as acknowledgements tell.
    pub(crate) fn congestion_marks(&self) -> u64 {
        self.wire.congestion_marks()
    }

    /// The largest datagram now: path MTU discovery raises it, a black hole or another path
    /// lowers it. 0 when the connection is over.
    pub(crate) fn max_datagram(&self) -> usize {
        let most = self.wire.max_datagram();
        match self.is_early() {
            // quinn 0.11 reckons with the short header; a datagram that does not fit behind the
            // long one of early data would make it send empty packets without end.
            true => most.saturating_sub(LONG_HEADER),
            false => most,
        }
    }

    pub(crate) fn connect_error(&self, addr: SocketAddr) -> Option<ConnectError> {
        let error = self.wire.ended()?;
        if let Some(got) = self.early.as_ref().and_then(|early| early.refused.take()) {
            let expected = self.peer;
            return Some(ConnectError::PeerMismatch {
                addr,
                expected,
                got,
            });
        }
        Some(connect_error(error, addr, self.ours, self.wire.idle()))
    }

    pub(super) fn end(&self, error: ConnectionError) -> CloseReason {
        match (self.wire.end(error), &self.early) {
            (CloseReason::Local, Some(early))
                if early.handshake.outcome() == Some(Outcome::TimedOut) =>
            {
                CloseReason::TimedOut {
                    seconds: early.limit.as_secs(),
                }
            }
            (reason, _) => reason,
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
            "it asks for what is not open here: another service, another version (update both ends), or a pairing while no code is shown".to_owned()
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::APPLICATION_ERROR =>
        {
            "it has given up".to_owned()
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
