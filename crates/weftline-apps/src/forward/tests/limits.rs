//! What one client may take of a server.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use weftline::{CloseReason, ConnectError};

use super::world::{Serve, World, echo, echoed, target, to};
use crate::close;
use crate::forward::Bounds;
use crate::forward::wire::{Reply, Request, Status};
use crate::soon::{soon, until};

/// The second session of a client is refused with a reason that has these words; the first goes on.
async fn second_is_refused(serve: Serve, target: &str, words: &str) {
    let world = World::new("", serve, |options| options.listen = vec![to(target)]).await;
    // The reason may come before the peer knows that it was connected.
    let reason = match world.try_stranger().await {
        Ok((_endpoint, second)) => soon(second.closed()).await,
        Err(ConnectError::Closed { reason, .. }) => reason,
        Err(other) => panic!("{other}"),
    };
    let CloseReason::Peer { code, reason } = reason else {
        panic!("{reason:?}")
    };
    assert_eq!(code, close::FAILED);
    assert!(reason.contains(words), "{reason}");
    echoed(&mut world.program().await, b"the first goes on").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sessions_of_a_client_share_its_memory() {
    let at = echo().await;
    let serve = Serve::allow(&[&at]).with_memory(1.5, 10.0);
    second_is_refused(serve, &at, "(--client-memory of the server)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_clients_share_the_memory_of_the_server() {
    let at = echo().await;
    let serve = Serve::allow(&[&at]).with_memory(10.0, 1.5);
    second_is_refused(serve, &at, "(--memory of the server)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_given_back_at_the_end_of_a_session() {
    let at = echo().await;
    let serve = Serve::allow(&[&at]).with_memory(2.9, 10.0);
    let world = World::new("", serve, |options| options.listen = vec![to(&at)]).await;
    for _ in 0..5 {
        let (endpoint, second) = world.stranger().await;
        let mut stream = soon(second.open_stream()).await.unwrap();
        let request = Request::Ask(at.clone()).bytes();
        stream.write_all(&request).await.unwrap();
        assert_eq!(
            soon(Reply::read(&mut stream)).await.unwrap().status,
            Status::Done
        );
        second.close(0, "done");
        soon(endpoint.wait_idle()).await;
        until(|| world.server.sessions() == 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_target_does_not_read_is_closed_at_the_limit_and_the_others_go_on() {
    let (silent, nobody_reads) = target().await;
    let at = echo().await;
    let bounds = Bounds::new(256, 8_000_000, Duration::from_secs(10)).unwrap();
    let serve = Serve::allow(&[&at, &nobody_reads]).bounded(bounds);
    let serve = serve.with_memory(5.0, 100.0);
    let world = World::new("", serve, |options| options.listen = vec![to(&at)]).await;
    let mut program = world.program().await;
    echoed(&mut program, b"before").await;
    let (_endpoint, greedy) = world.stranger().await;
    let request = Request::Connect(nobody_reads).bytes();
    let mut unread = Vec::new();
    // One connection alone holds 1 MB and what the kernel takes.
    for _ in 0..8 {
        let mut stream = soon(greedy.open_stream()).await.unwrap();
        stream.write_all(&request).await.unwrap();
        unread.push(soon(silent.accept()).await.unwrap());
        tokio::spawn(async move { while stream.write_all(&[7; 1 << 16]).await.is_ok() {} });
    }
    let reason = soon(greedy.closed()).await.to_string();
    assert!(reason.contains("this session holds the most"), "{reason}");
    assert!(reason.contains("--client-memory"), "{reason}");
    // Its connection goes too, and with it what it held: the target would keep it for ever.
    until(|| world.server.snapshot().open == 1).await;
    until(|| world.budget.usage().memory_taken < 2_000_000).await;
    echoed(&mut program, b"after").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_sessions_of_a_client_share_its_connections() {
    let at = echo().await;
    let bounds = Bounds::new(2, 1_000_000, Duration::from_secs(10)).unwrap();
    let serve = Serve::allow(&[&at]).bounded(bounds);
    let world = World::new("", serve, |options| options.listen = vec![to(&at)]).await;
    let mut programs = [world.program().await, world.program().await];
    for program in &mut programs {
        echoed(program, b"one of two").await;
    }
    let (_endpoint, second) = world.stranger().await;
    let mut stream = soon(second.open_stream()).await.unwrap();
    let request = Request::Connect(at.clone()).bytes();
    stream.write_all(&request).await.unwrap();
    let reply = soon(Reply::read(&mut stream)).await.unwrap();
    assert_eq!(reply.status, Status::TooMany);
    assert!(
        reply
            .text
            .ends_with("2 connections (--connections of the server)"),
        "{reply}"
    );
}
