//! Sessions that find themselves what the path takes, and use it.

use std::time::Duration;

use weftline_netem::{LinkConfig, RunEnd, Simulation};
use weftline_proto::{Config, RateControl, Role, Session, Time};

use crate::support::pair::{Pair, transmit_all};
use crate::support::{Peer, Script, time};

/// What IP, UDP and the carrier add. The link adds less.
const OVERHEAD: usize = 36;
const LINK_HEADERS: usize = 28;
const BASE: usize = 1280 - OVERHEAD;
const MOST: usize = 65_000;

fn link(text: &str, mtu: usize) -> LinkConfig {
    let mtu = mtu - OVERHEAD + LINK_HEADERS;
    format!("{text} mtu={mtu}").parse().expect("a link")
}

fn config() -> Config {
    let mut config = Config::default();
    config.datagram_overhead = OVERHEAD as u16;
    config
}

fn discover(session: &mut Session, now: Duration) {
    let found = session.discover_largest_datagram(time(now), BASE..=MOST);
    found.expect("long enough");
}

/// Sends a file over a path that takes packets of `mtu` bytes, from when on: `(seconds, mtu)`.
fn transfer(
    config: Config,
    bytes: u64,
    path: &str,
    mtus: &[(f64, usize)],
) -> Simulation<Peer, Peer> {
    let [script, expect] = Script::transfer(bytes);
    let client = Peer::new(Role::Client, config.clone(), 1, script);
    let server = Peer::new(Role::Server, config, 2, expect);
    let start = link(path, mtus[0].1);
    let mut sim = Simulation::new(client, server, start.clone(), start, 3);
    discover(&mut sim.a.session, Duration::ZERO);
    discover(&mut sim.b.session, Duration::ZERO);
    for (i, (_, mtu)) in mtus.iter().enumerate() {
        sim.a_to_b.set_config(link(path, *mtu));
        sim.b_to_a.set_config(link(path, *mtu));
        let end = mtus.get(i + 1).map_or(100.0, |next| next.0);
        let end = sim.run_while(Duration::from_secs_f64(end), |s| {
            !(s.a.is_done() && s.b.is_done())
        });
        if end == RunEnd::Condition {
            break;
        }
    }
    assert!(sim.a.is_done() && sim.b.is_done(), "{mtus:?}");
    assert_eq!(sim.b.wrong, 0);
    sim
}

const LAN: &str = "rate=1gbit delay=1ms queue=20ms";

#[test]
fn what_the_path_takes_is_found_with_few_probes_and_used() {
    for (mtu, expected) in [
        (1280, 1244),
        (1400, 1364),
        (1500, 1464),
        (4352, 4316),
        (9000, 8964),
        (16_000, 8964),
    ] {
        let sim = transfer(config(), 20_000_000, LAN, &[(0.0, mtu)]);
        assert_eq!(sim.a.session.largest_datagram(), expected, "{mtu}");
        let stats = sim.a.session.stats();
        let mean = 20_000_000 / stats.sent.source_symbols as usize;
        let full = if expected < 1500 {
            (expected - 21).min(1400)
        } else {
            expected - 21
        };
        assert!(
            (full * 2 / 3..=full).contains(&mean),
            "{mean} bytes of {full}"
        );
        // Three of each size that is too long, and nothing else.
        let too_big = sim.a_to_b.link().counters().too_big;
        assert!(too_big <= 9, "{too_big} with {mtu}");
        assert_eq!(stats.path.loss, 0.0, "{mtu}");
    }
}

#[test]
fn symbols_stay_short_where_a_long_one_would_take_long() {
    let slow = "rate=20mbit delay=20ms queue=100ms";
    let sim = transfer(config(), 5_000_000, slow, &[(0.0, 9000)]);
    let stats = sim.a.session.stats().sent;
    let mean = 5_000_000 / stats.source_symbols;
    assert!((1300..=1400).contains(&mean), "{mean}");
    assert_eq!(sim.a.session.largest_datagram(), 1421);
}

