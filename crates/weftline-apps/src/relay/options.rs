//! Options of the two ends of a relay.

use std::net::SocketAddr;
use std::time::Duration;

use weftline::{EndpointConfig, Fingerprint, Identity};

use super::rule::Rule;
use crate::address::Address;
use crate::allow::Rules;

/// Default number of flows that one end keeps.
const FLOWS: usize = 500;
/// Default time after which an idle flow is dropped.
const IDLE: Duration = Duration::from_secs(180);
/// Default time that the peer may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Options of the client end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The server's address.
    pub server: Address,
    /// The server's fingerprint and this end's key pair. Without them the session is plain UDP:
    /// nothing is encrypted or authenticated.
    pub identity: Option<(Fingerprint, Identity)>,
    /// The rules, at most [`MOST_RULES`](super::MOST_RULES).
    pub rules: Vec<Rule>,
    /// Drop a flow that was idle for this long.
    pub idle: Duration,
    /// Most flows at once; a further flow replaces the one that was idle for longest.
    pub flows: usize,
    /// How long the server may take to answer.
    pub timeout: Duration,
    /// The configuration of each session's endpoint. Unless keep-alive is off, an idle
    /// session asks every second whether the server still knows it.
    pub endpoint: EndpointConfig,
}

impl ClientOptions {
    /// Options with the defaults: 500 flows, 180 s idle; the peer may take 30 s to
    /// answer.
    pub fn new(
        server: Address,
        identity: Option<(Fingerprint, Identity)>,
        rules: Vec<Rule>,
    ) -> Self {
        ClientOptions {
            server,
            identity,
            rules,
            idle: IDLE,
            flows: FLOWS,
            timeout: TIMEOUT,
            endpoint: EndpointConfig::default(),
        }
    }
}

/// Options of the server end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The targets that clients may reach.
    pub allow: Rules,
    /// Drop a flow that was idle for this long.
    pub idle: Duration,
    /// Most flows of each client at once, with all relays of its fingerprint; each one needs a
    /// socket.
    pub flows: usize,
    /// How long a client may take to send its request.
    pub timeout: Duration,
}

impl ServerOptions {
    /// Options with the defaults: 500 flows, 180 s idle; a client may take 30 s to send its
    /// request.
    pub fn new(allow: impl Into<Rules>) -> Self {
        ServerOptions {
            allow: allow.into(),
            idle: IDLE,
            flows: FLOWS,
            timeout: TIMEOUT,
        }
    }
}

/// The client end cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There are more rules than a session allows.
    #[error("{got} rules are more than the {most} of a session: start a second relay for the rest")]
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
