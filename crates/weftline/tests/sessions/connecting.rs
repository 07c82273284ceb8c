use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::{
    Allowed, BindError, ConnectError, Endpoint, EndpointConfig, Identity, InsecureEndpoint, Refusal,
};

use crate::{Either, Kind, Pair, any, bind, config, quic, soon};

#[tokio::test]
async fn both_ends_know_each_other_on_quic() {
    let pair = Pair::new(Kind::Quic).await;
    assert_eq!(pair.client.peer(), pair.server_endpoint.fingerprint());
    assert_eq!(pair.server.peer(), pair.client_endpoint.fingerprint());
    let addr = pair.client_endpoint.local_addr().unwrap();
    assert_eq!(pair.server.remote_addr(), addr);
}

#[tokio::test]
async fn nobody_knows_anybody_on_plain_udp() {
    let pair = Pair::new(Kind::Udp).await;
    assert_eq!((pair.client.peer(), pair.server.peer()), (None, None));
}

#[tokio::test]
async fn an_ipv6_endpoint_serves_an_ipv4_client_under_its_ipv4_address() {
    for kind in [Kind::Quic, Kind::Udp] {
        let any = "[::]:0".parse().unwrap();
        let bound = match kind {
            Kind::Quic => Endpoint::bind(any, Identity::generate(), Allowed::anyone(), config())
                .map(Either::Quic),
            Kind::Udp => InsecureEndpoint::bind(any, config()).map(Either::Udp),
        };
        let server = match bound {
            Ok(server) => server,
            Err(error) => return weftline_testkit::unable("ipv6", &error.to_string()),
        };
        let client = bind(kind, Allowed::nobody(), config());
        let port = server.local_addr().unwrap().port();
        let addr = format!("127.0.0.1:{port}").parse().unwrap();
        let connect = client.connect(addr, &server);
        let (near, far) = soon(async { tokio::join!(connect, server.accept()) }).await;
        assert_eq!(near.unwrap().remote_addr(), addr);
        assert!(far.unwrap().remote_addr().is_ipv4());
    }
}

#[tokio::test]
async fn the_wrong_server_is_named_with_both_fingerprints() {
    let server = quic(Allowed::anyone(), config());
    let client = quic(Allowed::nobody(), config());
    let addr = server.local_addr().unwrap();
    let expected = Identity::generate().fingerprint();
    let error = soon(client.connect(addr, expected)).await.unwrap_err();
    let got = server.fingerprint();
    assert_eq!(
        error,
        ConnectError::PeerMismatch {
            addr,
            expected,
            got
        }
    );
    let text = error.to_string();
    assert!(text.contains(&expected.to_string()) && text.contains(&got.to_string()));
}

#[tokio::test]
async fn an_unknown_client_is_refused_and_both_ends_learn_its_fingerprint() {
    let known = Identity::generate();
    let server = quic(Allowed::only([known.fingerprint()]), config());
    let stranger = quic(Allowed::nobody(), config());
    let addr = server.local_addr().unwrap();
    let peer = server.fingerprint();
    let ours = stranger.fingerprint();

    let error = soon(stranger.connect(addr, peer)).await.unwrap_err();
    assert_eq!(error, ConnectError::Refused { addr, ours });
    let refusal = soon(server.refused()).await.unwrap();
    let from = stranger.local_addr().unwrap();
    assert_eq!(
        refusal,
        Refusal::UnknownPeer {
            peer: ours,
            addr: from
        }
    );

    let friend = Endpoint::bind(any(), known, Allowed::nobody(), config()).unwrap();
    soon(friend.connect(addr, peer)).await.unwrap();
}

#[tokio::test]
async fn nobody_listening_is_a_timeout_that_says_how_long() {
    let mut short = config();
    short.connect_timeout = Duration::from_secs(1);
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap();
    let client = quic(Allowed::nobody(), short.clone());
    let anyone = Identity::generate().fingerprint();
    let error = soon(client.connect(addr, anyone)).await.unwrap_err();
    assert_eq!(error, ConnectError::TimedOut { addr, seconds: 1 });
    let client = InsecureEndpoint::bind(any(), short).unwrap();
    let error = soon(client.connect(addr)).await.unwrap_err();
    assert_eq!(error, ConnectError::TimedOut { addr, seconds: 1 });
    soon(client.wait_idle()).await;
}

