//! Events of a server of viewers.

use std::net::SocketAddr;
use std::sync::Arc;

use weftline::Refusal;

/// An event of a [`View`](super::View).
#[derive(Debug)]
#[non_exhaustive]
pub enum ViewEvent<'a> {
    /// A viewer has a session.
    Joined {
        /// The viewer's address.
        remote: SocketAddr,
    },
    /// A viewer's session has ended.
    Left {
        /// The viewer's address.
        remote: SocketAddr,
        /// Why, for people. It may quote the page, and is printable.
        reason: String,
    },
    /// A viewer found no place.
    Full {
        /// The viewer's address.
        remote: SocketAddr,
    },
    /// A viewer's token does not admit it.
    NotAdmitted {
        /// The viewer's address.
        remote: SocketAddr,
    },
    /// A peer was turned away before that. The text may quote the peer.
    TurnedAway(&'a Refusal),
    /// Something in the source, for people.
    Source(&'a str),
    /// The source has ended.
    SourceEnded,
    /// A certificate, of the sessions or of the page, cannot be renewed; the old one is used on.
    NotRenewed(&'a str),
}

/// Handles events. It must not block.
pub(super) type OnEvent = Arc<dyn Fn(ViewEvent<'_>) + Send + Sync>;
