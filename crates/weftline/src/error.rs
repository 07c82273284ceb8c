//! What can go wrong, one enum for each operation.

use std::io;
use std::net::SocketAddr;

use weftline_proto::{CloseReason, ConfigError};

use crate::Fingerprint;

/// An endpoint cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address cannot be used.
    #[error("cannot bind UDP address {addr}: {source}")]
    Socket {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The socket that was given cannot be used.
    #[error("cannot use the socket that was given: {0}")]
    Given(io::Error),
    /// A field of the configuration is out of its range, or contradicts another.
    #[error("{field} is {value}: it must be {allowed}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: &'static str,
    },
    /// The configuration of the engine cannot be used.
    #[error("the configuration cannot be used: {0}")]
    Config(#[from] ConfigError),
    /// Nothing would limit how fast the endpoint sends.
    #[error(
        "nothing would limit the sending rate: with Congestion::Engine, set RateControl::Adaptive, or RateControl::Fixed with a rate or a window, or choose another congestion controller"
    )]
    Unlimited,
    /// A duration is too long for QUIC's idle timeout.
    #[error("an idle timeout of {seconds} s is longer than QUIC can express")]
    IdleTimeout {
        /// The idle timeout.
        seconds: u64,
    },
    /// Event logs cannot be written to the folder that was given.
    #[cfg(feature = "event-log")]
    #[error("cannot write event logs to {}: {source}", folder.display())]
    EventLogs {
        /// The folder.
        folder: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The endpoint was not made inside a tokio runtime.
    #[error("no tokio runtime: call this from a task, or inside Runtime::enter")]
    NoRuntime,
    /// The cryptographic library refused its configuration.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// A connection cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Another host answers at this address than the one asked for.
    #[error(
        "{addr} is not the peer asked for: expected {expected}, got {got}; check the fingerprint, and if it should be the right one, someone may be impersonating the peer"
    )]
    PeerMismatch {
        /// Where it answered.
        addr: SocketAddr,
        /// The fingerprint asked for.
        expected: Fingerprint,
        /// The fingerprint of the host that answered.
        got: Fingerprint,
    },
    /// The other end does not allow this one.
    #[error("{addr} refuses this host: the peer must allow {ours}")]
    Refused {
        /// Who refused.
        addr: SocketAddr,
        /// This end's fingerprint.
        ours: Fingerprint,
    },
    /// The other end accepts no connection at the moment.
    #[error("{addr} accepts no more connections now: try again later")]
    Busy {
        /// Who refused.
        addr: SocketAddr,
    },
    /// Nobody answered in time.
    #[error(
        "no answer from {addr} within {seconds} s: check the address and the port, that the peer is running, and that UDP gets through on the way"
    )]
    TimedOut {
        /// The address asked for.
        addr: SocketAddr,
        /// [`EndpointConfig::connect_timeout`](crate::EndpointConfig::connect_timeout).
        seconds: u64,
    },
    /// Something answers there, but not with this protocol.
    #[error("{addr} does not speak Weftline, or another version of it: {reason}")]
    NotWeftline {
        /// The address asked for.
        addr: SocketAddr,
        /// What it said.
        reason: String,
    },
    /// The address cannot be reached from this endpoint at all.
    #[error("cannot connect to {addr} from here: {reason}")]
    Address {
        /// The address asked for.
        addr: SocketAddr,
        /// Why not.
        reason: String,
    },
    /// The other end speaks none of the application protocols of this one.
    #[error(
        "{addr} speaks another application protocol, or another version of Weftline: check EndpointConfig::application_protocols on both ends"
    )]
    ApplicationProtocol {
        /// Who refused.
        addr: SocketAddr,
    },
    /// This endpoint was closed.
    #[error("this endpoint is closed")]
    EndpointClosed,
    /// The connection ended before it was ready.
    #[error("{addr} ended the connection at once: {reason}")]
    Closed {
        /// The address asked for.
        addr: SocketAddr,
        /// Why.
        reason: CloseReason,
    },
}

impl ConnectError {
    /// Whether the same call may succeed later without a change on either end: nobody answered in
    /// time, the other end is busy, or the connection ended for such a reason. Wait before trying
    /// again, longer each time.
    pub fn is_retryable(&self) -> bool {
        match self {
            ConnectError::TimedOut { .. } | ConnectError::Busy { .. } => true,
            ConnectError::Closed { reason, .. } => matches!(
                reason,
                CloseReason::TimedOut { .. } | CloseReason::Peer { .. } | CloseReason::Carrier(_)
            ),
            ConnectError::Address { .. }
            | ConnectError::PeerMismatch { .. }
            | ConnectError::Refused { .. }
            | ConnectError::NotWeftline { .. }
            | ConnectError::ApplicationProtocol { .. }
            | ConnectError::EndpointClosed => false,
        }
    }
}

