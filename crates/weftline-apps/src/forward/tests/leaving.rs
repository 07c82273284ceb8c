//! A server that stops leaves its connections to its next start.

use std::io::ErrorKind;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::bytes;
use super::world::{Serve, World, any, broken, draining, echo, echoed, target, to};
use crate::forward::moving::WAITS;
use crate::soon::{soon, until};

/// A `forward` to this target whose server leaves its connections. (An impaired path has one client for good, and so
/// none that returns.)
async fn leaving(target: &str) -> World {
    let serve = Serve::allow(&[target]).leaves_connections();
    World::new("", serve, |options| options.listen = vec![to(target)]).await
}

/// The server stops and is started again; the next start has the connections of the last one.
async fn restart(world: &mut World) {
    world.stop_server().await;
    let left = world.server.left();
    world.restart_server_with(left).await;
    world.connected().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_goes_on_with_the_next_start_again_and_again() {
    let at = echo().await;
    let mut world = leaving(&at).await;
    let mut program = world.program().await;
    echoed(&mut program, b"first").await;
    for _ in 0..3 {
        restart(&mut world).await;
        echoed(&mut program, b"next").await;
    }
    program.shutdown().await.unwrap();
    assert_eq!(soon(program.read(&mut [0])).await.unwrap(), 0);
    until(|| world.near.snapshot().done == 1 && world.server.snapshot().done == 1).await;
}

/// Two large transfers at once, which take half a second and more, while the server is started again three times.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_what_is_under_way_is_lost_or_comes_twice() {
    const LEN: usize = 12_000_000;
    let (listener, at) = target().await;
    let mut world = leaving(&at).await;
    let exchange = async |tcp: TcpStream, seed| {
        let (mut read, mut write) = tcp.into_split();
        let sending = tokio::spawn(async move {
            write.write_all(&bytes(LEN, seed)).await.unwrap();
            write.shutdown().await.unwrap();
        });
        let (mut all, mut chunk) = (Sha256::new(), vec![0; 32 << 10]);
        loop {
            let len = soon(read.read(&mut chunk)).await.unwrap();
            all.update(&chunk[..len]);
            if len == 0 {
                break;
            }
            sleep(Duration::from_millis(1)).await;
        }
        sending.await.unwrap();
        all.finalize()
    };
    let program = world.program().await;
    let (tcp, _) = soon(listener.accept()).await.unwrap();
    let ends = [
        tokio::spawn(exchange(program, 1)),
        tokio::spawn(exchange(tcp, 2)),
    ];
    let mut moved = 0;
    for _ in 0..3 {
        sleep(Duration::from_millis(150)).await;
        world.stop_server().await;
        moved += world.server.snapshot().left;
        let left = world.server.left();
        world.restart_server_with(left).await;
        world.connected().await;
    }
    assert!(moved >= 2, "{moved}: the transfers were over before");
    let [here, there] = ends;
    assert_eq!(here.await.unwrap(), Sha256::digest(bytes(LEN, 2)));
    assert_eq!(there.await.unwrap(), Sha256::digest(bytes(LEN, 1)));
    until(|| world.near.snapshot().open == 0).await;
}

