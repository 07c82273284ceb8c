//! The demo's result as JSON. Keys are only ever added.

use serde_json::{Value, json};
use weftline_netem::Counters;

use super::Report;
use super::run::Run;

/// The whole report as one object.
pub(super) fn object(report: &Report<'_>) -> Value {
    let setup = report.setup;
    json!({
        "path": {
            "rate_bps": setup.rate,
            "rtt_ms": report.args.rtt.as_secs_f64() * 1e3,
            "queue_ms": report.args.queue.as_secs_f64() * 1e3,
            "loss": report.args.loss.to_string(),
            "back_loss": report.args.back_loss.to_string(),
            "mean_loss": report.args.loss.mean_loss(),
            "seed": setup.seed,
        },
        "runs": report.runs.iter().map(|r| run(r, setup.repair_share)).collect::<Vec<_>>(),
        "workloads": {
            "message_size": setup.load.size,
            "messages": setup.load.count,
            "message_rate_bps": report.args.message_rate,
            "file": report.file_name,
            "file_bytes": report.file_bytes,
        },
        "seconds": report.elapsed.as_secs_f64(),
    })
}

fn run(run: &Run, repair_share: f64) -> Value {
    use weftline::Preset;
    let coded = matches!(run.preset, Preset::Block | Preset::Streaming | Preset::Auto);
    let late = run.path.lateness;
    json!({
        "preset": run.preset.name(),
        "workload": run.workload.to_string(),
        "verified": run.outcome.verified,
        "delay_ms": run.outcome.delays.summary(),
        "goodput_mbps": run.goodput_mbps(),
        "wire_bytes_per_byte": run.wire_bytes_per_byte(),
        "source_symbols": run.sender.sent.source_symbols,
        "repair_symbols": run.sender.sent.repair_symbols,
        "useful_repairs": run.receiver.received.useful_repairs,
        "retransmissions": run.sender.sent.retransmissions,
        "recovered_symbols": run.receiver.received.recovered_symbols,
        "repair_share": coded.then_some(repair_share),
        "bytes": run.outcome.bytes,
        "seconds": run.outcome.elapsed.as_secs_f64(),
        "forward": counters(&run.path.forward),
        "back": counters(&run.path.back),
        "path_lateness_ms": {
            "mean": late.mean().as_secs_f64() * 1e3,
            "max": late.max.as_secs_f64() * 1e3,
            "packets": late.packets,
            "over_1ms": late.over_1ms,
        },
        "error": run.error,
    })
}

fn counters(counters: &Counters) -> Value {
    json!({
        "packets": counters.offered_packets,
        "bytes": counters.offered_bytes,
        "lost": counters.lost,
        "queue_drops": counters.queue_drops,
        "loss_rate": counters.loss_rate(),
        "mean_loss_run": counters.mean_loss_run(),
        "queue_delay_mean_ms": counters.queue_delay_mean().as_secs_f64() * 1e3,
    })
}
