//! Events of `forward`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weftline::{Fingerprint, PathEvent, Refusal};

use super::options::Entry;
use crate::error::SessionError;
use crate::target::Target;

/// An event of `forward`. Texts of the peer have no control characters, except in
/// [`Event::Refused`], [`Event::TurnedAway`] and in errors.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Client: a session was established.
    Connected {
        /// The server's address.
        remote: SocketAddr,
        /// The bound local addresses, and what each leads to.
        entries: &'a [(SocketAddr, Entry)],
        /// The addresses on which the server reports to listen, and the targets at this end.
        reverse: &'a [(String, Target)],
    },
    /// Client: the server cannot resolve the name of a target now.
    UnknownTarget {
        /// The server's reason.
        reason: &'a str,
    },
    /// Client: the server stopped listening during the session.
    NoLongerListens {
        /// The address on which it listened.
        at: &'a str,
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
    /// A connection was not established, for another reason than that its target is not allowed.
    NoConnection {
        /// Server: the client that requested it.
        client: Option<SocketAddr>,
        /// The error.
        reason: &'a str,
    },
    /// This end is stopping, and waits for connections to end.
    Draining {
        /// Number of open connections.
        open: u64,
        /// How long it waits at most.
        patience: Duration,
    },
    /// Server: a client has a session.
    Joined {
        /// The client's fingerprint.
        peer: Fingerprint,
        /// The peer's address.
        remote: SocketAddr,
    },
    /// Server: a client's session has ended.
    Left {
        /// The client's fingerprint.
        peer: Fingerprint,
        /// The client's address.
        remote: SocketAddr,
        /// The error.
        error: &'a SessionError,
    },
    /// Server: a client's target, or the address on which it would have listened, is not allowed. The texts may
    /// quote the client as it is.
    Refused {
        /// The client's fingerprint.
        peer: Fingerprint,
        /// The client's address.
        remote: SocketAddr,
        /// The target or the address.
        target: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// Server: a peer was refused.
    TurnedAway(&'a Refusal),
}

/// Handles events. It must not block.
pub(super) type OnEvent = Arc<dyn Fn(Event<'_>) + Send + Sync>;
