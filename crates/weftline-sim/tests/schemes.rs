//! Schemes of other systems: how much they send, and when.
#![allow(missing_docs)]

// The engine's tests use the rest of it.
#[expect(dead_code)]
#[path = "../../weftline-proto/tests/all/support/mod.rs"]
mod support;

use std::time::Duration;

use support::{Peer, Script, run};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::{Config, RateControl, Role, Stats};
use weftline_sim::schemes;

const MESSAGE: usize = 1000;
const MESSAGES: u64 = 5000;
const PERIOD: Duration = Duration::from_millis(1);

fn link(text: &str) -> LinkConfig {
    text.parse().expect("well-formed")
}

/// A message each ms over a round trip of 60 ms; what the sender counts, and the longest delay.
fn live(config: Config, loss: &str) -> (Stats, Duration) {
    let writer = Script {
        live: Some((PERIOD, MESSAGE, MESSAGES)),
        ..Script::default()
    };
    let reader = Script {
        read_live: Some(MESSAGE),
        ..Script::default()
    };
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config, 2, reader),
        link(&format!("rate=25mbit delay=30ms queue=100ms loss={loss}")),
        link("delay=30ms"),
        5,
    );
    sim.run_until(PERIOD * MESSAGES as u32 + Duration::from_secs(3));
    let delays = &sim.b.live_delays;
    assert_eq!(delays.len() as u64, MESSAGES, "every message arrives");
    let longest = delays.iter().max().expect("there are some");
    (sim.a.session.stats(), *longest)
}

fn paced(words: &[&str]) -> Config {
    let mut config = schemes::read(words).expect("a scheme of the laboratory");
    config.rate = RateControl::Fixed {
        rate: Some(24_000_000),
        window: None,
    };
    config
}

fn share(stats: &Stats) -> f64 {
    stats.sent.repair_symbols as f64 / stats.sent.source_symbols as f64
}

#[test]
fn where_nothing_is_lost_ac_rlnc_and_flec_for_bulk_send_next_to_nothing() {
    for preset in ["preset=ac-rlnc", "preset=flec-bulk"] {
        let (stats, _) = live(paced(&[preset]), "none");
        // The end of the stream is silence too.
        assert!(stats.sent.repair_symbols <= 4, "{preset}: {:?}", stats.sent);
    }
}

#[test]
fn ac_rlnc_sends_what_is_lost_and_what_reports_ask_for() {
    let (stats, longest) = live(paced(&["preset=ac-rlnc"]), "iid:10%");
    // Of a round trip's worth a tenth, rounded up, and again for what that leaves.
    assert!((0.11..0.3).contains(&share(&stats)), "{}", share(&stats));
    assert!(longest < Duration::from_millis(300), "{longest:?}");
}

#[test]
fn flec_for_bulk_waits_for_the_end_of_the_data() {
    let config = paced(&["preset=flec-bulk"]);
    let script = |streams: Vec<u64>| Script {
        streams,
        ..Script::default()
    };
    let reader = Script {
        expect_streams: vec![2_000_000],
        ..Script::default()
    };
    let outcome = run(
        Peer::new(Role::Client, config.clone(), 1, script(vec![2_000_000])),
        Peer::new(Role::Server, config, 2, reader),
        link("rate=25mbit delay=30ms queue=100ms"),
        link("delay=30ms"),
        3,
        Duration::from_secs(30),
    );
    assert!(outcome.done);
    let sent = outcome.client.session.stats().sent;
    assert!((1..=8).contains(&sent.repair_symbols), "{sent:?}");
}

#[test]
fn flec_for_messages_sends_a_repair_when_a_deadline_cannot_wait() {
    let with = |millis| {
        let deadline = format!("deadline={millis}");
        let config = paced(&["preset=flec-message", &deadline]);
        share(&live(config, "none").0)
    };
    // Of 100 ms, the path takes 30, the margin 25 and the wait for the next message one.
    let patient = with(100);
    assert!((1.0 / 50.0..1.0 / 40.0).contains(&patient), "{patient}");
    // No time to wait: each has its own.
    let hasty = with(55);
    assert!((0.95..1.05).contains(&hasty), "{hasty}");
}

#[test]
fn uncoded_top_ups_are_the_lost_symbols_themselves() {
    let (stats, _) = live(paced(&["preset=uncoded"]), "iid:20%");
    assert!(
        (share(&stats) - 1.0 / 6.0).abs() < 0.01,
        "{}",
        share(&stats)
    );
    assert!(stats.sent.retransmissions > MESSAGES / 20, "{stats:?}");
}
