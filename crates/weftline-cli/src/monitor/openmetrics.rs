//! A view as OpenMetrics.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use serde_json::Value;
use weftline::{ConnectionInfo, Histogram, PathInfo, PathReport};

use super::view::{COUNTERS, View, refused};
use crate::ui::stats::BUSIEST;

/// What the answer is, for HTTP.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The view as text.
pub(super) fn text(view: View) -> String {
    let mut registry = Registry::with_prefix("weftline");
    registry.register_collector(Box::new(view));
    let mut text = String::new();
    // Writing to a string cannot fail.
    text::encode(&mut text, &registry).ok();
    text
}

type Labels = Vec<(&'static str, String)>;
/// What is counted of a path, and where.
type Count = (&'static str, &'static str, fn(&PathReport) -> u64);
/// What is measured of a connection, and how.
type Measure<T> = (&'static str, &'static str, fn(&T) -> f64);

const MEASURES: &[Measure<ConnectionInfo>] = &[
    ("connection_age_seconds", "Age of the connection", |c| {
        c.age.as_secs_f64()
    }),
    ("connection_in_flight_bytes", "Bytes in flight", |c| {
        c.stats.path.in_flight as f64
    }),
    (
        "connection_queued_bytes",
        "Bytes that the application has given and that were not sent",
        |c| c.stats.path.queued as f64,
    ),
    (
        "connection_repair_budget_ratio",
        "Repair symbols for each source symbol that may be sent before anything is known to be lost; 0 without such a limit",
        |c| c.stats.budget.unwrap_or(0.0),
    ),
    (
        "connection_held_bytes",
        "Memory that this end holds for the connection",
        |c| c.held as f64,
    ),
];

const PATH_MEASURES: &[Measure<PathInfo>] = &[
    ("path_rtt_seconds", "Smoothed round-trip time", |p| {
        p.report.map_or(0.0, |r| r.rtt.as_secs_f64())
    }),
    ("path_min_rtt_seconds", "Smallest round-trip time", |p| {
        p.report.map_or(0.0, |r| r.min_rtt.as_secs_f64())
    }),
    (
        "path_loss_ratio",
        "Share of recent datagrams of this end that were lost",
        |p| p.report.map_or(0.0, |r| r.loss),
    ),
    (
        "path_mean_burst",
        "Mean length of a run of lost datagrams",
        |p| p.report.map_or(0.0, |r| r.mean_burst),
    ),
    (
        "path_rate_bits_per_second",
        "Rate at which data may leave; 0 if the engine does not control it",
        |p| p.report.and_then(|r| r.rate).unwrap_or(0) as f64 * 8.0,
    ),
    (
        "path_queue_seconds",
        "How long datagrams waited in a queue of the path, as its newest report told",
        |p| p.report.map_or(0.0, |r| r.queue.as_secs_f64()),
    ),
    ("path_in_flight_bytes", "Bytes in flight", |p| {
        p.report.map_or(0.0, |r| r.in_flight as f64)
    }),
    ("path_open", "1 if the path carries data", |p| {
        f64::from(u8::from(p.report.is_some() && !p.is_silent))
    }),
];

/// What is counted of a path. The counters begin again when its carrier is opened again.
const PATH_COUNTERS: &[Count] = &[
    ("path_datagrams_sent", "Datagrams sent on it", |r| {
        r.sent_datagrams
    }),
    ("path_datagram_bytes_sent", "Their bytes", |r| r.sent_bytes),
    ("path_datagrams_received", "Datagrams received on it", |r| {
        r.received_datagrams
    }),
    ("path_datagram_bytes_received", "Their bytes", |r| {
        r.received_bytes
    }),
    (
        "path_source_symbols_sent",
        "Source symbols sent for the first time",
        |r| r.source_symbols,
    ),
    (
        "path_retransmissions_sent",
        "Source symbols sent again, that any path may have sent first",
        |r| r.retransmissions,
    ),
    ("path_repair_symbols_sent", "Repair symbols sent", |r| {
        r.repair_symbols
    }),
    (
        "path_datagrams_lost",
        "Datagrams that this end took for lost",
        |r| r.lost_datagrams,
    ),
    (
        "path_losses_spurious",
        "Of them, those that arrived after all",
        |r| r.spurious_losses,
    ),
    (
        "path_symbols_recovered",
        "Source symbols lost on it that the peer has without another transmission",
        |r| r.recovered_symbols,
    ),
];

impl Collector for View {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let totals = &self.overview.totals;
        let open = self.overview.open.iter();
        let open: Vec<_> = open.map(|one| (labels(one), one)).collect();
        let paths = open.iter().flat_map(|(labels, one)| {
            one.paths.iter().map(|path| {
                // At the server's end several are asked for alike.
                let its = [
                    ("path", path.request.to_string()),
                    ("number", path.id.number().to_string()),
                ];
                ([&labels[..], &its].concat(), path)
            })
        });
        let paths: Vec<_> = paths.collect();
        let service: Labels = vec![
            ("command", self.service.command.to_owned()),
            ("end", self.service.end.to_owned()),
        ];
        let total = |name: &str, help, value, encoder: &mut DescriptorEncoder<'_>| {
            counters(encoder, name, help, [(&service, value)])
        };
        let connections = self.overview.connections;
        total("connections", "Connections so far", connections, encoder)?;
        let refused = refused(&self.overview.refused);
        let refused = refused.map(|(reason, count)| {
            let its = [("reason", reason.to_owned())];
            ([&service[..], &its].concat(), count)
        });
        let refused: Vec<_> = refused.collect();
        let each = refused.iter().map(|(labels, count)| (labels, *count));
        counters(encoder, "refused", "Peers turned away", each)?;
        for one in COUNTERS {
            let value = (one.get)(&totals.stats, &totals.packets);
            total(one.name, one.help, value, encoder)?;
        }
        let stalls = &totals.stats.stalls;
        let waited = "How long in-order delivery waited for lost symbols";
        histograms(encoder, "stall_seconds", waited, [(&service, stalls)])?;
        let count = [(&service, self.open as f64)];
        gauges(encoder, "connections_open", "Open connections", count)?;
        let count = [(&service, self.overview.handshakes as f64)];
        let help = "Handshakes of clients that are not finished yet";
        gauges(encoder, "handshakes_open", help, count)?;
        for one in COUNTERS {
            let name = format!("connection_{}", one.name);
            let each = open.iter();
            let each = each.map(|(labels, c)| (labels, (one.get)(&c.stats, &c.packets)));
            counters(encoder, &name, one.help, each)?;
        }
        let stalls = open.iter().map(|(labels, c)| (labels, &c.stats.stalls));
        histograms(encoder, "connection_stall_seconds", waited, stalls)?;
        for (name, help, measure) in MEASURES {
            let each = open.iter().map(|(labels, c)| (labels, measure(c)));
            gauges(encoder, name, help, each)?;
        }
        for (name, help, measure) in PATH_MEASURES {
            let each = paths.iter().map(|(labels, path)| (labels, measure(path)));
            gauges(encoder, name, help, each)?;
        }
        let round_trips = paths.iter();
        let round_trips = round_trips
            .filter_map(|(labels, path)| Some((labels, &path.report.as_ref()?.round_trips)));
        let help = "How long round trips took, without the peer's delay";
        histograms(encoder, "path_round_trip_seconds", help, round_trips)?;
        for (name, help, count) in PATH_COUNTERS {
            let each = paths.iter();
            let each =
                each.filter_map(|(labels, path)| Some((labels, count(path.report.as_ref()?))));
            counters(encoder, name, help, each)?;
        }
        own(encoder, self.service.command, &self.counters, &service)
    }
}

