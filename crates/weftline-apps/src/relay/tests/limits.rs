//! What one client may take of a server.

use std::net::SocketAddr;
use std::sync::Arc;

use weftline::{Allowed, Connection, Endpoint, EndpointConfig, Fingerprint, Identity};

use super::world::target;
use crate::host::{Hosted, host};
use crate::line;
use crate::quota::{Budget, Limits};
use crate::relay::wire::{self, Answer, Hello, VERSION, Wanted};
use crate::relay::{Server, ServerOptions};
use crate::soon::{soon, until};
use crate::stopper::Stopper;

/// A server, and where it is.
struct World {
    server: Arc<Server>,
    budget: Arc<Budget>,
    at: SocketAddr,
    identity: Fingerprint,
}

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn server(options: ServerOptions, limits: Limits) -> World {
    let identity = Identity::generate();
    let fingerprint = identity.fingerprint();
    let config = EndpointConfig::default();
    let endpoint = Endpoint::bind(any(), identity, Allowed::anyone(), config).unwrap();
    let at = endpoint.local_addr().unwrap();
    let server = Server::new(options, |_| {});
    let budget = Budget::new(limits);
    let (services, kept) = ([Hosted::new(server.clone())], budget.clone());
    let port = endpoint.into();
    tokio::spawn(async move { host(&port, &services, &kept, &Stopper::new()).await });
    World {
        server,
        budget,
        at,
        identity: fingerprint,
    }
}

/// A server whose clients may take this much memory: each by itself, and all together.
fn limited(target: &str, client_memory: u64, memory: u64) -> World {
    let options = ServerOptions::new(vec![target.parse().unwrap()]);
    let limits = Limits {
        client_memory,
        memory,
        ..Limits::default()
    };
    server(options, limits)
}

/// A relay of a client, which has this number.
async fn relay(
    world: &World,
    client: &Endpoint,
    instance: u64,
    target: &str,
) -> Result<Connection, String> {
    let connecting = soon(client.connect(world.at, world.identity)).await;
    let connection = connecting.map_err(|error| error.to_string())?;
    let opened = soon(connection.open_stream()).await;
    let mut stream = opened.map_err(|reason| reason.to_string())?;
    let hello = Hello {
        weftline_relay: VERSION,
        instance,
        rules: vec![Wanted {
            target: target.to_owned(),
            delivery: "in-order".to_owned(),
        }],
    };
    let asked = async {
        line::write(&mut stream, &hello).await?;
        wire::read::<Answer>(&mut stream).await
    };
    match soon(asked).await {
        Ok(answer) => assert_eq!(answer.refused, [None]),
        Err(_) => return Err(soon(connection.closed()).await.to_string()),
    }
    // A client keeps this stream: without it, its session ends.
    tokio::spawn(async move { wire::read::<Answer>(&mut stream).await.ok() });
    Ok(connection)
}

fn client() -> Endpoint {
    let config = EndpointConfig::default();
    Endpoint::bind(any(), Identity::generate(), Allowed::nobody(), config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_cannot_take_all_places() {
    let target = target().await.local_addr().unwrap().to_string();
    // A relay takes 2 MB, and what it holds.
    let world = limited(&target, 5_000_000, 7_000_000);
    let (greedy, other, late) = (client(), client(), client());
    let mut kept = Vec::new();
    for instance in 0..2 {
        kept.push(relay(&world, &greedy, instance, &target).await.unwrap());
    }
    let reason = relay(&world, &greedy, 2, &target).await.unwrap_err();
    assert!(reason.contains("--client-memory of the server"), "{reason}");
    // Another client finds its place, and the one after it learns that the server is full.
    kept.push(relay(&world, &other, 0, &target).await.unwrap());
    let reason = relay(&world, &late, 0, &target).await.unwrap_err();
    assert!(reason.contains("(--memory of the server)"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_relays_of_a_client_share_its_flows() {
    let target = target().await.local_addr().unwrap().to_string();
    let mut options = ServerOptions::new(vec![target.parse().unwrap()]);
    options.flows = 6;
    let world = server(options, Limits::default());
    let greedy = client();
    for instance in 0..2 {
        let connection = relay(&world, &greedy, instance, &target).await.unwrap();
        for flow in 0..60_u32 {
            let mut message = vec![0x80];
            message.extend_from_slice(&flow.to_be_bytes());
            message.extend_from_slice(&[0, 0, 0, 0, 7]);
            connection.send_message(message, None).await.unwrap();
        }
        soon(connection.flushed()).await.unwrap();
    }
    // 6, and as many again that may be about to end.
    until(|| world.server.snapshot().counts.dropped.no_flow == 120 - (6 + 64)).await;
    assert_eq!(world.server.snapshot().open, 6 + 64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_holds_too_much_back_is_closed_and_the_others_go_on() {
    let target = target().await.local_addr().unwrap().to_string();
    let world = limited(&target, 10_000_000, 100_000_000);
    let (greedy, other) = (client(), client());
    let modest = relay(&world, &other, 0, &target).await.unwrap();
    let connection = relay(&world, &greedy, 0, &target).await.unwrap();
    // Datagram 0 never comes.
    let sending = async {
        for number in 1..=250_u32 {
            let mut message = vec![0x80, 0, 0, 0, 1];
            message.extend_from_slice(&number.to_be_bytes());
            message.resize(50_000, 7);
            if connection.send_message(message, None).await.is_err() {
                break;
            }
        }
        connection.closed().await
    };
    let reason = soon(sending).await.to_string();
    assert!(reason.contains("this session holds the most"), "{reason}");
    assert!(reason.contains("--client-memory"), "{reason}");
    // The greedy one's flow remains for a while, but not what waited in it.
    until(|| world.budget.usage().memory_taken < 4_000_000).await;
    assert_eq!(world.budget.usage().clients, 2);
    assert_eq!(modest.close_reason(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_clients_fit_with_the_defaults() {
    let target = target().await.local_addr().unwrap().to_string();
    let options = ServerOptions::new(vec![target.parse().unwrap()]);
    let world = server(options, Limits::default());
    let mut kept = Vec::new();
    for _ in 0..150 {
        let client = client();
        let connection = relay(&world, &client, 0, &target).await.unwrap();
        kept.push((client, connection));
    }
    let ended: Vec<_> = kept
        .iter()
        .filter_map(|(_, one)| one.close_reason())
        .collect();
    assert!(ended.is_empty(), "{ended:?}");
}
