//! Connections that want to join a session to which they do not belong.

use weftline_proto::CloseReason;

use super::super::Dialler;
use super::*;
use crate::carrier::Carrier;
use crate::{
    Allowed, Connection, Endpoint, EndpointConfig, Identity, PathId, PathRequest, Refusal,
};

/// A server that accepts anybody, with one session.
struct World {
    server: Endpoint,
    client: Endpoint,
    near: Connection,
    far: Connection,
}

fn bind(identity: Identity, allowed: Allowed) -> Endpoint {
    let config = EndpointConfig {
        early_data: true,
        ..EndpointConfig::default()
    };
    let any = "127.0.0.1:0".parse().unwrap();
    Endpoint::bind(any, identity, allowed, config).unwrap()
}

impl World {
    async fn new() -> World {
        let server = bind(Identity::generate(), Allowed::anyone());
        let client = bind(Identity::generate(), Allowed::nobody());
        let (near, far) = meet(&client, &server).await;
        World {
            server,
            client,
            near,
            far,
        }
    }

    /// A connection of this client that wants to join a session; it has not asked yet.
    async fn beside(&self, of: &Connection) -> Link {
        let request = PathRequest::default();
        dialler(of).beside(&request, false).await.unwrap()
    }

    /// The server's session has one path, and works.
    async fn is_well(&self) {
        self.near.send_message("well?", None).await.unwrap();
        assert_eq!(self.far.recv_message().await.unwrap().data, "well?");
        assert_eq!(self.far.paths().len(), 1);
        assert_eq!(self.far.paths()[0].id, PathId::FIRST);
    }
}

async fn meet(client: &Endpoint, server: &Endpoint) -> (Connection, Connection) {
    let connecting = client.connect(server.local_addr().unwrap(), server.fingerprint());
    let (near, far) = tokio::join!(connecting, server.accept());
    (near.unwrap(), far.unwrap())
}

fn link(of: &Connection) -> &Link {
    match &of.shared().first.carrier {
        Carrier::Quic(link) => link,
        _ => panic!("it is QUIC's"),
    }
}

fn dialler(of: &Connection) -> Dialler {
    link(of).dialled().unwrap().opener().unwrap()
}

fn bond(of: &Connection) -> Bond {
    link(of).bond().unwrap()
}

/// The server refuses this connection as it refuses all, and says so to its operator.
async fn is_refused(world: &World, link: &Link, bond: &Bond) {
    let error = link.join(bond, 0).await.unwrap_err();
    assert_eq!(error, refused(&world.server));
    is_told(world, link).await;
}

async fn is_told(world: &World, link: &Link) {
    let refusal = world.server.refused().await.unwrap();
    assert!(
        matches!(refusal, Refusal::Path { peer, .. } if peer == link.ours()),
        "{refusal}"
    );
    world.is_well().await;
}

fn refused(server: &Endpoint) -> PathError {
    PathError::Refused {
        addr: server.local_addr().unwrap(),
        reason: CloseReason::Refused(NO_SUCH_SESSION.to_owned()).to_string(),
    }
}

#[tokio::test]
async fn a_host_with_another_key_does_not_join_even_with_the_secret() {
    let world = World::new().await;
    let thief = bind(Identity::generate(), Allowed::nobody());
    let (near, _far) = meet(&thief, &world.server).await;
    is_refused(&world, &world.beside(&near).await, &bond(&world.near)).await;
}

#[tokio::test]
async fn without_the_secret_the_key_is_not_enough() {
    let world = World::new().await;
    let wrong = Bond {
        secret: [7; 32],
        ..bond(&world.near)
    };
    is_refused(&world, &world.beside(&world.near).await, &wrong).await;
    let unknown = Bond {
        name: [7; 16],
        ..bond(&world.near)
    };
    is_refused(&world, &world.beside(&world.near).await, &unknown).await;
    // The secret of another session of the same two ends.
    let (second, _far) = meet(&world.client, &world.server).await;
    let mixed = Bond {
        name: bond(&world.near).name,
        ..bond(&second)
    };
    is_refused(&world, &world.beside(&world.near).await, &mixed).await;
}

