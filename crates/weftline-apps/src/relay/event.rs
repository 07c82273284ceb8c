//! Events of a relay.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weftline::{Fingerprint, PathEvent, Refusal};

use super::rule::Rule;
use crate::error::SessionError;

/// An event of a relay.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Client: a session was established.
    Connected {
        /// The server's address.
        remote: SocketAddr,
        /// The rules of the session.
        routes: &'a [Route],
    },
    /// Client: the longest datagram that the path carries has changed.
    PathChanged {
        /// Bytes of the longest datagram that fits in one piece, for any delivery.
        longest: usize,
    },
    /// Client: something has happened to one of the session's paths.
    Path(&'a PathEvent),
    /// Client: there is no session, and a new attempt follows.
    Retrying {
        /// The error.
        error: &'a SessionError,
        /// Time until the attempt.
        wait: Duration,
    },
    /// Server: a client has a session.
    Joined {
        /// The client's fingerprint; `None` on plain UDP.
        peer: Option<Fingerprint>,
        /// The peer's address.
        remote: SocketAddr,
    },
    /// Server: a client's session has ended.
    Left {
        /// The client's fingerprint; `None` on plain UDP.
        peer: Option<Fingerprint>,
        /// The client's address.
        remote: SocketAddr,
        /// The error.
        error: &'a SessionError,
    },
    /// Server: a client's target was refused. The texts may quote the client as it is.
    Refused {
        /// The client's fingerprint; `None` on plain UDP.
        peer: Option<Fingerprint>,
        /// The client's address.
        remote: SocketAddr,
        /// The target.
        target: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// Server: a peer was refused. The text may quote the peer.
    TurnedAway(&'a Refusal),
    /// A datagram travels in several pieces, each of which may be lost; reported once.
    InPieces(InPieces),
}

/// A datagram that does not fit in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPieces {
    /// Bytes of the datagram.
    pub bytes: usize,
    /// About how many bytes fit in one piece, for any delivery.
    pub longest: usize,
}

/// A rule in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The local address that was bound.
    pub at: SocketAddr,
    /// The rule.
    pub rule: Rule,
    /// Bytes of the longest datagram that fits in one piece.
    pub longest: usize,
}

/// Handles events. It must not block.
pub(super) type OnEvent = Arc<dyn Fn(Event<'_>) + Send + Sync>;
