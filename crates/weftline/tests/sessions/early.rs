//! Data in the first packets of a peer that was here before, and who else could send it.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use weftline::{
    Allowed, ConnectError, Connection, Endpoint, EndpointConfig, Identity, Refusal, Stream,
};

use crate::tap::Tap;
use crate::{any, config, pattern, soon};

/// Longer than what should happen takes here.
const A_WHILE: Duration = Duration::from_millis(300);

fn early() -> EndpointConfig {
    let mut config = config();
    config.early_data = true;
    config
}

fn serve(at: SocketAddr, identity: &Identity, config: EndpointConfig) -> Endpoint {
    Endpoint::bind(at, identity.clone(), Allowed::anyone(), config).unwrap()
}

/// A server, a client that it knows, and what sits between them.
struct Known {
    identity: Identity,
    server: Endpoint,
    client: Endpoint,
    tap: Tap,
}

impl Known {
    async fn with(config: EndpointConfig) -> Known {
        let identity = Identity::generate();
        let server = serve(any(), &identity, config.clone());
        let tap = Tap::new(server.local_addr().unwrap());
        let client = Endpoint::bind(any(), Identity::generate(), Allowed::nobody(), config);
        let known = Known {
            client: client.unwrap(),
            identity,
            server,
            tap,
        };
        known.meet().await;
        known.tap.record();
        known
    }

    /// A whole session: the client has tickets after it.
    async fn meet(&self) {
        let peer = self.identity.fingerprint();
        let connecting = self.client.connect(self.tap.addr, peer);
        let (near, far) = soon(async { tokio::join!(connecting, self.server.accept()) }).await;
        let (near, far) = (near.unwrap(), far.unwrap());
        exchange(&near, &far, &pattern(5000, 1)).await;
        near.close(0, "");
        soon(far.closed()).await;
        soon(self.client.wait_idle()).await;
    }

    /// A session that begins with `data` as early as can be; it need not be answered.
    async fn begin(&self, data: &[u8]) -> (Connection, Stream) {
        let peer = self.identity.fingerprint();
        let near = soon(self.client.connect(self.tap.addr, peer).early()).await;
        let near = near.unwrap();
        let mut stream = soon(near.open_stream()).await.unwrap();
        soon(stream.write_all(data)).await.unwrap();
        stream.finish().unwrap();
        (near, stream)
    }
}

async fn exchange(near: &Connection, far: &Connection, data: &[u8]) {
    let mut out = soon(near.open_stream()).await.unwrap();
    soon(out.write_all(data)).await.unwrap();
    out.finish().unwrap();
    assert_eq!(read(far).await, data);
}

/// All of the next stream.
async fn read(connection: &Connection) -> Vec<u8> {
    let mut stream = soon(connection.accept_stream()).await.unwrap();
    let mut got = Vec::new();
    soon(stream.read_to_end(&mut got)).await.unwrap();
    got
}

#[tokio::test]
async fn a_known_peer_is_understood_before_it_has_heard_anything() {
    let config = early();
    let known = Known::with(config.clone()).await;
    assert!(config.known_peers.has_ticket(&known.identity.fingerprint()));
    known.tap.close_back(true);
    let data = pattern(20_000, 2);
    let (near, stream) = known.begin(&data).await;
    let far = soon(known.server.accept()).await.unwrap();
    assert_eq!(far.peer(), Some(known.client.fingerprint()));
    assert_eq!(read(&far).await, data);
    assert!(timeout(A_WHILE, far.confirmed()).await.is_err());
    assert!(timeout(A_WHILE, near.confirmed()).await.is_err());

    known.tap.close_back(false);
    soon(near.confirmed()).await.unwrap();
    soon(far.confirmed()).await.unwrap();
    soon(stream.finished()).await.unwrap();
    exchange(&near, &far, &pattern(300_000, 3)).await;
    exchange(&far, &near, &pattern(300_000, 4)).await;
}

#[tokio::test]
async fn nothing_is_sent_early_unless_both_ends_want_it() {
    for (server, client) in [
        (config(), early()),
        (early(), config()),
        (config(), config()),
    ] {
        let identity = Identity::generate();
        let known = Known {
            server: serve(any(), &identity, server),
            client: Endpoint::bind(any(), Identity::generate(), Allowed::nobody(), client).unwrap(),
            tap: Tap::new(any()),
            identity,
        };
        let known = Known {
            tap: Tap::new(known.server.local_addr().unwrap()),
            ..known
        };
        known.meet().await;
        known.tap.close_back(true);
        let peer = known.identity.fingerprint();
        let connecting = known.client.connect(known.tap.addr, peer).early();
        assert!(timeout(A_WHILE, connecting).await.is_err());
    }
}

