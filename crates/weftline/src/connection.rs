//! A connection to a peer, as the application sees it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use weftline_proto::{
    CloseReason, Message, MessageId, OpenError, SendMessageError, Session, Stats, StreamId,
};

use crate::handle::Handle;
use crate::shared::{Shared, State};
use crate::{ExportError, Fingerprint, PathInfo, Receipt, SendError, Stream};
#[cfg(feature = "quic")]
use crate::{PathError, PathEvent, PathId, PathRequest, paths};

/// A connection: a session of the protocol with one peer. It carries any number of streams, and
/// messages. Clones are handles to the same connection.
///
/// When the last handle is dropped, its streams' included, the connection is closed with code 0 and
/// the reason "dropped": what the peer has not acknowledged by then is lost. To be sure, wait for
/// [`Connection::flushed`] or [`Stream::finished`] first.
#[derive(Clone)]
pub struct Connection(pub(crate) Arc<Handle>);

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Connection(Arc::new(Handle::new(shared)))
    }

    /// Opens a stream; waits while the peer allows no further one. The peer learns of it with the
    /// first data.
    ///
    /// Cancel safe: a call that was dropped before it was ready has opened nothing.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn open_stream(&self) -> Result<Stream, CloseReason> {
        let shared = self.shared();
        let id = shared.wait(&shared.streams_available, |state, _| {
            if let Some(reason) = state.over() {
                return Poll::Ready(Err(reason.clone()));
            }
            match state.session.open_stream() {
                Ok(id) => Poll::Ready(Ok(hold(state, id))),
                Err(OpenError::Closed(reason)) => Poll::Ready(Err(reason)),
                // Blocked: an event tells when to try again.
                Err(_) => Poll::Pending,
            }
        });
        Ok(Stream::new(self.0.clone(), id.await?))
    }

    /// The next stream that the peer opens.
    ///
    /// Cancel safe: a stream that was not returned is returned by the next call.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn accept_stream(&self) -> Result<Stream, CloseReason> {
        let shared = self.shared();
        let id = shared.wait(&shared.stream_opened, |state, _| {
            match state.session.accept_stream() {
                Some(id) => Poll::Ready(Ok(hold(state, id))),
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
    /// The [`Receipt`] is a future that tells what became of the message. Drop it when that does
    /// not matter.
    ///
    /// `data` is not copied: give [`Bytes`], a `Vec<u8>`, a `String` or a `&'static str`.
    ///
    /// Cancel safe: a call that was dropped before it was ready has sent nothing.
    ///
    /// # Errors
    ///
    /// The message is longer than the peer accepts, or the connection is over.
    pub async fn send_message(
        &self,
        data: impl Into<Bytes>,
        deadline: Option<Duration>,
    ) -> Result<Receipt, SendError> {
        let (data, shared) = (data.into(), self.shared());
        let due = deadline.map(|deadline| tokio::time::Instant::now() + deadline);
        let sent = shared.wait(&shared.message_writable, |state, now| {
            // Waiting for room counts against the deadline.
            let left = due.map(|due| due.saturating_duration_since(tokio::time::Instant::now()));
            let data = data.clone();
            match self.send(state, |session| session.send_message(now, data, left)) {
                // An event tells when to try again.
                Err(SendError::Full) => Poll::Pending,
                other => Poll::Ready(other),
            }
        });
        sent.await
    }

    /// As [`Connection::send_message`], without waiting: for what is worth nothing later.
    ///
    /// # Errors
    ///
    /// There is no room now, the message is longer than the peer accepts, or the connection is
    /// over.
    pub fn try_send_message(
        &self,
        data: impl Into<Bytes>,
        deadline: Option<Duration>,
    ) -> Result<Receipt, SendError> {
        let data = data.into();
        self.shared().with(|state, now| {
            self.send(state, |session| session.send_message(now, data, deadline))
        })
    }

    /// As [`Connection::try_send_message`], but the message travels in a source symbol of its
    /// own: it is never cut in pieces, and no other message is lost with it. For datagrams of
    /// others that pass through here.
    ///
    /// # Errors
    ///
    /// There is no room now, the message is longer than [`Connection::message_alone_max`], or the
    /// connection is over.
    pub fn try_send_message_alone(
        &self,
        data: impl Into<Bytes>,
        deadline: Option<Duration>,
    ) -> Result<Receipt, SendError> {
        let data = data.into();
        self.shared().with(|state, now| {
            self.send(state, |session| {
                session.send_message_alone(now, data, deadline)
            })
        })
    }

    /// Waits until there is room for a message of this length: for an application that decides at the
    /// last moment which message to send.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn message_writable(&self, bytes: usize) -> Result<(), CloseReason> {
        let shared = self.shared();
        let writable = shared.wait(&shared.message_writable, |state, _| {
            if let Some(reason) = state.over() {
                return Poll::Ready(Err(reason.clone()));
            }
            // An event tells when to ask again.
            match state.session.has_message_room(bytes) {
                true => Poll::Ready(Ok(())),
                false => Poll::Pending,
            }
        });
        writable.await
    }

    /// Bytes of the longest message that [`Connection::try_send_message_alone`] takes now: it
    /// follows what the path takes, which grows in a connection's first round trips.
    pub fn message_alone_max(&self) -> usize {
        self.shared()
            .look(|state| state.session.message_alone_max())
    }

    /// Lets `bytes` of messages wait to be sent from now on, in place of
    /// [`Config::send_buffer`](crate::Config::send_buffer). In a connection's first round trips, in
    /// which it finds out what the path can do, a larger buffer costs a delay that passes.
    pub fn set_message_buffer(&self, bytes: usize) {
        self.shared()
            .with(|state, _| state.session.set_message_buffer(bytes));
    }

    fn send(
        &self,
        state: &mut State,
        send: impl FnOnce(&mut Session) -> Result<MessageId, SendMessageError>,
    ) -> Result<Receipt, SendError> {
        if let Some(reason) = state.over() {
            return Err(SendError::Closed(reason.clone()));
        }
        let id = send(&mut state.session).map_err(|error| match error {
            SendMessageError::TooLong { got, limit } => SendError::TooLong { got, limit },
            SendMessageError::Closed(reason) => SendError::Closed(reason),
            _ => SendError::Full,
        })?;
        state.add_receipt(id);
        Ok(Receipt::new(self.0.shared().clone(), id))
    }

    /// The next message from the peer.
    ///
    /// Cancel safe: a message that was not returned is returned by the next call.
    ///
    /// # Errors
    ///
    /// The connection is over.
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

    /// Waits until the peer has proved that it is live; returns at once without
    /// [early data](crate::EndpointConfig::early_data).
    ///
    /// What arrived before may be a recording of data that this peer sent to this endpoint at another
    /// time. The same data is never accepted twice, but a recording may be accepted in place of the
    /// original. A server waits for this before it does what would do harm at another time.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The connection ended before.
    pub async fn confirmed(&self) -> Result<(), CloseReason> {
        self.shared().first.carrier.confirmed().await
    }

    /// Waits until the peer has acknowledged everything that was sent.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The connection ended before.
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

    /// Takes all that is on its way to the peer for lost, so that nothing waits for news of it: for an
    /// application that knows that the path was gone, and is back. What is still worth something leaves again
    /// at once. Nothing is concluded about the path.
    pub fn presume_lost(&self) {
        self.shared()
            .with_all(|state, now| state.session.carrier_dropped_all(now));
    }

    /// Closes the connection at once: everything that waits on either end gets the [`CloseReason`],
    /// and what the peer has not acknowledged may be lost. Code 0 means that all went well; codes
    /// must be below 2^60, and for a page's browser below 2^32 - 16. `reason` is for people.
    ///
    /// Before the process ends, wait for [`Port::wait_idle`](crate::Port::wait_idle), so that the
    /// peer learns of it.
    pub fn close(&self, code: u64, reason: &str) {
        self.shared().close(code, reason);
    }

    /// Waits for the end of the connection, from either side.
    ///
    /// Cancel safe.
    pub async fn closed(&self) -> CloseReason {
        self.shared().over().await
    }

    /// Why the connection is over; `None` while it is not.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shared().look(|state| state.over().cloned())
    }

    /// Path and query of the URL that a page has asked for, on the server's end over WebTransport:
    /// `/view?token=TOKEN`. It may hold a secret.
    #[cfg(feature = "web")]
    pub fn web_path(&self) -> Option<String> {
        self.shared().first.carrier.web_path().map(str::to_owned)
    }

    /// The peer's fingerprint, which it proved; `None` on plain UDP, and of a page.
    pub fn peer(&self) -> Option<Fingerprint> {
        self.shared().first.carrier.peer()
    }

    /// The peer's address now, on the first of the paths that are open; a QUIC client may move.
    pub fn remote_addr(&self) -> SocketAddr {
        self.shared().remote_addr()
    }

    /// The application protocol that both ends agreed on, of
    /// [`EndpointConfig::application_protocols`](crate::EndpointConfig::application_protocols);
    /// `None` when neither end names any, and before the handshake has told.
    pub fn application_protocol(&self) -> Option<String> {
        self.shared().first.carrier.application_protocol()
    }

    /// Fills `output` with keying material that only the two ends can compute (the TLS exporter,
    /// RFC 5705): equal labels and contexts give equal bytes on both ends. It binds another protocol
    /// to this connection, or makes keys for it.
    ///
    /// # Errors
    ///
    /// The connection is not encrypted, its handshake has not ended
    /// ([`confirmed`](Connection::confirmed) waits for that), or `output` is too long.
    pub fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportError> {
        let carrier = &self.shared().first.carrier;
        carrier.export_keying_material(output, label, context)
    }

    /// How long ago the newest valid datagram of the peer arrived.
    pub fn last_heard(&self) -> Duration {
        let heard = self.stats().received.last_heard;
        self.shared().now().since(heard)
    }

    /// Bytes that the peer can make this end of the connection hold at most, by its
    /// [`Config`](crate::Config), apart from what waits to be sent.
    pub fn memory(&self) -> u64 {
        self.shared().look(|state| state.session.memory())
    }

    /// Bytes that this end of the connection holds for its peer now: data that was not read, sent or
    /// acknowledged, and what decoding needs. It is little in a pause.
    pub fn held(&self) -> u64 {
        self.shared().look(|state| state.session.held())
    }

    /// The connection's counters and estimates.
    pub fn stats(&self) -> Stats {
        self.shared().look(|state| state.session.stats())
    }

    /// The round-trip time: the engine's estimate, or before there is one the carrier's.
    pub fn rtt(&self) -> Duration {
        let rtt = self.stats().path.rtt;
        if rtt.is_zero() {
            self.shared().first.carrier.rtt().unwrap_or_default()
        } else {
            rtt
        }
    }

    /// Opens a further path to the same peer, beside those that there are: the connection carries its data
    /// over all of them, and goes on as long as one of them does. Only the end that connected can do
    /// this, over QUIC.
    ///
    /// The path is kept: when it ends, or nothing is heard of it for 5 s, it is opened again, at once and
    /// then after longer and longer pauses, of at most 5 s. So is, from now on, the path that the connection
    /// began with.
    ///
    /// Cancel safe: a call that was dropped before it was ready has added nothing.
    ///
    /// # Errors
    ///
    /// The path cannot be opened now, or the connection cannot have it.
    #[cfg(feature = "quic")]
    pub async fn add_path(&self, request: PathRequest) -> Result<PathId, PathError> {
        paths::add(self.0.shared(), request).await
    }

    /// Does without a path from now on. What was on its way there is sent again where that is needed.
    ///
    /// # Errors
    ///
    /// There is no such path, it is the only one, or the connection is over.
    #[cfg(feature = "quic")]
    pub fn remove_path(&self, id: PathId) -> Result<(), PathError> {
        self.shared().remove_path(id)
    }

    /// The connection's paths now.
    pub fn paths(&self) -> Vec<PathInfo> {
        self.shared().look(|state| state.path_infos())
    }

    /// The next thing that happens to a path. Each is told once; of more than 64 that nobody has asked
    /// for, the oldest are dropped.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The connection is over.
    #[cfg(feature = "quic")]
    pub async fn path_event(&self) -> Result<PathEvent, CloseReason> {
        self.shared().next_path_event().await
    }

    pub(crate) fn shared(&self) -> &Shared {
        self.0.shared()
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

fn hold(state: &mut State, id: StreamId) -> StreamId {
    state.add_writer(id);
    id
}

fn pending_unless_over<R>(state: &State) -> Poll<Result<R, CloseReason>> {
    match state.over() {
        Some(reason) => Poll::Ready(Err(reason.clone())),
        None => Poll::Pending,
    }
}
