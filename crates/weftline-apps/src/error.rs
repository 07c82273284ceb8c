//! Why a session with another host did not come about, or ended.

use std::net::SocketAddr;

use weftline::{BindError, CloseReason, ConnectError};

use crate::address::UnknownHost;

/// Why a session with another host did not come about, or ended.
///
/// Texts that come from the other end are in [`SessionError::Connect`] and [`SessionError::Closed`];
/// show those through [`printable`](crate::printable).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The name of the other host is not known.
    #[error(transparent)]
    UnknownHost(#[from] UnknownHost),
    /// This end cannot have an endpoint.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The endpoint that was given is closed.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The connection cannot be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The session ended.
    #[error("connection lost: {0}")]
    Closed(CloseReason),
    /// The other end lets nobody reach this target.
    #[error("the other end refuses {target}: {reason}")]
    TargetRefused {
        /// What was asked for.
        target: String,
        /// What the other end says.
        reason: String,
    },
    /// The other end lets nobody listen at this address.
    #[error("the other end does not listen at {address}: {reason}")]
    ListenRefused {
        /// What was asked for.
        address: SocketAddr,
        /// What the other end says.
        reason: String,
    },
    /// The other end is connected and says nothing.
    #[error("the other end does not answer")]
    Silent,
    /// A client is connected and asks for nothing.
    #[error("the client asked for nothing")]
    AskedNothing,
    /// The other end is about to stop; this is what it says.
    #[error("{0}")]
    Leaving(String),
    /// The other end speaks another version.
    #[error("the other end runs another version of {0}")]
    Version(&'static str),
    /// There are as many clients as this end serves.
    #[error("too many clients: try again later")]
    TooManyClients,
    /// The other end broke the protocol, or its stream failed.
    #[error("{0}")]
    Failed(String),
}

impl SessionError {
    /// Whether the same attempt may succeed later, without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            SessionError::UnknownHost(_)
            | SessionError::Closed(_)
            | SessionError::Silent
            | SessionError::AskedNothing
            | SessionError::Leaving(_) => true,
            SessionError::Connect(error) => matches!(
                error,
                ConnectError::Closed { .. }
                    | ConnectError::TimedOut { .. }
                    | ConnectError::Busy { .. }
                    | ConnectError::NotWeftline { .. }
                    | ConnectError::Address { .. }
            ),
            _ => false,
        }
    }
}