#[tokio::test]
async fn what_a_server_that_forgot_refuses_arrives_once_after_the_handshake() {
    let known = Known::with(early()).await;
    let at = known.server.local_addr().unwrap();
    known.server.close(0, "");
    soon(known.server.wait_idle()).await;
    drop(known.server);
    let server = loop {
        // The port is free a moment later.
        match Endpoint::bind(at, known.identity.clone(), Allowed::anyone(), early()) {
            Ok(server) => break server,
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    };
    let known = Known { server, ..known };

    known.tap.close_back(true);
    let data = pattern(60_000, 5);
    let (near, stream) = known.begin(&data).await;
    // All of it has gone early, and in vain.
    assert!(timeout(A_WHILE, known.server.accept()).await.is_err());
    known.tap.close_back(false);
    let far = soon(known.server.accept()).await.unwrap();
    assert_eq!(read(&far).await, data);
    soon(stream.finished()).await.unwrap();
    soon(near.confirmed()).await.unwrap();
    exchange(&near, &far, &pattern(100_000, 6)).await;
    assert!(timeout(A_WHILE, far.accept_stream()).await.is_err());
}

#[tokio::test]
async fn a_recording_is_not_understood_after_the_original() {
    let known = Known::with(early()).await;
    let (near, stream) = known.begin(&pattern(3000, 7)).await;
    let far = soon(known.server.accept()).await.unwrap();
    soon(stream.finished()).await.unwrap();
    let packets = known.tap.recorded();
    near.close(0, "");
    soon(far.closed()).await;
    soon(known.server.wait_idle()).await;
    known.tap.replay(&packets).await;
    assert!(timeout(A_WHILE, known.server.accept()).await.is_err());
}

#[tokio::test]
async fn a_recording_that_comes_first_takes_the_originals_place() {
    let mut short = early();
    short.connect_timeout = A_WHILE;
    let known = Known::with(short).await;
    known.tap.close_there(true);
    let data = pattern(3000, 8);
    let (near, _stream) = known.begin(&data).await;
    sleep(Duration::from_millis(50)).await;
    let packets = known.tap.recorded();
    known.tap.replay(&packets).await;
    let far = soon(known.server.accept()).await.unwrap();
    assert_eq!(read(&far).await, data);
    // Nobody is there to end the handshake.
    assert!(soon(far.confirmed()).await.is_err());
    assert!(soon(near.confirmed()).await.is_err());

    // The thief's connection is gone now, and the original comes at last.
    soon(known.server.wait_idle()).await;
    known.tap.replay(&packets).await;
    match soon(known.server.refused()).await.unwrap() {
        Refusal::Handshake { reason, .. } => assert!(reason.contains("before"), "{reason}"),
        other => panic!("{other}"),
    }
    assert!(timeout(A_WHILE, known.server.accept()).await.is_err());
}

#[tokio::test]
async fn tickets_prove_nothing_to_a_server_with_another_key() {
    let known = Known::with(early()).await;
    let impostor = Identity::generate();
    let server = serve(any(), &impostor, early());
    let peer = known.identity.fingerprint();
    let addr = server.local_addr().unwrap();
    let error = soon(known.client.connect(addr, peer)).await.unwrap_err();
    let (expected, got) = (peer, impostor.fingerprint());
    assert_eq!(
        error,
        ConnectError::PeerMismatch {
            addr,
            expected,
            got
        }
    );
}

#[tokio::test]
async fn another_identity_has_no_use_of_tickets_in_the_same_memory() {
    let config = early();
    let known = Known::with(config.clone()).await;
    let other = Identity::generate();
    let client = Endpoint::bind(any(), other.clone(), Allowed::nobody(), config).unwrap();
    let known = Known { client, ..known };
    let connecting = known.begin(b"hello");
    let (begun, far) = soon(async { tokio::join!(connecting, known.server.accept()) }).await;
    let far = far.unwrap();
    assert_eq!(far.peer(), Some(other.fingerprint()));
    assert_eq!(read(&far).await, b"hello");
    soon(begun.1.finished()).await.unwrap();
}

#[tokio::test]
async fn a_first_packet_that_is_lost_is_there_all_the_same() {
    let known = Known::with(early()).await;
    known.tap.close_there(true);
    let data = pattern(3000, 9);
    let (_near, stream) = known.begin(&data).await;
    // The copy follows ten milliseconds later.
    let three = async {
        loop {
            let packets = known.tap.recorded();
            let copies = |p: &&Vec<u8>| packets.first() == Some(*p);
            if packets.iter().filter(copies).count() == 3 {
                return packets;
            }
            sleep(Duration::from_millis(1)).await;
        }
    };
    let packets = soon(three).await;
    // The first is lost, its copy and what came behind that are not.
    known.tap.close_there(false);
    known.tap.pass(&packets[1..]);
    let far = soon(known.server.accept()).await.unwrap();
    assert_eq!(read(&far).await, data);
    soon(stream.finished()).await.unwrap();
}