/// A peer that wanted to connect was turned away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It showed a key, without having proved yet that it holds it, that is not
    /// [allowed](crate::Allowed).
    #[error("refused unknown peer {peer} at {addr}")]
    UnknownPeer {
        /// Its fingerprint.
        peer: Fingerprint,
        /// Where it came from.
        addr: SocketAddr,
    },
    /// [`EndpointConfig::max_sessions`](crate::EndpointConfig::max_sessions) are being served.
    #[error("turned away {addr}: all connections are taken")]
    Full {
        /// Where it came from.
        addr: SocketAddr,
    },
    /// Its address, or its network, has too many handshakes that it does not finish.
    #[error("turned away {addr}: too many handshakes from there are not finished")]
    Crowded {
        /// Where it came from.
        addr: SocketAddr,
    },
    /// Its handshake failed.
    #[error("the handshake of {addr} failed: {reason}")]
    Handshake {
        /// Where it came from.
        addr: SocketAddr,
        /// How.
        reason: String,
    },
    /// It wanted to be a further path of a session, and did not prove that it belongs to one.
    #[error("refused a further path of {peer} at {addr}: it belongs to no session here")]
    Path {
        /// Its fingerprint.
        peer: Fingerprint,
        /// Where it came from.
        addr: SocketAddr,
    },
    /// A page asked for what [`WebAllowed`](crate::WebAllowed) does not allow.
    #[cfg(feature = "web")]
    #[error("refused a page at {addr}: its address, or the token in it, is not allowed")]
    Page {
        /// Where it came from.
        addr: SocketAddr,
    },
    /// Other peers were turned away, too many to tell of each of them.
    #[error("turned away {count} more peers from {addresses} addresses within {seconds} s")]
    More {
        /// How many.
        count: u64,
        /// From how many addresses; 1,024 means that many or more.
        addresses: usize,
        /// In this time, which began with the first that was told, in seconds.
        seconds: u64,
    },
}

impl Refusal {
    /// Where the peer came from.
    pub(crate) fn addr(&self) -> Option<SocketAddr> {
        match self {
            Refusal::UnknownPeer { addr, .. }
            | Refusal::Full { addr }
            | Refusal::Crowded { addr }
            | Refusal::Path { addr, .. }
            | Refusal::Handshake { addr, .. } => Some(*addr),
            #[cfg(feature = "web")]
            Refusal::Page { addr } => Some(*addr),
            Refusal::More { .. } => None,
        }
    }
}

/// A stream cannot be read or written any more.
///
/// Reading and writing through tokio's traits give it inside an [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The peer gave up sending.
    #[error("the peer reset this stream (code {0})")]
    Reset(u64),
    /// The peer no longer reads.
    #[error("the peer no longer reads this stream (code {0})")]
    Stopped(u64),
    /// This end finished, reset or stopped it before.
    #[error("this end finished, reset or stopped this stream before")]
    Finished,
    /// This end has not finished writing: the peer cannot have everything yet.
    #[error("this end has not finished the stream: call finish() before finished()")]
    NotFinished,
    /// The connection is over.
    #[error("the connection is over: {0}")]
    Closed(CloseReason),
}

impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        let kind = match &error {
            StreamError::Reset(_) => io::ErrorKind::ConnectionReset,
            StreamError::Stopped(_) | StreamError::Finished => io::ErrorKind::BrokenPipe,
            StreamError::NotFinished => io::ErrorKind::InvalidInput,
            StreamError::Closed(CloseReason::TimedOut { .. }) => io::ErrorKind::TimedOut,
            StreamError::Closed(CloseReason::Local) => io::ErrorKind::NotConnected,
            StreamError::Closed(_) => io::ErrorKind::ConnectionAborted,
        };
        io::Error::new(kind, error)
    }
}

/// A message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Longer than the peer accepts.
    #[error(
        "a message of {got} bytes is longer than the {limit} that can be sent so: cut it, or use a stream"
    )]
    TooLong {
        /// Its length in bytes.
        got: usize,
        /// The longest that the peer accepts.
        limit: usize,
    },
    /// Too much waits to be sent already; only what does not wait for room meets this.
    #[error("there is no room for the message now: wait, or give it up")]
    Full,
    /// The connection is over.
    #[error("the connection is over: {0}")]
    Closed(CloseReason),
}

/// Keying material cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The connection is plain UDP.
    #[error("a connection over plain UDP has no keys: use Endpoint, which encrypts")]
    Insecure,
    /// The handshake has not ended.
    #[error("the handshake has not ended: wait for Connection::confirmed first")]
    TooEarly,
    /// More bytes were asked for than the exporter gives.
    #[error("{length} bytes are more than the TLS exporter gives: ask for less")]
    TooLong {
        /// Bytes asked for.
        length: usize,
    },
}

/// Why a message did not arrive, as far as this end knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undelivered {
    /// Its deadline passed before the peer acknowledged all of it: it was never sent, or a part of
    /// it was lost. It may have arrived all the same, by a repair that came after the loss.
    #[error("the deadline passed before the peer acknowledged the message")]
    Expired,
    /// The connection ended before the peer acknowledged it.
    #[error("the connection ended before the peer acknowledged the message: {0}")]
    Closed(CloseReason),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_to_do() {
        let addr = "192.0.2.1:4433".parse().unwrap();
        let ours = Fingerprint::from([7; 20]);
        let error = ConnectError::Refused { addr, ours };
        assert!(error.to_string().contains(&format!("must allow {ours}")));
        assert!(!error.is_retryable());
        assert!(ConnectError::Busy { addr }.is_retryable());
        assert!(ConnectError::TimedOut { addr, seconds: 1 }.is_retryable());
    }

    #[test]
    fn a_stream_error_can_be_taken_out_of_an_io_error() {
        let error = io::Error::from(StreamError::Reset(9));
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let inner = error.into_inner().unwrap().downcast::<StreamError>();
        assert_eq!(*inner.unwrap(), StreamError::Reset(9));
    }
}
