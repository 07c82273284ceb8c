//! A session over several paths.

use std::time::Duration;

use crate::support::{Peer, Script, live};
use weftline_netem::{LinkConfig, RunEnd, Simulation};
use weftline_proto::{
    AddPathError, Config, MAX_PATHS, PathId, PathOptions, PathReport, Preset, RateControl, Role,
    Session, Time,
};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

const FAST: &str = "rate=50mbit delay=20ms queue=100ms";
const LOSSY: &str = "rate=50mbit delay=20ms queue=100ms loss=iid:2%";
const DEAD: &str = "rate=50mbit delay=20ms queue=100ms loss=iid:100%";
const NARROW: &str = "rate=12mbit delay=20ms queue=100ms";
const FAR: &str = "rate=50mbit delay=70ms queue=100ms";
const JITTER: &str = "rate=50mbit delay=20ms queue=100ms jitter=5ms,normal";
const LTE: &str = "rate=40mbit delay=35ms queue=100ms jitter=8ms,normal";
const STARLINK: &str = "rate=100mbit delay=50ms queue=100ms jitter=25ms,normal loss=iid:1%";
const REORDERS: &str = "rate=50mbit delay=20ms queue=100ms jitter=5ms,normal,reorder";

fn link(text: &str) -> LinkConfig {
    text.parse().expect("it is a link")
}

fn config() -> Config {
    let mut config = Config::default();
    config.rate = RateControl::Adaptive;
    config
}

/// Adds paths over these links, both directions alike, of these costs.
fn with_paths(mut sim: Simulation<Peer, Peer>, links: &[(&str, u8)]) -> Simulation<Peer, Peer> {
    for (seed, (text, cost)) in (10..).zip(links) {
        sim.add_path(link(text), link(text), seed);
        sim.a.add_path(*cost);
        sim.b.add_path(*cost);
    }
    sim
}

/// A transfer of `bytes` over these links.
fn transfer(bytes: u64, links: &[&str]) -> Simulation<Peer, Peer> {
    let [sends, reads] = Script::transfer(bytes);
    let client = Peer::new(Role::Client, config(), 1, sends);
    let server = Peer::new(Role::Server, config(), 2, reads);
    let sim = Simulation::new(client, server, link(links[0]), link(links[0]), 3);
    let more: Vec<_> = links[1..].iter().map(|link| (*link, 0)).collect();
    with_paths(sim, &more)
}

/// Mbit/s that arrive in order in five seconds.
fn goodput(links: &[&str]) -> f64 {
    let mut sim = transfer(1_000_000_000, links);
    sim.run_until(5 * S);
    assert_eq!(sim.b.wrong, 0);
    let read: u64 = sim.b.read.values().map(|(bytes, _)| bytes).sum();
    read as f64 * 8e-6 / 5.0
}

/// A stream of 10 Mbit/s in messages of 1250 bytes, for `secs` seconds.
fn stream(links: &[(&str, u8)], secs: u64) -> Simulation<Peer, Peer> {
    let (flow, first) = ((MS, 1250, 1000 * secs), link(links[0].0));
    let sim = live(config(), flow, first.clone(), first, 5);
    with_paths(sim, &links[1..])
}

/// The delay that one message in a hundred exceeds, and the longest.
fn late(sim: &Simulation<Peer, Peer>) -> [Duration; 2] {
    let mut delays = sim.b.live_delays.clone();
    delays.sort();
    [delays[delays.len() * 99 / 100], delays[delays.len() - 1]]
}

fn reports(peer: &Peer) -> Vec<PathReport> {
    peer.session.paths().map(|(_, report)| report).collect()
}

/// Replaces both directions of the first path.
fn set_first(sim: &mut Simulation<Peer, Peer>, text: &str) {
    sim.a_to_b.set_config(link(text));
    sim.b_to_a.set_config(link(text));
}

