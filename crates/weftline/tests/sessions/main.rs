//! Two endpoints of this crate on loopback sockets.
#![allow(clippy::unwrap_used)]

mod closing;
mod connecting;
mod early;
mod messages;
mod relay;
mod streams;
mod tap;
mod transfer;

use std::net::SocketAddr;
use std::time::Duration;

use weftline::{
    Allowed, Config, Connection, Endpoint, EndpointConfig, Identity, Preset, RateControl,
};

/// Longer than any wait here should be; a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Quic,
    Udp,
}

/// A client's and a server's end of one session.
struct Pair {
    client: Connection,
    server: Connection,
    client_endpoint: Endpoint,
    server_endpoint: Endpoint,
}

impl Pair {
    /// A session over loopback at a fixed rate that it can easily carry.
    async fn new(kind: Kind) -> Pair {
        Pair::with(kind, config(), |server| server).await
    }

    /// A session whose client reaches the server at the address that `path` makes of it.
    async fn with(
        kind: Kind,
        config: EndpointConfig,
        path: impl FnOnce(SocketAddr) -> SocketAddr,
    ) -> Pair {
        let server_endpoint = bind(kind, Allowed::anyone(), config.clone());
        let client_endpoint = bind(kind, Allowed::nobody(), config);
        let addr = path(server_endpoint.local_addr().unwrap());
        let connect = async {
            match server_endpoint.fingerprint() {
                Some(peer) => client_endpoint.connect(addr, &peer).await,
                None => client_endpoint.connect_insecure(addr).await,
            }
        };
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

fn bind(kind: Kind, allowed: Allowed, config: EndpointConfig) -> Endpoint {
    let addr = "127.0.0.1:0".parse().unwrap();
    match kind {
        Kind::Quic => Endpoint::bind(addr, Identity::generate(), allowed, config).unwrap(),
        Kind::Udp => Endpoint::bind_insecure_udp(addr, config).unwrap(),
    }
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
