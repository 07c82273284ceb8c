//! A relay end to end: real sockets on loopback, and losses between its ends.

mod limits;
mod world;

use std::time::{Duration, Instant};

use tokio::net::UdpSocket;

use weftline::{Allowed, CloseReason, Config, Endpoint, EndpointConfig, Identity};

use self::world::{World, drain, nothing_more, receive, target};
use super::{Client, ClientOptions};
use crate::close;
use crate::error::SessionError;
use crate::protocol::Protocol;
use crate::soon::{soon, until};
use crate::stopper::Stopper;

const LOSSY: &str = "rate=20mbit delay=10ms queue=200ms loss=iid:5%";
/// Bytes of the longest datagram of UDP over IPv4.
const LONGEST: usize = 65_507;
const CLEAN: &str = "delay=5ms";
/// Quiet time after which no more datagrams are expected.
const QUIET: Duration = Duration::from_secs(1);

/// A relay to a fresh target with this delivery.
async fn relay(
    link: &str,
    delivery: &str,
    connect: impl FnOnce(&mut ClientOptions),
) -> (World, UdpSocket) {
    let target = target().await;
    let at = target.local_addr().unwrap().to_string();
    let rule = format!("0={at},{delivery}");
    let world = World::new(link, &at, &[&rule], connect).await;
    (world, target)
}

