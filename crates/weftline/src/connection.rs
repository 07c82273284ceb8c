//! A session with a peer, as the application sees it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use weftline_proto::{
    CloseReason, Message, MessageId, OpenError, SendMessageError, Stats, StreamId, Time,
};

use crate::shared::{Shared, State};
use crate::{Fingerprint, SendError, Stream};

/// A session with a peer: any number of streams, and messages. Clones are handles to the same
/// session.
///
/// When the last handle is dropped, its streams' included, the session is closed with code 0 and
/// the reason "dropped": what the peer has not acknowledged by then is lost. To be sure, wait for
/// [`Connection::flushed`] or [`Stream::finished`] first.
#[derive(Clone)]
pub struct Connection(Arc<Handle>);

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Connection(Arc::new(Handle(shared)))
    }

    /// Opens a stream; waits while the peer allows no further one. The peer learns of it with the
    /// first data.
    ///
    /// # Errors
    ///
    /// The session is over.
    pub async fn open_stream(&self) -> Result<Stream, CloseReason> {
        let shared = self.shared();
        let id = shared.wait(&shared.streams_available, |state, _| {
            if let Some(reason) = state.over() {
                return Poll::Ready(Err(reason.clone()));
            }
            match state.session.open_stream() {
                Ok(id) => Poll::Ready(Ok(take(state, id))),
                Err(OpenError::Closed(reason)) => Poll::Ready(Err(reason)),
                // Blocked: an event tells when to try again.
                Err(_) => Poll::Pending,
            }
        });
        Ok(Stream::new(self.0.clone(), id.await?))
    }

    /// The next stream that the peer opens.
    ///
    /// # Errors
    ///
    /// The session is over.
    pub async fn accept_stream(&self) -> Result<Stream, CloseReason> {
        let shared = self.shared();
        let id = shared.wait(&shared.stream_opened, |state, _| {
            match state.session.accept_stream() {
                Some(id) => Poll::Ready(Ok(take(state, id))),
                None => pending_unless_over(state),
            }
        });
        Ok(Stream::new(self.0.clone(), id.await?))
    }

    /// Sends a message; waits while there is no room for it. Messages arrive whole, in any order.
    ///
    /// With a `deadline`, counted from now, no effort is made for a message that would arrive
    /// later; without one it is delivered like stream data.
    ///
    /// # Errors
    ///
    /// The message is longer than the peer accepts, or the session is over.
    pub async fn send_message(
        &self,
        data: impl AsRef<[u8]>,
        deadline: Option<Duration>,
    ) -> Result<MessageId, SendError> {
        let (data, shared) = (data.as_ref(), self.shared());
        let due = deadline.map(|deadline| tokio::time::Instant::now() + deadline);
        let sent = shared.wait(&shared.message_writable, |state, now| {
            if let Some(reason) = state.over() {
                return Poll::Ready(Err(SendError::Closed(reason.clone())));
            }
            // Waiting for room counts against the deadline.
            let left = due.map(|due| due.saturating_duration_since(tokio::time::Instant::now()));
            match state.session.send_message(now, data, left) {
                Ok(id) => Poll::Ready(Ok(id)),
                Err(SendMessageError::TooLong { got, limit }) => {
                    Poll::Ready(Err(SendError::TooLong { got, limit }))
                }
                Err(SendMessageError::Closed(reason)) => {
                    Poll::Ready(Err(SendError::Closed(reason)))
                }
                // Full: an event tells when to try again.
                Err(_) => Poll::Pending,
            }
        });
        sent.await
    }

    /// As [`Connection::send_message`], without waiting: for what is worth nothing later.
    ///
    /// # Errors
    ///
    /// There is no room now, the message is longer than the peer accepts, or the session is over.
    pub fn try_send_message(
        &self,
        data: impl AsRef<[u8]>,
        deadline: Option<Duration>,
    ) -> Result<MessageId, SendError> {
        self.try_send(|state, now| state.session.send_message(now, data.as_ref(), deadline))
    }

    /// As [`Connection::try_send_message`], but the message travels in a source symbol of its
    /// own: it is never cut in pieces, and no other message is lost with it. For datagrams of
    /// others that pass through here.
    ///
    /// # Errors
    ///
    /// There is no room now, the message is longer than [`Connection::message_alone_max`], or the
    /// session is over.
    pub fn try_send_message_alone(
        &self,
        data: impl AsRef<[u8]>,
        deadline: Option<Duration>,
    ) -> Result<MessageId, SendError> {
        self.try_send(|state, now| {
            let session = &mut state.session;
            session.send_message_alone(now, data.as_ref(), deadline)
        })
    }

    /// Bytes of the longest message that [`Connection::try_send_message_alone`] takes now: it
    /// follows what the path takes, which grows in a connection's first round trips.
    pub fn message_alone_max(&self) -> usize {
        self.shared()
            .look(|state| state.session.message_alone_max())
    }

    /// From now on so many bytes of messages may wait to be sent, in place of
    /// [`Config::send_buffer`](crate::Config::send_buffer): more in a session's first round trips, in
    /// which it finds out what the path can do, costs a delay that passes.
    pub fn set_message_buffer(&self, bytes: usize) {
        self.shared()
            .with(|state, _| state.session.set_message_buffer(bytes));
    }

    fn try_send(
        &self,
        send: impl FnOnce(&mut State, Time) -> Result<MessageId, SendMessageError>,
    ) -> Result<MessageId, SendError> {
        self.shared().with(|state, now| {
            if let Some(reason) = state.over() {
                return Err(SendError::Closed(reason.clone()));
            }
            send(state, now).map_err(|error| match error {
                SendMessageError::TooLong { got, limit } => SendError::TooLong { got, limit },
                SendMessageError::Closed(reason) => SendError::Closed(reason),
                _ => SendError::Full,
            })
        })
    }

    /// The next message from the peer.
    ///
    /// # Errors
    ///
    /// The session is over.
    pub async fn recv_message(&self) -> Result<Message, CloseReason> {
        let shared = self.shared();
        let message = shared.wait(&shared.message_received, |state, _| {
            match state.session.recv_message() {
                Some(message) => Poll::Ready(Ok(message)),
                None => pending_unless_over(state),
            }
        });
        message.await
    }

    /// Waits until the peer has shown that it is there now; at once without
    /// [early data](crate::EndpointConfig::early_data).
    ///
    /// What arrived before may be a recording: of data that this very peer sent, to this endpoint,
    /// not taken before, but perhaps at another time. A server waits for this before it does what
    /// would do harm then.
    ///
    /// # Errors
    ///
    /// The session ended before.
    pub async fn confirmed(&self) -> Result<(), CloseReason> {
        self.shared().carrier.confirmed().await
    }

    /// Waits until the peer has acknowledged everything that was sent.
    ///
    /// # Errors
    ///
    /// The session ended before.
    pub async fn flushed(&self) -> Result<(), CloseReason> {
        let shared = self.shared();
        let flushed = shared.wait(&shared.heard, |state, _| {
            if state.session.all_acknowledged() {
                Poll::Ready(Ok(()))
            } else {
                pending_unless_over(state)
            }
        });
        flushed.await
    }

    /// Closes the session at once: whatever waits on either end gets the [`CloseReason`], and
    /// what the peer has not acknowledged may be lost. Code 0 means that all went well; codes
    /// must be below 2^60. `reason` is for people.
    ///
    /// Before the process ends, wait for [`Endpoint::wait_idle`](crate::Endpoint::wait_idle), so
    /// that the peer learns of it.
    pub fn close(&self, code: u64, reason: &str) {
        self.shared().close(code, reason);
    }

    /// Waits for the end of the session, whoever ends it.
    pub async fn closed(&self) -> CloseReason {
        self.shared().over().await
    }

    /// Why the session is over; `None` while it is not.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shared().look(|state| state.over().cloned())
    }

    /// The peer's fingerprint, which it proved; `None` on plain UDP.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.shared().carrier.peer()
    }

    /// Where the peer is now; a QUIC client may move.
    pub fn remote_addr(&self) -> SocketAddr {
        self.shared().carrier.remote_addr()
    }

    /// The session's counters and estimates.
    pub fn stats(&self) -> Stats {
        self.shared().look(|state| state.session.stats())
    }

    /// The round-trip time: the session's estimate, or before it has one the carrier's.
    pub fn rtt(&self) -> Duration {
        let rtt = self.stats().path.rtt;
        if rtt.is_zero() {
            self.shared().carrier.rtt().unwrap_or_default()
        } else {
            rtt
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0.0
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.peer())
            .field("remote_addr", &self.remote_addr())
            .field("close_reason", &self.close_reason())
            .finish_non_exhaustive()
    }
}

/// Keeps the session open; the last one to go closes it.
pub(crate) struct Handle(Arc<Shared>);

impl Handle {
    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close(0, "dropped");
    }
}

fn take(state: &mut State, id: StreamId) -> StreamId {
    state.add_writer(id);
    id
}

fn pending_unless_over<R>(state: &State) -> Poll<Result<R, CloseReason>> {
    match state.over() {
        Some(reason) => Poll::Ready(Err(reason.clone())),
        None => Poll::Pending,
    }
}
