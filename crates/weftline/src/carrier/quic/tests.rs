use bytes::Bytes;
use weftline_proto::CloseReason;

use super::*;
use crate::{Congestion, ConnectError, Refusal};

const LOOPBACK: &str = "127.0.0.1:0";

fn bind(identity: &Identity, allowed: Allowed) -> Arc<Quic> {
    let config = EndpointConfig::default();
    let socket = UdpSocket::bind(LOOPBACK).unwrap();
    Arc::new(Quic::new(socket, identity.clone(), allowed, &config).unwrap())
}

/// What each end makes of a client that asks for `expected`.
async fn handshake(
    client: &Identity,
    server: &Identity,
    allowed: Allowed,
    expected: Fingerprint,
) -> (Result<Link, ConnectError>, Result<Link, Refusal>) {
    let server = bind(server, allowed);
    let client = bind(client, Allowed::nobody());
    let addr = server.local_addr().unwrap();
    let accept = async { server.knock().await.unwrap().open().await };
    tokio::join!(client.connect(addr, expected), accept)
}

#[tokio::test]
async fn both_ends_learn_who_the_other_is() {
    let (a, b) = (Identity::generate(), Identity::generate());
    let allowed = Allowed::only([a.fingerprint()]);
    let (client, server) = handshake(&a, &b, allowed, b.fingerprint()).await;
    let (client, server) = (client.unwrap(), server.unwrap());
    assert_eq!(client.peer(), b.fingerprint());
    assert_eq!(server.peer(), a.fingerprint());

    let mut datagrams = [Bytes::from_static(b"hello")].into();
    client.send(&mut datagrams).await.unwrap();
    assert!(datagrams.is_empty());
    let mut batch = Vec::new();
    server.recv(&mut batch, 8).await.unwrap();
    assert_eq!(batch, [&b"hello"[..]]);
    assert!(client.max_datagram() >= 1150, "{}", client.max_datagram());
}

#[tokio::test]
async fn a_client_whose_handshake_was_given_up_may_ask_again() {
    let (a, b) = (Identity::generate(), Identity::generate());
    let server = bind(&b, Allowed::anyone());
    let client = bind(&a, Allowed::nobody());
    let addr = server.local_addr().unwrap();
    let accept = async { drop(server.knock().await.unwrap().incoming.accept().unwrap()) };
    let (connected, ()) = tokio::join!(client.connect(addr, b.fingerprint()), accept);
    assert_eq!(connected.err(), Some(ConnectError::Busy { addr }));
}

#[tokio::test]
async fn a_server_with_another_key_is_not_talked_to() {
    let (a, b) = (Identity::generate(), Identity::generate());
    let expected = Identity::generate().fingerprint();
    let (client, server) = handshake(&a, &b, Allowed::anyone(), expected).await;
    match client.err().unwrap() {
        ConnectError::PeerMismatch {
            expected: wanted,
            got,
            ..
        } => assert_eq!((wanted, got), (expected, b.fingerprint())),
        other => panic!("{other}"),
    }
    // The server's side says what to compare, too.
    let told = server.err().unwrap().to_string();
    let what = format!("expects another peer than this one, {}", b.fingerprint());
    assert!(told.contains(&what), "{told}");
}

#[tokio::test]
async fn an_unknown_client_is_refused_and_named() {
    let (a, b) = (Identity::generate(), Identity::generate());
    let allowed = Allowed::only([Identity::generate().fingerprint()]);
    let (client, server) = handshake(&a, &b, allowed, b.fingerprint()).await;
    match server.err().unwrap() {
        Refusal::UnknownPeer { peer, .. } => assert_eq!(peer, a.fingerprint()),
        other => panic!("{other}"),
    }
    // TLS 1.3 clients are done before the server has looked at their key.
    let link = client.unwrap();
    assert!(link.recv(&mut Vec::new(), 1).await.is_err());
    let addr = LOOPBACK.parse().unwrap();
    let ours = a.fingerprint();
    assert_eq!(
        link.connect_error(addr),
        Some(ConnectError::Refused { addr, ours })
    );
}

