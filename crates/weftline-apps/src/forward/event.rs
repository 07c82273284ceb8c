//! What a forwarding tells while it runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use weftline::{Fingerprint, Refusal};

use super::options::Entry;
use crate::error::SessionError;
use crate::target::Target;

/// What a forwarding tells while it runs. Texts of the other end have no control characters in them,
/// but for what [`Event::TurnedAway`] and errors hold.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Client: there is a session.
    Connected {
        /// Where the server end is.
        remote: SocketAddr,
        /// The local addresses that were bound, and what for.
        entries: &'a [(SocketAddr, Entry)],
        /// Where the other end listens, as it says, and the targets here.
        reverse: &'a [(String, Target)],
    },
    /// Client: the other end does not know the name of a target; it may know it later.
    UnknownTarget {
        /// What the other end says.
        reason: &'a str,
    },
    /// Client: the other end stopped listening while the session goes on.
    NoLongerListens {
        /// Where it listened.
        at: &'a str,
    },
    /// Client: there is no session, and a new attempt to make one is due.
    Retrying {
        /// Why there is none.
        error: &'a SessionError,
        /// Time until the attempt.
        wait: Duration,
    },
    /// A connection did not come to be.
    NoConnection {
        /// Server: the client that wanted it.
        client: Option<SocketAddr>,
        /// Why.
        reason: &'a str,
    },
    /// This end was asked to stop, and connections may go on for a while.
    Draining {
        /// How many.
        open: u64,
        /// How long at most.
        patience: Duration,
    },
    /// Server: a client has a session.
    Joined {
        /// Who it is.
        peer: Fingerprint,
        /// Where it is.
        remote: SocketAddr,
    },
    /// Server: a client's session is over.
    Left {
        /// Who it was.
        peer: Fingerprint,
        /// Where it was.
        remote: SocketAddr,
        /// Why.
        error: &'a SessionError,
    },
    /// Server: somebody was not let in.
    TurnedAway(&'a Refusal),
}

/// Takes events as they come. It must not block.
pub(super) type OnEvent = Arc<dyn Fn(Event<'_>) + Send + Sync>;