#[test]
fn a_transfer_takes_what_its_paths_have_together() {
    for (first, second, share) in [
        (FAST, FAST, 0.95),
        (LOSSY, LOSSY, 0.95),
        (FAST, NARROW, 0.95),
        (FAST, FAR, 0.9),
        (JITTER, JITTER, 0.95),
        (REORDERS, REORDERS, 0.95),
    ] {
        let alone = goodput(&[first]) + goodput(&[second]);
        let together = goodput(&[first, second]);
        assert!(
            together >= share * alone,
            "{first} and {second}: {together} of {alone}"
        );
    }
}

#[test]
fn slow_paths_have_short_queues() {
    // A packet takes 10 ms, and the first window 500 ms.
    let slow = "rate=1mbit delay=20ms queue=2s";
    let mut sim = transfer(1_000_000_000, &[slow, slow]);
    sim.run_until(10 * S);
    for report in reports(&sim.a) {
        assert!(report.rtt < 150 * MS, "{:?}", report.rtt);
    }
}

#[test]
fn a_stream_is_no_later_than_on_the_better_path() {
    for (first, second) in [
        (FAST, FAST),
        (LOSSY, LOSSY),
        (LOSSY, FAR),
        (FAR, LOSSY),
        (JITTER, JITTER),
        (REORDERS, REORDERS),
    ] {
        let run = |links: &[(&str, u8)]| {
            let mut sim = stream(links, 5);
            sim.run_until(6 * S);
            assert_eq!(sim.b.live_delays.len(), 5000);
            late(&sim)[0]
        };
        let better = run(&[(first, 0)]).min(run(&[(second, 0)]));
        // On two paths, the first second finds out which is the better one.
        let together = run(&[(first, 0), (second, 0)]);
        let starts = if first == FAR { 60 * MS } else { MS };
        assert!(
            together <= better + starts,
            "{first} and {second}: {together:?}, {better:?}"
        );
    }
}

#[test]
fn a_path_that_is_cut_holds_nothing_up_and_is_used_again_when_it_is_back() {
    for (first, second) in [(FAST, FAST), (LOSSY, LOSSY), (FAST, FAR), (FAR, FAST)] {
        let mut sim = stream(&[(first, 0), (second, 0)], 9);
        sim.run_until(2 * S);
        set_first(&mut sim, DEAD);
        sim.run_until(4 * S);
        let idle = reports(&sim.a)[0];
        sim.run_until(7 * S);
        // Only probes leave on a path that is silent.
        let probes = reports(&sim.a)[0].sent_bytes - idle.sent_bytes;
        assert!(probes < 1000, "{probes} bytes on a dead path");
        set_first(&mut sim, first);
        sim.run_until(10 * S);
        assert_eq!(sim.b.live_delays.len(), 9000);
        let allowed = 150 * MS + link(second).delay;
        assert!(
            late(&sim)[1] <= allowed,
            "{first} and {second}: {:?}",
            late(&sim)
        );
        let silent: Vec<_> = sim.a.silent.iter().map(|(path, _)| *path).collect();
        assert_eq!(silent, [PathId::FIRST], "{first}");
        let back = sim.a.heard[0].1;
        assert!((7 * S..7 * S + 500 * MS).contains(&back), "{back:?}");
    }
}

#[test]
fn a_stream_moves_to_a_path_whose_delay_jitters_without_waiting_until_that_is_known() {
    let mut sim = stream(&[(LTE, 0), (STARLINK, 0)], 9);
    sim.run_until(2 * S);
    set_first(&mut sim, DEAD);
    sim.run_until(10 * S);
    assert_eq!(sim.b.live_delays.len(), 9000);
    // Datagrams that keep their order wait for the slowest before them: up to 120 ms of 50.
    let late = late(&sim);
    assert!(late[0] < 150 * MS && late[1] < 270 * MS, "{late:?}");
}

