//! What a page in a browser does, in Rust: QUIC, HTTP/3 and WebTransport as far as they are needed, with the
//! engine's session in it.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use web_transport_proto::{
    Capsule, ConnectRequest, ConnectResponse, Frame, Http3CapsuleReader, Settings, VarInt,
};
use weftline::{CloseReason, Config, Time};
use weftline_proto::{Role, Session};

/// The only certificate that the browser takes, by its hash.
#[derive(Debug)]
struct Pinned([u8; 32], Arc<CryptoProvider>);

/// A browser that takes the server with this certificate, and asks for this protocol in TLS.
pub(crate) fn browser(hash: [u8; 32], alpn: &str) -> Endpoint {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned(hash, provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // As those of Weftline's endpoints: what does not fit is lost.
    let options = socket2::SockRef::from(&socket);
    options.set_recv_buffer_size(4 << 20).unwrap();
    options.set_send_buffer_size(4 << 20).unwrap();
    let runtime = Arc::new(quinn::TokioRuntime);
    let mut endpoint =
        Endpoint::new(quinn::EndpointConfig::default(), None, socket, runtime).unwrap();
    endpoint.set_default_client_config(config);
    endpoint
}

/// A connection that HTTP/3 has begun on.
pub(crate) struct Http {
    pub(crate) connection: Connection,
    _control: (SendStream, RecvStream),
    _endpoint: Endpoint,
}

impl Http {
    pub(crate) async fn to(addr: SocketAddr, hash: [u8; 32]) -> anyhow::Result<Http> {
        Http::of(browser(hash, "h3"), addr).await
    }

    pub(crate) async fn of(endpoint: Endpoint, addr: SocketAddr) -> anyhow::Result<Http> {
        let connection = endpoint.connect(addr, "localhost")?.await?;
        let mut settings = Settings::default();
        settings.enable_webtransport(1);
        let mut ours = connection.open_uni().await?;
        settings.write(&mut ours).await?;
        let mut theirs = connection.accept_uni().await?;
        anyhow::ensure!(Settings::read(&mut theirs).await?.supports_webtransport() > 0);
        Ok(Http {
            connection,
            _control: (ours, theirs),
            _endpoint: endpoint,
        })
    }

    /// Asks for a session at this URL; an error tells the status.
    pub(crate) async fn ask(&self, url: &str) -> anyhow::Result<(SendStream, RecvStream)> {
        let (mut send, mut recv) = self.connection.open_bi().await?;
        let origin = web_transport_proto::http::HeaderValue::from_static("https://page.example");
        let mut request = ConnectRequest::new(url::Url::parse(url)?);
        request.headers.insert("origin", origin);
        request.write(&mut send).await?;
        ConnectResponse::read(&mut recv).await?;
        Ok((send, recv))
    }
}

/// A page with a session.
pub(crate) struct Page {
    shared: Arc<Shared>,
    send: SendStream,
    capsules: Http3CapsuleReader<RecvStream>,
    pub(crate) http: Http,
    engine: AbortHandle,
}

struct Shared {
    session: Mutex<Session>,
    began: Instant,
    /// The session may have something to send.
    changed: Notify,
    /// Something has arrived, or a timer was due.
    heard: Notify,
}

impl Shared {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Time::ZERO + self.began.elapsed()
    }
}

impl Page {
    /// A page that has connected with what `url` asks for.
    pub(crate) async fn open(
        addr: SocketAddr,
        hash: [u8; 32],
        url: &str,
        config: Config,
    ) -> anyhow::Result<Page> {
        let http = Http::to(addr, hash).await?;
        let (send, recv) = http.ask(url).await?;
        let session = Session::new(Role::Client, config, 7, Time::ZERO)?;
        let shared = Arc::new(Shared {
            session: Mutex::new(session),
            began: Instant::now(),
            changed: Notify::new(),
            heard: Notify::new(),
        });
        let engine = tokio::spawn(drive(shared.clone(), http.connection.clone()));
        Ok(Page {
            shared,
            send,
            capsules: Http3CapsuleReader::new(recv),
            http,
            engine: engine.abort_handle(),
        })
    }

