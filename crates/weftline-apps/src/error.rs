//! Why a session with another host was not established, or ended.

use std::net::SocketAddr;

use weftline::{BindError, CloseReason, ConnectError, Connection};

use crate::address::UnknownHost;
use crate::close;
use crate::quota::OverLimit;

/// Why a session with another host was not established, or ended.
///
/// Texts of the peer in it are [`printable`](crate::printable).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The name of the other host cannot be resolved.
    #[error(transparent)]
    UnknownHost(#[from] UnknownHost),
    /// The endpoint of this end cannot be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The given endpoint is closed.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The connection cannot be established.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The session ended.
    #[error("connection lost: {0}")]
    Closed(CloseReason),
    /// The peer refuses this target.
    #[error("the server refuses {target}: {reason}")]
    TargetRefused {
        /// The target.
        target: String,
        /// The peer's reason.
        reason: String,
    },
    /// The peer does not let this end listen on this address.
    #[error("the server does not listen on {address}: {reason}")]
    ListenRefused {
        /// The address.
        address: SocketAddr,
        /// The peer's reason.
        reason: String,
    },
    /// The peer is connected but does not answer.
    #[error("the peer does not answer")]
    Silent,
    /// A client is connected but sent no request.
    #[error("the client sent no request")]
    AskedNothing,
    /// The peer is about to stop; this is its reason.
    #[error("{0}")]
    Leaving(String),
    /// The peer uses another version of the protocol.
    #[error("the peer runs another version of {0}")]
    Version(&'static str),
    /// The tunnel's device cannot be opened, or has failed.
    #[error("the tunnel's device: {0}")]
    Device(String),
    /// The client asks for more than this end allows.
    #[error(transparent)]
    OverLimit(#[from] OverLimit),
    /// The peer violated the protocol, or its stream failed.
    #[error("{0}")]
    Failed(String),
}

impl SessionError {
    /// Why a stream of this session failed: the session has ended, or else the stream's own error.
    pub(crate) fn lost(connection: &Connection, error: &std::io::Error) -> Self {
        match connection.close_reason() {
            Some(reason) => SessionError::Closed(reason),
            None => SessionError::Failed(error.to_string()),
        }
    }

    /// Whether the same attempt may succeed later without any change by a person.
    pub fn is_transient(&self) -> bool {
        let closed = |reason: &CloseReason| match reason {
            CloseReason::Peer { code, .. } => {
                !matches!(*code, close::OTHER_PROTOCOL | close::NOT_ALLOWED)
            }
            _ => true,
        };
        match self {
            SessionError::Closed(reason) => closed(reason),
            SessionError::Connect(ConnectError::Closed { reason, .. }) => closed(reason),
            SessionError::UnknownHost(_)
            | SessionError::Silent
            | SessionError::AskedNothing
            | SessionError::Leaving(_) => true,
            SessionError::Connect(error) => matches!(
                error,
                ConnectError::TimedOut { .. }
                    | ConnectError::Busy { .. }
                    | ConnectError::NotWeftline { .. }
                    | ConnectError::Address { .. }
            ),
            _ => false,
        }
    }
}
