//! What the two ends of a relay are told.

use std::net::SocketAddr;
use std::time::Duration;

use weftline::{EndpointConfig, Fingerprint, Identity};

use super::rule::Rule;
use crate::address::Address;
use crate::allow::Allow;

/// Flows that one end keeps, unless it is told otherwise.
const FLOWS: usize = 500;
/// Time after which an idle flow is forgotten, unless an end is told otherwise.
const IDLE: Duration = Duration::from_secs(180);
/// How long the other end may take to answer, unless an end is told otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What the client end is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Where the server end waits.
    pub server: Address,
    /// The server's fingerprint and this end's key pair. Without them the session is plain UDP:
    /// nothing is encrypted and nobody is authenticated.
    pub identity: Option<(Fingerprint, Identity)>,
    /// What is forwarded, at most [`MOST_RULES`](super::MOST_RULES).
    pub rules: Vec<Rule>,
    /// Send datagrams that do not fit a packet in pieces, both ways, instead of dropping them.
    pub fragment: bool,
    /// Forget a flow that was not used for this long.
    pub idle: Duration,
    /// Flows at once; for a further one, that which was idle for longest is forgotten.
    pub flows: usize,
    /// How long the server may take to answer a session.
    pub timeout: Duration,
    /// The configuration of each session's endpoint.
    pub endpoint: EndpointConfig,
}

impl ClientOptions {
    /// Datagrams whole, 500 flows, each for 180 s; the other end may take 30 s to answer.
    pub fn new(
        server: Address,
        identity: Option<(Fingerprint, Identity)>,
        rules: Vec<Rule>,
    ) -> Self {
        ClientOptions {
            server,
            identity,
            rules,
            fragment: false,
            idle: IDLE,
            flows: FLOWS,
            timeout: TIMEOUT,
            endpoint: EndpointConfig::default(),
        }
    }
}

/// What the server end is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Targets that clients may reach; none but these.
    pub allow: Vec<Allow>,
    /// Forget a flow that was not used for this long.
    pub idle: Duration,
    /// Flows at once of each client; each takes a socket.
    pub flows: usize,
    /// How long a client may take to say what it wants.
    pub timeout: Duration,
}

impl ServerOptions {
    /// 500 flows, each for 180 s; a client may take 30 s to say what it wants.
    pub fn new(allow: Vec<Allow>) -> Self {
        ServerOptions {
            allow,
            idle: IDLE,
            flows: FLOWS,
            timeout: TIMEOUT,
        }
    }
}

/// The client end cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There are more rules than a session has.
    #[error("{got} rules are more than the {most} of a session: start a second relay for the rest")]
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
