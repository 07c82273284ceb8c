//! Several paths under one connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::{
    Allowed, ConnectError, Connection, EndpointConfig, PathChange, PathError, PathEvent, PathId,
    PathRequest,
};

use crate::relay::Relay;
use crate::{Kind, Pair, any, config, pattern, quic, soon};

fn request(text: &str) -> PathRequest {
    text.parse().unwrap()
}

/// Waits for an event like this one.
async fn until(connection: &Connection, wanted: impl Fn(&PathEvent) -> bool) -> PathEvent {
    soon(async {
        loop {
            let event = connection.path_event().await.unwrap();
            if wanted(&event) {
                return event;
            }
        }
    })
    .await
}

/// Carries bytes from one end to the other.
async fn carry(from: &Connection, to: &Connection, bytes: usize) {
    let data = pattern(bytes, 7);
    let sending = async {
        let mut out = from.open_stream().await.unwrap();
        out.write_all(&data).await.unwrap();
        out.finish().unwrap();
        out.finished().await.unwrap();
    };
    let receiving = async {
        let mut back = Vec::new();
        let mut stream = to.accept_stream().await.unwrap();
        stream.read_to_end(&mut back).await.unwrap();
        back
    };
    let ((), back) = soon(async { tokio::join!(sending, receiving) }).await;
    assert!(back == data);
}

#[tokio::test]
async fn a_path_is_added_and_the_connection_goes_on_without_the_first_one() {
    let pair = Pair::new(Kind::Quic).await;
    let id = soon(pair.client.add_path(request("127.0.0.2")))
        .await
        .unwrap();
    assert_ne!(id, PathId::FIRST);
    until(&pair.server, |event| event.change == PathChange::Opened).await;
    let far = pair.server.paths();
    let remotes: Vec<String> = far
        .iter()
        .map(|path| path.remote.unwrap().ip().to_string())
        .collect();
    assert_eq!(remotes, ["127.0.0.1", "127.0.0.2"]);
    carry(&pair.client, &pair.server, 1_000_000).await;
    carry(&pair.server, &pair.client, 1_000_000).await;

    pair.client.remove_path(PathId::FIRST).unwrap();
    until(&pair.server, |event| event.change == PathChange::Removed).await;
    carry(&pair.client, &pair.server, 1_000_000).await;
    carry(&pair.server, &pair.client, 1_000_000).await;
    assert_eq!(pair.server.remote_addr().ip().to_string(), "127.0.0.2");
    assert_eq!(pair.client.remove_path(id), Err(PathError::Last(id)));
    assert_eq!(
        pair.client.remove_path(PathId::FIRST),
        Err(PathError::Unknown(PathId::FIRST))
    );
    pair.client.close(7, "done");
    let reason = soon(pair.server.closed()).await;
    assert!(reason.to_string().contains("done"), "{reason}");
    soon(pair.client_endpoint.wait_idle()).await;
    soon(pair.server_endpoint.wait_idle()).await;
}

#[tokio::test]
async fn the_end_that_accepted_adds_no_path_and_plain_udp_has_one() {
    let pair = Pair::new(Kind::Quic).await;
    let error = soon(pair.server.add_path(request("127.0.0.2"))).await;
    assert_eq!(error, Err(PathError::NotClient));
    let pair = Pair::new(Kind::Udp).await;
    let error = soon(pair.client.add_path(request("127.0.0.2"))).await;
    assert_eq!(error, Err(PathError::Insecure));
}

#[tokio::test]
async fn a_path_that_cannot_be_opened_says_why() {
    let pair = Pair::new(Kind::Quic).await;
    for (text, why) in [
        ("no-such-one", "no interface no-such-one"),
        ("::1", "one of the addresses is IPv4 and the other one IPv6"),
        ("192.0.2.1", "path 192.0.2.1: "),
    ] {
        let error = soon(pair.client.add_path(request(text))).await.unwrap_err();
        let is_address = matches!(error, PathError::Connect(ConnectError::Address { .. }));
        assert!(is_address && error.to_string().contains(why), "{error}");
    }
    assert_eq!(pair.client.paths().len(), 1);
    pair.client.close(0, "");
    let error = soon(pair.client.add_path(request("127.0.0.2"))).await;
    assert!(matches!(error, Err(PathError::Closed(_))), "{error:?}");
}

