//! `forward` end to end: real sockets on loopback, and losses between its ends.

mod leaving;
mod limits;
pub(crate) mod world;

use std::io::ErrorKind;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use self::world::{Serve, World, any, broken, draining, echo, echoed, target, to};
use super::{Bounds, ClientOptions, Entry};
use crate::error::SessionError;
use crate::soon::{soon, until};

const LOSSY: &str = "rate=100mbit delay=5ms queue=200ms loss=iid:3%";

/// Forwards to this target only.
async fn forward(link: &str, target: &str, connect: impl FnOnce(&mut ClientOptions)) -> World {
    World::new(link, Serve::allow(&[target]), |options| {
        options.listen = vec![to(target)];
        connect(options);
    })
    .await
}

/// No further options for the client end.
fn nothing_more(_: &mut ClientOptions) {}

/// Connections wait this long for a session.
fn waiting(wait: Duration) -> impl FnOnce(&mut ClientOptions) {
    move |options| options.wait = wait
}

/// This many bytes, with a long period.
fn bytes(len: usize, seed: u32) -> Vec<u8> {
    let mut x = seed;
    let next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (x >> 24) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn large_transfers_in_both_directions_arrive_unchanged() {
    const LEN: usize = 5_000_000;
    let (listener, at) = target().await;
    let world = forward(LOSSY, &at, nothing_more).await;
    // Each end sends its own bytes and returns the hash of the bytes it received.
    let exchange = async |tcp: TcpStream, seed| {
        let (mut read, mut write) = tcp.into_split();
        let sending = tokio::spawn(async move {
            write.write_all(&bytes(LEN, seed)).await.unwrap();
            write.shutdown().await.unwrap();
        });
        let mut all = Vec::new();
        soon(read.read_to_end(&mut all)).await.unwrap();
        sending.await.unwrap();
        Sha256::digest(&all)
    };
    let program = exchange(world.program().await, 1);
    let server = async { exchange(listener.accept().await.unwrap().0, 2).await };
    let (here, there) = tokio::join!(program, server);
    assert_eq!(here, Sha256::digest(bytes(LEN, 2)));
    assert_eq!(there, Sha256::digest(bytes(LEN, 1)));
    until(|| world.server.snapshot().done == 1 && world.near.snapshot().done == 1).await;
    let (near, far) = (world.near.snapshot(), world.server.snapshot());
    assert_eq!((near.sent, near.delivered), (LEN as u64, LEN as u64));
    assert_eq!(
        (far.sent, far.delivered, far.open),
        (LEN as u64, LEN as u64, 0)
    );
    let recovered = far.session.unwrap().received.recovered_symbols;
    assert!(recovered > 0, "the path lost nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_request_reaches_the_target_and_the_answer_returns() {
    let (listener, at) = target().await;
    let world = forward("delay=5ms", &at, nothing_more).await;
    let mut program = world.program().await;
    program.write_all(b"question").await.unwrap();
    program.shutdown().await.unwrap();
    let (mut tcp, _) = soon(listener.accept()).await.unwrap();
    let mut question = Vec::new();
    soon(tcp.read_to_end(&mut question)).await.unwrap();
    assert_eq!(question, b"question");
    // The other direction stays open for as long as it takes.
    sleep(Duration::from_millis(100)).await;
    tcp.write_all(b"answer").await.unwrap();
    drop(tcp);
    let mut answer = Vec::new();
    soon(program.read_to_end(&mut answer)).await.unwrap();
    assert_eq!(answer, b"answer");
    until(|| world.server.snapshot().done == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_reaches_the_other_end_as_a_reset() {
    let (listener, at) = target().await;
    let world = forward("", &at, nothing_more).await;
    for by_program in [true, false] {
        let mut program = world.program().await;
        let (mut tcp, _) = soon(listener.accept()).await.unwrap();
        program.write_all(b"x").await.unwrap();
        assert_eq!(soon(tcp.read_u8()).await.unwrap(), b'x');
        let (cut, mut left) = if by_program {
            (program, tcp)
        } else {
            (tcp, program)
        };
        cut.set_zero_linger().unwrap();
        drop(cut);
        assert_eq!(broken(&mut left).await, ErrorKind::ConnectionReset);
    }
    until(|| world.near.snapshot().broken == 2 && world.server.snapshot().broken == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_blocks_its_sender_but_no_other_connection() {
    let (listener, at) = target().await;
    let also = echo().await;
    let bounds = Bounds::new(256, 300_000, Duration::from_secs(10)).unwrap();
    let serve = Serve::allow(&[&at, &also]).bounded(bounds);
    let world = World::new("", serve, |options| {
        options.listen = vec![to(&at), to(&also)];
        options.bounds = bounds;
    })
    .await;
    let mut program = world.program().await;
    let (_tcp, _) = soon(listener.accept()).await.unwrap();
    let mut written = 0;
    let chunk = bytes(1 << 16, 3);
    let sending = async {
        loop {
            written += program.write(&chunk).await.unwrap();
        }
    };
    let stuck = tokio::time::timeout(Duration::from_secs(1), sending).await;
    assert!(stuck.is_err());
    // Kernel buffers on both sides add to the buffer's 300 kB and the unsent data.
    let held = world.near.snapshot().sent - world.server.snapshot().delivered;
    assert!(held < 700_000, "{held} of {written}");
    let other = world.entry(1);
    let mut other = TcpStream::connect(other).await.unwrap();
    echoed(&mut other, b"still there").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_target_is_refused_by_name() {
    let at = echo().await;
    let serve = Serve::allow(&["127.0.0.1:1"]);
    let mut world = World::started("", serve, |options| options.listen = vec![to(&at)]).await;
    let error = soon(&mut world.near_end.task).await.unwrap().unwrap_err();
    let SessionError::TargetRefused { target, reason } = &error else {
        panic!("{error}")
    };
    assert_eq!(*target, at);
    assert_eq!(*reason, format!("{at} is not allowed here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_refuses_resets_the_program() {
    let (listener, at) = target().await;
    drop(listener);
    let world = forward("", &at, nothing_more).await;
    assert_eq!(world.refused().await, ErrorKind::ConnectionReset);
    until(|| world.near.snapshot().refused == 1 && world.server.snapshot().refused == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn socks_reaches_allowed_targets_and_reports_why_others_fail() {
    let at = echo().await;
    let port: u16 = at.rsplit_once(':').unwrap().1.parse().unwrap();
    let (dead, dead_at) = target().await;
    drop(dead);
    let dead: u16 = dead_at.rsplit_once(':').unwrap().1.parse().unwrap();
    let allow = [format!("127.0.0.0/8:{port}"), format!("127.0.0.1:{dead}")];
    let serve = Serve::allow(&allow.each_ref().map(String::as_str));
    let socks = |options: &mut ClientOptions| options.listen = vec![(any(), Entry::Socks)];
    let world = World::new("", serve, socks).await;
    let ask = async |address: &[u8], port: u16| {
        let mut program = world.program().await;
        program.write_all(&[5, 1, 0]).await.unwrap();
        let mut chosen = [0; 2];
        soon(program.read_exact(&mut chosen)).await.unwrap();
        assert_eq!(chosen, [5, 0]);
        let request = [&[5, 1, 0], address, &port.to_be_bytes()].concat();
        program.write_all(&request).await.unwrap();
        let mut reply = [0; 10];
        soon(program.read_exact(&mut reply)).await.unwrap();
        (program, reply[1])
    };
    for address in [&[1, 127, 0, 0, 1][..], b"\x03\x09localhost"] {
        let (mut program, code) = ask(address, port).await;
        assert_eq!(code, 0);
        echoed(&mut program, b"by socks").await;
    }
    // A forbidden target, and a target where nothing listens; both end without a reset, so that
    // the reply is read.
    for (address, port, code) in [
        (&[1, 127, 0, 0, 1][..], 1, 2),
        (&[1, 10, 0, 0, 1], port, 2),
        (&[1, 127, 0, 0, 1], dead, 5),
    ] {
        let (mut program, got) = ask(address, port).await;
        assert_eq!(got, code, "{address:?} {port}");
        assert_eq!(soon(program.read(&mut [0; 1])).await.unwrap(), 0);
    }
    let mut v6 = vec![4];
    v6.extend_from_slice(&std::net::Ipv6Addr::LOCALHOST.octets());
    assert_eq!(ask(&v6, port).await.1, 2);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_was_not_redirected_is_reset() {
    let at = echo().await;
    let redirected =
        |options: &mut ClientOptions| options.listen = vec![(any(), Entry::Redirected)];
    let world = World::new("", Serve::allow(&[&at]), redirected).await;
    assert_eq!(world.refused().await, ErrorKind::ConnectionReset);
    until(|| world.near.snapshot().refused == 1).await;
    assert_eq!(world.server.snapshot().total, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_connections_at_once_do_not_mix_and_more_than_allowed_are_refused() {
    let at = echo().await;
    let world = forward(LOSSY, &at, |options| {
        options.bounds = Bounds::new(50, 1_000_000, Duration::from_secs(10)).unwrap();
    })
    .await;
    let mut programs = Vec::new();
    for number in 0..50u32 {
        let mut program = world.program().await;
        echoed(&mut program, b"here").await;
        programs.push((number, program));
    }
    assert_eq!(world.server.snapshot().open, 50);
    // Each is named at both ends, and counts for itself. The counter may come after the answer.
    let carried = (50, 200, 200);
    until(|| {
        [world.near.snapshot(), world.server.snapshot()]
            .iter()
            .all(|now| {
                let sum = |of: fn(&crate::FlowInfo) -> u64| now.busiest.iter().map(of).sum();
                let (sent, delivered) = (sum(|f| f.sent_bytes), sum(|f| f.delivered_bytes));
                let of_target = now.busiest.iter().all(|flow| flow.to == at);
                of_target && (now.busiest.len(), sent, delivered) == carried
            })
    })
    .await;
    assert_eq!(world.refused().await, ErrorKind::ConnectionReset);
    let mut tasks = tokio::task::JoinSet::new();
    for (number, mut program) in programs {
        tasks.spawn(async move {
            let words = bytes(20_000, number);
            echoed(&mut program, &words).await;
        });
    }
    soon(tasks.join_all()).await;
    until(|| world.near.snapshot().open + world.server.snapshot().open == 0).await;
    assert!(world.near.snapshot().busiest.is_empty());
    // There is room for connections again.
    echoed(&mut world.program().await, b"again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_listener_outlives_a_session_but_connections_do_not() {
    let at = echo().await;
    let serve = Serve::allow(&[&at]).bounded(draining(Duration::ZERO));
    let mut world = World::new("", serve, |options| {
        options.listen = vec![to(&at)];
        options.wait = Duration::from_secs(20);
    })
    .await;
    let mut program = world.program().await;
    echoed(&mut program, b"before").await;
    world.stop_server().await;
    assert_eq!(broken(&mut program).await, ErrorKind::ConnectionReset);
    // A connection made now waits for the session.
    let mut waiting = world.program().await;
    waiting.write_all(b"later").await.unwrap();
    world.restart_server().await;
    let mut back = [0; 5];
    soon(waiting.read_exact(&mut back)).await.unwrap();
    assert_eq!((&back, world.near.snapshot().sessions), (b"later", 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_waits_for_a_session_no_longer_than_configured() {
    let at = echo().await;
    let mut world = forward("", &at, waiting(Duration::from_millis(100))).await;
    world.stop_server().await;
    assert_eq!(world.refused().await, ErrorKind::ConnectionReset);
    assert_eq!(world.near.snapshot().refused, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reverse_rule_still_works_after_a_new_session() {
    let at = echo().await;
    // A port that is free now.
    let (free, there) = target().await;
    drop(free);
    let serve = Serve::allow_listen(&there).bounded(draining(Duration::ZERO));
    let reverse = (there.parse().unwrap(), at.parse().unwrap());
    let mut world = World::new("", serve, |options| options.remote = vec![reverse]).await;
    let mut program = TcpStream::connect(&there).await.unwrap();
    echoed(&mut program, b"from there").await;
    let mut broken_off = TcpStream::connect(&there).await.unwrap();
    echoed(&mut broken_off, b"soon gone").await;
    drop(program);
    until(|| world.server.snapshot().done == 1).await;

    world.stop_server().await;
    assert_eq!(broken(&mut broken_off).await, ErrorKind::ConnectionReset);
    world.restart_server().await;
    until(|| world.near.snapshot().sessions == 2).await;
    let mut program = TcpStream::connect(&there).await.unwrap();
    echoed(&mut program, b"again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_refuses_to_listen_at_a_forbidden_address() {
    let reverse = (
        "127.0.0.1:1".parse().unwrap(),
        "127.0.0.1:1".parse().unwrap(),
    );
    let serve = Serve::allow_listen("127.0.0.1:2");
    let mut world = World::started("", serve, |options| options.remote = vec![reverse]).await;
    let error = soon(&mut world.near_end.task).await.unwrap().unwrap_err();
    let SessionError::ListenRefused { address, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(address.to_string(), "127.0.0.1:1");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_from_an_allowed_peer_harm_no_other_client() {
    let at = echo().await;
    let world = forward("", &at, nothing_more).await;
    let (_endpoint, connection) = world.stranger().await;
    // Another version, an unknown kind, a text too long, an invalid text, a request for servers
    // only.
    for (words, status) in [
        (&[9][..], 8),
        (&[1, 7, 0, 0, 0, 0], 9),
        (&[1, 1, 0, 0, 0xff, 0xff], 9),
        (&[1, 1, 0, 0, 0, 1, 0xff], 9),
        (&[1, 1, 0, 0, 0, 3, b'a', b':', b'x'], 9),
        (&[1, 2, 0, 0, 0, 1, b'x'], 9),
        (&[1, 3, 0, 0, 0, 0], 9),
    ] {
        let mut stream = connection.open_stream().await.unwrap();
        stream.write_all(words).await.unwrap();
        assert_eq!(soon(stream.read_u8()).await.unwrap(), 1);
        assert_eq!(soon(stream.read_u8()).await.unwrap(), status, "{words:?}");
    }
    // Requests that stay incomplete, as many as the peer may open.
    let mut halves = Vec::new();
    for _ in 0..200 {
        let mut stream = connection.open_stream().await.unwrap();
        stream.write_all(&[1, 1, 0]).await.unwrap();
        halves.push(stream);
    }
    echoed(&mut world.program().await, b"unharmed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_end_lets_connections_finish_but_accepts_no_new_ones() {
    for near_stops in [true, false] {
        let at = echo().await;
        let mut world = forward("", &at, waiting(Duration::from_millis(100))).await;
        let mut program = world.program().await;
        echoed(&mut program, b"before").await;
        let listening = world.entry(0);
        let stopping = if near_stops {
            &mut world.near_end
        } else {
            &mut world.far_end
        };
        stopping.stop();
        let server = world.server.clone();
        let is_closed = async || match TcpStream::connect(listening).await {
            Ok(mut further) => {
                let _ = further.write_all(b"x").await;
                further.read_u8().await.is_err()
            }
            Err(_) => true,
        };
        soon(async {
            while !is_closed().await {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        assert_eq!(server.service.is_leaving(), !near_stops);
        echoed(&mut program, b"meanwhile").await;
        assert!(!stopping.task.is_finished());
        program.shutdown().await.unwrap();
        assert_eq!(soon(program.read(&mut [0; 1])).await.unwrap(), 0);
        let ended = soon(&mut stopping.task).await.unwrap();
        assert!(ended.is_ok(), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_does_not_end_is_reset_after_the_drain_time() {
    let (listener, at) = target().await;
    let listener: TcpListener = listener;
    let mut world = forward("", &at, |options| {
        options.bounds = draining(Duration::from_millis(200));
    })
    .await;
    let mut program = world.program().await;
    let (mut tcp, _) = soon(listener.accept()).await.unwrap();
    world.near_end.stop();
    soon(&mut world.near_end.task).await.unwrap().unwrap();
    assert_eq!(broken(&mut program).await, ErrorKind::ConnectionReset);
    assert_eq!(broken(&mut tcp).await, ErrorKind::ConnectionReset);
}
