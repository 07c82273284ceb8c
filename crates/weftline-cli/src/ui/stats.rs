//! A session's counters, for people and for programs.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use weftline::{PathInfo, Stats};
use weftline_apps::FlowInfo;

use super::progress::{megabits, size};

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

/// Each path of a session that has several, for people, with its rate since `before`, `time` ago; or that the
/// only path is not answered.
pub(crate) fn paths(now: &[PathInfo], before: &[PathInfo], time: Duration) -> Option<String> {
    if let [] | [_] = now {
        // Nobody knows what was lost since the last answer.
        let report = now.first().filter(|path| path.is_silent)?.report?;
        let rtt = report.rtt.as_secs_f64() * 1e3;
        return Some(format!("no answer, RTT was {rtt:.0} ms"));
    }
    let bytes = |path: &PathInfo| path.report.map_or(0, |r| r.sent_bytes + r.received_bytes);
    let carried = |path: &PathInfo| {
        let earlier = before.iter().find(|p| p.id == path.id).map_or(0, bytes);
        // A path that was opened again counts from zero.
        let now = bytes(path);
        now.checked_sub(earlier).unwrap_or(now)
    };
    let all: u64 = now.iter().map(carried).sum();
    let text = now.iter().map(|path| match path.report {
        None => format!("{path} is closed"),
        Some(_) if path.is_silent => format!("{path} is silent"),
        Some(report) => format!(
            "{path} {:.1} Mbit/s ({} %) RTT {:.0} ms loss {:.1} %",
            megabits(carried(path), time),
            100 * carried(path) / all.max(1),
            report.rtt.as_secs_f64() * 1e3,
            report.loss * 100.0
        ),
    });
    Some(text.collect::<Vec<_>>().join("; "))
}

/// What each path carried, for people.
pub(crate) fn shares(paths: &[PathInfo]) -> Vec<String> {
    if paths.len() < 2 {
        return Vec::new();
    }
    let line = |path: &PathInfo| match path.report {
        None => format!("  {path}: closed"),
        Some(report) => format!(
            "  {path}: {} sent, {} received, RTT {:.0} ms, loss {:.1} %, {} lost packets replaced by other paths",
            size(report.sent_bytes),
            size(report.received_bytes),
            report.rtt.as_secs_f64() * 1e3,
            report.loss * 100.0,
            report.recovered_symbols
        ),
    };
    paths.iter().map(line).collect()
}

/// The paths of a session, for programs.
pub(crate) fn path_list(paths: &[PathInfo]) -> Value {
    let object = |path: &PathInfo| {
        let report = path.report.unwrap_or_default();
        json!({
            "path": path.request.to_string(),
            "number": path.id.number(),
            "remote": path.remote.map(|addr| addr.to_string()),
            "open": path.report.is_some(),
            "silent": path.is_silent,
            "cost": path.request.cost,
            "rtt_ms": report.rtt.as_secs_f64() * 1e3,
            "loss": report.loss,
            "rate_mbps": report.rate.map(|rate| rate as f64 * 8e-6),
            "queue_ms": report.queue.as_secs_f64() * 1e3,
            "sent_datagrams": report.sent_datagrams,
            "sent_bytes": report.sent_bytes,
            "received_datagrams": report.received_datagrams,
            "received_bytes": report.received_bytes,
            "source_symbols": report.source_symbols,
            "retransmissions": report.retransmissions,
            "repair_symbols": report.repair_symbols,
            "lost_datagrams": report.lost_datagrams,
            "spurious_losses": report.spurious_losses,
            "recovered_symbols": report.recovered_symbols,
        })
    };
    paths.iter().map(object).collect()
}

/// Key of what clients may take, in the counters of a server.
pub(crate) const LIMITS: &str = "limits";

/// Adds what one client may take, if that has a limit here, to the counters of a server.
pub(crate) fn limit(counters: &mut Value, name: &str, limit: Option<impl Serialize>) {
    if let Some(limit) = limit {
        counters[LIMITS][name] = json!(limit);
    }
}

/// What was dropped, by the reasons, for people.
pub(crate) fn dropped(reasons: &[(u64, &str)]) -> String {
    let some = reasons.iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some.map(|(count, why)| format!("{count} {why}")).collect();
    match some.is_empty() {
        true => "none dropped".to_owned(),
        false => format!("dropped: {}", some.join(", ")),
    }
}

/// Key of the flows that carried the most, in the counters of a service.
pub(crate) const BUSIEST: &str = "busiest";

/// The flows that carried the most, for programs. TCP connections have no `datagrams`.
pub(crate) fn flows(flows: &[FlowInfo], datagrams: bool) -> Value {
    let object = |flow: &FlowInfo| {
        let mut object = json!({
            "flow": flow.number,
            "from": flow.from,
            "to": flow.to,
            "sent_bytes": flow.sent_bytes,
            "delivered_bytes": flow.delivered_bytes,
        });
        if datagrams {
            object["sent_datagrams"] = json!(flow.sent_datagrams);
            object["delivered_datagrams"] = json!(flow.delivered_datagrams);
            object["dropped_datagrams"] = json!(flow.dropped_datagrams);
        }
        object
    };
    // From one look to the next they keep their order.
    let mut flows: Vec<&FlowInfo> = flows.iter().collect();
    flows.sort_by_key(|flow| flow.number);
    flows.into_iter().map(object).collect()
}

/// The counters of an end of a service, for programs: its `own`, those that it counts, and the session.
pub(crate) fn record(mut own: Value, counts: &impl Serialize, session: Option<Value>) -> Value {
    if let (Value::Object(all), Ok(Value::Object(counts))) =
        (&mut own, serde_json::to_value(counts))
    {
        all.extend(counts);
        all.insert("session".to_owned(), json!(session));
    }
    own
}

/// A session's path and symbols, and its paths, for programs.
pub(crate) fn session(stats: &Stats, paths: &[PathInfo]) -> Value {
    json!({
        "paths": path_list(paths),
        "rtt_ms": stats.path.rtt.as_secs_f64() * 1e3,
        "loss": stats.path.loss,
        "source_symbols": stats.sent.source_symbols,
        "retransmissions": stats.sent.retransmissions,
        "repair_symbols": stats.sent.repair_symbols,
        "received_source_symbols": stats.received.source_symbols,
        "received_repair_symbols": stats.received.repair_symbols,
        "useful_repairs": stats.received.useful_repairs,
        "recovered_symbols": stats.received.recovered_symbols,
        "abandoned_symbols": stats.received.abandoned_symbols,
    })
}