fn labels(connection: &ConnectionInfo) -> Labels {
    let peer = connection.peer.map(|peer| peer.to_string());
    vec![
        ("connection", connection.number.to_string()),
        ("peer", peer.unwrap_or_default()),
        ("remote", connection.remote.to_string()),
    ]
}

fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (&'a Labels, u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in values {
        let mut one = family.encode_family(labels)?;
        one.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
    }
    Ok(())
}

fn gauges<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (&'a Labels, f64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        family.encode_family(labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

fn histograms<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (&'a Labels, &'a Histogram)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (labels, value) in values {
        let bounds = Histogram::BOUNDS.iter().map(|bound| bound.as_secs_f64());
        // The encoder prints infinity as `+Inf`, which Prometheus needs of the last bucket.
        let all = bounds.chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = all.zip(value.counts).collect();
        let mut one = family.encode_family(labels)?;
        let sum = value.total_us as f64 * 1e-6;
        one.encode_histogram::<NoLabelSet>(sum, value.count(), &buckets, None)?;
    }
    Ok(())
}

/// Some of a command's own numbers are no counts, or may fall: their names end so. All other whole numbers count.
const OWN_GAUGES: &[&str] = &[
    "_open_flows",
    "_connections_open",
    "_longest_datagram",
    "_clients",
    "_waiting_bytes",
    "_longest_wait_us",
    "view_viewers",
    "_limits_memory",
    "_limits_memory_taken",
    "_limits_client_memory",
    "_limits_client_sessions",
    "_limits_client_flows",
    "_limits_client_connections",
    "_limits_client_tunnels",
    "_limits_sessions",
    "_limits_handshakes",
];

