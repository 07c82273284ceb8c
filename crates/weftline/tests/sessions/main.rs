//! Two endpoints of this crate on loopback sockets.
#![allow(clippy::unwrap_used)]

mod closing;
mod connecting;
mod crowd;
mod early;
mod keys;
mod messages;
mod moving;
mod paths;
mod relay;
mod strangers;
mod streams;
mod tap;
mod transfer;

use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use weftline::{
    Allowed, Config, Connecting, Connection, Endpoint, EndpointConfig, Identity, InsecureEndpoint,
    Port, Preset, RateControl,
};

/// Longer than any wait here should be; a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Quic,
    Udp,
}

/// An endpoint of either kind.
enum Either {
    Quic(Endpoint),
    Udp(InsecureEndpoint),
}

impl Deref for Either {
    type Target = Port;

    fn deref(&self) -> &Port {
        match self {
            Either::Quic(endpoint) => endpoint,
            Either::Udp(endpoint) => endpoint,
        }
    }
}

impl Either {
    /// Connects to `server` at this address.
    fn connect(&self, addr: SocketAddr, server: &Port) -> Connecting {
        match self {
            Either::Quic(endpoint) => endpoint.connect(addr, server.fingerprint().unwrap()),
            Either::Udp(endpoint) => endpoint.connect(addr),
        }
    }
}

/// A client's and a server's end of one connection.
struct Pair {
    client: Connection,
    server: Connection,
    client_endpoint: Either,
    server_endpoint: Either,
}

impl Pair {
    /// A connection over loopback at a fixed rate that it can easily carry.
    async fn new(kind: Kind) -> Pair {
        Pair::with(kind, config(), |server| server).await
    }

    /// A connection whose client reaches the server at the address that `path` makes of it.
    async fn with(
        kind: Kind,
        config: EndpointConfig,
        path: impl FnOnce(SocketAddr) -> SocketAddr,
    ) -> Pair {
        let server_endpoint = bind(kind, Allowed::anyone(), config.clone());
        let client_endpoint = bind(kind, Allowed::nobody(), config);
        let addr = path(server_endpoint.local_addr().unwrap());
        let connect = client_endpoint.connect(addr, &server_endpoint);
        let (client, server) =
            soon(async { tokio::join!(connect, server_endpoint.accept()) }).await;
        Pair {
            client: client.unwrap(),
            server: server.unwrap(),
            client_endpoint,
            server_endpoint,
        }
    }
}

fn bind(kind: Kind, allowed: Allowed, config: EndpointConfig) -> Either {
    match kind {
        Kind::Quic => Either::Quic(quic(allowed, config)),
        Kind::Udp => Either::Udp(InsecureEndpoint::bind(any(), config).unwrap()),
    }
}

/// A QUIC endpoint with a new identity.
fn quic(allowed: Allowed, config: EndpointConfig) -> Endpoint {
    Endpoint::bind(any(), Identity::generate(), allowed, config).unwrap()
}

/// Any free port of this host.
fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn config() -> EndpointConfig {
    let mut session = Config::preset(Preset::Streaming);
    session.rate = RateControl::Fixed {
        rate: Some(300_000_000),
        window: None,
    };
    session.initial_rtt = Duration::from_millis(10);
    EndpointConfig::new(session)
}

/// The future's value, which must come within [`PATIENCE`].
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("this should have taken a moment")
}

/// Bytes that differ from place to place, so that a shifted or repeated piece is noticed.
fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}
