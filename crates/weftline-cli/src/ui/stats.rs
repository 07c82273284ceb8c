//! A session's counters, for people and for programs.

use serde_json::{Value, json};
use weftline::Stats;

/// A session's path and share of repairs, for people.
pub(crate) fn path(session: Option<&Stats>) -> String {
    let Some(stats) = session else {
        return "no session".to_owned();
    };
    let repairs = 100 * stats.sent.repair_symbols / stats.sent.source_symbols.max(1);
    format!(
        "RTT {:.0} ms, loss {:.1} %, repairs {repairs} %",
        stats.path.rtt.as_secs_f64() * 1e3,
        stats.path.loss * 100.0
    )
}

/// A session's path and symbols, for programs.
pub(crate) fn session(stats: &Stats) -> Value {
    json!({
        "rtt_ms": stats.path.rtt.as_secs_f64() * 1e3,
        "loss": stats.path.loss,
        "source_symbols": stats.sent.source_symbols,
        "retransmissions": stats.sent.retransmissions,
        "repair_symbols": stats.sent.repair_symbols,
        "received_source_symbols": stats.received.source_symbols,
        "received_repair_symbols": stats.received.repair_symbols,
        "recovered_symbols": stats.received.recovered_symbols,
    })
}
