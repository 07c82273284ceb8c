//! What the two ends of a forwarding are told.

use std::net::SocketAddr;
use std::time::Duration;

use weftline::{EndpointConfig, Fingerprint, Identity};

use super::bounds::Bounds;
use crate::address::Address;
use crate::allow::Allow;
use crate::target::Target;

/// How long the other end may take to answer, and how long a connection waits for a session.
const TIMEOUT: Duration = Duration::from_secs(30);
const WAIT: Duration = Duration::from_secs(10);

/// Where programs beside the client connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The way to this target.
    To(Target),
    /// Programs say by SOCKS 5 what they want.
    Socks,
}

/// What the client end is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Where the server end waits.
    pub server: Address,
    /// The server's fingerprint and this end's key pair.
    pub identity: (Fingerprint, Identity),
    /// Local addresses at which programs connect, and what for.
    pub listen: Vec<(SocketAddr, Entry)>,
    /// Addresses at which the server listens, and the targets at this end.
    pub remote: Vec<(SocketAddr, Target)>,
    /// How long a connection waits while there is no session.
    pub wait: Duration,
    /// How long the server may take to answer a session.
    pub timeout: Duration,
    /// What bounds the connections.
    pub bounds: Bounds,
    /// The configuration of each session's endpoint; the bounds are applied to it.
    pub endpoint: EndpointConfig,
}

impl ClientOptions {
    /// Nothing to forward yet; connections wait 10 s for a session, and the other end may take 30 s
    /// to answer.
    pub fn new(server: Address, identity: (Fingerprint, Identity)) -> Self {
        ClientOptions {
            server,
            identity,
            listen: Vec::new(),
            remote: Vec::new(),
            wait: WAIT,
            timeout: TIMEOUT,
            bounds: Bounds::default(),
            endpoint: EndpointConfig::default(),
        }
    }
}

/// What the server end is told. The bounds have to be [applied](Bounds::apply) to its endpoint's
/// configuration too.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Targets that clients may reach; none but these.
    pub allow: Vec<Allow>,
    /// Addresses at which clients may have this end listen; none but these.
    pub allow_listen: Vec<Allow>,
    /// What bounds the connections.
    pub bounds: Bounds,
}

/// The client end cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is nothing to forward.
    #[error("nothing to forward: give an address to listen at, here or at the other end")]
    Nothing,
    /// There are more targets, or more addresses at the other end, than a session has.
    #[error(
        "{got} rules are more than the {most} of a session: start a second forward for the rest"
    )]
    TooManyRules {
        /// How many there are.
        got: usize,
        /// How many there may be.
        most: usize,
    },
    /// A local address cannot be used.
    #[error("cannot listen at {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}
