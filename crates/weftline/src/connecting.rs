//! A connection that is being made.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use weftline_proto::{CloseReason, Role};

use crate::carrier::Carrier;
use crate::port::Registry;
use crate::{ConnectError, Connection, random};

/// A busy peer is asked again after about this, then after twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, ConnectError>> + Send>>;

/// A connection that is being made: await it.
///
/// It is ready when the peer has accepted this end and both know each other's limits; with
/// [`Connecting::early`] a round trip earlier. Nothing is sent before it is first polled. Dropping
/// it gives the attempt up.
///
/// While the peer is [busy](ConnectError::Busy) it is asked again, later each time, until
/// [`EndpointConfig::connect_timeout`](crate::EndpointConfig::connect_timeout) has passed.
#[must_use = "nothing happens unless it is awaited"]
pub struct Connecting {
    attempt: Option<Attempt>,
    running: Option<Boxed<Connection>>,
}

struct Attempt {
    registry: Arc<Registry>,
    addr: SocketAddr,
    link: Box<dyn Fn() -> Boxed<Carrier> + Send + Sync>,
    early: bool,
}

impl Connecting {
    /// `link` does the carrier's own handshake, once for each attempt.
    pub(crate) fn new<F>(
        registry: Arc<Registry>,
        addr: SocketAddr,
        link: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Carrier, ConnectError>> + Send + 'static,
    {
        Connecting {
            attempt: Some(Attempt {
                registry,
                addr,
                link: Box::new(move || Box::pin(link())),
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
    /// Tries until the time is over, as long as the peer is only busy.
    async fn run(self) -> Result<Connection, ConnectError> {
        let (addr, limit) = (self.addr, self.registry.config().connect_timeout);
        let end = Instant::now() + limit;
        let mut pause = FIRST_PAUSE;
        // A peer that was busy has answered, even if the last question came too late for an answer.
        let mut too_late = ConnectError::TimedOut {
            addr,
            seconds: limit.as_secs(),
        };
        loop {
            match timeout_at(end, self.open()).await {
                Ok(Err(busy @ ConnectError::Busy { .. })) => too_late = busy,
                Ok(result) => return result,
                Err(_) => return Err(too_late),
            }
            // Clients that were turned away together do not come back together.
            let next = Instant::now() + pause.mul_f64(0.5 + random::share());
            if next >= end {
                return Err(too_late);
            }
            sleep_until(next).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn open(&self) -> Result<Connection, ConnectError> {
        let addr = self.addr;
        self.registry.still_open()?;
        let carrier = (self.link)().await?;
        self.registry.still_open()?;
        let connection = self.registry.start(carrier, Role::Client, None, None);
        if self.early {
            return Ok(connection);
        }
        match connection.shared().ready().await {
            Ok(()) => Ok(connection),
            Err(reason) => {
                let carrier = &connection.shared().first.carrier;
                Err(carrier.connect_error(addr).unwrap_or(match reason {
                    CloseReason::TimedOut { seconds } => ConnectError::TimedOut { addr, seconds },
                    reason => ConnectError::Closed { addr, reason },
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::EndpointConfig;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_was_busy_is_not_one_that_did_not_answer() {
        let addr = "127.0.0.1:9338".parse().unwrap();
        let config = EndpointConfig {
            connect_timeout: Duration::from_millis(200),
            ..EndpointConfig::default()
        };
        let asked = AtomicBool::new(false);
        let connecting = Connecting::new(Arc::new(Registry::new(config)), addr, move || {
            let again = asked.swap(true, Ordering::Relaxed);
            async move {
                if again {
                    std::future::pending::<()>().await;
                }
                Err(ConnectError::Busy { addr })
            }
        });
        assert_eq!(connecting.await.unwrap_err(), ConnectError::Busy { addr });
    }
}