#[tokio::test]
async fn showing_the_key_of_an_allowed_client_is_not_enough() {
    let (friend, b) = (Identity::generate(), Identity::generate());
    let thief = Identity::generate().pretending_to_be(&friend);
    let allowed = Allowed::only([friend.fingerprint()]);
    let (client, server) = handshake(&thief, &b, allowed, b.fingerprint()).await;
    let refusal = server.err().unwrap().to_string();
    assert!(refusal.contains("BadSignature"), "{refusal}");
    assert!(client.unwrap().recv(&mut Vec::new(), 1).await.is_err());
}

#[tokio::test]
async fn showing_the_key_of_the_server_is_not_enough() {
    let (a, victim) = (Identity::generate(), Identity::generate());
    let thief = Identity::generate().pretending_to_be(&victim);
    let (client, server) = handshake(&a, &thief, Allowed::anyone(), victim.fingerprint()).await;
    let error = client.err().unwrap();
    assert!(matches!(error, ConnectError::NotWeftline { .. }), "{error}");
    assert!(error.to_string().contains("BadSignature"), "{error}");
    assert!(server.is_err());
}

#[tokio::test]
async fn the_code_and_reason_of_a_close_arrive_after_what_was_sent() {
    let (a, b) = (Identity::generate(), Identity::generate());
    let (client, server) = handshake(&a, &b, Allowed::anyone(), b.fingerprint()).await;
    let (client, server) = (client.unwrap(), server.unwrap());
    let mut datagrams = vec![Bytes::from_static(&[7; 1000]); 4].into();
    client.send(&mut datagrams).await.unwrap();
    client.close(42, "done").await;
    let mut batch = Vec::new();
    let reason = loop {
        if let Err(reason) = server.recv(&mut batch, 8).await {
            break reason;
        }
    };
    let code = 42;
    let words = "done".to_owned();
    assert_eq!(
        reason,
        CloseReason::Peer {
            code,
            reason: words
        }
    );
    assert_eq!(batch.len(), 4);
}

#[tokio::test]
async fn a_repair_symbol_shares_no_packet_with_what_it_repairs() {
    const ROUNDS: usize = 10;
    /// First bytes of datagrams of the engine.
    const SOURCE: u8 = 1;
    const REPAIR: u8 = 2;
    let (a, b) = (Identity::generate(), Identity::generate());
    let (client, server) = handshake(&a, &b, Allowed::anyone(), b.fingerprint()).await;
    let (client, server) = (client.unwrap(), server.unwrap());
    let mut sent = Vec::new();
    for kinds in [[SOURCE, SOURCE], [SOURCE, REPAIR]] {
        let before = client.packets().sent;
        for _ in 0..ROUNDS {
            let mut datagrams = kinds.map(|kind| Bytes::from(vec![kind; 100])).into();
            client.send(&mut datagrams).await.unwrap();
            let mut batch = Vec::new();
            while batch.len() < kinds.len() {
                server.recv(&mut batch, kinds.len()).await.unwrap();
            }
            assert!(batch.iter().map(|datagram| datagram[0]).eq(kinds));
        }
        sent.push(client.packets().sent - before);
    }
    assert!(
        sent[0] < 2 * ROUNDS as u64 && sent[1] >= 2 * ROUNDS as u64,
        "{sent:?}"
    );
}

#[tokio::test]
async fn an_endpoint_that_nothing_would_limit_is_refused() {
    let mut config = EndpointConfig {
        congestion: Some(Congestion::Engine),
        ..EndpointConfig::default()
    };
    config.session.rate = weftline_proto::RateControl::Carrier;
    let socket = UdpSocket::bind(LOOPBACK).unwrap();
    let result = Quic::new(socket, Identity::generate(), Allowed::nobody(), &config);
    assert!(matches!(result.err(), Some(BindError::Unlimited)));
}

#[test]
fn the_longest_protocol_name_fits_tls() {
    let longest = "x".repeat(244);
    let alpn = tls::alpn(std::slice::from_ref(&longest));
    assert_eq!(alpn[0].len(), 255);
    assert_eq!(tls::application(&alpn[0]), Some(longest));
    assert_eq!(tls::alpn(&[]), [b"weftline/1".to_vec()]);
    assert_eq!(tls::application(b"weftline/1"), None);
    assert_eq!(tls::application(b"weftline/10"), None);
}
