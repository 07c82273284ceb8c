//! Both ends learn the end of a session, for every way in which it can end.

use std::time::Duration;

use crate::support::{Peer, Script, time};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::{CloseReason, Config, Role, Violation, WriteError};

type Sim = Simulation<Peer, Peer>;

fn sim(config: Config, link: &str, seed: u64) -> Sim {
    let link: LinkConfig = link.parse().expect("well-formed");
    Simulation::new(
        Peer::new(Role::Client, config.clone(), seed, Script::default()),
        Peer::new(Role::Server, config, seed + 1, Script::default()),
        link.clone(),
        link,
        seed,
    )
}

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

#[test]
fn a_close_reaches_the_peer_with_its_code_and_reason_despite_losses() {
    for seed in 0..50 {
        let mut sim = sim(Config::default(), "delay=20ms loss=iid:30%", seed);
        sim.run_until(seconds(2));
        assert!(sim.a.connected && sim.b.connected, "seed {seed}");
        let now = time(sim.now());
        sim.a.session.close(now, 7, "enough");
        sim.a.pump();
        sim.run_until(seconds(60));
        assert_eq!(sim.a.closed, Some(CloseReason::Local));
        assert!(sim.a.session.is_drained());
        match sim.b.closed.clone().expect("the peer learns") {
            CloseReason::Peer { code, reason } => {
                assert_eq!((code, reason.as_str()), (7, "enough"))
            }
            // All three copies were lost (2.7 %): the peer learns it from silence.
            CloseReason::TimedOut { seconds } => assert_eq!(seconds, 30),
            other => panic!("seed {seed}: {other:?}"),
        }
        assert!(sim.b.session.is_drained());
        assert_eq!(sim.b.session.poll_timeout(), None);
    }
}

#[test]
fn a_lost_peer_is_noticed_after_the_idle_timeout_and_not_before() {
    let mut config = Config::default();
    config.idle_timeout = seconds(5);
    config.keep_alive = Some(seconds(1));
    let mut sim = sim(config, "delay=20ms", 3);
    sim.run_until(seconds(20));
    assert_eq!(sim.a.closed, None, "keep-alive holds an idle session");
    let dead: LinkConfig = "rate=0bit".parse().expect("well-formed");
    sim.a_to_b.set_config(dead.clone());
    sim.b_to_a.set_config(dead);
    sim.run_until(seconds(24));
    assert_eq!(sim.a.closed, None);
    sim.run_until(seconds(26));
    let reason = CloseReason::TimedOut { seconds: 5 };
    assert_eq!(sim.a.closed, Some(reason.clone()));
    assert_eq!(sim.b.closed, Some(reason));
    assert!(sim.a.session.is_drained() && sim.b.session.is_drained());
}

#[test]
fn a_silent_peer_is_asked_as_often_as_keep_alive_says_even_with_data_to_send() {
    let script = Script {
        streams: vec![30_000_000],
        ..Script::default()
    };
    let mut config = Config::default();
    config.keep_alive = Some(seconds(1));
    let link: LinkConfig = "rate=20mbit delay=20ms".parse().expect("well-formed");
    let mut sim: Sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, script),
        Peer::new(Role::Server, config, 2, Script::default()),
        link.clone(),
        link,
        3,
    );
    sim.run_until(seconds(1));
    let dead: LinkConfig = "rate=0bit".parse().expect("well-formed");
    sim.a_to_b.set_config(dead.clone());
    sim.b_to_a.set_config(dead);
    let sent = |sim: &Sim| sim.a.session.stats().sent.datagrams;
    for second in 2..28 {
        let before = sent(&sim);
        sim.run_until(seconds(second) + Duration::from_millis(10));
        assert!(sent(&sim) > before, "nothing was sent in second {second}");
    }
}

#[test]
fn a_session_whose_peer_does_not_answer_says_so_until_it_is_heard() {
    for bytes in [30_000_000, 0] {
        let script = Script {
            streams: vec![bytes],
            ..Script::default()
        };
        let mut config = Config::default();
        config.keep_alive = Some(seconds(1));
        let alive: LinkConfig = "rate=20mbit delay=20ms".parse().expect("well-formed");
        let mut sim: Sim = Simulation::new(
            Peer::new(Role::Client, config.clone(), 1, script),
            Peer::new(Role::Server, config, 2, Script::default()),
            alive.clone(),
            alive.clone(),
            3,
        );
        let silent = |sim: &Sim| sim.a.session.paths().any(|(_, path)| path.silent);
        for tenth in 1..50 {
            sim.run_until(Duration::from_millis(100 * tenth));
            assert!(!silent(&sim), "{bytes} bytes, {tenth}");
        }
        let dead: LinkConfig = "rate=0bit".parse().expect("well-formed");
        sim.a_to_b.set_config(dead.clone());
        sim.b_to_a.set_config(dead);
        // An idle session learns it when a second question gets no answer.
        sim.run_until(seconds(if bytes > 0 { 6 } else { 7 }));
        assert!(silent(&sim), "{bytes} bytes");
        sim.run_until(seconds(12));
        assert!(silent(&sim), "{bytes} bytes");
        sim.a_to_b.set_config(alive.clone());
        sim.b_to_a.set_config(alive);
        sim.run_until(seconds(20));
        assert!(!silent(&sim), "{bytes} bytes");
    }
}

