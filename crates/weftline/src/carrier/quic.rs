//! QUIC DATAGRAM (RFC 9221) through quinn: the default carrier.
//!
//! Each datagram of the session is one QUIC DATAGRAM; QUIC streams are not used. QUIC brings
//! encryption, both ends' identities, address validation, migration and path MTU discovery.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    AckFrequencyConfig, ClientConfig, ConnectionError, IdleTimeout, MtuDiscoveryConfig,
    SendDatagramError, ServerConfig, TokioRuntime, TransportConfig, TransportErrorCode, VarInt,
};
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;
use weftline_proto::CloseReason;

use super::congestion::Unlimited;
use super::{BUSY, RESERVED_CODES, TIMED_OUT, socket, tls};
use crate::{
    Allowed, BindError, Congestion, ConnectError, EndpointConfig, Fingerprint, Identity, Refusal,
};

/// What QUIC adds to a datagram: short header with 8-byte connection ID and a packet number of
/// at most 4 bytes, AEAD tag, and the frame's type and length.
pub(crate) const OVERHEAD: u16 = 1 + 8 + 4 + 16 + 3;

/// Received datagrams held for the session; when it is slow, the oldest go.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Datagrams waiting in QUIC: a few packets, so that the session decides late what to send.
const SEND_BUFFER: usize = 8 << 10;
/// Path MTU discovery stops when it cannot gain more than this: it needs a round trip for each step,
/// three to a usual path's 1500 bytes.
const MTU_STEP: u16 = 60;
/// It looks again after this, and at once when it thought that the path had shrunk: where losses are
/// common both it and the detection of black holes (RFC 8899) err now and then.
const MTU_INTERVAL: Duration = Duration::from_secs(60);
const MTU_COOLDOWN: Duration = Duration::from_millis(1);
/// Packets that the peer may leave unacknowledged; the session has feedback of its own.
const ACK_EVERY: u32 = 30;
/// QUIC outlives the session's idle timeout by this much, so that the session reports it.
const IDLE_MARGIN: Duration = Duration::from_secs(5);
/// Unfinished handshakes from which on a client must first prove its address.
const RETRY_FROM: usize = 16;
/// Unfinished handshakes from which on further ones are refused.
const MAX_HANDSHAKES: usize = 128;
/// TLS wants a name; peers are known by their keys, and it is not sent.
const SERVER_NAME: &str = "weftline";

/// An endpoint of this carrier.
pub(crate) struct Quic {
    endpoint: quinn::Endpoint,
    identity: Identity,
    transport: Arc<TransportConfig>,
    idle: Duration,
    listener: Option<Listener>,
}

#[derive(Clone)]
struct Listener {
    config: ServerConfig,
    allowed: Allowed,
}

impl Quic {
    pub(crate) fn bind(
        addr: SocketAddr,
        identity: Identity,
        allowed: Allowed,
        config: &EndpointConfig,
    ) -> Result<Self, BindError> {
        let transport = Arc::new(transport(config)?);
        let listener = if allowed.is_nobody() {
            None
        } else {
            let tls = quic_server(&identity, &allowed, &tls::Refused::default())?;
            let mut config = ServerConfig::with_crypto(tls);
            config.transport_config(transport.clone());
            config.max_incoming(MAX_HANDSHAKES);
            Some(Listener { config, allowed })
        };
        let failed = |source| BindError::Socket { addr, source };
        let socket = socket::bind(addr, config.socket_buffer).map_err(failed)?;
        let endpoint = quinn::Endpoint::new(
            quinn::EndpointConfig::default(),
            listener.as_ref().map(|l| l.config.clone()),
            socket,
            Arc::new(TokioRuntime),
        )
        .map_err(failed)?;
        Ok(Quic {
            endpoint,
            identity,
            transport,
            idle: config.session.idle_timeout.saturating_add(IDLE_MARGIN),
            listener,
        })
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
        let refused = tls::Refused::default();
        let address = |reason: String| ConnectError::Address { addr, reason };
        let tls = tls::client(&self.identity, expected, refused.clone())
            .map_err(|e| address(e.to_string()))?;
        let tls = QuicClientConfig::try_from(tls).map_err(|e| address(e.to_string()))?;
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(self.transport.clone());
        let connecting = match self.endpoint.connect_with(config, addr, SERVER_NAME) {
            Ok(connecting) => connecting,
            Err(quinn::ConnectError::EndpointStopping) => return Err(ConnectError::EndpointClosed),
            Err(error) => return Err(address(error.to_string())),
        };
        let ours = self.fingerprint();
        let connection = connecting.await.map_err(|error| match refused.get() {
            Some(&got) => ConnectError::PeerMismatch {
                addr,
                expected,
                got,
            },
            None => connect_error(&error, addr, ours, self.idle),
        })?;
        Link::new(connection, ours, self.idle).ok_or_else(|| ConnectError::NotWeftline {
            addr,
            reason: "it takes no datagrams".to_owned(),
        })
    }

