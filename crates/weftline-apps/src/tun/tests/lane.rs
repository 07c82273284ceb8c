//! TCP connections that end at both hosts, and go through the tunnel's session.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weftline::Identity;

use super::packets::{UDP, number};
use super::world::{Near, World, any};
use crate::forward::tests::world::echo;
use crate::forward::{self, Bounds, Entry, Lane};
use crate::soon::soon;
use crate::tun::ServerOptions;

const LOSSY: &str = "rate=20mbit delay=10ms queue=200ms loss=iid:5%";
const BYTES: usize = 1_000_000;

/// A server that allows this target to clients, and a client with a listener that leads to it.
async fn world(target: &str, allow: &str) -> (World, Near, Arc<Lane>) {
    let allowed = forward::ServerOptions {
        allow: vec![allow.parse().unwrap()].into(),
        ..forward::ServerOptions::default()
    };
    let mut options = ServerOptions::new(vec!["10.77.0.0/24".parse().unwrap()]);
    options.lane = forward::Server::new(allowed, |_| {});
    let world = World::with(LOSSY, options);
    let entry = (any(), Entry::To(target.parse().unwrap()));
    let wait = Duration::from_secs(10);
    let lane = Lane::open(&[entry], Bounds::default(), wait, |_| {}).await;
    let lane = Arc::new(lane.unwrap());
    let used = lane.clone();
    let identity = Identity::generate();
    let near = world.client_with(&identity, "wl0", |options| options.lane = Some(used));
    let near = near.await;
    (world, near, lane)
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_go_as_streams_beside_packets_of_the_same_session() {
    let target = echo().await;
    let (mut world, near, lane) = world(&target, &target).await;
    let data: Vec<u8> = (0..BYTES).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut program = TcpStream::connect(lane.entries()[0].0).await.unwrap();
    let (mut read, mut write) = program.split();
    let carry = async {
        write.write_all(&data).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let packets = async {
        for number in 0..200 {
            near.host.send(&near.packet(UDP, number));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let mut back = Vec::new();
    let ((), (), came, _) = tokio::join!(
        carry,
        packets,
        world.host.drain(Duration::from_secs(2)),
        soon(read.read_to_end(&mut back)),
    );
    assert!(back == data, "{} of {BYTES} bytes", back.len());
    let mut numbers: Vec<u32> = came.iter().map(|packet| number(packet)).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..200), "{} packets", came.len());
    for there in [near.here(), world.there()] {
        let lane = there.lane.unwrap();
        assert_eq!((lane.total, lane.done, lane.sent), (1, 1, BYTES as u64));
        assert_eq!(there.counts.sessions, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_the_server_does_not_allow_is_not_reached() {
    let target = echo().await;
    let (_world, near, lane) = world(&target, "127.0.0.1:9").await;
    let mut program = TcpStream::connect(lane.entries()[0].0).await.unwrap();
    let _ = program.write_all(b"x").await;
    let read = soon(program.read(&mut [0])).await;
    assert_eq!(
        read.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionReset
    );
    assert_eq!(near.here().lane.unwrap().refused, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_end_before_its_tunnel_stops() {
    let target = echo().await;
    let (_world, near, lane) = world(&target, &target).await;
    let mut program = TcpStream::connect(lane.entries()[0].0).await.unwrap();
    let mut back = [0; 5];
    program.write_all(b"begin").await.unwrap();
    soon(program.read_exact(&mut back)).await.unwrap();
    near.stopper.stop();
    tokio::time::sleep(Duration::from_millis(200)).await;
    program.write_all(b"later").await.unwrap();
    program.shutdown().await.unwrap();
    let mut rest = Vec::new();
    soon(program.read_to_end(&mut rest)).await.unwrap();
    assert_eq!(rest, b"later");
}