#[tokio::test]
async fn what_was_seen_on_one_connection_is_worth_nothing_on_another() {
    let world = World::new().await;
    let [seen, other] = [
        world.beside(&world.near).await,
        world.beside(&world.near).await,
    ];
    let join = Join {
        name: bond(&world.near).name,
        proof: bond(&world.near).prove(&seen, BY_CLIENT).unwrap(),
        cost: 0,
    };
    other.wire.connection.send_datagram(join.write()).unwrap();
    other.wire.connection.closed().await;
    is_told(&world, &other).await;
    // The server's own proof is not the client's.
    let other = world.beside(&world.near).await;
    let proof = bond(&world.near).prove(&other, BY_SERVER).unwrap();
    let reflected = Join { proof, ..join };
    other
        .wire
        .connection
        .send_datagram(reflected.write())
        .unwrap();
    other.wire.connection.closed().await;
    is_told(&world, &other).await;
    assert!(seen.wire.connection.close_reason().is_none());
}

#[tokio::test]
async fn a_session_that_has_ended_gets_no_paths() {
    let world = World::new().await;
    let (near, far) = meet(&world.client, &world.server).await;
    let (sessions, late) = (&world.server.registry().sessions, bond(&near));
    while sessions.len() < 2 {
        tokio::task::yield_now().await;
    }
    near.close(0, "");
    far.closed().await;
    while sessions.len() > 1 {
        tokio::task::yield_now().await;
    }
    is_refused(&world, &world.beside(&world.near).await, &late).await;
}

#[tokio::test]
async fn what_comes_before_the_proof_is_dropped() {
    let world = World::new().await;
    let link = world.beside(&world.near).await;
    // A CLOSE, a HELLO, and no kind at all.
    for datagram in [
        &b"\x06\x00\x00bye"[..],
        b"\x05\x01\x03",
        b"\xff",
        b"",
        b"\x0c",
    ] {
        let sent = link
            .wire
            .connection
            .send_datagram(Bytes::copy_from_slice(datagram));
        sent.unwrap();
    }
    world.is_well().await;
    link.join(&bond(&world.near), 3).await.unwrap();
    let paths = world.far.paths();
    assert_eq!((paths.len(), paths[1].request.cost), (2, 3));
    // Its answer may have been lost.
    link.join(&bond(&world.near), 3).await.unwrap();
    assert_eq!(world.far.paths().len(), 2);
    assert_eq!(world.far.close_reason(), None);
}

#[tokio::test]
async fn nobody_joins_with_early_data() {
    let world = World::new().await;
    let (of, request) = (dialler(&world.near), PathRequest::default());
    let first = of.beside(&request, true).await.unwrap();
    first.join(&bond(&world.near), 0).await.unwrap();
    let again = loop {
        // Until a ticket has come.
        let again = of.beside(&request, true).await.unwrap();
        if again.is_early() {
            break again;
        }
        again.wire.connection.close(VarInt::from_u32(0), b"");
        tokio::task::yield_now().await;
    };
    let junk = Join {
        name: bond(&world.near).name,
        proof: [0; 32],
        cost: 0,
    };
    again.wire.connection.send_datagram(junk.write()).unwrap();
    let reason = again.end(again.wire.connection.closed().await);
    assert_eq!(reason, CloseReason::Refused(NO_SUCH_SESSION.to_owned()));
    assert_eq!(world.far.paths().len(), 2);
}

/// Connections that never ask to join take the places of handshakes, of which an address has few.
#[tokio::test]
async fn connections_that_never_join_are_bounded_and_keep_nobody_out() {
    let world = World::new().await;
    let (of, request) = (dialler(&world.near), PathRequest::default());
    let mut idle = Vec::new();
    let error = loop {
        match of.beside(&request, false).await {
            Ok(link) => idle.push(link),
            Err(error) => break error,
        }
        assert!(idle.len() < 64, "they are without bound");
    };
    assert!(error.to_string().contains("try again later"), "{error}");
    let elsewhere = "127.0.0.9".parse().unwrap();
    world.near.add_path(elsewhere).await.unwrap();
}

#[test]
fn a_join_is_read_only_whole() {
    let join = Join {
        name: [1; 16],
        proof: [2; 32],
        cost: 3,
    };
    let datagram = join.write();
    assert_eq!(datagram.len(), 50);
    let read = Join::read(&datagram).unwrap();
    assert_eq!(
        (read.name, read.proof, read.cost),
        (join.name, join.proof, 3)
    );
    for length in 0..datagram.len() {
        assert!(Join::read(&datagram[..length]).is_none(), "{length}");
    }
    assert!(Join::read(&[&datagram[..], b"x"].concat()).is_none());
}