    /// The next peer that knocks; `None` when the endpoint has ended or only connects.
    pub(crate) async fn knock(&self) -> Option<Knock> {
        let listener = self.listener.clone()?;
        Some(Knock {
            incoming: self.endpoint.accept().await?,
            listener,
            identity: self.identity.clone(),
            idle: self.idle,
        })
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

    /// Does the handshake, which proves who the peer is and that it is allowed.
    pub(crate) async fn open(self) -> Result<Link, Refusal> {
        let addr = super::canonical(self.incoming.remote_address());
        let failed = |reason: String| Refusal::Handshake { addr, reason };
        // A TLS configuration of its own lets this handshake say whom it refused.
        let refused = tls::Refused::default();
        let mut config = self.listener.config;
        config.crypto = quic_server(&self.identity, &self.listener.allowed, &refused)
            .map_err(|e| failed(e.to_string()))?;
        let connecting = self
            .incoming
            .accept_with(Arc::new(config))
            .map_err(|e| failed(e.to_string()))?;
        let connection = connecting.await.map_err(|error| match refused.get() {
            Some(&peer) => Refusal::UnknownPeer { peer, addr },
            None => failed(error.to_string()),
        })?;
        Link::new(connection, self.identity.fingerprint(), self.idle)
            .ok_or_else(|| failed("it takes no datagrams".to_owned()))
    }
}

/// An established QUIC connection.
pub(crate) struct Link {
    connection: quinn::Connection,
    peer: Fingerprint,
    ours: Fingerprint,
    idle: Duration,
    /// How the connection ended, before this end's own close hides it.
    ended: OnceLock<ConnectionError>,
}

impl Link {
    fn new(connection: quinn::Connection, ours: Fingerprint, idle: Duration) -> Option<Self> {
        connection.max_datagram_size()?;
        let identity = connection.peer_identity()?;
        let keys = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        Some(Link {
            peer: Fingerprint::of_public_key(keys.first()?),
            connection,
            ours,
            idle,
            ended: OnceLock::new(),
        })
    }

    pub(crate) async fn send(&self, datagram: &[u8]) -> Result<(), CloseReason> {
        let datagram = Bytes::copy_from_slice(datagram);
        match self.connection.send_datagram_wait(datagram).await {
            Ok(()) => Ok(()),
            Err(SendDatagramError::TooLarge) => {
                tracing::debug!("the path shrank below the symbol size; datagram dropped");
                Ok(())
            }
            Err(SendDatagramError::ConnectionLost(error)) => Err(self.end(error)),
            Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {
                Err(CloseReason::Protocol("the peer takes no QUIC datagrams"))
            }
        }
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
        Ok(())
    }

    /// QUIC drops what it has queued when it closes, so this waits until the queue is empty.
    pub(crate) async fn close(&self, code: u64, reason: &str) {
        const STEP: Duration = Duration::from_millis(1);
        for _ in 0..100 {
            let space = self.connection.datagram_send_buffer_space();
            if self.connection.close_reason().is_some() || space + size_of::<Bytes>() >= SEND_BUFFER
            {
                break;
            }
            tokio::time::sleep(STEP).await;
        }
        let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
        self.connection.close(code, reason.as_bytes());
    }

    pub(crate) fn peer(&self) -> Fingerprint {
        self.peer
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        self.connection.remote_address()
    }

    pub(crate) fn rtt(&self) -> Duration {
        self.connection.rtt()
    }

    /// How often the path has marked datagrams (ECN), as far as acknowledgements tell.
    pub(crate) fn congestion_marks(&self) -> u64 {
        Unlimited::marks(self.connection.congestion_state())
    }

    /// The largest datagram now: path MTU discovery raises it, a black hole or another path
    /// lowers it. 0 when the connection is over.
    pub(crate) fn max_datagram(&self) -> usize {
        self.connection.max_datagram_size().unwrap_or(0)
    }

    pub(crate) fn connect_error(&self, addr: SocketAddr) -> Option<ConnectError> {
        Some(connect_error(self.ended.get()?, addr, self.ours, self.idle))
    }

