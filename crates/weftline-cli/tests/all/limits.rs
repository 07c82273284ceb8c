//! What one peer may take of a program that serves many.

use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};
use weftline::{
    Allowed, CloseReason, ConnectError, Connection, Endpoint, EndpointConfig, Identity,
    InsecureEndpoint,
};
use weftline_apps::Protocol;

use crate::strangers::{PATIENCE, Program, entry, frames, local, offer, say};

/// An endpoint of a peer with this key that asks for this service.
fn endpoint(identity: &Identity, protocol: Protocol) -> Endpoint {
    let mut config = EndpointConfig::default();
    protocol.ask(&mut config);
    Endpoint::bind(local(), identity.clone(), Allowed::nobody(), config).unwrap()
}

/// An endpoint of a sender.
fn sender() -> Endpoint {
    endpoint(&Identity::generate(), Protocol::Files)
}

/// A session with the program, or the reason why it closed it.
async fn session(program: &Program, endpoint: &Endpoint) -> Result<Connection, String> {
    let (address, peer) = (program.address().await, program.fingerprint());
    match endpoint.connect(address, peer).await {
        Ok(connection) => Ok(connection),
        Err(ConnectError::Closed { reason, .. }) => Err(reason.to_string()),
        Err(error) => panic!("{error}"),
    }
}

/// The program closes one of these sessions, whichever it has taken in last: they are made one after the other, but may
/// reach it in another order. Returns why.
async fn turned_away(sessions: &mut Vec<Result<Connection, String>>) -> String {
    let reason = |session: &Result<Connection, String>| match session {
        Ok(connection) => connection.close_reason().map(|reason| reason.to_string()),
        Err(reason) => Some(reason.clone()),
    };
    let begun = Instant::now();
    loop {
        let mut reasons = sessions.iter().map(reason).enumerate();
        if let Some((closed, why)) = reasons.find_map(|(index, why)| Some((index, why?))) {
            drop(sessions.remove(closed));
            return why;
        }
        assert!(begun.elapsed() < PATIENCE, "no session is closed");
        sleep(Duration::from_millis(10)).await;
    }
}

const RECV: [&str; 5] = ["recv", "--keep", "--peer-anyone", "--listen", "127.0.0.1:0"];

#[tokio::test(flavor = "multi_thread")]
async fn one_sender_cannot_take_all_places_of_a_receiver() {
    let program = Program::start(&[&RECV[..], &["--client-sessions", "2"]].concat());
    let (greedy, other) = (sender(), sender());
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(session(&program, &greedy).await);
    }
    let reason = turned_away(&mut sessions).await;
    assert!(
        reason.contains("2 sessions (--client-sessions of the server)"),
        "{reason}"
    );
    program.says("was turned away", 1).await;
    // Another sender is received from.
    let connection = session(&program, &other).await.unwrap();
    let _stream = say(&connection, &frames(&[offer(1)])).await;
    program.says("connection from", 1).await;
    for session in sessions {
        assert_eq!(session.unwrap().close_reason(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_makes_a_receiver_hold_too_much_is_closed_and_the_others_go_on() {
    let program = Program::start(&[&RECV[..], &["--client-memory", "10MB"]].concat());
    let (greedy, other) = (sender(), sender());
    let modest = session(&program, &other).await.unwrap();
    let connection = session(&program, &greedy).await.unwrap();
    // Nothing reads these streams: the first one alone is a transfer's.
    let _offer = say(&connection, &frames(&[offer(1)])).await;
    let filling = async {
        let mut streams = Vec::new();
        while let Ok(mut stream) = connection.open_stream().await {
            if timeout(
                Duration::from_millis(200),
                stream.write_all(&[7; 2_000_000]),
            )
            .await
            .is_ok_and(|wrote| wrote.is_err())
            {
                break;
            }
            streams.push(stream);
        }
    };
    let reason = tokio::select! {
        reason = connection.closed() => reason,
        () = filling => connection.closed().await,
        () = sleep(PATIENCE) => panic!("the session goes on: {:?}", connection.stats()),
    };
    let CloseReason::Peer { reason, .. } = reason else {
        panic!("{reason}")
    };
    assert!(reason.contains("this session holds the most"), "{reason}");
    assert!(
        reason.contains("10 MB of memory (--client-memory of the server)"),
        "{reason}"
    );
    program.says("was turned away", 1).await;
    assert!(modest.close_reason().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_of_a_port_have_one_budget() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = "listen = '127.0.0.1:0'\npeer-anyone = true\nclient-sessions = 2\n[recv]\n[relay]\nallow = ['*:*']\n";
    fs::write(&file, text).unwrap();
    let program = Program::start(&["serve", "--config", file.path().to_str().unwrap()]);
    let identity = Identity::generate();
    let [files, relay] = [Protocol::Files, Protocol::Relay].map(|which| endpoint(&identity, which));
    let mut sessions = Vec::new();
    for endpoint in [&files, &relay, &files, &relay] {
        sessions.push(session(&program, endpoint).await);
    }
    for _ in 0..2 {
        let reason = turned_away(&mut sessions).await;
        assert!(
            reason.contains("--client-sessions of the server"),
            "{reason}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_do_not_fill_the_log_of_a_receiver() {
    let listen = [
        "recv",
        "--keep",
        "--insecure-udp",
        "--listen",
        "127.0.0.1:0",
    ];
    let program = Program::start(&listen);
    let address: SocketAddr = program.address().await;
    let port = InsecureEndpoint::bind(local(), EndpointConfig::default()).unwrap();
    // Names that no file may have: each is refused by itself, and the transfer fails.
    let mut all = vec![offer(100)];
    all.extend((0..100).map(|id| entry(id, "../f")));
    for _ in 0..3 {
        let connection = port.connect(address).await.unwrap();
        let _stream = say(&connection, &frames(&all)).await;
        sleep(Duration::from_millis(300)).await;
        connection.close(7, "that is all");
    }
    let printed = program.says("more messages about peers", 1).await;
    let lines = printed.lines().filter(|line| line.contains("../f")).count();
    assert!((1..=8).contains(&lines), "{printed}");
}
