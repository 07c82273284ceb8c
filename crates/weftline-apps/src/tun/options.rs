//! Options of the two ends of a tunnel.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use weftline::{EndpointConfig, Fingerprint, Identity};

use crate::address::Address;
use crate::forward::{self, Lane};

/// The MTU by default: with the heads of tunnel, session, QUIC and UDP a packet of this size fits
/// Ethernet's 1500 bytes over IPv6 too, and the 1492 bytes of PPPoE.
pub const MTU: u16 = 1320;
/// The least MTU: that of IPv6 (RFC 8200, section 5).
pub const LEAST_MTU: u16 = 1280;
/// The largest MTU: that of Ethernet.
pub const MOST_MTU: u16 = 1500;
/// Most routes, and most DNS servers, that a server suggests.
pub(super) const MOST_SUGGESTED: usize = 256;
/// Default number of tunnels of a client.
const TUNNELS: u32 = 4;
/// Default time that the peer may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Options of the client end.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The server's address.
    pub server: Address,
    /// The server's fingerprint and this end's key pair. Without them the session is plain UDP:
    /// nothing is encrypted or authenticated.
    pub identity: Option<(Fingerprint, Identity)>,
    /// Names the tunnel among those of this end's fingerprint, in 1 to 64 bytes: its addresses depend
    /// on both, and a later session of the same name replaces an earlier one.
    pub name: String,
    /// TCP connections that end at this host and go as streams through the tunnel's session.
    pub lane: Option<Arc<Lane>>,
    /// How long the server may take to answer.
    pub timeout: Duration,
    /// The configuration of each session's endpoint. Unless keep-alive is off, an idle
    /// session asks every second whether the server still knows it. A scheme that repairs losses at
    /// once, also while more waits than the path takes (`auto,without=backlog`), suits TCP inside best.
    pub endpoint: EndpointConfig,
}

impl ClientOptions {
    /// Options with the defaults: the peer may take 30 s to answer.
    pub fn new(server: Address, identity: Option<(Fingerprint, Identity)>, name: String) -> Self {
        ClientOptions {
            server,
            identity,
            name,
            lane: None,
            timeout: TIMEOUT,
            endpoint: EndpointConfig::default(),
        }
    }
}

/// Options of the server end.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The networks whose addresses clients get, at most one of each IP version. The first address
    /// of each is the server's own.
    pub pools: Vec<IpNet>,
    /// The MTU of both ends' devices in bytes.
    pub mtu: u16,
    /// Routes into the tunnel that clients are told of.
    pub routes: Vec<IpNet>,
    /// DNS servers that clients are told of.
    pub dns: Vec<IpAddr>,
    /// Most tunnels of each client at once.
    pub tunnels: u32,
    /// Makes the connections that clients carry as streams: of [`Lane`]s at their end. By default it allows no
    /// target. Its [bounds](forward::Bounds::apply_beside_messages) are those of the endpoint's sessions.
    pub lane: Arc<forward::Server>,
    /// How long a client may take to send its request.
    pub timeout: Duration,
}

impl ServerOptions {
    /// Options with the defaults: an MTU of 1320 bytes, 4 tunnels for each client, nothing suggested;
    /// a client may take 30 s to send its request.
    pub fn new(pools: Vec<IpNet>) -> Self {
        ServerOptions {
            pools,
            mtu: MTU,
            routes: Vec::new(),
            dns: Vec::new(),
            tunnels: TUNNELS,
            lane: forward::Server::new(forward::ServerOptions::default(), |_| {}),
            timeout: TIMEOUT,
        }
    }
}

/// The options of the server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadOptions {
    /// There is no pool, or there are two of one IP version.
    #[error("give one pool of IPv4 addresses, one of IPv6 addresses, or one of each")]
    Pools,
    /// A pool has too many or too few addresses, or is not of hosts.
    #[error(
        "{0} cannot be a pool: give /8 to /30 of IPv4, or /32 to /126 of IPv6, of a private network"
    )]
    Pool(IpNet),
    /// The MTU is out of range.
    #[error("an MTU of {0} bytes is not possible: give {LEAST_MTU} to {MOST_MTU}")]
    Mtu(u16),
    /// There are too many routes or DNS servers.
    #[error("too many routes or DNS servers: give at most {0} of each")]
    Suggested(usize),
}
