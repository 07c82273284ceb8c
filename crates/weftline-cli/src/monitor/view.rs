//! One moment of a running command, as programs and people see it.

use std::process;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use weftline::{ConnectionInfo, Histogram, Overview, Packets, Refused, Stats};
use weftline_apps::Budget;

use crate::ui::report::Standing;
use crate::ui::stats;

/// Connections that a view shows one by one: those that carried the most.
pub(super) const SHOWN: usize = 256;

/// The command that runs.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) command: &'static str,
    /// Which end of it; empty if it has one.
    pub(super) end: &'static str,
    pub(super) started: Instant,
}

/// One moment of a running command.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) service: Service,
    pub(super) overview: Overview,
    /// Open connections, those included that are not shown.
    pub(super) open: usize,
    /// The command's own counters, with the limits of a server.
    pub(super) counters: Value,
    /// What it has done so far, for people.
    pub(super) summary: String,
}

/// A counter of all connections together, and of each.
pub(super) struct Counter {
    /// Its name in JSON and, with a prefix, in OpenMetrics.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) get: fn(&Stats, &Packets) -> u64,
}

macro_rules! counters {
    ($($name:ident: $help:literal, |$stats:pat_param, $packets:pat_param| $get:expr;)*) => {
        /// Everything that is counted of a connection.
        pub(super) const COUNTERS: &[Counter] = &[$(Counter {
            name: stringify!($name),
            help: $help,
            get: |$stats: &Stats, $packets: &Packets| $get,
        }),*];
    };
}

counters! {
    packets_sent: "UDP packets sent, with what the carrier adds", |_, p| p.sent;
    packet_bytes_sent: "Bytes of UDP packets sent", |_, p| p.sent_bytes;
    packets_received: "UDP packets received", |_, p| p.received;
    packet_bytes_received: "Bytes of UDP packets received", |_, p| p.received_bytes;
    datagrams_sent: "Datagrams of the engine sent, of which the carrier may put several in a packet", |s, _| s.sent.datagrams;
    datagrams_received: "Datagrams of the engine received that passed all checks", |s, _| s.received.datagrams;
    datagrams_lost: "Datagrams that this end took for lost", |s, _| s.sent.lost_datagrams;
    losses_spurious: "Of them, those that arrived after all", |s, _| s.sent.spurious_losses;
    data_bytes_sent: "Bytes of the application sent", |s, _| s.sent.data;
    data_bytes_received: "Bytes handed to the application", |s, _| s.received.data;
    source_symbols_sent: "Source symbols sent for the first time", |s, _| s.sent.source_symbols;
    retransmissions_sent: "Source symbols sent again", |s, _| s.sent.retransmissions;
    repair_symbols_sent: "Repair symbols sent", |s, _| s.sent.repair_symbols;
    top_up_symbols_sent: "Repair symbols sent because a report or the retransmission timer asked for them", |s, _| s.sent.top_up_symbols;
    riding_symbols_sent: "Repair symbols sent in the datagram of a source symbol", |s, _| s.sent.riding_symbols;
    reports_sent: "Reports sent", |s, _| s.sent.feedback;
    probes_sent: "Datagrams sent that carry no symbol and ask for a report", |s, _| s.sent.probes;
    timeouts: "Times the retransmission timer fired", |s, _| s.sent.timeouts;
    messages_expired: "Messages dropped before they were sent, since their deadline had passed", |s, _| s.sent.expired_messages;
    source_symbols_received: "Source symbols received that were new", |s, _| s.received.source_symbols;
    repair_symbols_received: "Repair symbols received", |s, _| s.received.repair_symbols;
    repair_symbols_useful: "Of the repair symbols received, those that raised the decoder's rank", |s, _| s.received.useful_repairs;
    symbols_recovered: "Lost source symbols recovered by decoding", |s, _| s.received.recovered_symbols;
    symbols_abandoned: "Source symbols given up", |s, _| s.received.abandoned_symbols;
    messages_late: "Messages that were complete only after their deadline", |s, _| s.received.late_messages;
    reports_received: "Reports received", |s, _| s.received.feedback;
    datagrams_dropped: "Datagrams that failed a check", |s, _| s.dropped.total();
}

