//! Weftline: a stream, or messages, under any preset and policy.

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;
use weftline::{
    Allowed, Connecting, Connection, Endpoint, EndpointConfig, Fingerprint, Identity,
    InsecureEndpoint, Port, Stream,
};

use super::socket::any_port;
use super::{
    ByteStream, Hall, Link, Listener, LoadError, Messages, Settings, Symbols, Task, Transport,
};

mod engine;

use engine::Carrier;

/// How long closing waits for the peer to receive everything.
const LINGER: Duration = Duration::from_secs(1);

/// The least time in which the sender looks for a ticket, 20 times.
const LOOK: Duration = Duration::from_millis(20);

/// The seeds of the two ends' key pairs. They are public: they let the ends name each other
/// without an exchange, and protect nothing.
const RECEIVER: [u8; 32] = *b"weftline load: the receiving end";
const SENDER: [u8; 32] = *b"weftline load, the sending end..";

/// Weftline over one carrier.
pub(super) struct Weftline {
    config: EndpointConfig,
    carrier: Carrier,
    messages: bool,
    /// Messages that cannot arrive within this time are given up.
    expires: Option<Duration>,
    /// All endpoints created; the sender's is kept between connections.
    endpoints: Mutex<Vec<Either>>,
}

impl Weftline {
    pub(super) fn take(settings: &mut Settings) -> Result<Self, LoadError> {
        let messages = settings.choice("as", &[("stream", false), ("messages", true)])?;
        let expires = settings.number("expires", "milliseconds", 1.0..=60_000.0)?;
        if expires.is_some() && messages != Some(true) {
            let message = "only messages expire: give as=messages too";
            return Err(LoadError::Contradiction(message.to_owned()));
        }
        let (config, carrier) = engine::take(settings)?;
        Ok(Weftline {
            config,
            carrier,
            messages: messages.unwrap_or(false),
            expires: expires.map(|millis: f64| Duration::from_secs_f64(millis / 1000.0)),
            endpoints: Mutex::new(Vec::new()),
        })
    }

    fn endpoint(
        &self,
        at: SocketAddr,
        ours: &[u8; 32],
        allowed: Allowed,
    ) -> Result<Either, LoadError> {
        let config = self.config.clone();
        let endpoint = match self.carrier {
            Carrier::Quic => Endpoint::bind(at, identity(ours)?, allowed, config).map(Either::Quic),
            Carrier::Udp => InsecureEndpoint::bind(at, config).map(Either::Udp),
        };
        let endpoint = endpoint.map_err(|e| match e {
            weftline::BindError::Socket { addr, source } => LoadError::Listen {
                at: addr,
                reason: source.to_string(),
            },
            other => LoadError::Setup(other.to_string()),
        })?;
        self.lock().push(endpoint.clone());
        Ok(endpoint)
    }

