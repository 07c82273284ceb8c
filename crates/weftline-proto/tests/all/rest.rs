//! REST (Brulatout et al.) as a preset: its spacing follows the losses that the receiver measures,
//! its window is mobile, its end needs no retransmission, and rare reports do not flood the path.

use std::time::Duration;

use crate::support::pair::{Pair, transmit, transmit_all};
use crate::support::{Peer, Script, run};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::wire::{Datagram, LOSS_UNITS};
use weftline_proto::{Config, EncodingWindow, Feedback, Preset, RateControl, Role, Scheme, Stats};

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
    let [writer, reader] = Script::transfer(bytes);
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
    let set = |at_end| {
        let mut config = rest();
        if let Scheme::Rest(rest) = &mut config.scheme {
            (rest.at_end, rest.top_up) = (at_end, false);
        }
        config
    };
    let took = |config: &Config| {
        let times = (0..20).map(|n| {
            let (_, took) = transfer(config.clone(), 20_000 + n * 450, "iid:20%");
            took.as_secs_f64()
        });
        times.sum::<f64>() / 20.0
    };
    let (with, without) = (took(&set(true)), took(&set(false)));
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

/// A transfer of 2 MB with the default rate control.
struct Cost {
    /// Coded datagrams for each source symbol.
    coded: f64,
    /// The loss rate of the link, and the packets that its queue dropped.
    loss: f64,
    drops: u64,
}

fn cost(config: &Config, path: &str, loss: &str) -> Cost {
    let bytes = 2_000_000;
    let [writer, reader] = Script::transfer(bytes);
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config.clone(), 2, reader),
        link(&format!("{path} loss={loss}")),
        link(path),
        1,
    );
    sim.per_datagram_overhead = usize::from(config.datagram_overhead);
    sim.run_while(Duration::from_secs(120), |s| {
        !(s.a.is_done() && s.b.is_done())
    });
    assert!(sim.a.is_done() && sim.b.is_done(), "{path} {loss}");
    let sent = sim.a.session.stats().sent;
    let counters = sim.a_to_b.link().counters();
    let coded = sent.source_symbols + sent.repair_symbols + sent.retransmissions;
    Cost {
        coded: coded as f64 / sent.source_symbols as f64,
        loss: counters.loss_rate(),
        drops: counters.queue_drops,
    }
}

#[test]
fn with_rare_reports_it_costs_what_r_asks_for_and_does_not_fill_the_queue() {
    for (path, loss) in [
        ("rate=10mbit delay=20ms queue=100ms", "none"),
        ("rate=25mbit delay=30ms queue=60ms", "ge:10%,4"),
        ("rate=5mbit delay=5ms queue=50ms", "iid:10%"),
        ("rate=10mbit delay=150ms queue=100ms", "iid:15%"),
    ] {
        let streaming = cost(&Config::preset(Preset::Streaming), path, loss);
        for millis in [20, 200, 1000] {
            let mut config = Config::preset(Preset::Rest);
            config.feedback = Feedback::Periodic {
                interval: Duration::from_millis(millis),
            };
            let found = cost(&config, path, loss);
            // One repair after k = floor(1/R) source symbols, at least one after 100.
            let apart = ((1.0 - found.loss) / found.loss.max(1e-9))
                .floor()
                .min(100.0);
            let asked = 1.0 + 1.0 / apart;
            let what = format!("{path} {loss}, a report each {millis} ms");
            assert!(found.coded <= 1.1 * asked, "{what}: {}", found.coded);
            assert!(found.drops <= streaming.drops, "{what}: {}", found.drops);
        }
    }
}

/// Messages at an even pace for `secs` seconds with the default options. The sender's counters, and
/// the mean delay.
fn live(loss: &str, secs: u32, seed: u64) -> (Stats, Duration) {
    let period = Duration::from_millis(2);
    let messages = 500 * u64::from(secs);
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let config = Config::preset(Preset::Rest);
    let mut sim = crate::support::live(
        config,
        (period, 1000, messages),
        link(&format!("rate=10mbit delay=20ms queue=100ms loss={loss}")),
        link("rate=10mbit delay=20ms queue=100ms"),
        seed,
    );
    sim.run_until(Duration::from_secs(u64::from(secs) + 5));
    assert_eq!(sim.b.live_delays.len() as u64, messages, "all arrive");
    let mean = sim.b.live_delays.iter().sum::<Duration>() / messages as u32;
    (sim.a.session.stats(), mean)
}

#[test]
fn repairs_follow_the_losses_before_the_window_of_the_estimate_is_full() {
    let means = (1..=40).map(|seed| {
        let (stats, mean) = live("iid:20%", 2, seed);
        let spaced = stats.sent.repair_symbols - stats.sent.top_up_symbols;
        let share = spaced as f64 / stats.sent.source_symbols as f64;
        assert!(share > 0.15, "{share} of 0.25 within two seconds");
        mean
    });
    let mean = means.sum::<Duration>() / 40;
    assert!(mean < Duration::from_millis(480), "{mean:?}");
}

#[test]
fn each_report_carries_the_rate_that_the_receiver_measured() {
    let rates = |scheme: &Scheme| {
        let mut config = Config::new(scheme.clone());
        config.rate = RateControl::Carrier;
        config.feedback = Feedback::Periodic {
            interval: Duration::from_millis(20),
        };
        let mut pair = Pair::connected(config);
        let id = pair.client.open_stream().expect("allowed");
        let mut rates = Vec::new();
        let mut sent = 0;
        for us in (0..200_000).step_by(1000) {
            pair.at(us);
            pair.client.write(id, &[7; 1300]).expect("room");
            for datagram in transmit_all(&mut pair.client, pair.now) {
                sent += 1;
                // One in five is lost.
                if sent % 5 != 0 {
                    pair.server.handle_datagram(pair.now, &datagram);
                }
            }
            while let Some(out) = transmit(&mut pair.server, pair.now) {
                if let Ok(Datagram::Feedback(report)) = Datagram::parse(&out) {
                    rates.push(report.loss);
                }
                pair.client.handle_datagram(pair.now, &out);
            }
        }
        rates
    };
    let measured = rates(&Config::rest().into());
    assert!(measured.len() >= 9, "{measured:?}");
    assert!(measured.iter().all(Option::is_some), "{measured:?}");
    // The first report with more than a few datagrams has it.
    for rate in &measured[1..] {
        let rate = f64::from(rate.expect("checked")) / f64::from(LOSS_UNITS);
        assert!((0.12..=0.28).contains(&rate), "{measured:?}");
    }
    // A scheme that does not ask for it gets none.
    for scheme in [Config::streaming().into(), Config::rest().share(0.3).into()] {
        let none = rates(&scheme);
        assert!(none.len() >= 9 && none.iter().all(Option::is_none));
    }
}

#[test]
fn a_stream_that_ends_sends_no_more_repairs_than_could_be_of_use() {
    // Each interval of reports has some 200 symbols in flight; without losses none needs a repair.
    let (stats, _) = live("none", 1, 1);
    assert!(stats.sent.top_up_symbols <= 1, "{:?}", stats.sent);
    assert!(stats.sent.repair_symbols <= 6, "{:?}", stats.sent);
}