#[tokio::test]
async fn the_paths_of_a_configuration_are_opened_and_the_session_begins_on_one_that_is_there() {
    let server = quic(Allowed::anyone(), config());
    let mut with_paths = config();
    with_paths.paths = ["127.0.0.3,cost=2", "no-such-one", "127.0.0.2"]
        .map(request)
        .into();
    let client = quic(Allowed::nobody(), with_paths);
    let connecting = client.connect(server.local_addr().unwrap(), server.fingerprint());
    let (near, far) = soon(async { tokio::join!(connecting, server.accept()) }).await;
    let (near, far) = (near.unwrap(), far.unwrap());
    assert_eq!(far.remote_addr().ip().to_string(), "127.0.0.2");
    let (mut opened, mut failed) = (None, None);
    while opened.is_none() || failed.is_none() {
        let event = soon(near.path_event()).await.unwrap();
        match &event.change {
            PathChange::Opened => opened = Some(event.to_string()),
            PathChange::Failed(_) => failed = Some(event.to_string()),
            _ => {}
        }
    }
    assert_eq!(opened.unwrap(), "path 127.0.0.3,cost=2 is open");
    let failed = failed.unwrap();
    assert!(failed.contains("no interface no-such-one"), "{failed}");
    let open = far.paths();
    let costs: Vec<_> = open
        .iter()
        .map(|path| (path.remote.unwrap().ip().to_string(), path.request.cost))
        .collect();
    assert_eq!(
        costs,
        [("127.0.0.2".to_owned(), 0), ("127.0.0.3".to_owned(), 2)]
    );
    carry(&near, &far, 300_000).await;
}

#[tokio::test]
async fn a_connection_that_began_with_early_data_gets_paths_too() {
    let mut config = config();
    config.early_data = true;
    config.application_protocols = vec!["test".to_owned()];
    let server = quic(Allowed::anyone(), config.clone());
    let client = quic(Allowed::nobody(), config.clone());
    let (addr, peer) = (server.local_addr().unwrap(), server.fingerprint());
    let first = soon(client.connect(addr, peer)).await.unwrap();
    while !config.known_peers.has_ticket(&peer) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    first.close(0, "");
    drop(soon(server.accept()).await);
    let near = soon(client.connect(addr, peer).early()).await.unwrap();
    near.send_message("early", None).await.unwrap();
    let far = soon(server.accept()).await.unwrap();
    soon(near.add_path(request("127.0.0.2"))).await.unwrap();
    assert_eq!(near.application_protocol().as_deref(), Some("test"));
    carry(&near, &far, 100_000).await;
}

#[tokio::test]
async fn a_session_has_eight_paths_at_most() {
    let pair = Pair::new(Kind::Quic).await;
    for number in 2..9 {
        let text = format!("127.0.0.{number}");
        soon(pair.client.add_path(request(&text))).await.unwrap();
    }
    let error = soon(pair.client.add_path(request("127.0.0.9"))).await;
    assert!(
        matches!(
            error,
            Err(PathError::Session(_) | PathError::Refused { .. })
        ),
        "{error:?}"
    );
    assert_eq!(pair.client.paths().len(), 8);
    carry(&pair.client, &pair.server, 1_000_000).await;
}

#[tokio::test]
async fn a_path_goes_to_another_address_of_the_peer() {
    let server = {
        let identity = weftline::Identity::generate();
        let any = "0.0.0.0:0".parse().unwrap();
        weftline::Endpoint::bind(any, identity, Allowed::anyone(), config()).unwrap()
    };
    let port = server.local_addr().unwrap().port();
    let client = quic(Allowed::nobody(), EndpointConfig::from(config().session));
    let addr = std::net::SocketAddr::new(any().ip(), port);
    let near = soon(client.connect(addr, server.fingerprint()))
        .await
        .unwrap();
    let far = soon(server.accept()).await.unwrap();
    soon(near.add_path(request("to=127.0.0.5"))).await.unwrap();
    let paths = near.paths();
    assert_eq!(
        paths[1].remote.unwrap().to_string(),
        format!("127.0.0.5:{port}")
    );
    carry(&near, &far, 100_000).await;
}

#[tokio::test]
async fn a_cut_path_holds_up_nothing_and_is_taken_up_again() {
    let mut relay = None;
    let mut direct = None;
    let pair = Pair::with(Kind::Quic, config(), |server| {
        direct = Some(server);
        relay.insert(Relay::new(server)).addr
    })
    .await;
    let (relay, direct) = (relay.unwrap(), direct.unwrap());
    let to = request(&format!("to={direct}"));
    soon(pair.client.add_path(to)).await.unwrap();
    carry(&pair.client, &pair.server, 100_000).await;
    relay.lose(1000);
    carry(&pair.client, &pair.server, 300_000).await;
    carry(&pair.server, &pair.client, 300_000).await;
    let of_first = |event: &PathEvent, change| event.id == PathId::FIRST && event.change == change;
    until(&pair.client, |event| of_first(event, PathChange::Silent)).await;
    relay.lose(0);
    until(&pair.client, |event| {
        of_first(event, PathChange::Heard) || of_first(event, PathChange::Opened)
    })
    .await;
    carry(&pair.client, &pair.server, 300_000).await;
    assert_eq!(pair.client.paths().len(), 2);
}
