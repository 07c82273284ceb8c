//! The delay and cost of each preset: a change of behaviour changes this table.

use std::fmt::Write;
use std::time::Duration;

use weftline_netem::LinkConfig;
use weftline_proto::{Config, Preset, RateControl};

const MESSAGE: usize = 1000;
const ONE_WAY: Duration = Duration::from_millis(30);
const MESSAGES: u64 = 20_000;

/// In-order delivery delay in ms, and wire bytes for each byte delivered.
struct Row {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
    wire: f64,
    again: u64,
    repairs: u64,
    useful: u64,
}

/// A 10 Mbit/s message stream over 25 Mbit/s, RTT 60 ms (the testbed of Karzand et al.). The repair
/// share is one and a half times what the losses require.
fn measure(preset: Preset, loss: &str) -> Row {
    let link: LinkConfig = format!("rate=25mbit delay=30ms queue=60ms loss={loss}")
        .parse()
        .expect("well-formed");
    let p = link.loss.mean_loss();
    let mut config = Config::preset(preset);
    let share = (1.5 * p / (1.0 - p)).max(0.03);
    config.scheme.set_share(share);
    config.rate = RateControl::Fixed {
        rate: Some(24_000_000),
        window: None,
    };
    let period = Duration::from_micros(800);
    let back: LinkConfig = "delay=30ms".parse().expect("well-formed");
    let mut sim = crate::support::live(config, (period, MESSAGE, MESSAGES), link.clone(), back, 42);
    sim.run_until(period * MESSAGES as u32 + Duration::from_secs(4));
    // The delay of a message without losses: the path's delay and its time on the link.
    let undisturbed = ONE_WAY + Duration::from_micros((MESSAGE as u64 + 28 + 25) * 8 / 25);
    let mut delays: Vec<f64> = sim
        .b
        .live_delays
        .iter()
        .map(|d| d.saturating_sub(undisturbed).as_secs_f64() * 1e3)
        .collect();
    assert_eq!(
        delays.len() as u64,
        MESSAGES,
        "{preset} at {loss}: every message arrives"
    );
    delays.sort_by(f64::total_cmp);
    let quantile = |q: f64| delays[((delays.len() - 1) as f64 * q).round() as usize];
    let sent = sim.a.session.stats().sent;
    Row {
        mean: delays.iter().sum::<f64>() / delays.len() as f64,
        p50: quantile(0.5),
        p95: quantile(0.95),
        p99: quantile(0.99),
        max: quantile(1.0),
        wire: sim.a_to_b.link().counters().offered_bytes as f64
            / (MESSAGE as f64 * MESSAGES as f64),
        again: sent.retransmissions,
        repairs: sent.repair_symbols,
        useful: sim.b.session.stats().received.useful_repairs,
    }
}

#[test]
fn auto_and_streaming_beat_block_beats_arq_at_no_more_bytes_than_block() {
    let mut table = String::from(
        "loss      preset      mean    p50    p95    p99    max   wire  again repairs useful\n",
    );
    for loss in ["none", "iid:1%", "iid:5%", "iid:10%", "iid:20%", "ge:10%,4"] {
        let presets = [Preset::Arq, Preset::Block, Preset::Streaming, Preset::Auto];
        let rows = presets.map(|preset| (preset, measure(preset, loss)));
        for (preset, r) in &rows {
            writeln!(
                table,
                "{loss:9} {preset:9} {:6.2} {:6.1} {:6.1} {:6.1} {:6.1} {:6.3} {:6} {:7} {:6}",
                r.mean, r.p50, r.p95, r.p99, r.max, r.wire, r.again, r.repairs, r.useful
            )
            .expect("a string takes it");
        }
        let [(_, arq), (_, block), (_, streaming), (_, auto)] = &rows;
        if loss != "none" {
            assert!(
                streaming.mean < block.mean && block.mean < arq.mean,
                "{table}"
            );
            assert!(streaming.p99 < block.p99 && block.p99 < arq.p99, "{table}");
            // The limit of `auto` is the share of the others, which exceed it when feedback asks.
            assert!(auto.mean < block.mean && auto.p99 < arq.p99, "{table}");
        }
        // Half a per cent, because the last block may still owe its repairs.
        assert!(streaming.wire <= block.wire * 1.005, "{table}");
        assert!(auto.wire <= streaming.wire * 1.02, "{table}");
    }
    insta::assert_snapshot!(table);
}