#[tokio::test]
async fn an_endpoint_that_allows_nobody_does_not_answer() {
    let mut short = config();
    short.connect_timeout = Duration::from_millis(500);
    let quiet = quic(Allowed::nobody(), config());
    let client = quic(Allowed::nobody(), short);
    let peer = quiet.fingerprint();
    let addr = quiet.local_addr().unwrap();
    let error = soon(client.connect(addr, peer)).await.unwrap_err();
    assert!(matches!(error, ConnectError::TimedOut { .. }), "{error}");
    assert!(soon(quiet.accept()).await.is_none());
}

#[tokio::test]
async fn a_full_server_says_so() {
    let mut one = config();
    one.max_sessions = 1;
    let server = quic(Allowed::anyone(), one);
    let mut short = config();
    short.connect_timeout = Duration::from_secs(1);
    let client = quic(Allowed::nobody(), short);
    let addr = server.local_addr().unwrap();
    let peer = server.fingerprint();
    let first = soon(client.connect(addr, peer)).await.unwrap();
    let served = soon(server.accept()).await.unwrap();
    let error = soon(client.connect(addr, peer)).await.unwrap_err();
    assert_eq!(error, ConnectError::Busy { addr });
    let refusal = soon(server.refused()).await.unwrap();
    assert!(matches!(refusal, Refusal::Full { .. }), "{refusal}");

    first.close(0, "");
    soon(served.closed()).await;
    soon(server.wait_idle()).await;
    soon(client.connect(addr, peer)).await.unwrap();
}

#[tokio::test]
async fn a_closed_endpoint_neither_connects_nor_accepts() {
    let server = quic(Allowed::anyone(), config());
    server.close(0, "");
    assert!(soon(server.accept()).await.is_none());
    let addr = "127.0.0.1:9".parse().unwrap();
    let peer = Identity::generate().fingerprint();
    let error = soon(server.connect(addr, peer)).await.unwrap_err();
    assert_eq!(error, ConnectError::EndpointClosed);
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let taken = quic(Allowed::nobody(), config());
    let addr = taken.local_addr().unwrap();
    let error = InsecureEndpoint::bind(addr, config()).unwrap_err();
    assert!(matches!(error, BindError::Socket { .. }));
    assert!(error.to_string().contains(&addr.to_string()), "{error}");
}

#[test]
fn binding_outside_a_runtime_is_an_error_and_no_panic() {
    let addr = "127.0.0.1:0".parse().unwrap();
    let config = EndpointConfig::default();
    let error = InsecureEndpoint::bind(addr, config.clone()).unwrap_err();
    assert!(matches!(error, BindError::NoRuntime));
    let error = Endpoint::bind(addr, Identity::generate(), Allowed::nobody(), config).unwrap_err();
    assert!(matches!(error, BindError::NoRuntime));
}

#[tokio::test]
async fn garbage_sent_to_a_port_does_no_harm() {
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        let addr = pair.server_endpoint.local_addr().unwrap();
        let stranger = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for len in [0, 1, 7, 8, 9, 30, 1200, 9000] {
            for seed in 0..20 {
                let garbage = crate::pattern(len, seed);
                stranger.send_to(&garbage, addr).await.unwrap();
            }
        }
        let message = &b"still here"[..];
        pair.client.send_message(message, None).await.unwrap();
        let message = soon(pair.server.recv_message()).await.unwrap();
        assert_eq!(message.data, b"still here"[..]);
    }
}

#[tokio::test]
async fn what_is_written_before_the_peer_has_accepted_arrives() {
    let server = quic(Allowed::anyone(), config());
    let client = quic(Allowed::nobody(), config());
    let addr = server.local_addr().unwrap();
    let peer = server.fingerprint();
    let early = soon(client.connect(addr, peer).early()).await.unwrap();
    let mut stream = early.open_stream().await.unwrap();
    stream.write_all(b"at once").await.unwrap();
    stream.finish().unwrap();
    let accepted = soon(server.accept()).await.unwrap();
    let mut incoming = soon(accepted.accept_stream()).await.unwrap();
    let mut text = String::new();
    soon(incoming.read_to_string(&mut text)).await.unwrap();
    assert_eq!(text, "at once");
}

