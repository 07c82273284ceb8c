//! WebTransport over HTTP/3 (draft-ietf-webtrans-http3): pages in browsers connect to this end.
//!
//! Each datagram of the engine is one HTTP Datagram (RFC 9297) of the page's session; WebTransport's
//! streams are not used. QUIC brings encryption and this end's certificate. The page shows no key: its
//! request names a URL and where the page is from, and the application's rule says whether it may come in.

mod code;
mod http3;
mod link;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{ConnectionError, Incoming, ServerConfig, TransportConfig, TransportErrorCode, VarInt};
use tokio::time::timeout;
use weftline_proto::printable;

use super::canonical;
use super::quic::{self, FINISH_WITHIN, Gate, IDLE_MARGIN, Outlet, Seat, Wire};
use crate::lock::lock;
use crate::{BindError, EndpointConfig, Refusal, WebAllowed, WebCertificate, WebRequest};

use http3::Asked;

pub(crate) use link::Link;

/// What goes before each datagram: the page's session is that of its connection's first stream, whose
/// number, in quarters, is 0 (RFC 9297, section 2.1).
pub(crate) const PREFIX: &[u8] = &[0];

/// What QUIC and the prefix add to a datagram.
pub(crate) const OVERHEAD: u16 = quic::OVERHEAD + PREFIX.len() as u16;

/// The name of HTTP/3 in TLS (RFC 9114, section 3.1).
const ALPN: &str = "h3";

/// The page's streams: the one of its request, and for HTTP/3 one for control and two for compressing
/// headers (RFC 9114, section 6.2). It gets no others.
const REQUESTS: u32 = 1;
const UNIDIRECTIONAL: u32 = 3;
/// Bytes on each of them, and on all, that wait to be read: of two nothing ever is.
const STREAM_WINDOW: u32 = 16 << 10;
const WINDOW: u32 = (REQUESTS + UNIDIRECTIONAL) * STREAM_WINDOW;
/// Received datagrams held for the engine; when it is slow, the oldest go. A page sends little.
const RECEIVE_BUFFER: usize = 256 << 10;

/// An endpoint of this carrier.
pub(crate) struct Web {
    outlet: Outlet,
    config: EndpointConfig,
    server: Mutex<Arc<ServerConfig>>,
    allowed: WebAllowed,
    gate: Gate,
}

impl Web {
    pub(crate) fn new(
        socket: UdpSocket,
        certificate: &WebCertificate,
        allowed: WebAllowed,
        config: &EndpointConfig,
    ) -> Result<Self, BindError> {
        let server = server(certificate, config)?;
        let secret = |purpose: &str, port| certificate.secret(purpose, port);
        let serves = Arc::new(true.into());
        let outlet = Outlet::new(socket, secret, serves).map_err(BindError::Given)?;
        outlet.endpoint.set_server_config(Some(server.clone()));
        Ok(Web {
            outlet,
            config: config.clone(),
            server: Mutex::new(Arc::new(server)),
            allowed,
            gate: Gate::new(config),
        })
    }

    /// Shows this certificate from now on.
    pub(crate) fn set_certificate(&self, certificate: &WebCertificate) -> Result<(), BindError> {
        let server = server(certificate, &self.config)?;
        let mut current = self.server();
        self.outlet.endpoint.set_server_config(Some(server.clone()));
        *current = Arc::new(server);
        Ok(())
    }

