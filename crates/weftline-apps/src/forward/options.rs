//! Options of the two ends of `forward`.

use std::net::SocketAddr;
use std::time::Duration;

use weftline::{EndpointConfig, Fingerprint, Identity};

use super::bounds::Bounds;
use crate::address::Address;
use crate::allow::Rules;
use crate::target::Target;

/// How long the peer may take to answer, and how long a connection waits for a session.
const TIMEOUT: Duration = Duration::from_secs(30);
const WAIT: Duration = Duration::from_secs(10);

/// What a local listener leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// This target.
    To(Target),
    /// The target that the program names by SOCKS 5.
    Socks,
    /// The address that the program connected to, before the packet filter of this host redirected the
    /// connection to the local listener (`redirect` of nftables).
    #[cfg(target_os = "linux")]
    Redirected,
}

/// Options of the client end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The server's address.
    pub server: Address,
    /// The server's fingerprint and this end's key pair.
    pub identity: (Fingerprint, Identity),
    /// Local addresses that programs connect to, and what each leads to.
    pub listen: Vec<(SocketAddr, Entry)>,
    /// Addresses on which the server listens, and the targets at this end.
    pub remote: Vec<(SocketAddr, Target)>,
    /// How long a connection waits while there is no session.
    pub wait: Duration,
    /// How long the server may take to answer.
    pub timeout: Duration,
    /// The limits of connections.
    pub bounds: Bounds,
    /// The configuration of each session's endpoint; the limits are applied to it. Unless keep-alive
    /// is off, an idle session asks every second whether the server still knows it.
    pub endpoint: EndpointConfig,
}

impl ClientOptions {
    /// Options without rules. Connections wait 10 s for a session; the peer may take 30 s to
    /// answer.
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

/// Options of the server end. The limits must also be [applied](Bounds::apply) to its endpoint's
/// configuration.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The targets that clients may reach.
    pub allow: Rules,
    /// The addresses on which clients may let this end listen.
    pub allow_listen: Rules,
    /// The limits of connections.
    pub bounds: Bounds,
    /// When it stops, connections leave their sessions, and are [left](super::Server::left) to the server's next
    /// start, which [goes on](super::Server::adopt) with them. Those of a client that does not know how are not.
    pub leaves_connections: bool,
}

/// The client end cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There are no rules.
    #[error("nothing to forward: give an address to listen on, at this end or on the server")]
    Nothing,
    /// There are more targets, or more addresses on the server, than a session allows.
    #[error(
        "{got} rules are more than the {most} of a session: start a second forward for the rest"
    )]
    TooManyRules {
        /// Number of rules given.
        got: usize,
        /// Most rules of a session.
        most: usize,
    },
    /// A local address cannot be used.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
}