#[test]
fn a_path_that_shrinks_costs_a_round_trip_and_not_more() {
    for path in [LAN, "rate=1gbit delay=1ms queue=20ms loss=iid:5%"] {
        let mtus = [(0.0, 9000), (0.25, 1500)];
        let sim = transfer(config(), 60_000_000, path, &mtus);
        assert_eq!(sim.a.session.largest_datagram(), 1464, "{path}");
        // What was in flight, what the timer sent until it was noticed, and probes.
        let too_big = sim.a_to_b.link().counters().too_big;
        assert!((10..400).contains(&too_big), "{too_big}");
        let took = sim.now();
        assert!(took < Duration::from_millis(1500), "{took:?}");
        assert!(sim.a.session.memory() > sim.a.session.held());
    }
}

#[test]
fn a_path_that_shrinks_below_short_messages_is_found_by_its_losses() {
    // Long messages vanish, short ones arrive.
    let mut pair = Pair::connected(config());
    discover(&mut pair.client, Duration::ZERO);
    pair.exchange();
    assert_eq!(pair.client.largest_datagram(), 1421);
    let mut delivered = 0;
    for ms in 0..2000u64 {
        pair.at(ms * 1000);
        if ms % 10 == 0 {
            let long = if ms % 20 == 0 { 1300 } else { 50 };
            let sent = pair.client.send_message(pair.now, vec![7; long], None);
            sent.expect("there is room");
        }
        pair.exchange_unless(|datagram| datagram.len() > 1300);
        while pair.server.recv_message().is_some() {
            delivered += 1;
        }
    }
    assert_eq!(delivered, 200);
    assert!(pair.client.largest_datagram() < 1300);
    assert_eq!(pair.client.largest_datagram(), BASE);
}

#[test]
fn long_symbols_take_no_more_memory_than_short_ones() {
    let mut config = config();
    config.limits.symbols = 4096;
    let sim = transfer(config.clone(), 60_000_000, LAN, &[(0.0, 9000)]);
    let mean = 60_000_000 / sim.a.session.stats().sent.source_symbols;
    assert!(mean > 5000, "{mean}");
    let mut short = config.clone();
    short.limits.symbol_size = 1500;
    short.long_symbol_size = 1400;
    assert!(config.memory() < short.memory() + 50_000);
    for session in [&sim.a.session, &sim.b.session] {
        assert!(session.held() <= session.memory());
    }
}

#[test]
fn the_peers_limit_bounds_what_is_probed() {
    let mut server = config();
    server.limits.symbol_size = 1250;
    let mut pair = Pair::new(config(), server, Time::ZERO);
    discover(&mut pair.client, Duration::ZERO);
    let mut longest = 0;
    pair.exchange_unless(|datagram| {
        longest = longest.max(datagram.len());
        false
    });
    assert_eq!((longest, pair.client.largest_datagram()), (1271, 1271));
}

#[test]
fn an_address_that_may_be_forged_gets_no_long_probe() {
    let mut server = Session::new(Role::Server, config(), 1, Time::ZERO).expect("it is possible");
    discover(&mut server, Duration::ZERO);
    server.handle_datagram(Time::ZERO, &[5, 1, 0]);
    // A source symbol without frames, which shows nothing either.
    server.handle_datagram(Time::ZERO, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let answers = transmit_all(&mut server, Time::ZERO);
    assert!(!answers.is_empty());
    assert!(
        answers.iter().all(|answer| answer.len() < 100),
        "{answers:?}"
    );
}

#[test]
fn an_end_that_only_receives_probes_once_it_has_received_a_third_of_the_bytes() {
    let mut pair = Pair::connected(config());
    discover(&mut pair.server, Duration::ZERO);
    let mut after = |ms: u64, bytes| {
        pair.at(1000 * ms);
        let sent = pair.client.send_message(pair.now, vec![7; bytes], None);
        sent.expect("there is room");
        pair.exchange();
        pair.server.largest_datagram()
    };
    assert_eq!(after(100, 200), BASE);
    assert_eq!(after(200, 1000), 1421);
}

#[test]
fn with_a_rate_of_its_own_a_session_finds_the_same() {
    let mut config = config();
    config.rate = RateControl::Fixed {
        rate: Some(900_000_000),
        window: None,
    };
    let sim = transfer(config, 10_000_000, LAN, &[(0.0, 9000)]);
    assert_eq!(sim.a.session.largest_datagram(), 8964);
}