    fn server(&self) -> MutexGuard<'_, Arc<ServerConfig>> {
        lock(&self.server)
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.outlet.endpoint.local_addr()
    }

    /// Where pages get places for their handshakes.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The next one that knocks; `None` when the endpoint has ended.
    ///
    /// Cancel safe.
    pub(crate) async fn knock(&self) -> Option<Incoming> {
        self.outlet.endpoint.accept().await
    }

    /// Does the handshake and hears what the page asks for, for as long as a place is kept: `None` if it
    /// does not finish.
    pub(crate) async fn open(
        &self,
        incoming: Incoming,
        mut seat: Seat,
    ) -> Option<Result<Link, Refusal>> {
        let limit = FINISH_WITHIN.min(self.config.connect_timeout);
        let opened = timeout(limit, self.greet(incoming)).await.ok()?;
        seat.welcome = opened.is_ok();
        Some(opened)
    }

    async fn greet(&self, incoming: Incoming) -> Result<Link, Refusal> {
        let addr = canonical(incoming.remote_address());
        let failed = |reason: String| Refusal::Handshake {
            addr,
            reason: printable(&reason),
        };
        let server = self.server().clone();
        let begun = self.outlet.begin(|_| incoming.accept_with(server));
        let (connecting, place) = begun.map_err(|e| failed(handshake_error(&e)))?;
        let connection = connecting.await;
        let connection = connection.map_err(|e| failed(handshake_error(&e)))?;
        let idle = self.config.session.idle_timeout.saturating_add(IDLE_MARGIN);
        let wire = Wire::new(connection, place, idle);
        let wire = wire.ok_or_else(|| failed("it takes no datagrams".to_owned()))?;
        let asked = tokio::select! {
            biased;
            asked = Asked::hear(&wire.connection) => asked.map_err(|e| failed(e.to_string()))?,
            // Before there is a session, they must not pile up.
            error = drop_datagrams(&wire.connection) => return Err(failed(error.to_string())),
        };
        let request = WebRequest::new(addr, &asked.request);
        if !self.allowed.allows(&request) {
            tokio::select! {
                () = asked.refuse() => {}
                _ = drop_datagrams(&wire.connection) => {}
            }
            wire.connection.close(VarInt::from_u32(code::NO_ERROR), b"");
            return Err(Refusal::Page { addr });
        }
        let session = asked.accept(&wire).await;
        let session = session.map_err(|e| failed(e.to_string()))?;
        Ok(Link::new(wire, session, request.into_path()))
    }

    /// Answers no further pages.
    pub(crate) fn stop_listening(&self) {
        self.outlet.endpoint.set_server_config(None);
    }

    pub(crate) async fn wait_idle(&self) {
        self.outlet.endpoint.wait_idle().await;
    }
}

/// What a failed handshake of a browser means.
fn handshake_error(error: &ConnectionError) -> String {
    /// From bad_certificate to unknown_ca (RFC 8446, section 6).
    const CERTIFICATE: RangeInclusive<u8> = 42..=48;
    match error {
        ConnectionError::ConnectionClosed(close)
            if CERTIFICATE
                .map(TransportErrorCode::crypto)
                .any(|alert| alert == close.error_code) =>
        {
            "it refuses this end's certificate: expired, or not the one that the page names"
                .to_owned()
        }
        error => error.to_string(),
    }
}

/// Until the connection ends.
async fn drop_datagrams(connection: &quinn::Connection) -> ConnectionError {
    loop {
        if let Err(error) = connection.read_datagram().await {
            return error;
        }
        tokio::task::consume_budget().await;
    }
}

fn server(
    certificate: &WebCertificate,
    config: &EndpointConfig,
) -> Result<ServerConfig, BindError> {
    let tls = certificate.server_config(&[ALPN])?;
    let tls = QuicServerConfig::try_from(tls).map_err(|e| BindError::Tls(e.to_string()))?;
    Ok(quic::server_config(Arc::new(tls), transport(config)?))
}

/// QUIC's settings: as little for a page as it needs.
fn transport(config: &EndpointConfig) -> Result<TransportConfig, BindError> {
    let mut transport = quic::transport(config, None, false)?;
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(REQUESTS))
        .max_concurrent_uni_streams(VarInt::from_u32(UNIDIRECTIONAL))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .datagram_receive_buffer_size(Some(RECEIVE_BUFFER));
    Ok(transport)
}
