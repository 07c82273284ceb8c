//! A tunnel end to end: real sockets on loopback, and losses between its ends.

use std::time::Duration;

use weftline::{Allowed, Connection, Endpoint, EndpointConfig, Identity};

use super::packets::{Packet, TCP, UDP, number};
use super::world::{Near, World, any};
use crate::FlowInfo;
use crate::line;
use crate::protocol::Protocol;
use crate::soon::{soon, until};
use crate::tun::ServerOptions;
use crate::tun::wire::{self, Answer, Hello, VERSION};

const LOSSY: &str = "rate=20mbit delay=10ms queue=200ms loss=iid:5%";
/// Quiet time after which no more packets are expected.
const QUIET: Duration = Duration::from_secs(1);

/// Sends numbered packets at a steady rate; returns the numbers of those that come, in their order.
async fn numbers(world: &mut World, near: &Near, protocol: u8, count: u32) -> Vec<u32> {
    let send = async {
        let mut timer = tokio::time::interval(Duration::from_millis(2));
        for number in 0..count {
            if number % 4 == 0 {
                timer.tick().await;
            }
            near.host.send(&near.packet(protocol, number));
        }
    };
    let (came, ()) = tokio::join!(world.host.drain(QUIET), send);
    came.iter()
        .map(|packet| {
            let expected = near.packet(protocol, number(packet)).bytes();
            assert_eq!(*packet, expected, "unchanged");
            number(packet)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_sees_neither_loss_nor_disorder() {
    let mut world = World::new(LOSSY);
    let near = world.client(&Identity::generate(), "wl0").await;
    let came = numbers(&mut world, &near, TCP, 1000).await;
    assert!(came.iter().copied().eq(0..1000), "{} of 1000", came.len());
    let there = world.there();
    assert!(there.counts.reordered > 0, "the path lost nothing");
    assert_eq!((there.counts.skipped, there.counts.overtaken), (0, 0));
    assert!(world.has_path());
}

#[tokio::test(flavor = "multi_thread")]
async fn other_packets_come_at_once_and_none_is_lost() {
    let mut world = World::new(LOSSY);
    let near = world.client(&Identity::generate(), "wl0").await;
    let mut came = numbers(&mut world, &near, UDP, 1000).await;
    assert!(!came.is_sorted(), "what was lost came in its place");
    came.sort_unstable();
    assert!(came.iter().copied().eq(0..1000), "{} of 1000", came.len());
    assert_eq!(world.there().counts.reordered, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_of_every_length_pass_both_ways_in_both_versions_of_ip() {
    let mut world = World::new("");
    let mut near = world.client(&Identity::generate(), "wl0").await;
    let v6 = near.lease.addresses[1].addr();
    for (from, to) in [(near.address(), "10.77.0.1"), (v6, "fd77::1")] {
        for length in [60, 577, 1280, 1320] {
            for protocol in [TCP, UDP] {
                let mut packet = near.packet(protocol, 5);
                (packet.from, packet.to) = (from, to.parse().unwrap());
                packet.length = length;
                near.host.send(&packet);
                assert_eq!(world.host.receive().await, packet.bytes());
                std::mem::swap(&mut packet.from, &mut packet.to);
                packet.ports = (packet.ports.1, packet.ports.0);
                world.host.send(&packet);
                assert_eq!(near.host.receive().await, packet.bytes());
            }
        }
    }
    for end in [near.here(), world.there()] {
        // Each with both directions.
        assert_eq!(end.busiest.len(), 4, "{:?}", end.busiest);
        let sum = |of: fn(&FlowInfo) -> u64| end.busiest.iter().map(of).sum::<u64>();
        let (sent, delivered) = (end.counts.sent, end.counts.delivered);
        let flows = (sum(|f| f.sent_datagrams), sum(|f| f.sent_bytes));
        assert_eq!(flows, (sent.packets, sent.bytes));
        let flows = (sum(|f| f.delivered_datagrams), sum(|f| f.delivered_bytes));
        assert_eq!(flows, (delivered.packets, delivered.bytes));
    }
    assert_eq!(near.here().counts.dropped.total(), 0);
    assert_eq!(world.there().counts.dropped.total(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_client_gets_its_own_packets_and_cannot_use_another_address() {
    let mut world = World::new("");
    let (first, second) = (Identity::generate(), Identity::generate());
    let mut first = world.client(&first, "wl0").await;
    let mut second = world.client(&second, "wl0").await;
    assert_ne!(first.address(), second.address());
    for near in [&mut first, &mut second] {
        let mut packet = near.packet(UDP, 1);
        std::mem::swap(&mut packet.from, &mut packet.to);
        world.host.send(&packet);
        assert_eq!(near.host.receive().await, packet.bytes());
    }
    // Its own end refuses a foreign address.
    near_forges(&first, &second, 7);
    until(|| first.here().counts.dropped.forbidden == 1).await;
    // For nobody.
    let mut stray = Packet::new(UDP, (1, 2), 0);
    stray.to = "192.0.2.1".parse().unwrap();
    world.host.send(&stray);
    until(|| world.there().counts.dropped.no_peer == 1).await;
    let quiet = Duration::from_millis(300);
    assert_eq!(world.host.drain(quiet).await.len(), 0);
    assert_eq!(second.host.drain(quiet).await.len(), 0);
}

/// One client sends as if it were the other.
fn near_forges(near: &Near, other: &Near, number: u32) {
    let mut forged = near.packet(UDP, number);
    forged.from = other.address();
    near.host.send(&forged);
}

/// A client without any of our code but the handshake's.
async fn bare(
    world: &World,
    client: &Endpoint,
    name: &str,
) -> Result<(Connection, Answer), String> {
    let connecting = soon(client.connect(world.at, world.fingerprint)).await;
    let connection = connecting.map_err(|error| error.to_string())?;
    let mut stream = soon(connection.open_stream()).await.unwrap();
    let hello = Hello {
        weftline_tun: VERSION,
        name: name.to_owned(),
    };
    let asked = async {
        line::write(&mut stream, &hello).await?;
        wire::read::<Answer>(&mut stream).await
    };
    match soon(asked).await {
        Ok(answer) => Ok((connection, answer)),
        Err(_) => Err(soon(connection.closed()).await.to_string()),
    }
}

fn endpoint() -> Endpoint {
    let mut config = EndpointConfig::default();
    Protocol::Tun.ask(&mut config);
    Endpoint::bind(any(), Identity::generate(), Allowed::nobody(), config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_client_gets_nothing_through_but_its_own_packets() {
    let mut world = World::new("");
    let client = endpoint();
    let (connection, answer) = bare(&world, &client, "wl0").await.unwrap();
    let own = answer.lease.addresses[0].addr();
    let message = |packet: &Packet| [&[0][..], &packet.bytes()].concat();
    let mut packet = Packet::new(UDP, (1, 2), 3);
    let (mut malformed, mut forbidden) = (0, 0);
    for from in ["10.77.0.1", "10.77.0.250", "127.0.0.1", "8.8.8.8"] {
        packet.from = from.parse().unwrap();
        forbidden += 1;
        connection
            .send_message(message(&packet), None)
            .await
            .unwrap();
    }
    packet.from = own;
    for to in ["224.0.0.1", "255.255.255.255", "169.254.0.1", "127.0.0.1"] {
        packet.to = to.parse().unwrap();
        forbidden += 1;
        connection
            .send_message(message(&packet), None)
            .await
            .unwrap();
    }
    packet.to = "10.77.0.1".parse().unwrap();
    let whole = message(&packet);
    let mut other_flow = vec![1, 0xff, 0xff, 0, 0, 0, 0];
    other_flow.extend(&whole[1..]);
    let mut other_kind = whole.clone();
    other_kind[0] = 2;
    let messages = [vec![], vec![0], vec![1], vec![1; 7], other_flow, other_kind];
    let cut = (1..whole.len()).map(|length| whole[..length].to_vec());
    for message in messages.into_iter().chain(cut) {
        malformed += 1;
        connection.send_message(message, None).await.unwrap();
    }
    // Numbers as a hostile client may choose them.
    for number in [u32::MAX, 0, 1 << 31, 40_000, 7, 7, 7] {
        let mut message = vec![1, 0, 5];
        message.extend(number.to_be_bytes());
        message.extend(&whole[1..]);
        connection.send_message(message, None).await.unwrap();
    }
    connection.send_message(whole, None).await.unwrap();
    until(|| {
        let dropped = world.there().counts.dropped;
        (dropped.malformed, dropped.forbidden) == (malformed, forbidden)
    })
    .await;
    let came = world.host.drain(Duration::from_secs(2)).await;
    assert_eq!(came.len(), 8);
    assert!(came.iter().all(|came| *came == packet.bytes()));
    assert_eq!(connection.close_reason(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_that_is_none_ends_the_session() {
    let world = World::new("");
    let client = endpoint();
    for name in [String::new(), "x".repeat(65)] {
        let reason = bare(&world, &client, &name).await.unwrap_err();
        assert!(reason.contains("another version"), "{reason}");
    }
    assert!(bare(&world, &client, &"x".repeat(64)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_no_more_tunnels_than_the_server_allows() {
    let mut options = ServerOptions::new(vec!["10.77.0.0/24".parse().unwrap()]);
    options.tunnels = 2;
    let world = World::with("", options);
    let client = endpoint();
    let first = bare(&world, &client, "wl0").await.unwrap();
    let _second = bare(&world, &client, "wl1").await.unwrap();
    let reason = bare(&world, &client, "wl2").await.unwrap_err();
    assert!(
        reason.contains("2 tunnels (--tunnels of the server)"),
        "{reason}"
    );
    // A newer session of the same name replaces the older one, and has its address.
    let third = bare(&world, &client, "wl0").await.unwrap();
    assert_eq!(third.1, first.1);
    let reason = soon(first.0.closed()).await.to_string();
    assert!(reason.contains("replaced by a newer session"), "{reason}");
    assert_eq!(world.there().clients, 2);
    drop(third);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_session_is_replaced_while_device_and_addresses_stay() {
    let mut world = World::new("");
    let identity = Identity::generate();
    let mut near = world.client(&identity, "wl0").await;
    for round in 1..=3 {
        for number in 0..3 {
            near.host.send(&near.packet(TCP, number));
        }
        for expected in 0..3 {
            assert_eq!(number(&world.host.receive().await), expected);
        }
        let mut answer = near.packet(TCP, 9);
        std::mem::swap(&mut answer.from, &mut answer.to);
        world.host.send(&answer);
        assert_eq!(near.host.receive().await, answer.bytes());
        world.server.end_sessions();
        until(|| near.here().counts.sessions > round && near.here().session.is_some()).await;
    }
    assert!(near.opens.try_recv().is_err(), "the device stayed");
    assert_eq!(world.there().clients, 1);
    // So does the address when the client starts again.
    let address = near.address();
    near.stopper.stop();
    soon(&mut near.running).await.unwrap().unwrap();
    let again = world.client(&identity, "wl0").await;
    assert_eq!(again.address(), address);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_tunnel_delivers_packets_in_flight() {
    let mut world = World::new("delay=100ms");
    let mut near = world.client(&Identity::generate(), "wl0").await;
    for number in 0..20 {
        near.host.send(&near.packet(TCP, number));
    }
    until(|| near.here().counts.sent.packets == 20).await;
    near.stopper.stop();
    soon(&mut near.running).await.unwrap().unwrap();
    assert_eq!(world.host.drain(QUIET).await.len(), 20);
    assert!(near.host.is_closed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_has_what_the_server_suggests() {
    let mut options = ServerOptions::new(vec!["10.77.0.0/24".parse().unwrap()]);
    options.routes = vec!["10.0.0.0/8".parse().unwrap()];
    options.dns = vec!["10.77.0.1".parse().unwrap()];
    options.mtu = 1300;
    let world = World::with("", options);
    let near = world.client(&Identity::generate(), "wl0").await;
    let lease = &near.lease;
    assert_eq!(lease.addresses.len(), 1);
    assert_eq!(lease.addresses[0].prefix_len(), 24);
    assert_eq!(
        lease.server,
        ["10.77.0.1".parse::<std::net::IpAddr>().unwrap()]
    );
    assert_eq!(
        (lease.mtu, lease.routes.len(), lease.dns.len()),
        (1300, 1, 1)
    );
}