    fn end(&self, error: ConnectionError) -> CloseReason {
        match self.ended.get_or_init(|| error) {
            ConnectionError::ApplicationClosed(close) => {
                let code = close.error_code.into_inner();
                let reason = String::from_utf8_lossy(&close.reason).into_owned();
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
            ConnectionError::LocallyClosed => CloseReason::Local,
            ConnectionError::TimedOut => CloseReason::TimedOut {
                seconds: self.idle.as_secs(),
            },
            ConnectionError::Reset => {
                CloseReason::Refused("it no longer knows this connection".to_owned())
            }
            ConnectionError::TransportError(_) => CloseReason::Protocol("QUIC found an error"),
            other => CloseReason::Refused(other.to_string()),
        }
    }
}

fn quic_server(
    identity: &Identity,
    allowed: &Allowed,
    refused: &tls::Refused,
) -> Result<Arc<QuicServerConfig>, BindError> {
    let tls = tls::server(identity, allowed.clone(), refused.clone())
        .map_err(|e| BindError::Tls(e.to_string()))?;
    let tls = QuicServerConfig::try_from(tls).map_err(|e| BindError::Tls(e.to_string()))?;
    Ok(Arc::new(tls))
}

fn transport(config: &EndpointConfig) -> Result<TransportConfig, BindError> {
    let session_idle = config.session.idle_timeout;
    let idle = IdleTimeout::try_from(session_idle.saturating_add(IDLE_MARGIN)).map_err(|_| {
        BindError::IdleTimeout {
            seconds: session_idle.as_secs(),
        }
    })?;
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(ACK_EVERY));
    let mut transport = TransportConfig::default();
    match config.controller() {
        Congestion::Engine if !config.is_limited() => return Err(BindError::Unlimited),
        Congestion::Engine => {
            // Nothing is decided by QUIC's own losses, so a gap needs no early acknowledgement.
            acks.reordering_threshold(VarInt::from_u32(0));
            transport.congestion_controller_factory(Arc::new(Unlimited::default()))
        }
        Congestion::Cubic => {
            transport.congestion_controller_factory(Arc::new(CubicConfig::default()))
        }
        Congestion::Bbr => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        Congestion::NewReno => {
            transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
        }
    };
    let mut discovery = MtuDiscoveryConfig::default();
    discovery
        .minimum_change(MTU_STEP)
        .interval(MTU_INTERVAL)
        .black_hole_cooldown(MTU_COOLDOWN);
    transport
        .mtu_discovery_config(Some(discovery))
        .max_idle_timeout(Some(idle))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(Some(RECEIVE_BUFFER))
        .datagram_send_buffer_size(SEND_BUFFER)
        .enable_segmentation_offload(config.segmentation_offload)
        .ack_frequency_config(Some(acks));
    Ok(transport)
}

/// What a failed connection means to whoever wanted it.
fn connect_error(
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
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            ConnectError::Busy { addr }
        }
        ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == BUSY => {
            ConnectError::Busy { addr }
        }
        ConnectionError::ApplicationClosed(close) => ConnectError::Closed {
            addr,
            reason: CloseReason::Peer {
                code: close.error_code.into_inner(),
                reason: String::from_utf8_lossy(&close.reason).into_owned(),
            },
        },
        ConnectionError::TimedOut => ConnectError::TimedOut {
            addr,
            seconds: idle.as_secs(),
        },
        ConnectionError::LocallyClosed => ConnectError::EndpointClosed,
        other => ConnectError::NotWeftline {
            addr,
            reason: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: &str = "127.0.0.1:0";

    fn bind(identity: &Identity, allowed: Allowed) -> Quic {
        let config = EndpointConfig::default();
        Quic::bind(
            LOOPBACK.parse().unwrap(),
            identity.clone(),
            allowed,
            &config,
        )
        .unwrap()
    }

    /// What each end makes of a client that asks for `expected`.
    async fn handshake(
        client: &Identity,
        server: &Identity,
        allowed: Allowed,
        expected: Fingerprint,
    ) -> (Result<Link, ConnectError>, Result<Link, Refusal>) {
        let server = bind(server, allowed);
        let client = bind(client, Allowed::nobody());
        let addr = server.local_addr().unwrap();
        let accept = async { server.knock().await.unwrap().admit(0).unwrap().open().await };
        tokio::join!(client.connect(addr, expected), accept)
    }

    #[tokio::test]
    async fn both_ends_learn_who_the_other_is() {
        let (a, b) = (Identity::generate(), Identity::generate());
        let allowed = Allowed::only([a.fingerprint()]);
        let (client, server) = handshake(&a, &b, allowed, b.fingerprint()).await;
        let (client, server) = (client.unwrap(), server.unwrap());
        assert_eq!(client.peer(), b.fingerprint());
        assert_eq!(server.peer(), a.fingerprint());

        client.send(b"hello").await.unwrap();
        let mut batch = Vec::new();
        server.recv(&mut batch, 8).await.unwrap();
        assert_eq!(batch, [&b"hello"[..]]);
        assert!(client.max_datagram() >= 1150, "{}", client.max_datagram());
    }

    #[tokio::test]
    async fn a_server_with_another_key_is_not_talked_to() {
        let (a, b) = (Identity::generate(), Identity::generate());
        let expected = Identity::generate().fingerprint();
        let (client, server) = handshake(&a, &b, Allowed::anyone(), expected).await;
        match client.err().unwrap() {
            ConnectError::PeerMismatch {
                expected: wanted,
                got,
                ..
            } => assert_eq!((wanted, got), (expected, b.fingerprint())),
            other => panic!("{other}"),
        }
        assert!(matches!(server.err(), Some(Refusal::Handshake { .. })));
    }

    #[tokio::test]
    async fn an_unknown_client_is_refused_and_named() {
        let (a, b) = (Identity::generate(), Identity::generate());
        let allowed = Allowed::only([Identity::generate().fingerprint()]);
        let (client, server) = handshake(&a, &b, allowed, b.fingerprint()).await;
        match server.err().unwrap() {
            Refusal::UnknownPeer { peer, .. } => assert_eq!(peer, a.fingerprint()),
            other => panic!("{other}"),
        }
        // TLS 1.3 clients are done before the server has looked at their key.
        let link = client.unwrap();
        assert!(link.recv(&mut Vec::new(), 1).await.is_err());
        let addr = LOOPBACK.parse().unwrap();
        let ours = a.fingerprint();
        assert_eq!(
            link.connect_error(addr),
            Some(ConnectError::Refused { addr, ours })
        );
    }

    #[tokio::test]
    async fn showing_the_key_of_an_allowed_client_is_not_enough() {
        let (friend, b) = (Identity::generate(), Identity::generate());
        let thief = Identity::generate().pretending_to_be(&friend);
        let allowed = Allowed::only([friend.fingerprint()]);
        let (client, server) = handshake(&thief, &b, allowed, b.fingerprint()).await;
        let refusal = server.err().unwrap().to_string();
        assert!(refusal.contains("BadSignature"), "{refusal}");
        assert!(client.unwrap().recv(&mut Vec::new(), 1).await.is_err());
    }

    #[tokio::test]
    async fn showing_the_key_of_the_server_is_not_enough() {
        let (a, victim) = (Identity::generate(), Identity::generate());
        let thief = Identity::generate().pretending_to_be(&victim);
        let (client, server) = handshake(&a, &thief, Allowed::anyone(), victim.fingerprint()).await;
        let error = client.err().unwrap();
        assert!(matches!(error, ConnectError::NotWeftline { .. }), "{error}");
        assert!(error.to_string().contains("BadSignature"), "{error}");
        assert!(server.is_err());
    }

    #[tokio::test]
    async fn the_code_and_reason_of_a_close_arrive_after_what_was_sent() {
        let (a, b) = (Identity::generate(), Identity::generate());
        let (client, server) = handshake(&a, &b, Allowed::anyone(), b.fingerprint()).await;
        let (client, server) = (client.unwrap(), server.unwrap());
        for _ in 0..4 {
            client.send(&[7; 1000]).await.unwrap();
        }
        client.close(42, "done").await;
        let mut batch = Vec::new();
        let reason = loop {
            if let Err(reason) = server.recv(&mut batch, 8).await {
                break reason;
            }
        };
        let code = 42;
        let words = "done".to_owned();
        assert_eq!(
            reason,
            CloseReason::Peer {
                code,
                reason: words
            }
        );
        assert_eq!(batch.len(), 4);
    }

    #[tokio::test]
    async fn an_endpoint_that_nothing_would_limit_is_refused() {
        let mut config = EndpointConfig {
            congestion: Some(Congestion::Engine),
            ..EndpointConfig::default()
        };
        config.session.rate = weftline_proto::RateControl::Carrier;
        let result = Quic::bind(
            LOOPBACK.parse().unwrap(),
            Identity::generate(),
            Allowed::nobody(),
            &config,
        );
        assert!(matches!(result.err(), Some(BindError::Unlimited)));
    }
}