/// Both write more than the kernel and the session hold, and read nothing until the server has started again.
#[tokio::test(flavor = "multi_thread")]
async fn programs_that_do_not_read_do_not_keep_the_server() {
    const LEN: usize = 20_000_000;
    let (listener, at) = target().await;
    let mut world = leaving(&at).await;
    let program = world.program().await;
    let (tcp, _) = soon(listener.accept()).await.unwrap();
    let mut reading = Vec::new();
    let mut sending = Vec::new();
    for (end, seed) in [(program, 1), (tcp, 2)] {
        let (read, mut write) = end.into_split();
        reading.push(read);
        sending.push(tokio::spawn(async move {
            write.write_all(&bytes(LEN, seed)).await.unwrap();
            write.shutdown().await.unwrap();
            write
        }));
    }
    sleep(Duration::from_millis(300)).await;
    restart(&mut world).await;
    assert_eq!(world.near.snapshot().open, 1);
    assert!(sending.iter().all(|sending| !sending.is_finished()));
    let [mut here, mut there] = <[_; 2]>::try_from(reading).unwrap();
    let (mut to_program, mut to_target) = (Vec::new(), Vec::new());
    let both = tokio::join!(
        soon(here.read_to_end(&mut to_program)),
        soon(there.read_to_end(&mut to_target)),
    );
    assert_eq!((both.0.unwrap(), both.1.unwrap()), (LEN, LEN));
    assert!(to_program == bytes(LEN, 2) && to_target == bytes(LEN, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_programs_make_at_the_server_go_on_too() {
    let at = echo().await;
    let free = std::net::TcpListener::bind(any()).unwrap();
    let there = free.local_addr().unwrap();
    drop(free);
    let serve = Serve::allow_listen(&there.to_string()).leaves_connections();
    let rule = (there, at.parse().unwrap());
    let mut world = World::new("", serve, |options| options.remote = vec![rule]).await;
    let mut program = TcpStream::connect(there).await.unwrap();
    echoed(&mut program, b"before").await;
    restart(&mut world).await;
    echoed(&mut program, b"after").await;
    // And the server listens again.
    soon(async {
        while TcpStream::connect(there).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_has_gone_on_lasts() {
    let at = echo().await;
    let mut world = leaving(&at).await;
    let mut program = world.program().await;
    echoed(&mut program, b"before").await;
    restart(&mut world).await;
    echoed(&mut program, b"soon").await;
    sleep(WAITS + Duration::from_millis(500)).await;
    echoed(&mut program, b"and later").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_which_nobody_goes_on_is_reset() {
    let (listener, at) = target().await;
    let mut world = leaving(&at).await;
    let mut program = world.program().await;
    let (mut tcp, _) = soon(listener.accept()).await.unwrap();
    world.stop_server().await;
    let left = world.server.left();
    assert_eq!(left.len(), 1);
    // Its client does not return: it waits for another server.
    assert_eq!(broken(&mut program).await, ErrorKind::ConnectionReset);
    world.near_end.stop();
    world.restart_server_with(left).await;
    assert_eq!(broken(&mut tcp).await, ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_client_gets_a_connection_and_none_has_it_twice() {
    let at = echo().await;
    let mut world = leaving(&at).await;
    let mut program = world.program().await;
    echoed(&mut program, b"mine").await;
    world.stop_server().await;
    let mut left = world.server.left();
    let token = left[0].token.clone();
    let refused = async |world: &World, token: &str| {
        let (_endpoint, connection) = world.stranger().await;
        let mut stream = connection.open_stream().await.unwrap();
        let request = crate::forward::wire::Request::Resume(token.to_owned());
        stream.write_all(&request.bytes()).await.unwrap();
        soon(crate::forward::wire::Reply::expect(&mut stream))
            .await
            .is_err()
    };
    // The stranger has the client's key here, so the connection is left for another's.
    left[0].peer = weftline::Identity::generate().fingerprint();
    world.restart_server_with(left).await;
    assert!(refused(&world, &token).await, "another's");
    assert!(refused(&world, "key:4").await, "unknown");
    // Its own client is refused as well: the program learns that the connection is over.
    assert_eq!(broken(&mut program).await, ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_leave_connections_lets_them_finish_as_before() {
    let at = echo().await;
    let serve = Serve::allow(&[&at]).bounded(draining(Duration::from_millis(200)));
    let mut world = World::new("", serve, |options| options.listen = vec![to(&at)]).await;
    let mut program = world.program().await;
    echoed(&mut program, b"x").await;
    world.stop_server().await;
    assert!(world.server.left().is_empty());
    assert_eq!(broken(&mut program).await, ErrorKind::ConnectionReset);
}
