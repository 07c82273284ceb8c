//! A connection that is being made.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::timeout;
use weftline_proto::Role;

use crate::carrier::Carrier;
use crate::port::Registry;
use crate::{ConnectError, Connection};

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, ConnectError>> + Send>>;

/// A connection that is being made: await it.
///
/// It is ready when the peer has accepted this end and both know each other's limits; with
/// [`Connecting::early`] a round trip earlier. Nothing is sent before it is first polled. Dropping
/// it gives the attempt up.
#[must_use = "nothing happens unless it is awaited"]
pub struct Connecting {
    attempt: Option<Attempt>,
    running: Option<Boxed<Connection>>,
}

struct Attempt {
    registry: Arc<Registry>,
    addr: SocketAddr,
    link: Boxed<Carrier>,
    early: bool,
}

impl Connecting {
    /// The carrier's own handshake is `link`.
    pub(crate) fn new(
        registry: Arc<Registry>,
        addr: SocketAddr,
        link: impl Future<Output = Result<Carrier, ConnectError>> + Send + 'static,
    ) -> Self {
        Connecting {
            attempt: Some(Attempt {
                registry,
                addr,
                link: Box::pin(link),
                early: false,
            }),
            running: None,
        }
    }

    /// Be ready as soon as data can be sent, before the peer has accepted this end: what is sent
    /// at once then arrives a round trip earlier.
    ///
    /// - On QUIC that is when the peer has proven who it is. With
    ///   [`EndpointConfig::early_data`](crate::EndpointConfig::early_data), and a peer that is known
    ///   from an earlier connection, it is at once: the data goes with the first packet. If the
    ///   peer refuses early data, the same data is sent again after the handshake.
    /// - On plain UDP it is at once, before anybody has answered.
    ///
    /// Whether the peer accepts this end shows later. If it does not, reads and writes fail, and
    /// [`Connection::closed`] tells why.
    pub fn early(mut self) -> Self {
        if let Some(attempt) = &mut self.attempt {
            attempt.early = true;
        }
        self
    }
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(attempt) = self.attempt.take() {
            self.running = Some(Box::pin(attempt.run()));
        }
        let running = self.running.as_mut();
        let result = running
            .expect("a future is not polled after it is ready")
            .as_mut()
            .poll(cx);
        if result.is_ready() {
            self.running = None;
        }
        result
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}

impl Attempt {
    async fn run(self) -> Result<Connection, ConnectError> {
        let (addr, limit) = (self.addr, self.registry.config().connect_timeout);
        match timeout(limit, self.open()).await {
            Ok(result) => result,
            Err(_) => Err(ConnectError::TimedOut {
                addr,
                seconds: limit.as_secs(),
            }),
        }
    }

    async fn open(self) -> Result<Connection, ConnectError> {
        let addr = self.addr;
        self.registry.still_open()?;
        let carrier = self.link.await?;
        self.registry.still_open()?;
        let connection = self.registry.start(carrier, Role::Client, None);
        if self.early {
            return Ok(connection);
        }
        match connection.shared().ready().await {
            Ok(()) => Ok(connection),
            Err(reason) => {
                let carrier = &connection.shared().carrier;
                Err(carrier
                    .connect_error(addr)
                    .unwrap_or(ConnectError::Closed { addr, reason }))
            }
        }
    }
}
