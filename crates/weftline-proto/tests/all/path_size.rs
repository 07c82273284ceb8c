//! A path that takes longer datagrams after some time, then shorter ones again.

use std::time::Duration;

use crate::support::pair::{Pair, transmit, transmit_all};
use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, RunEnd, Simulation};
use weftline_proto::wire::{Datagram, PIECE_HEADER, Piece, REPAIR_OVERHEAD};
use weftline_proto::{Config, MIN_DATAGRAM, Preset, RateControl, Role};

const HEADERS: usize = 28;

fn link(mtu: usize, loss: &str) -> LinkConfig {
    let text = format!("rate=20mbit delay=20ms queue=100ms loss={loss} mtu={mtu}");
    text.parse().expect("a link")
}

/// Sends 3 MB while the path's size changes as in `sizes`: (time, bytes of a datagram).
fn transfer(preset: Preset, sizes: &[(u64, usize)], loss: &str) -> Simulation<Peer, Peer> {
    let [script, expect] = Script::transfer(3_000_000);
    let mut config = Config::preset(preset);
    config.rate = RateControl::Fixed {
        rate: Some(18_000_000),
        window: None,
    };
    let client = Peer::new(Role::Client, config, 1, script);
    let server = Peer::new(Role::Server, Config::preset(preset), 2, expect);
    let start = link(sizes[0].1 + HEADERS, loss);
    let back = link(sizes[0].1 + HEADERS, "none");
    let mut sim = Simulation::new(client, server, start, back, 3);
    for (i, &(at, size)) in sizes.iter().enumerate() {
        sim.run_until(Duration::from_millis(at));
        for session in [&mut sim.a.session, &mut sim.b.session] {
            session.set_largest_datagram(size).expect("long enough");
        }
        sim.a_to_b.set_config(link(size + HEADERS, loss));
        sim.b_to_a.set_config(link(size + HEADERS, "none"));
        let end = sizes.get(i + 1).map_or(60_000, |next| next.0);
        let done = sim.run_while(Duration::from_millis(end), |s| {
            !(s.a.is_done() && s.b.is_done())
        });
        if done == RunEnd::Condition {
            break;
        }
    }
    sim
}

#[test]
fn symbols_grow_with_the_path() {
    let sim = transfer(Preset::Auto, &[(0, 1160), (200, 1414)], "none");
    assert!(sim.a.is_done() && sim.b.is_done());
    assert_eq!(sim.b.wrong, 0);
    let stats = sim.a.session.stats().sent;
    let mean = 3_000_000 / stats.source_symbols;
    assert!((1250..1400).contains(&mean), "{mean} bytes a symbol");
}

#[test]
fn nothing_is_lost_for_good_when_the_path_shrinks_under_long_symbols() {
    for preset in Preset::ALL {
        let sizes = [(0, 1414), (300, 1160), (600, 1414), (700, 620)];
        let sim = transfer(preset, &sizes, "iid:5%");
        assert!(sim.a.is_done() && sim.b.is_done(), "{preset}");
        assert_eq!(sim.b.wrong, 0, "{preset}");
        assert_eq!(sim.a.session.stats().dropped, Default::default());
        assert_eq!(sim.b.session.stats().dropped.malformed, 0, "{preset}");
    }
}

#[test]
fn a_largest_datagram_that_is_too_short_is_refused_and_changes_nothing() {
    let mut pair = Pair::connected(Config::default());
    let max = pair.client.message_alone_max();
    for bytes in (0..10).chain([MIN_DATAGRAM - 1]) {
        let refused = pair.client.set_largest_datagram(bytes);
        let reason = refused.expect_err("too short").to_string();
        assert!(reason.contains(&format!(
            "largest datagram = {bytes} is out of range: give 256 or more"
        )));
    }
    assert_eq!(pair.client.message_alone_max(), max);
    assert_eq!(pair.client.set_largest_datagram(MIN_DATAGRAM), Ok(()));
    let sent = pair.client.send_message(pair.now, vec![7; 1000], None);
    sent.expect("there is room");
    // The pacing lets it out bit by bit.
    for ms in 0..500 {
        pair.at(ms * 1000).exchange();
    }
    assert!(pair.server.recv_message().is_some(), "it arrives in parts");
}

#[test]
fn half_a_header_of_a_piece_is_counted_and_changes_nothing() {
    let mut pair = Pair::connected(Config::default());
    let mut piece = Vec::new();
    let whole = Piece {
        id: 1,
        index: 0,
        count: 2,
        data: &[7; 100],
    };
    whole.put(&mut piece);
    for len in 1..PIECE_HEADER {
        pair.server.handle_datagram(pair.now, &piece[..len]);
    }
    let dropped = pair.server.stats().dropped;
    assert_eq!(dropped.malformed, PIECE_HEADER as u64 - 1);
    assert_eq!(pair.server.close_reason(), None);
}

#[test]
fn a_report_of_many_losses_is_as_long_as_a_repair_may_be() {
    let mut config: Config = Config::arq().into();
    config.symbol_size = 200;
    config.rate = RateControl::Carrier;
    let mut pair = Pair::connected(config);
    let stream = pair.client.open_stream().expect("the first");
    let written = pair.client.write(stream, &[7; 200_000]);
    assert_eq!(written, Ok(200_000));
    let datagrams = transmit_all(&mut pair.client, pair.now);
    assert!(datagrams.len() > 500, "{}", datagrams.len());
    for datagram in datagrams.iter().step_by(2) {
        pair.server.handle_datagram(pair.now, datagram);
    }
    let report = transmit(&mut pair.server, pair.now).expect("symbols are missing");
    assert!(matches!(
        Datagram::parse(&report),
        Ok(Datagram::Feedback(_))
    ));
    // A run more would not fit.
    let most = 200 + REPAIR_OVERHEAD;
    assert!(
        (most - 8..=most).contains(&report.len()),
        "{}",
        report.len()
    );
}
