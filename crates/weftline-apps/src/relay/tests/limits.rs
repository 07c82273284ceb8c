//! What one client may take of a server.

use std::net::SocketAddr;

use weftline::{Allowed, Connection, Endpoint, EndpointConfig, Fingerprint, Identity};

use super::world::{soon, target, until};
use crate::quota::Memory;
use crate::relay::wire::{self, Answer, Hello, VERSION, Wanted};
use crate::relay::{Server, ServerOptions, least_memory};
use crate::stopper::Stopper;

/// A server, and where it is.
struct World {
    server: std::sync::Arc<Server>,
    at: SocketAddr,
    identity: Fingerprint,
}

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn server(options: ServerOptions) -> World {
    let identity = Identity::generate();
    let fingerprint = identity.fingerprint();
    let config = EndpointConfig::default();
    let endpoint = Endpoint::bind(any(), identity, Allowed::anyone(), config).unwrap();
    let at = endpoint.local_addr().unwrap();
    let server = Server::new(options, |_| {});
    let running = server.clone();
    tokio::spawn(async move { running.run(&endpoint, &Stopper::new()).await });
    World {
        server,
        at,
        identity: fingerprint,
    }
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
        fragment: false,
        rules: vec![Wanted {
            target: target.to_owned(),
            delivery: "in-order".to_owned(),
        }],
    };
    let asked = async {
        wire::write(&mut stream, &hello).await?;
        wire::read::<Answer>(&mut stream).await
    };
    match soon(asked).await {
        Ok(answer) => assert_eq!(answer.refused, [None]),
        Err(_) => return Err(soon(connection.closed()).await.to_string()),
    }
    Ok(connection)
}

fn client() -> Endpoint {
    let config = EndpointConfig::default();
    Endpoint::bind(any(), Identity::generate(), Allowed::nobody(), config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_client_cannot_take_all_places() {
    let target = target().await.local_addr().unwrap().to_string();
    let mut options = ServerOptions::new(vec![target.parse().unwrap()]);
    let each = least_memory(&EndpointConfig::default());
    options.memory = Memory {
        each: 2 * each,
        all: 3 * each,
    };
    let world = server(options);
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
    let world = server(options);
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