#[test]
fn a_short_idle_timeout_of_one_end_does_not_end_an_idle_session() {
    let mut short = Config::default();
    short.idle_timeout = seconds(5);
    let script = Script::default;
    let link: LinkConfig = "delay=20ms".parse().expect("well-formed");
    let mut sim: Sim = Simulation::new(
        Peer::new(Role::Client, short, 1, script()),
        Peer::new(Role::Server, Config::default(), 2, script()),
        link.clone(),
        link,
        3,
    );
    sim.run_until(seconds(60));
    assert_eq!((&sim.a.closed, &sim.b.closed), (&None, &None));
}

#[test]
fn an_idle_session_without_keep_alive_times_out() {
    let mut config = Config::default();
    config.idle_timeout = seconds(5);
    config.keep_alive = None;
    let mut sim = sim(config, "delay=20ms", 3);
    sim.run_until(seconds(10));
    assert_eq!(sim.a.closed, Some(CloseReason::TimedOut { seconds: 5 }));
}

#[test]
fn an_outage_shorter_than_the_idle_timeout_is_survived() {
    let script = Script {
        streams: vec![3_000_000],
        ..Script::default()
    };
    let mut config = Config::default();
    config.rate = weftline_proto::RateControl::Fixed {
        rate: Some(10_000_000),
        window: None,
    };
    let link: LinkConfig = "rate=20mbit delay=20ms queue=50ms loss=iid:3%"
        .parse()
        .expect("well-formed");
    let reader = Script {
        expect_streams: vec![3_000_000],
        ..Script::default()
    };
    let mut sim: Sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, script),
        Peer::new(Role::Server, config, 2, reader),
        link.clone(),
        link.clone(),
        9,
    );
    sim.run_until(seconds(1));
    let dead: LinkConfig = "rate=0bit".parse().expect("well-formed");
    sim.a_to_b.set_config(dead.clone());
    sim.b_to_a.set_config(dead);
    sim.run_until(seconds(16));
    assert!(!sim.b.is_done() && sim.a.closed.is_none());
    sim.a_to_b.set_config(link.clone());
    sim.b_to_a.set_config(link);
    let healed = sim.now();
    sim.run_while(seconds(60), |s| !(s.a.is_done() && s.b.is_done()));
    assert!(sim.a.is_done() && sim.b.is_done());
    assert_eq!(sim.b.wrong, 0);
    // The rest takes 1.6 s at this rate; the timer may sleep 2 s when the path comes back.
    let took = sim.now() - healed;
    assert!(took < seconds(6), "{took:?} after the outage");
}

#[test]
fn a_reset_drops_unread_data_and_a_stop_silences_the_writer() {
    let mut sim = sim(Config::default(), "delay=20ms loss=iid:20%", 5);
    sim.run_until(seconds(1));
    let (a, b) = (
        sim.a.session.open_stream().expect("allowed"),
        sim.a.session.open_stream().expect("allowed"),
    );
    sim.a.session.write(a, b"never finished").expect("room");
    sim.a.session.write(b, b"nobody listens").expect("room");
    sim.run_until(seconds(2));
    sim.a.session.reset(a, 11);
    sim.b.session.stop(b, 12);
    sim.run_until(seconds(4));
    assert_eq!(sim.b.resets.get(&a.0), Some(&11));
    assert_eq!(sim.a.session.write(b, b"x"), Err(WriteError::Stopped(12)));
    assert_eq!(sim.a.session.write(a, b"x"), Err(WriteError::Finished));
    // The other direction of both streams still works.
    sim.b.session.write(a, b"back").expect("room");
    sim.run_until(seconds(6));
    let mut buf = [0; 64];
    assert_eq!(sim.a.session.read(a, &mut buf), Ok(4));
}

#[test]
fn a_peer_that_breaks_the_protocol_is_closed_and_told_why() {
    let mut sim = sim(Config::default(), "delay=20ms", 5);
    sim.run_until(seconds(1));
    // A source symbol with a frame for a stream that the server never opened.
    let mut forged = vec![1];
    forged.extend_from_slice(&1000u32.to_be_bytes());
    forged.extend_from_slice(&[0; 4]);
    forged.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
    forged.extend_from_slice(&[0x10, 9, 0, 1]);
    let now = time(sim.now());
    sim.b.session.handle_datagram(now, &forged);
    sim.b.pump();
    let violation = Violation::UnopenedStream;
    assert_eq!(sim.b.closed, Some(CloseReason::Violation(violation)));
    sim.run_until(seconds(5));
    let told = CloseReason::Refused("frame for a stream that was never opened".to_owned());
    assert_eq!(sim.a.closed, Some(told));
}

#[test]
fn a_session_can_be_dropped_only_after_it_has_told_the_peer_that_it_is_over() {
    let mut sim = sim(Config::default(), "delay=20ms", 3);
    sim.run_until(seconds(1));
    assert!(!sim.a.session.is_drained() && !sim.b.session.is_drained());
    let now = time(sim.now());
    sim.a.session.close(now, 0, "");
    // The peer may still send; each datagram of it is answered for a while.
    assert!(!sim.a.session.is_drained());
    sim.run_until(seconds(5));
    assert!(sim.a.session.is_drained() && sim.b.session.is_drained());
}
