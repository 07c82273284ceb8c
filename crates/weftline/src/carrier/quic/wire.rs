//! A QUIC connection that carries datagrams, whoever is at its other end.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use quinn::{ConnectionError, SendDatagramError};
use weftline_proto::wire::is_repair;
use weftline_proto::{CloseReason, printable};

use super::super::congestion::Unlimited;
use super::super::{RESERVED_CODES, TIMED_OUT};
use super::together::Place;
use crate::{ExportError, Packets};

/// A close is answered within two round trips and this, or not at all.
pub(crate) const ANSWERED: Duration = Duration::from_millis(100);

/// Turns that QUIC's task gets at most before a repair symbol: it may be unable to send.
const TURNS: u32 = 4;

const NO_DATAGRAMS: &str = "the peer takes no QUIC datagrams";

/// A QUIC connection with the place beside its task.
pub(crate) struct Wire {
    pub(crate) connection: quinn::Connection,
    place: Place,
    /// Bytes that QUIC takes while nothing waits.
    room: usize,
    idle: Duration,
    /// Bytes of the datagram that was sent last.
    last: AtomicUsize,
    /// How the connection ended, before this end's own close hides it.
    ended: OnceLock<ConnectionError>,
}

impl Wire {
    /// `None`: the peer takes no datagrams.
    pub(crate) fn new(connection: quinn::Connection, place: Place, idle: Duration) -> Option<Self> {
        connection.max_datagram_size()?;
        Some(Wire {
            room: connection.datagram_send_buffer_space(),
            connection,
            place,
            idle,
            last: AtomicUsize::new(0),
            ended: OnceLock::new(),
        })
    }

    /// Runs the engine's work.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.place.spawn(work);
    }

    pub(crate) fn room(&self) -> usize {
        self.connection.datagram_send_buffer_space()
    }

    /// Sends these in order, each of which has the engine's datagram behind `prefix` bytes; `end` says what the
    /// end of the connection means.
    pub(crate) async fn send(
        &self,
        datagrams: &mut VecDeque<Bytes>,
        prefix: usize,
        end: impl Fn(ConnectionError) -> CloseReason,
    ) -> Result<(), CloseReason> {
        while let Some(datagram) = datagrams.front() {
            if datagram.get(prefix..).is_some_and(is_repair) {
                self.part(datagram.len()).await;
            }
            self.last.store(datagram.len(), Ordering::Relaxed);
            match self.connection.send_datagram_wait(datagram.clone()).await {
                Ok(()) => {}
                Err(SendDatagramError::TooLarge) => {
                    tracing::debug!("the path shrank below the symbol size; datagram dropped");
                }
                Err(SendDatagramError::ConnectionLost(error)) => return Err(end(error)),
                Err(SendDatagramError::UnsupportedByPeer | SendDatagramError::Disabled) => {
                    return Err(CloseReason::Carrier(NO_DATAGRAMS.to_owned()));
                }
            }
            datagrams.pop_front();
        }
        Ok(())
    }

    /// Lets the last datagram leave before one of `length` bytes, if both fit into one packet: QUIC would put
    /// them there.
    async fn part(&self, length: usize) {
        let both = self.last.load(Ordering::Relaxed) + length;
        let fit = |packet: usize| both <= packet;
        if !self.connection.max_datagram_size().is_some_and(fit) {
            return;
        }
        for _ in 0..TURNS {
            if self.is_drained() {
                return;
            }
            let mut had = false;
            poll_fn(|cx| match std::mem::replace(&mut had, true) {
                true => Poll::Ready(()),
                false => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            })
            .await;
        }
    }

    /// Whether QUIC has nothing queued.
    fn is_drained(&self) -> bool {
        self.connection.datagram_send_buffer_space() + size_of::<Bytes>() >= self.room
    }

    /// Waits for a datagram, then takes as many as are there, up to `limit`.
    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), ConnectionError> {
        batch.push(self.connection.read_datagram().await?);
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

    /// Waits until what was sent has left: QUIC drops what it has queued when it closes.
    pub(crate) async fn drained(&self) {
        const STEP: Duration = Duration::from_millis(1);
        for _ in 0..100 {
            if self.connection.close_reason().is_some() || self.is_drained() {
                break;
            }
            tokio::time::sleep(STEP).await;
        }
    }

    pub(crate) fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportError> {
        let length = output.len();
        self.connection
            .export_keying_material(output, label, context)
            .map_err(|_| ExportError::TooLong { length })
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        self.connection.remote_address()
    }

    pub(crate) fn rtt(&self) -> Duration {
        self.connection.rtt()
    }

    pub(crate) fn idle(&self) -> Duration {
        self.idle
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
        self.connection.max_datagram_size().unwrap_or(0)
    }

    /// How the connection ended, as far as this end has noticed.
    pub(crate) fn ended(&self) -> Option<&ConnectionError> {
        self.ended.get()
    }

    /// Notes how the connection ended, unless that is known already, and says what it means.
    pub(crate) fn end(&self, error: ConnectionError) -> CloseReason {
        match self.ended.get_or_init(|| error) {
            ConnectionError::ApplicationClosed(close) => {
                closed_by_peer(close.error_code.into_inner(), &close.reason, self.idle)
            }
            ConnectionError::LocallyClosed => CloseReason::Local,
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

/// What it means that the peer has closed the connection with this code.
pub(crate) fn closed_by_peer(code: u64, reason: &[u8], idle: Duration) -> CloseReason {
    let reason = printable(&String::from_utf8_lossy(reason));
    if code < RESERVED_CODES {
        CloseReason::Peer { code, reason }
    } else if code == TIMED_OUT {
        // It heard nothing from here, as this end would have of it before long.
        CloseReason::TimedOut {
            seconds: idle.as_secs(),
        }
    } else {
        CloseReason::Refused(reason)
    }
}