#[test]
fn a_transfer_survives_the_end_of_any_path_and_takes_new_ones() {
    let mut sim = transfer(30_000_000, &[FAST, FAST]);
    sim.run_until(S);
    // The carrier of the first path is gone, without a word to the peer.
    let first = sim.a.paths[0];
    sim.a
        .session
        .remove_path(Time::from_micros(1_000_000), first);
    sim.run_until(2 * S);
    assert_eq!(reports(&sim.a).len(), 1);
    let now = Time::from_micros(2_000_000);
    sim.b.session.remove_path(now, first);
    let sim = &mut with_paths(sim, &[(FAST, 0)]);
    let end = sim.run_while(20 * S, |sim| !(sim.a.is_done() && sim.b.is_done()));
    assert_eq!(end, RunEnd::Condition);
    assert_eq!(sim.b.wrong, 0);
    // The path that was added carried its part.
    let carried = reports(&sim.a)[1].arrived_bytes;
    assert!(carried > 5_000_000, "{carried}");
}

#[test]
fn a_session_without_a_path_waits_for_one() {
    let mut sim = transfer(20_000_000, &[FAST]);
    sim.run_until(S);
    for peer in [&mut sim.a, &mut sim.b] {
        let now = Time::from_micros(1_000_000);
        peer.session.remove_path(now, PathId::FIRST);
    }
    sim.run_until(5 * S);
    let sim = &mut with_paths(sim, &[(FAST, 0)]);
    // The one without a carrier does not stay beside another.
    assert_eq!(reports(&sim.a).len(), 1);
    let end = sim.run_while(20 * S, |sim| !(sim.a.is_done() && sim.b.is_done()));
    assert_eq!(end, RunEnd::Condition);
    assert_eq!(sim.b.wrong, 0);
}

#[test]
fn a_path_that_costs_more_carries_data_only_when_it_is_needed() {
    let mut sim = stream(&[(FAST, 0), (FAST, 1)], 8);
    sim.run_until(3 * S);
    let idle = reports(&sim.a)[1].sent_bytes;
    assert!(idle < 2000, "{idle}");
    set_first(&mut sim, DEAD);
    sim.run_until(9 * S);
    assert_eq!(sim.b.live_delays.len(), 8000);
    let used = reports(&sim.a)[1].sent_bytes;
    assert!(used > 6_000_000, "{used}");
}

#[test]
fn each_path_tells_its_own_losses_and_what_repairs_recovered_of_them() {
    let mut sim = stream(&[(LOSSY, 0), (FAST, 0)], 5);
    sim.run_until(6 * S);
    let [lossy, whole] = reports(&sim.a)[..] else {
        panic!("two paths");
    };
    assert!((0.01..0.03).contains(&lossy.loss), "{}", lossy.loss);
    assert!(lossy.recovered_symbols > 10, "{}", lossy.recovered_symbols);
    assert_eq!((whole.loss, whole.recovered_symbols), (0.0, 0));
    // A datagram that was lost has left, and has not arrived.
    let lost = lossy.sent_bytes - lossy.arrived_bytes;
    let share = lost as f64 / lossy.sent_bytes as f64;
    assert!((0.01..0.04).contains(&share), "{share}");
}

#[test]
fn a_path_is_refused_where_it_cannot_help() {
    let now = Time::ZERO;
    let session = |preset: Preset| {
        let config = Config::new(preset.scheme());
        Session::new(Role::Client, config, 1, now).expect("it is possible")
    };
    let options = PathOptions::default();
    let mut rest = session(Preset::Rest);
    let refused = rest.add_path(now, options);
    assert_eq!(refused, Err(AddPathError::Scheme("rest")));
    let mut auto = session(Preset::Auto);
    let added: Vec<_> = (1..MAX_PATHS)
        .map(|_| auto.add_path(now, options))
        .collect();
    assert!(added.iter().all(Result::is_ok));
    assert_eq!(auto.add_path(now, options), Err(AddPathError::TooMany));
    // A path that is gone makes room; its name is not used again.
    let path = added[0].clone().expect("it was added");
    auto.remove_path(now, path);
    let newest = auto.add_path(now, options).expect("there is room");
    assert_eq!(newest.index(), MAX_PATHS);
    // What comes on a path that is gone is ignored.
    auto.handle_datagram_on(now, path, &[3; 15]);
    assert_eq!(auto.stats().received.datagrams, 0);
    assert!(!auto.poll_transmit_on(now, path, &mut Vec::new()));
    auto.close(now, 0, "");
    assert_eq!(auto.add_path(now, options), Err(AddPathError::Closed));
}

