//! What changes while an endpoint runs: its socket, and the rule that says which peers may connect.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use weftline::{Allowed, CloseReason, ConnectError, Endpoint, Identity};

use crate::{any, config, pattern, quic, soon};

#[tokio::test]
async fn a_client_moves_to_another_socket_and_its_connection_goes_along() {
    let (server, client) = (
        quic(Allowed::anyone(), config()),
        quic(Allowed::nobody(), config()),
    );
    let connecting = client.connect(server.local_addr().unwrap(), server.fingerprint());
    let (near, far) = soon(async { tokio::join!(connecting, server.accept()) }).await;
    let (near, far) = (near.unwrap(), far.unwrap());
    let before = client.local_addr().unwrap();
    assert_eq!(far.remote_addr(), before);

    client
        .rebind(std::net::UdpSocket::bind(any()).unwrap())
        .unwrap();
    let after = client.local_addr().unwrap();
    assert_ne!(after, before);
    let data = pattern(300_000, 1);
    let mut out = soon(near.open_stream()).await.unwrap();
    soon(out.write_all(&data)).await.unwrap();
    out.finish().unwrap();
    let mut back = Vec::new();
    let mut stream = soon(far.accept_stream()).await.unwrap();
    soon(stream.read_to_end(&mut back)).await.unwrap();
    assert!(back == data);
    assert_eq!(far.remote_addr(), after);
}

#[tokio::test]
async fn the_rule_for_peers_is_replaced_while_the_endpoint_runs() {
    let mut short = config();
    short.connect_timeout = Duration::from_millis(500);
    let server = quic(Allowed::nobody(), config());
    let client = quic(Allowed::nobody(), short);
    let (addr, peer) = (server.local_addr().unwrap(), server.fingerprint());
    let connect = || client.connect(addr, peer);
    assert!(soon(server.accept()).await.is_none());
    let error = soon(connect()).await.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");

    let ours = client.fingerprint();
    server.set_allowed(Allowed::only([ours])).unwrap();
    let (near, far) = soon(async { tokio::join!(connect(), server.accept()) }).await;
    let (near, far) = (near.unwrap(), far.unwrap());

    let other = Identity::generate().fingerprint();
    let rule = Allowed::from_fn(move |peer| *peer == other);
    server.set_allowed(rule).unwrap();
    let error = soon(connect()).await.unwrap_err();
    assert_eq!(error, ConnectError::Refused { addr, ours });
    // What is open stays open.
    near.send_message("still here", None).await.unwrap();
    soon(far.recv_message()).await.unwrap();

    // Who waits for a peer learns that none will come.
    let accept = {
        let server = server.clone();
        tokio::spawn(async move { server.accept().await })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.set_allowed(Allowed::nobody()).unwrap();
    assert!(soon(accept).await.unwrap().is_none());
}

#[tokio::test]
async fn a_ticket_does_not_outlive_the_rule_that_gave_it() {
    let mut config = config();
    config.early_data = true;
    let server = quic(Allowed::anyone(), config.clone());
    let client = quic(Allowed::nobody(), config.clone());
    let (addr, peer) = (server.local_addr().unwrap(), server.fingerprint());
    let connecting = client.connect(addr, peer);
    let (near, far) = soon(async { tokio::join!(connecting, server.accept()) }).await;
    let (near, _far) = (near.unwrap(), far.unwrap());
    while !config.known_peers.has_ticket(&peer) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    near.close(0, "");
    let other = Identity::generate().fingerprint();
    server.set_allowed(Allowed::only([other])).unwrap();
    let error = soon(client.connect(addr, peer)).await.unwrap_err();
    let ours = client.fingerprint();
    assert_eq!(error, ConnectError::Refused { addr, ours });
}

#[test]
fn a_server_that_was_killed_and_restarted_is_noticed_before_the_idle_timeout() {
    let identity = Identity::generate();
    let bind = |addr| Endpoint::bind(addr, identity.clone(), Allowed::anyone(), config()).unwrap();
    let first = Runtime::new().unwrap();
    let server = {
        let _inside = first.enter();
        bind(any())
    };
    let (addr, peer) = (server.local_addr().unwrap(), server.fingerprint());
    let accepted = first.spawn(async move { server.accept().await.map(|far| (server, far)) });

    let here = Runtime::new().unwrap();
    here.block_on(async {
        let client = quic(Allowed::nobody(), config());
        let near = soon(client.connect(addr, peer)).await.unwrap();
        let held = soon(accepted).await.unwrap().unwrap();
        // As a process that is killed: nothing is said, because nothing runs that could say it.
        tokio::task::spawn_blocking(move || {
            first.shutdown_timeout(Duration::from_secs(5));
            drop(held);
        })
        .await
        .unwrap();
        let again = bind(addr);
        let chatter = async {
            while near.send_message("are you there?", None).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (reason, ()) = soon(async { tokio::join!(near.closed(), chatter) }).await;
        assert!(
            matches!(&reason, CloseReason::Refused(why) if why.contains("no longer knows")),
            "{reason}"
        );
        // The idle timeout is longer than this test's patience.
        soon(client.connect(addr, again.fingerprint()))
            .await
            .unwrap();
    });
}

#[tokio::test]
async fn a_new_key_counts_from_the_next_handshake_on() {
    // With tickets: they are worth nothing with the new key.
    let mut again = config();
    again.early_data = true;
    let server = quic(Allowed::anyone(), again.clone());
    let client = quic(Allowed::nobody(), again);
    let (addr, old) = (server.local_addr().unwrap(), server.fingerprint());
    let (near, far) =
        soon(async { tokio::join!(client.connect(addr, old), server.accept()) }).await;
    let (near, far) = (near.unwrap(), far.unwrap());

    let identity = Identity::generate();
    let new = identity.fingerprint();
    server.set_identity(identity).unwrap();
    assert_eq!(server.fingerprint(), new);
    let error = soon(client.connect(addr, old)).await.unwrap_err();
    assert!(
        matches!(error, ConnectError::PeerMismatch { .. }),
        "{error}"
    );
    soon(client.connect(addr, new)).await.unwrap();
    // What is open stays open.
    near.send_message("still here", None).await.unwrap();
    soon(far.recv_message()).await.unwrap();
}
