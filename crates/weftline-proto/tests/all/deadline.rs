//! Scheme `auto` with a deadline, and with a limit that leaves few repairs.

use std::time::Duration;

use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::{Auto, Config, Preset, RateControl, Role, Scheme};

const MESSAGE: usize = 1000;
const MS: Duration = Duration::from_millis(1);

/// The delays of one message every ms over a round trip of 60 ms, and the number of datagrams for
/// each source symbol.
fn live(preset: Preset, aim: impl FnOnce(&mut Auto), loss: &str) -> (Vec<Duration>, f64) {
    let mut config = Config::preset(preset);
    config.rate = RateControl::Fixed {
        rate: Some(24_000_000),
        window: None,
    };
    if let Scheme::Auto(auto) = &mut config.scheme {
        aim(auto);
    }
    let messages = 20_000;
    let writer = Script {
        live: Some((MS, MESSAGE, messages)),
        ..Script::default()
    };
    let reader = Script {
        read_live: Some(MESSAGE),
        ..Script::default()
    };
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config, 2, reader),
        link(&format!("rate=25mbit delay=30ms queue=60ms loss={loss}")),
        link("delay=30ms"),
        11,
    );
    sim.run_until(MS * messages as u32 + 3000 * MS);
    let delays = sim.b.live_delays.clone();
    assert_eq!(delays.len() as u64, messages, "every message arrives");
    let sent = sim.a.session.stats().sent;
    let spent = sent.source_symbols + sent.repair_symbols + sent.retransmissions;
    (delays, spent as f64 / sent.source_symbols as f64)
}

fn late(delays: &[Duration], deadline: Duration) -> usize {
    delays.iter().filter(|delay| **delay > deadline).count()
}

#[test]
fn under_runs_of_losses_a_deadline_makes_more_messages_timely_at_the_same_cost() {
    let deadline = 100 * MS;
    let limit = |auto: &mut Auto| auto.overhead = Some(0.2);
    let (without, cost) = live(Preset::Auto, limit, "ge:10%,4");
    let aim = |auto: &mut Auto| {
        limit(auto);
        auto.deadline = Some(deadline);
    };
    let (with, same) = live(Preset::Auto, aim, "ge:10%,4");
    assert!(same < 1.02 * cost, "{same} {cost}");
    let (with, without) = (late(&with, deadline), late(&without, deadline));
    assert!(3 * with < 2 * without, "{with} late, {without} without");
}

#[test]
fn a_distant_deadline_costs_less_than_the_shortest_delay() {
    let (hasty, cost) = live(Preset::Auto, |_| {}, "iid:10%");
    let deadline = 150 * MS;
    let aim = |auto: &mut Auto| auto.deadline = Some(deadline);
    let (patient, less) = live(Preset::Auto, aim, "iid:10%");
    assert!(less < cost - 0.05, "{less} {cost}");
    assert!(late(&hasty, deadline) == 0 && late(&patient, deadline) < 20);
}

#[test]
fn a_limit_that_hardly_covers_the_losses_does_not_make_auto_slower_than_no_code() {
    let mean = |delays: &[Duration]| delays.iter().sum::<Duration>() / delays.len() as u32;
    let limit = |auto: &mut Auto| auto.overhead = Some(0.03);
    let (auto, _) = live(Preset::Auto, limit, "iid:3%");
    let (arq, _) = live(Preset::Arq, |_| {}, "iid:3%");
    assert!(mean(&auto) < mean(&arq).mul_f64(1.05), "{:?}", mean(&auto));
}