#[test]
fn a_path_that_an_end_has_only_reported_on_falls_silent_too() {
    for second in [FAST, FAR, "rate=50mbit delay=300ms queue=100ms"] {
        let mut sim = transfer(1_000_000, &[FAST, second]);
        sim.run_until(4 * S);
        set_first(&mut sim, DEAD);
        // The end that has received answers now.
        let now = Time::from_micros(4_000_000);
        let answer = sim.b.session.send_message(now, vec![7; 500], None);
        assert!(answer.is_ok());
        sim.run_until(9 * S);
        assert!(sim.b.session.all_acknowledged(), "{second}");
        assert_eq!(sim.a.messages.len(), 1);
    }
}

#[test]
fn few_messages_over_two_lossy_paths_do_not_stand_still() {
    let texts = [2, 20].map(|loss| format!("rate=50mbit delay=20ms queue=100ms loss=iid:{loss}%"));
    for seed in 5..13 {
        let (flow, first) = ((50 * MS, 1250, 160), link(&texts[0]));
        let sim = live(config(), flow, first.clone(), first, seed);
        let mut sim = with_paths(sim, &[(&texts[1], 0)]);
        sim.run_until(10 * S);
        assert_eq!(sim.b.live_delays.len(), 160);
        assert!(late(&sim)[1] < 300 * MS, "seed {seed}: {:?}", late(&sim));
    }
}

#[test]
fn close_reaches_the_peer_although_a_path_is_dead() {
    let mut sim = stream(&[(FAST, 0), (FAST, 0)], 9);
    sim.run_until(2 * S);
    set_first(&mut sim, DEAD);
    sim.run_until(4 * S);
    sim.a.session.close(Time::from_micros(4_000_000), 0, "bye");
    sim.run_until(5 * S);
    assert!(sim.b.closed.is_some());
}

#[test]
fn the_report_of_close_is_about_the_path_on_which_it_comes() {
    for seed in 0..20 {
        let sends = Script {
            messages: vec![(1000, None); 3000].into(),
            ..Script::default()
        };
        let reads = Script {
            expect_messages: 3000,
            ..Script::default()
        };
        let client = Peer::new(Role::Client, config(), seed, sends);
        let server = Peer::new(Role::Server, config(), seed + 1, reads);
        let first = link("rate=30mbit delay=22ms queue=100ms");
        let sim = Simulation::new(client, server, first.clone(), first, seed);
        let mut sim = with_paths(sim, &[(FAST, 0)]);
        let cut = 60 + 3 * seed;
        sim.run_until(Duration::from_millis(cut));
        sim.a_to_b.set_config(link(DEAD));
        sim.run_until(Duration::from_millis(cut + 40));
        let had = sim.b.messages.len();
        let now = Time::from_micros(1000 * (cut + 40));
        sim.b.session.close(now, 0, "bye");
        sim.run_until(3 * S);
        let told = sim.a.fates.iter().filter(|(_, delivered)| *delivered);
        let told = told.count();
        assert!(told <= had, "seed {seed}: {told} of {had}");
    }
}

#[test]
fn a_transfer_uses_a_path_in_full_soon_after_it_is_back() {
    let mut sim = transfer(1_000_000_000, &[FAST, FAST]);
    let arrived = |sim: &Simulation<Peer, Peer>| reports(&sim.a)[0].arrived_bytes;
    sim.run_until(2 * S);
    let before = arrived(&sim);
    sim.run_until(3 * S);
    let full = arrived(&sim) - before;
    set_first(&mut sim, DEAD);
    sim.run_until(6 * S);
    set_first(&mut sim, FAST);
    sim.run_until(7 * S);
    let before = arrived(&sim);
    sim.run_until(8 * S);
    let again = arrived(&sim) - before;
    assert!(again * 100 >= full * 95, "{again} of {full} bytes a second");
}