    /// Works with the session, which may then have something to send.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Session, Time) -> T) -> T {
        let result = work(&mut self.shared.session(), self.shared.now());
        self.shared.changed.notify_one();
        result
    }

    /// Waits until the session gives this.
    pub(crate) async fn until<T>(
        &self,
        mut look: impl FnMut(&mut Session, Time) -> Option<T>,
    ) -> T {
        loop {
            let mut heard = std::pin::pin!(self.shared.heard.notified());
            heard.as_mut().enable();
            if let Some(value) = self.with(&mut look) {
                return value;
            }
            heard.await;
        }
    }

    pub(crate) async fn message(&self) -> weftline::Message {
        self.until(|session, _| session.recv_message()).await
    }

    /// How the session has ended for the engine.
    pub(crate) async fn ended(&self) -> CloseReason {
        self.until(|session, _| session.close_reason().cloned())
            .await
    }

    /// Ends WebTransport's session, as `WebTransport.close()` does.
    pub(crate) async fn close(&mut self, code: u32, reason: &str) {
        let capsule = Capsule::CloseWebTransportSession {
            code,
            reason: reason.to_owned(),
        };
        let mut contents = Vec::new();
        capsule.encode(&mut contents);
        let mut frame = Vec::new();
        Frame::DATA.encode(&mut frame);
        VarInt::try_from(contents.len()).unwrap().encode(&mut frame);
        frame.extend(contents);
        self.send.write_all(&frame).await.unwrap();
        self.send.finish().unwrap();
    }

    /// Breaks the request's stream off.
    pub(crate) fn reset(&mut self) {
        self.send.reset(7_u32.into()).unwrap();
    }

    /// Code and reason with which the server has ended WebTransport's session.
    pub(crate) async fn closed(&mut self) -> (u32, String) {
        loop {
            match self.capsules.read().await.unwrap().expect("no close") {
                Capsule::CloseWebTransportSession { code, reason } => return (code, reason),
                _ => continue,
            }
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.engine.abort();
    }
}

/// What the future gives without waiting.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

async fn drive(shared: Arc<Shared>, connection: Connection) {
    let mut datagram = Vec::new();
    loop {
        let due = {
            let (mut session, now) = (shared.session(), shared.now());
            while session.poll_event().is_some() {}
            if let Some(largest @ 2..) = connection.max_datagram_size() {
                session.set_largest_datagram(largest - 1).unwrap();
            }
            while session.poll_transmit(now, &mut datagram) {
                let framed = [&[0], &datagram[..]].concat();
                connection.send_datagram(framed.into()).ok();
            }
            session.poll_timeout()
        };
        shared.heard.notify_waiters();
        let timer = async {
            match due {
                Some(due) => tokio::time::sleep(due.since(shared.now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            received = connection.read_datagram() => {
                let mut next = received.ok();
                if next.is_none() {
                    return;
                }
                let (mut session, now) = (shared.session(), shared.now());
                while let Some(received) = next {
                    assert_eq!(received.first(), Some(&0), "not this session's");
                    session.handle_datagram(now, &received[1..]);
                    next = at_once(connection.read_datagram()).and_then(Result::ok);
                }
            }
            () = shared.changed.notified() => {}
            () = timer => {
                let now = shared.now();
                let mut session = shared.session();
                if session.poll_timeout().is_some_and(|due| due <= now) {
                    session.handle_timeout(now);
                }
            }
        }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use ::aws_lc_rs::digest::{SHA256, digest};
        match digest(&SHA256, leaf).as_ref() == self.0 {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        unreachable!("QUIC has TLS 1.3")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.1.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, leaf, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.1.signature_verification_algorithms.supported_schemes()
    }
}