/// Sends numbered datagrams at a steady rate; returns the numbers of those that arrive.
async fn numbers(world: &World, target: &UdpSocket, count: u32) -> Vec<u32> {
    let program = world.program().await;
    let send = async {
        let mut timer = tokio::time::interval(Duration::from_millis(2));
        for number in 0..count {
            if number % 4 == 0 {
                timer.tick().await;
            }
            let mut datagram = [7; 200];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            program.send(&datagram).await.unwrap();
        }
    };
    let (arrived, ()) = tokio::join!(drain(target, QUIET), send);
    arrived
        .iter()
        .map(|datagram| {
            assert_eq!((datagram.len(), &datagram[4..]), (200, &[7; 196][..]));
            u32::from_be_bytes(datagram[..4].try_into().unwrap())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn in_order_delivers_everything_in_order_over_a_lossy_path() {
    let (world, target) = relay(LOSSY, "in-order", nothing_more).await;
    let arrived = numbers(&world, &target, 1000).await;
    assert!(
        arrived.iter().copied().eq(0..1000),
        "{} of 1000",
        arrived.len()
    );
    let recovered = world.there().session.unwrap().received.recovered_symbols;
    assert!(recovered > 0, "the path lost nothing");
    // The flow is named at both ends, and there is no other.
    for (now, way) in [(world.here(), 0), (world.there(), 1)] {
        let [flow] = &now.busiest[..] else {
            panic!("{now:?}");
        };
        let (sent, delivered) = (now.counts.sent, now.counts.delivered);
        assert_eq!(
            (flow.sent_datagrams, flow.sent_bytes),
            (sent.datagrams, sent.bytes)
        );
        assert_eq!(flow.delivered_datagrams, delivered.datagrams);
        assert_eq!([flow.sent_datagrams, flow.delivered_datagrams][way], 1000);
        assert_eq!(flow.to, target.local_addr().unwrap().to_string());
        assert!(!flow.from.is_empty() && flow.dropped_datagrams == 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unordered_delivers_everything_and_holds_nothing_back() {
    let (world, target) = relay(LOSSY, "unordered", nothing_more).await;
    let mut arrived = numbers(&world, &target, 1000).await;
    assert!(!arrived.is_sorted(), "what was lost came in its place");
    arrived.sort_unstable();
    assert!(
        arrived.iter().copied().eq(0..1000),
        "{} of 1000",
        arrived.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn datagrams_that_losses_make_late_are_dropped() {
    // Without repairs each loss costs a round trip; the deadline has room for one.
    let link = "delay=20ms loss=iid:25%";
    let (world, target) = relay(link, "deadline=75ms", |options| {
        options.endpoint.session.scheme = Config::arq().into();
    })
    .await;
    let arrived = numbers(&world, &target, 1000).await.len() as u64;
    let late = || world.here().counts.dropped.late + world.there().counts.dropped.late;
    assert!((600..1000).contains(&arrived), "{arrived} of 1000 arrived");
    let given_up = world.there().session.unwrap().received.abandoned_symbols;
    assert!(
        given_up + late() > 0,
        "{given_up} given up, {} late",
        late()
    );
    assert_eq!(world.there().counts.delivered.datagrams, arrived);
}

#[tokio::test(flavor = "multi_thread")]
async fn hardly_anything_arrives_by_a_deadline_shorter_than_the_path_delay() {
    let (world, target) = relay("delay=40ms", "deadline=20ms", nothing_more).await;
    let arrived = numbers(&world, &target, 200).await;
    // The path's exact delay is unknown: a datagram as fast as the fastest ever may be in time.
    assert!(arrived.len() < 20, "{arrived:?}");
    let late = world.here().counts.dropped.late + world.there().counts.dropped.late;
    assert!(late > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_program_gets_its_answers_through_its_own_port() {
    let (world, target) = relay(LOSSY, "unordered", nothing_more).await;
    let programs = [world.program().await, world.program().await];
    let mut seen = Vec::new();
    for (word, program) in [b"one", b"two"].iter().zip(&programs) {
        program.send(*word).await.unwrap();
        let (question, from) = receive(&target).await;
        assert_eq!(question, *word);
        seen.push(from);
    }
    assert_ne!(seen[0], seen[1]);
    // Answers in the other order, several of them.
    for (from, word) in seen.iter().zip([b"eins", b"zwei"]).rev() {
        for _ in 0..50 {
            target.send_to(word, from).await.unwrap();
        }
    }
    for (program, word) in programs.iter().zip([b"eins", b"zwei"]) {
        for _ in 0..50 {
            assert_eq!(receive(program).await.0, word);
        }
    }
    assert_eq!((world.here().open, world.there().open), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_lead_to_their_own_targets() {
    let targets = [target().await, target().await];
    let at = targets.each_ref().map(|t| t.local_addr().unwrap());
    let rules = at.map(|at| format!("0={at},in-order"));
    let rules = rules.each_ref().map(String::as_str);
    let world = World::new(CLEAN, "127.0.0.0/8:*", &rules, nothing_more).await;
    for (rule, target) in targets.iter().enumerate() {
        let program = world.program_of(rule).await;
        program.send(&[rule as u8]).await.unwrap();
        assert_eq!(receive(target).await.0, [rule as u8]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forbidden_target_is_refused_by_name() {
    let target = target().await;
    let at = target.local_addr().unwrap();
    let other = format!("127.0.0.1:{}", if at.port() == 1 { 2 } else { 1 });
    let rule = format!("0={at}");
    let mut world = World::started(CLEAN, &other, &[&rule], nothing_more).await;
    let error = soon(&mut world.client).await.unwrap().unwrap_err();
    let SessionError::TargetRefused {
        target: refused, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*refused, at.to_string());
    world.program().await.send(b"knock").await.unwrap();
    assert_eq!(drain(&target, Duration::from_millis(300)).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_told_that_the_session_is_over() {
    let [ours, theirs] = [(); 2].map(|()| Identity::generate());
    let peer = theirs.fingerprint();
    let mut config = EndpointConfig::default();
    Protocol::offer(&mut config);
    let any = "127.0.0.1:0".parse().unwrap();
    let server = Endpoint::bind(any, theirs, Allowed::anyone(), config).unwrap();
    let address = server.local_addr().unwrap().to_string().parse().unwrap();
    let mut options = ClientOptions::new(address, Some((peer, ours)), Vec::new());
    options.timeout = Duration::from_millis(100);
    let client = Client::open(options, |_| {}).unwrap();
    let stopper = Stopper::new();
    let ended = async { soon(server.accept()).await.unwrap().closed().await };
    let ended = tokio::select! {
        ended = soon(ended) => ended,
        _ = client.run(&stopper) => panic!("the server may answer the next time"),
    };
    let is_told = matches!(
        ended,
        CloseReason::Peer {
            code: close::FAILED,
            ..
        }
    );
    assert!(is_told, "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_flow_ends_on_both_ends_and_can_start_again() {
    let (world, target) = relay(CLEAN, "in-order", |options| {
        options.idle = Duration::from_millis(300);
    })
    .await;
    let program = world.program().await;
    program.send(b"first").await.unwrap();
    let (_, before) = receive(&target).await;
    until(|| world.here().open == 0 && world.there().open == 0).await;
    target.send_to(b"too late", before).await.unwrap();
    program.send(b"second").await.unwrap();
    let (word, after) = receive(&target).await;
    assert_eq!(word, b"second");
    assert_ne!(before, after);
    target.send_to(b"answer", after).await.unwrap();
    assert_eq!(receive(&program).await.0, b"answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_idle_flow_is_dropped_for_a_new_one_but_a_young_one_is_not() {
    let (world, target) = relay(CLEAN, "unordered", |options| options.flows = 2).await;
    let mut programs = Vec::new();
    for _ in 0..3 {
        let program = world.program().await;
        program.send(b"here").await.unwrap();
        programs.push(program);
    }
    assert_eq!(drain(&target, Duration::from_millis(500)).await.len(), 2);
    assert_eq!(world.here().counts.dropped.no_flow, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn datagrams_of_every_possible_length_arrive_unchanged() {
    for delivery in ["unordered", "in-order", "deadline=5s"] {
        let (world, target) = relay(CLEAN, delivery, nothing_more).await;
        let program = world.program().await;
        let rule = world.near.rules()[0].delivery;
        let most = super::table::longest(&world.near.session().unwrap(), rule);
        assert!(most >= 1080, "{most}");
        for len in [0, 1, most - 1, most, most + 1, LONGEST] {
            program.send(&vec![5; len]).await.unwrap();
            assert_eq!(receive(&target).await.0, vec![5; len], "{delivery}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn longer_datagrams_pass_in_pieces_in_both_directions() {
    for delivery in ["in-order", "deadline=10s"] {
        let (world, target) = relay(LOSSY, delivery, nothing_more).await;
        let program = world.program().await;
        for len in [1363, 1472, 1500, 60_000, 10] {
            let datagram: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
            program.send(&datagram).await.unwrap();
            let (arrived, from) = receive(&target).await;
            assert!(arrived == datagram, "{delivery} {len}");
            target.send_to(&datagram, from).await.unwrap();
            assert!(receive(&program).await.0 == datagram, "{delivery} {len}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_session_is_replaced_while_sockets_and_flows_stay() {
    let (mut world, target) = relay("", "in-order", nothing_more).await;
    let program = world.program().await;
    for round in 1..=3u64 {
        world.connected().await;
        for word in [b"a", b"b"] {
            program.send(word).await.unwrap();
        }
        let (first, from) = receive(&target).await;
        assert_eq!(
            (first, receive(&target).await.0),
            (b"a".into(), b"b".into())
        );
        target.send_to(b"c", from).await.unwrap();
        assert_eq!(receive(&program).await.0, b"c");
        assert_eq!(
            world.there().counts.flows,
            1,
            "the flow kept its socket on the server"
        );
        assert_eq!(world.here().counts.sessions, round);
        let session = world.near.session().unwrap();
        session.close(0, "the test ends this session");
        until(|| world.here().counts.sessions > round || world.here().session.is_none()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_relay_delivers_datagrams_in_flight() {
    let (mut world, target) = relay("delay=100ms", "in-order", nothing_more).await;
    let program = world.program().await;
    for _ in 0..20 {
        program.send(b"last words").await.unwrap();
    }
    until(|| world.here().counts.sent.datagrams == 20).await;
    world.stopper.stop();
    let started = Instant::now();
    let ended = soon(&mut world.client).await.unwrap();
    assert!(ended.is_ok(), "{ended:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(drain(&target, Duration::from_millis(300)).await.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_begins_with_the_session_keeps_its_long_datagrams() {
    let (world, target) = relay("delay=40ms mtu=1500", "in-order", nothing_more).await;
    let rule = world.near.rules()[0].delivery;
    let longest = super::table::longest(&world.near.session().unwrap(), rule);
    assert!(longest < 1328, "the path is known already: {longest}");
    let program = world.program().await;
    for number in 0..40 {
        program.send(&[number; 1328]).await.unwrap();
    }
    let arrived = drain(&target, QUIET).await;
    assert!(arrived.into_iter().eq((0..40).map(|n| [n; 1328])));
    assert_eq!(world.here().counts.dropped.too_long, 0);
}
