//! What a relay tells while it runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weftline::{Fingerprint, Refusal};

use super::rule::Rule;
use crate::error::SessionError;

/// What a relay tells while it runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Client: there is a session.
    Connected {
        /// Where the server end is.
        remote: SocketAddr,
        /// What is forwarded from where.
        routes: &'a [Route],
    },
    /// Client: the path takes longer datagrams now, or only shorter ones.
    PathChanged {
        /// Bytes of the longest datagram that passes in one piece, whatever its delivery.
        longest: usize,
    },
    /// Client: there is no session, and a new attempt to make one is due.
    Retrying {
        /// Why there is none.
        error: &'a SessionError,
        /// Time until the attempt.
        wait: Duration,
    },
    /// Server: a client has a session.
    Joined {
        /// Who it is; `None` on plain UDP.
        peer: Option<Fingerprint>,
        /// Where it is.
        remote: SocketAddr,
    },
    /// Server: a client's session is over.
    Left {
        /// Who it was.
        peer: Option<Fingerprint>,
        /// Where it was.
        remote: SocketAddr,
        /// Why.
        error: &'a SessionError,
    },
    /// Server: somebody was not let in. What it says may be the other end's words.
    TurnedAway(&'a Refusal),
    /// A datagram was dropped that is too long for one piece; told once.
    TooLong(TooLong),
}

/// A datagram that did not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of the datagram.
    pub bytes: usize,
    /// About how many pass in one piece, whatever the delivery.
    pub longest: usize,
}

/// A rule in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The local address that was bound.
    pub at: SocketAddr,
    /// The rule.
    pub rule: Rule,
    /// Bytes of the longest datagram that passes in one piece.
    pub longest: usize,
}

/// Takes events as they come. It must not block.
pub(super) type OnEvent = Arc<dyn Fn(Event<'_>) + Send + Sync>;
