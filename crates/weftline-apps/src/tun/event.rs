//! Events of a tunnel.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use weftline::{Fingerprint, PathEvent, Refusal};

use super::device::Lease;
use crate::error::SessionError;

/// An event of a tunnel.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Client: a session was established.
    Connected {
        /// The server's address.
        remote: SocketAddr,
        /// What the server grants and suggests.
        lease: &'a Lease,
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
    /// Server: a client has a tunnel.
    Joined {
        /// The client's fingerprint; `None` on plain UDP.
        peer: Option<Fingerprint>,
        /// The client's address.
        remote: SocketAddr,
        /// Its addresses in the tunnel.
        addresses: &'a [IpNet],
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
    /// Server: a peer was refused. The text may quote the peer.
    TurnedAway(&'a Refusal),
}

/// Handles events. It must not block.
pub(super) type OnEvent = Arc<dyn Fn(Event<'_>) + Send + Sync>;
