//! Peers that are not allowed, and what they may ask for all the same.

use std::time::Duration;

use weftline::{Allowed, BindError, ConnectError, Connection, Endpoint, Identity};

use crate::{any, config, quic, soon};

const MEET: &str = "meet/1";

/// A server that knows this peer, and is open to all others for [`MEET`].
fn open(known: &Identity) -> Endpoint {
    let allowed = Allowed::only([known.fingerprint()]);
    quic(allowed.and_strangers_for(MEET), config())
}

fn stranger(protocols: &[&str]) -> Endpoint {
    let mut config = config();
    config.application_protocols = protocols.iter().map(|p| (*p).to_owned()).collect();
    quic(Allowed::nobody(), config)
}

async fn met(server: &Endpoint) -> Connection {
    soon(server.accept_stranger()).await.unwrap()
}

#[tokio::test]
async fn a_stranger_gets_what_is_open_to_strangers_and_nothing_else() {
    let known = Identity::generate();
    let server = open(&known);
    let (addr, peer) = (server.local_addr().unwrap(), server.fingerprint());
    let client = stranger(&[]);
    let near = soon(client.connect_stranger(addr, MEET)).await.unwrap();
    let far = met(&server).await;
    assert_eq!(near.peer(), Some(peer));
    assert_eq!(far.peer(), Some(client.fingerprint()));
    assert_eq!(far.application_protocol().as_deref(), Some(MEET));
    let keys = [&near, &far].map(|end| {
        let mut keys = [0; 32];
        end.export_keying_material(&mut keys, b"test", b"").unwrap();
        keys
    });
    assert_eq!(keys[0], keys[1]);
    // Not the application, nor this protocol beside it, nor another one.
    let ours = client.fingerprint();
    let refused = soon(client.connect(addr, peer)).await.unwrap_err();
    assert_eq!(refused, ConnectError::Refused { addr, ours });
    for protocols in [&[MEET, "chat/1"][..], &["chat/1", MEET]] {
        let refused = soon(stranger(protocols).connect(addr, peer)).await;
        let refused = refused.unwrap_err();
        assert!(matches!(refused, ConnectError::Refused { .. }), "{refused}");
    }
    let other = soon(client.connect_stranger(addr, "chat/1")).await;
    let other = other.unwrap_err();
    assert_eq!(other, ConnectError::ApplicationProtocol { addr });
    // However it asks for it, its connection is a stranger's.
    let near = soon(stranger(&[MEET]).connect(addr, peer)).await;
    assert!(near.is_ok());
    met(&server).await;
    let friend = Endpoint::bind(any(), known, Allowed::nobody(), config()).unwrap();
    let near = soon(friend.connect_stranger(addr, MEET)).await;
    assert!(near.is_ok());
    assert_eq!(met(&server).await.peer(), Some(friend.fingerprint()));
    // Of all these, none has come to the application.
    let _near = soon(friend.connect(addr, peer)).await.unwrap();
    let first = soon(server.accept()).await.unwrap();
    assert_eq!(first.peer(), Some(friend.fingerprint()));
    assert_eq!(first.application_protocol(), None);
}

#[tokio::test]
async fn strangers_are_refused_as_soon_as_nothing_is_open_to_them() {
    let known = Identity::generate();
    let server = open(&known);
    let addr = server.local_addr().unwrap();
    let client = stranger(&[]);
    let _near = soon(client.connect_stranger(addr, MEET)).await.unwrap();
    met(&server).await;
    let closed = Allowed::only([known.fingerprint()]);
    server.set_allowed(closed).unwrap();
    let refused = soon(client.connect_stranger(addr, MEET)).await.unwrap_err();
    assert_eq!(refused, ConnectError::ApplicationProtocol { addr });
}

#[tokio::test]
async fn strangers_take_no_places_of_peers() {
    let known = Identity::generate();
    let server = open(&known);
    let (addr, peer) = (server.local_addr().unwrap(), server.fingerprint());
    let mut open = Vec::new();
    for _ in 0..8 {
        let client = stranger(&[]);
        open.push(soon(client.connect_stranger(addr, MEET)).await.unwrap());
    }
    let mut hasty = config();
    hasty.connect_timeout = Duration::from_millis(300);
    let one_more = quic(Allowed::nobody(), hasty);
    let busy = soon(one_more.connect_stranger(addr, MEET)).await;
    assert!(busy.unwrap_err().is_retryable());
    let friend = Endpoint::bind(any(), known, Allowed::nobody(), config()).unwrap();
    soon(friend.connect(addr, peer)).await.unwrap();
}

#[tokio::test]
async fn what_strangers_may_ask_for_is_theirs_alone() {
    let mut config = config();
    config.application_protocols = vec!["chat/1".to_owned()];
    for name in ["", "chat/1", &"x".repeat(245)] {
        let allowed = Allowed::nobody().and_strangers_for(name);
        let refused = Endpoint::bind(any(), Identity::generate(), allowed, config.clone());
        let Err(BindError::Invalid { field, .. }) = refused else {
            panic!("{name:?}: {refused:?}");
        };
        assert_eq!(field, "and_strangers_for");
    }
}
