//! REST (Brulatout et al.) as a preset: its spacing follows the measured losses, its window is
//! mobile, and its end needs no retransmission.

use std::time::Duration;

use crate::support::{Peer, Script, run};
use weftline_netem::LinkConfig;
use weftline_proto::{Config, EncodingWindow, Preset, RateControl, Role, Scheme, Stats};

/// The paper's setting: a transfer of 2^20 bytes at an even pace, RTT 300 ms.
const BYTES: u64 = 1 << 20;
const RATE: u64 = 450_000;

fn rest() -> Config {
    let mut config = Config::preset(Preset::Rest);
    config.symbol_size = 450;
    config.rate = RateControl::Fixed {
        rate: Some(RATE),
        window: None,
    };
    config
}

/// The sender's counters, and the duration of the transfer.
fn transfer(config: Config, bytes: u64, loss: &str) -> (Stats, Duration) {
    let writer = Script {
        streams: vec![bytes],
        ..Script::default()
    };
    let reader = Script {
        expect_streams: vec![bytes],
        ..Script::default()
    };
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let outcome = run(
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config, 2, reader),
        link(&format!("rate=10mbit delay=150ms loss={loss}")),
        link("rate=10mbit delay=150ms"),
        3,
        Duration::from_secs(300),
    );
    assert!(outcome.done, "{:#?}", outcome.client.session.stats());
    (outcome.client.session.stats(), outcome.took)
}

#[test]
fn repairs_follow_the_measured_losses() {
    // floor(1/R) for these loss rates: 19, 9, 5 and 3.
    for (loss, apart) in [(0.05, 19.0), (0.1, 9.0), (0.15, 5.0), (0.23, 3.0)] {
        let (stats, _) = transfer(rest(), 4 * BYTES, &format!("iid:{loss}"));
        let spaced = stats.sent.repair_symbols - stats.sent.top_up_symbols;
        let share = spaced as f64 / stats.sent.source_symbols as f64;
        // The spacing jumps from one whole number to the next with the estimate.
        let (low, high) = (1.0 / (apart + 2.0), 1.0 / (apart - 1.0));
        assert!((low..=high).contains(&share), "{share} at {loss}");
        assert_eq!(stats.sent.retransmissions, 0, "at {loss}");
    }
}

#[test]
fn hardly_any_repair_is_sent_when_nothing_is_lost() {
    let (stats, _) = transfer(rest(), BYTES, "none");
    let share = stats.sent.repair_symbols as f64 / stats.sent.source_symbols as f64;
    assert!(share < 0.02, "{share}");
}

#[test]
fn a_fixed_share_does_not_adapt() {
    let mut config = rest();
    config.scheme = Config::rest().share(0.2).into();
    let (stats, _) = transfer(config, BYTES, "none");
    let spaced = stats.sent.repair_symbols - stats.sent.top_up_symbols;
    let share = spaced as f64 / stats.sent.source_symbols as f64;
    assert!((share - 0.2).abs() < 0.005, "{share}");
}

#[test]
fn the_end_is_repaired_without_waiting_for_timers() {
    // One of two symbols is lost, with the first repairs: the repairs at the end must recover it.
    let mut without = rest();
    if let Scheme::Rest(rest) = &mut without.scheme {
        rest.at_end = false;
    }
    let took = |config: &Config| {
        let times = (0..20).map(|n| {
            let (_, took) = transfer(config.clone(), 20_000 + n * 450, "iid:20%");
            took.as_secs_f64()
        });
        times.sum::<f64>() / 20.0
    };
    let (with, without) = (took(&rest()), took(&without));
    assert!(with < 0.8 * without, "{with} s with, {without} s without");
}

#[test]
fn a_small_mobile_window_gets_through_bursts() {
    let mut config = rest();
    let window = EncodingWindow::Mobile { size: 100 };
    config.scheme = Config::rest().window(window).into();
    let (stats, _) = transfer(config, BYTES, "ge:8%,10");
    assert!(stats.sent.repair_symbols > 0);
}
