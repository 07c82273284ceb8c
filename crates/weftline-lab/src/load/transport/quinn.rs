//! QUIC as quinn implements it: one bidirectional stream.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::socket::{any_port, bound};
use super::{ByteStream, Hall, Link, Listener, LoadError, Settings, Task, Transport};

const NAME: &str = "weftline-load";
/// Bytes that may be in flight: 100 Mbit/s for over a second, so that congestion control is the
/// limit.
const WINDOW: u32 = 16 << 20;
/// Idle timeout, as in the other transports.
const IDLE: Duration = Duration::from_secs(30);
/// How long closing waits for the peer to receive everything.
const LINGER: Duration = Duration::from_secs(1);

/// QUIC with one of quinn's congestion controllers.
pub(super) struct Quinn {
    transport: Arc<TransportConfig>,
    /// The client's endpoint, created on first use and kept (a new connection is a new handshake,
    /// not a new socket), and listening endpoints.
    endpoints: Mutex<Vec<Endpoint>>,
}

#[derive(Clone, Copy)]
enum Controller {
    Cubic,
    Bbr,
    NewReno,
}

impl Quinn {
    pub(super) fn take(settings: &mut Settings) -> Result<Self, LoadError> {
        let names = [
            ("cubic", Controller::Cubic),
            ("bbr", Controller::Bbr),
            ("newreno", Controller::NewReno),
        ];
        let controller: Arc<dyn ControllerFactory + Send + Sync> =
            match settings.choice("cc", &names)?.unwrap_or(Controller::Cubic) {
                Controller::Cubic => Arc::new(CubicConfig::default()),
                Controller::Bbr => Arc::new(BbrConfig::default()),
                Controller::NewReno => Arc::new(NewRenoConfig::default()),
            };
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(controller)
            .enable_segmentation_offload(settings.switch("gso")?.unwrap_or(false))
            .stream_receive_window(WINDOW.into())
            .receive_window(WINDOW.into())
            .send_window(WINDOW.into())
            .max_idle_timeout(Some(IDLE.try_into().expect("30 s is a QUIC time")));
        Ok(Quinn {
            transport: Arc::new(transport),
            endpoints: Mutex::new(Vec::new()),
        })
    }

    fn server(&self, at: SocketAddr) -> Result<Endpoint, LoadError> {
        let certificate = rcgen::generate_simple_self_signed([NAME.to_owned()])
            .map_err(|e| LoadError::Setup(format!("no certificate: {e}")))?;
        let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|tls| {
                let chain = vec![CertificateDer::from(certificate.cert)];
                tls.with_no_client_auth()
                    .with_single_cert(chain, key.into())
            })
            .map_err(tls_failed)?;
        tls.alpn_protocols = vec![NAME.into()];
        let tls = QuicServerConfig::try_from(tls).map_err(|e| LoadError::Setup(e.to_string()))?;
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(self.transport.clone());
        let endpoint = Self::endpoint(at, Some(config))?;
        self.lock().push(endpoint.clone());
        Ok(endpoint)
    }

    fn client(&self, to: SocketAddr) -> Result<Endpoint, LoadError> {
        if let Some(endpoint) = self.lock().first() {
            return Ok(endpoint.clone());
        }
        let mut tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls_failed)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider())))
            .with_no_client_auth();
        tls.alpn_protocols = vec![NAME.into()];
        let tls = QuicClientConfig::try_from(tls).map_err(|e| LoadError::Setup(e.to_string()))?;
        let mut config = quinn::ClientConfig::new(Arc::new(tls));
        config.transport_config(self.transport.clone());
        let mut endpoint = Self::endpoint(any_port(to), None)?;
        endpoint.set_default_client_config(config);
        self.lock().push(endpoint.clone());
        Ok(endpoint)
    }

    fn endpoint(
        at: SocketAddr,
        server: Option<quinn::ServerConfig>,
    ) -> Result<Endpoint, LoadError> {
        Ok(Endpoint::new(
            quinn::EndpointConfig::default(),
            server,
            bound(at)?,
            Arc::new(quinn::TokioRuntime),
        )?)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Endpoint>> {
        self.endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn tls_failed(error: rustls::Error) -> LoadError {
    LoadError::Setup(format!("TLS cannot be set up: {error}"))
}

impl Transport for Quinn {
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>> {
        Box::pin(async move {
            let endpoint = self.server(at)?;
            Ok(Box::new(Door {
                endpoint,
                hall: Hall::default(),
            }) as Box<dyn Listener>)
        })
    }

    fn connect(&self, to: SocketAddr) -> Task<'_, Link> {
        Box::pin(async move {
            let failed = |reason: String| LoadError::Connect { to, reason };
            let endpoint = self.client(to)?;
            let connecting = endpoint
                .connect(to, NAME)
                .map_err(|e| failed(e.to_string()))?;
            let connection = connecting.await.map_err(|e| failed(e.to_string()))?;
            let (send, recv) = connection.open_bi().await.map_err(io::Error::from)?;
            Ok(link(connection, send, recv))
        })
    }

    fn idle(&self) -> Task<'_, ()> {
        Box::pin(async move {
            let endpoints = self.lock().clone();
            for endpoint in endpoints {
                endpoint.close(VarInt::from_u32(0), b"");
                endpoint.wait_idle().await;
            }
            Ok(())
        })
    }
}

struct Door {
    endpoint: Endpoint,
    hall: Hall,
}

impl Listener for Door {
    fn accept(&mut self) -> Task<'_, Link> {
        Box::pin(async move {
            loop {
                tokio::select! {
                    incoming = self.endpoint.accept() => match incoming {
                        Some(incoming) => self.hall.enter(async move {
                            let connection = incoming.await.map_err(io::Error::from)?;
                            let streams = connection.accept_bi().await;
                            let (send, recv) = streams.map_err(io::Error::from)?;
                            Ok(link(connection, send, recv))
                        }),
                        None => return Err(io::Error::from(io::ErrorKind::NotConnected).into()),
                    },
                    link = self.hall.next() => return Ok(link),
                }
            }
        })
    }
}

fn link(connection: Connection, send: SendStream, recv: RecvStream) -> Link {
    Link::Bytes(Box::new(Stream {
        connection,
        send,
        recv,
    }))
}

struct Stream {
    connection: Connection,
    send: SendStream,
    recv: RecvStream,
}

impl ByteStream for Stream {
    fn close(mut self: Box<Self>) -> Task<'static, ()> {
        Box::pin(async move {
            // A stream that the peer has ended already needs no finish.
            if self.send.finish().is_ok() {
                let _ = tokio::time::timeout(LINGER, self.send.stopped()).await;
            }
            Ok(())
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(0), b"");
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        AsyncRead::poll_read(Pin::new(&mut self.recv), context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.send), context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.send), context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.send), context)
    }
}

/// Accepts every certificate of the receiver: the measured data is not secret.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