    /// The sender's endpoint, created on first use.
    fn sender(&self, to: SocketAddr) -> Result<Either, LoadError> {
        let kept = self.lock().first().cloned();
        match kept {
            Some(endpoint) => Ok(endpoint),
            None => self.endpoint(any_port(to), &SENDER, Allowed::nobody()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Either>> {
        self.endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// An endpoint of either carrier.
#[derive(Clone)]
enum Either {
    Quic(Endpoint),
    Udp(InsecureEndpoint),
}

impl Either {
    fn connect(&self, to: SocketAddr, peer: Fingerprint) -> Connecting {
        match self {
            Either::Quic(endpoint) => endpoint.connect(to, peer),
            Either::Udp(endpoint) => endpoint.connect(to),
        }
    }
}

impl Deref for Either {
    type Target = Port;

    fn deref(&self) -> &Port {
        match self {
            Either::Quic(endpoint) => endpoint,
            Either::Udp(endpoint) => endpoint,
        }
    }
}

/// The key pair of this seed.
fn identity(seed: &[u8; 32]) -> Result<Identity, LoadError> {
    /// Prefix of the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410 section 7).
    const PKCS8: [u8; 16] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ];
    Identity::from_der([&PKCS8[..], seed].concat())
        .map_err(|e| LoadError::Setup(format!("no key pair: {e}")))
}

impl Transport for Weftline {
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>> {
        Box::pin(async move {
            let allowed = Allowed::only([identity(&SENDER)?.fingerprint()]);
            let endpoint = self.endpoint(at, &RECEIVER, allowed)?;
            Ok(Box::new(Door {
                endpoint,
                messages: self.messages,
                hall: Hall::default(),
            }) as Box<dyn Listener>)
        })
    }

    /// With `0rtt=1`, opens a separate session without data before the measured one, and again
    /// when the tickets of earlier sessions are used up or lost.
    fn meet(&self, to: SocketAddr) -> Task<'_, ()> {
        Box::pin(async move {
            if !self.config.early_data {
                return Ok(());
            }
            let (endpoint, peer) = (self.sender(to)?, identity(&RECEIVER)?.fingerprint());
            let known = || self.config.known_peers.has_ticket(&peer);
            while !known() {
                let connected = endpoint.connect(to, peer).await;
                let connection = connected.map_err(|e| LoadError::Connect {
                    to,
                    reason: e.to_string(),
                })?;
                // The ticket arrives with the end of the handshake, or after a loss a little
                // later.
                let mut looks = 0..100;
                while !known() && looks.next().is_some() {
                    tokio::time::sleep(connection.rtt().max(LOOK) / 20).await;
                }
                connection.close(0, "met");
            }
            Ok(())
        })
    }

    fn connect(&self, to: SocketAddr) -> Task<'_, Link> {
        Box::pin(async move {
            let endpoint = self.sender(to)?;
            let connecting = endpoint.connect(to, identity(&RECEIVER)?.fingerprint());
            let connection = connecting.early().await.map_err(|e| LoadError::Connect {
                to,
                reason: e.to_string(),
            })?;
            if self.messages {
                let deadline = self.expires;
                return Ok(Link::Messages(Box::new(Mail {
                    connection,
                    deadline,
                })));
            }
            let stream = connection.open_stream().await.map_err(io::Error::other)?;
            Ok(Link::Bytes(Box::new(Bytes { connection, stream })))
        })
    }

    fn is_messages(&self) -> bool {
        self.messages
    }

    fn idle(&self) -> Task<'_, ()> {
        Box::pin(async move {
            let endpoints = self.lock().clone();
            for endpoint in endpoints {
                endpoint.close(0, "");
                endpoint.wait_idle().await;
            }
            Ok(())
        })
    }
}

struct Door {
    endpoint: Either,
    messages: bool,
    hall: Hall,
}

impl Listener for Door {
    fn accept(&mut self) -> Task<'_, Link> {
        Box::pin(async move {
            loop {
                tokio::select! {
                    connection = self.endpoint.accept() => match connection {
                        Some(connection) if self.messages => {
                            let mail = Mail { connection, deadline: None };
                            return Ok(Link::Messages(Box::new(mail)));
                        }
                        Some(connection) => self.hall.enter(async move {
                            let stream = connection.accept_stream().await;
                            let stream = stream.map_err(io::Error::other)?;
                            Ok(Link::Bytes(Box::new(Bytes { connection, stream })))
                        }),
                        None => return Err(io::Error::from(io::ErrorKind::NotConnected).into()),
                    },
                    link = self.hall.next() => return Ok(link),
                }
            }
        })
    }
}

struct Bytes {
    connection: Connection,
    stream: Stream,
}

impl ByteStream for Bytes {
    fn close(mut self: Box<Self>) -> Task<'static, ()> {
        Box::pin(async move {
            // This fails if the peer has closed already; then nothing is left to say.
            if self.stream.finish().is_ok() {
                let _ = timeout(LINGER, self.stream.finished()).await;
            }
            self.connection.close(0, "");
            Ok(())
        })
    }

    fn symbols(&self) -> Option<Symbols> {
        let sent = self.connection.stats().sent;
        Some(Symbols {
            source: sent.source_symbols,
            resent: sent.retransmissions,
            repair: sent.repair_symbols,
        })
    }
}

impl AsyncRead for Bytes {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Bytes {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

struct Mail {
    connection: Connection,
    deadline: Option<Duration>,
}

impl Messages for Mail {
    fn send<'a>(&'a mut self, message: &'a [u8]) -> Task<'a, ()> {
        Box::pin(async move {
            let sent = self
                .connection
                .send_message(message.to_vec(), self.deadline)
                .await;
            sent.map_err(io::Error::other)?;
            Ok(())
        })
    }

    fn recv<'a>(&'a mut self, message: &'a mut [u8]) -> Task<'a, usize> {
        Box::pin(async move {
            let came = self
                .connection
                .recv_message()
                .await
                .map_err(io::Error::other)?;
            let len = came.data.len().min(message.len());
            message[..len].copy_from_slice(&came.data[..len]);
            Ok(len)
        })
    }

    fn farewell(&mut self) -> Task<'_, ()> {
        Box::pin(async move {
            let sent = self.connection.send_message("", None).await;
            sent.map_err(io::Error::other)?;
            Ok(())
        })
    }

    fn close(self: Box<Self>) -> Task<'static, ()> {
        Box::pin(async move {
            let _ = timeout(LINGER, self.connection.flushed()).await;
            self.connection.close(0, "");
            Ok(())
        })
    }
}