/// The command's own counters, by their names in its JSON: `dropped.late` of the relay becomes
/// `weftline_relay_dropped_late_total`. What describes a session is told above.
fn own(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    value: &Value,
    labels: &Labels,
) -> fmt::Result {
    let Value::Object(all) = value else {
        return Ok(());
    };
    let help = "As in the command's record at its end";
    for (key, value) in all.iter().filter(|(key, _)| *key != "session") {
        let its = format!("{name}_{key}");
        let is_gauge = OWN_GAUGES.iter().any(|end| its.ends_with(end));
        match value {
            Value::Array(flows) if key == BUSIEST => own_flows(encoder, name, flows, labels)?,
            Value::Bool(yes) => {
                let one = f64::from(u8::from(*yes));
                gauges(encoder, &its, help, [(labels, one)])?;
            }
            Value::Number(number) => match number.as_u64().filter(|_| !is_gauge) {
                Some(count) => {
                    // The encoder adds it.
                    let its = its.strip_suffix("_total").unwrap_or(&its);
                    counters(encoder, its, help, [(labels, count)])?;
                }
                None => {
                    let measure = number.as_f64().unwrap_or_default();
                    gauges(encoder, &its, help, [(labels, measure)])?;
                }
            },
            value => own(encoder, &its, value, labels)?,
        }
    }
    Ok(())
}

/// What is counted of a flow, by its keys there.
const FLOW_COUNTERS: &[(&str, &str)] = &[
    ("sent_bytes", "Bytes from local programs to the peer"),
    ("delivered_bytes", "Bytes from the peer to local programs"),
    (
        "sent_datagrams",
        "Datagrams from local programs to the peer",
    ),
    (
        "delivered_datagrams",
        "Datagrams from the peer to local programs",
    ),
    (
        "dropped_datagrams",
        "Datagrams that this end dropped, but for late ones",
    ),
];

/// The flows of a command that carried the most: `sent_bytes` of those of the relay becomes
/// `weftline_relay_flow_sent_bytes_total`.
fn own_flows(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    flows: &[Value],
    labels: &Labels,
) -> fmt::Result {
    let text = |flow: &Value, key: &str| match &flow[key] {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let each = flows.iter().map(|flow| {
        let its = ["flow", "from", "to"].map(|key| (key, text(flow, key)));
        ([&labels[..], &its].concat(), flow)
    });
    let each: Vec<_> = each.collect();
    for (key, help) in FLOW_COUNTERS {
        let values = each.iter();
        let values = values.filter_map(|(labels, flow)| Some((labels, flow[*key].as_u64()?)));
        let values: Vec<_> = values.collect();
        if !values.is_empty() {
            counters(encoder, &format!("{name}_flow_{key}"), help, values)?;
        }
    }
    Ok(())
}