impl Service {
    /// The command as it is typed, with `between` its words.
    #[cfg(unix)]
    pub(super) fn name(&self, between: &str) -> String {
        [self.command, self.end]
            .join(between)
            .trim_end_matches(between)
            .to_owned()
    }
}

impl View {
    pub(super) fn new(
        service: &Service,
        mut overview: Overview,
        standing: &impl Standing,
        budget: Option<&Arc<Budget>>,
    ) -> Self {
        let mut counters = standing.json();
        if let Value::Object(usage) = json!(budget.map(|budget| budget.usage())) {
            for (name, value) in usage {
                counters[stats::LIMITS][name] = value;
            }
        }
        let carried = |one: &ConnectionInfo| one.packets.sent_bytes + one.packets.received_bytes;
        let all = overview.open.len();
        if all > SHOWN {
            let open = &mut overview.open;
            open.sort_by_key(|one| std::cmp::Reverse(carried(one)));
            open.truncate(SHOWN);
            open.sort_by_key(|one| one.number);
        }
        View {
            service: service.clone(),
            overview,
            open: all,
            counters,
            summary: standing.sentence(service.started.elapsed()),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let Service {
            command,
            end,
            started,
        } = &self.service;
        let totals = &self.overview.totals;
        let open: Vec<Value> = self.overview.open.iter().map(connection).collect();
        json!({
            "command": command,
            "end": end,
            "version": env!("CARGO_PKG_VERSION"),
            "pid": process::id(),
            "seconds": started.elapsed().as_secs_f64(),
            "connections": self.overview.connections,
            "open_connections": self.open,
            "totals": counted(&totals.stats, &totals.packets),
            "open_handshakes": self.overview.handshakes,
            "refused": refused(&self.overview.refused).collect::<Value>(),
            "open": open,
            "counters": self.counters,
            "summary": self.summary,
        })
    }
}

/// Why peers were turned away, and how many.
pub(super) fn refused(refused: &Refused) -> impl Iterator<Item = (&'static str, u64)> {
    [
        ("unknown_peer", refused.unknown_peers),
        ("full", refused.full),
        ("crowded", refused.crowded),
        ("failed", refused.failed),
        ("unfinished", refused.unfinished),
        ("other", refused.others),
    ]
    .into_iter()
}

fn connection(one: &ConnectionInfo) -> Value {
    json!({
        "number": one.number,
        "accepted": one.is_accepted,
        "peer": one.peer.map(|peer| peer.to_string()),
        "remote": one.remote.to_string(),
        "seconds": one.age.as_secs_f64(),
        "rtt_ms": one.stats.path.rtt.as_secs_f64() * 1e3,
        "min_rtt_ms": one.stats.path.min_rtt.as_secs_f64() * 1e3,
        "loss": one.stats.path.loss,
        "mean_burst": one.stats.path.mean_burst,
        "in_flight_bytes": one.stats.path.in_flight,
        "queued_bytes": one.stats.path.queued,
        "held_bytes": one.held,
        "repair_budget": one.stats.budget,
        "paths": stats::path_list(&one.paths),
        "counted": counted(&one.stats, &one.packets),
    })
}

fn counted(stats: &Stats, packets: &Packets) -> Value {
    let counters = COUNTERS.iter();
    let counters = counters.map(|one| (one.name.to_owned(), json!((one.get)(stats, packets))));
    let mut counted = Value::Object(counters.collect());
    let stalls = &stats.stalls;
    counted["stalls"] = json!(stalls.count());
    counted["stalled_ms"] = json!(stalls.total_us as f64 / 1e3);
    counted["stall_p99_ms"] = json!(quantile(stalls, 0.99));
    counted
}

/// In milliseconds, at most; nothing if there is no stall or one beyond all bounds.
fn quantile(stalls: &Histogram, share: f64) -> Option<f64> {
    stalls.quantile(share).map(|time| time.as_secs_f64() * 1e3)
}
