//! Pages connect to an endpoint of this crate over loopback sockets.
#![allow(clippy::unwrap_used)]

mod carrying;
mod certificates;
mod closing;
mod page;
mod refusing;
#[path = "../sessions/relay.rs"]
#[expect(dead_code, reason = "the tests of sessions use more of it")]
mod relay;

use std::net::SocketAddr;
use std::time::Duration;

use page::Page;
use weftline::{
    Config, Connection, EndpointConfig, Preset, RateControl, WebAllowed, WebCertificate,
    WebEndpoint,
};

/// Longer than any wait here should be; a test that hangs fails instead.
const PATIENCE: Duration = Duration::from_secs(15);
const TOKEN: &str = "a-token";
const URL: &str = "https://localhost/view?token=a-token";

fn certificate() -> WebCertificate {
    WebCertificate::generate(&["localhost".to_owned()]).unwrap()
}

/// An endpoint that lets pages in which have the token.
fn server(certificate: &WebCertificate) -> WebEndpoint {
    let allowed = WebAllowed::from_fn(|request| request.has("token", TOKEN));
    WebEndpoint::bind(any(), certificate.clone(), allowed, config()).unwrap()
}

/// A page's and a server's end of one connection.
struct Pair {
    page: Page,
    server: Connection,
    endpoint: WebEndpoint,
}

impl Pair {
    async fn new() -> Pair {
        Pair::through(|server| server).await
    }

    /// The page reaches the server at the address that `path` makes of it.
    async fn through(path: impl FnOnce(SocketAddr) -> SocketAddr) -> Pair {
        let certificate = certificate();
        let endpoint = server(&certificate);
        let addr = path(endpoint.local_addr().unwrap());
        let page = Page::open(addr, certificate.hash(), URL, config().session);
        let (page, server) = soon(async { tokio::join!(page, endpoint.accept()) }).await;
        Pair {
            page: page.unwrap(),
            server: server.unwrap(),
            endpoint,
        }
    }
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