#[tokio::test]
async fn over_plain_udp_data_leave_before_anybody_has_answered() {
    let silent = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let client = InsecureEndpoint::bind(any(), config()).unwrap();
    let connecting = client.connect(silent.local_addr().unwrap());
    let early = soon(connecting.early()).await.unwrap();
    let mut stream = early.open_stream().await.unwrap();
    stream.write_all(b"at once").await.unwrap();
    let mut buffer = [0; 2000];
    // HELLO first; each has the session's id before it.
    let mut kinds = Vec::new();
    while kinds.last() != Some(&1) {
        let length = soon(silent.recv(&mut buffer)).await.unwrap();
        kinds.push(buffer[8]);
        if buffer[8] == 1 {
            assert!(buffer[..length].ends_with(b"at once"));
        }
    }
    assert_eq!(kinds[0], 5);
    client.close(0, "");
    soon(client.wait_idle()).await;
}

#[tokio::test]
async fn who_connected_early_and_is_refused_learns_it() {
    let server = quic(Allowed::nobody(), config());
    let listening = quic(Allowed::only([server.fingerprint()]), config());
    let client = quic(Allowed::nobody(), config());
    let addr = listening.local_addr().unwrap();
    let peer = listening.fingerprint();
    if let Ok(early) = soon(client.connect(addr, peer).early()).await {
        soon(early.closed()).await;
        assert!(early.open_stream().await.is_err());
    }
}

#[tokio::test]
async fn a_contradictory_configuration_is_refused_at_bind() {
    let mut config = EndpointConfig::default();
    config.session.send_buffer = 0;
    let error = InsecureEndpoint::bind(any(), config.clone()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("send_buffer = 0 is out of range"),
        "{error}"
    );
    let identity = Identity::generate();
    let error = Endpoint::bind(any(), identity, Allowed::nobody(), config).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("send_buffer = 0 is out of range"),
        "{error}"
    );
    let mut named = EndpointConfig::default();
    named.application_protocols = vec!["chat".to_owned()];
    let error = InsecureEndpoint::bind(any(), named).unwrap_err();
    let BindError::Invalid { field, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(field, "application_protocols");
}

#[tokio::test]
async fn on_plain_udp_nobody_is_not_one_who_vanished() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap();
    let mut config = config();
    config.session.idle_timeout = Duration::from_secs(1);
    config.session.keep_alive = None;
    let client = InsecureEndpoint::bind(any(), config).unwrap();
    let error = soon(client.connect(addr)).await.unwrap_err();
    assert_eq!(error, ConnectError::TimedOut { addr, seconds: 1 });
}

#[tokio::test]
async fn an_attempt_that_is_dropped_leaves_nothing_behind() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap();
    let client = InsecureEndpoint::bind(any(), config()).unwrap();
    let attempt = tokio::time::timeout(Duration::from_millis(50), client.connect(addr));
    assert!(attempt.await.is_err());
    soon(client.wait_idle()).await;
}

#[tokio::test]
async fn sockets_that_are_bound_already_serve() {
    let socket = || std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (identity, listening) = (Identity::generate(), socket());
    let addr = listening.local_addr().unwrap();
    let server = Endpoint::from_socket(listening, identity, Allowed::anyone(), config()).unwrap();
    assert_eq!(server.local_addr().unwrap(), addr);
    let nobody = Allowed::nobody();
    let client = Endpoint::from_socket(socket(), Identity::generate(), nobody, config()).unwrap();
    let connecting = client.connect(addr, server.fingerprint());
    let (near, far) = soon(async { tokio::join!(connecting, server.accept()) }).await;
    assert!(near.is_ok() && far.is_some());

    let listening = socket();
    let addr = listening.local_addr().unwrap();
    let server = InsecureEndpoint::from_socket(listening, config()).unwrap();
    let client = InsecureEndpoint::from_socket(socket(), config()).unwrap();
    let connecting = client.connect(addr);
    let (near, far) = soon(async { tokio::join!(connecting, server.accept()) }).await;
    assert!(near.is_ok() && far.is_some());
}
