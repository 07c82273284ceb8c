//! A view as OpenMetrics.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use serde_json::Value;
use weftline::{ConnectionInfo, Histogram, PathInfo};

use super::view::{COUNTERS, View};

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
    ("path_in_flight_bytes", "Bytes in flight", |p| {
        p.report.map_or(0.0, |r| r.in_flight as f64)
    }),
    ("path_open", "1 if the path carries data", |p| {
        f64::from(u8::from(p.report.is_some() && !p.is_silent))
    }),
];

impl Collector for View {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let totals = &self.overview.totals;
        let open = self.overview.open.iter();
        let open: Vec<_> = open.map(|one| (labels(one), one)).collect();
        let paths = open.iter().flat_map(|(labels, one)| {
            one.paths.iter().map(|path| {
                let its = ("path", path.request.to_string());
                ([&labels[..], &[its]].concat(), path)
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
        for one in COUNTERS {
            let value = (one.get)(&totals.stats, &totals.packets);
            total(one.name, one.help, value, encoder)?;
        }
        let stalls = &totals.stats.stalls;
        histogram(encoder, &service, stalls)?;
        let count = [(&service, self.open as f64)];
        gauges(encoder, "connections_open", "Open connections", count)?;
        for one in COUNTERS {
            let name = format!("connection_{}", one.name);
            let each = open.iter();
            let each = each.map(|(labels, c)| (labels, (one.get)(&c.stats, &c.packets)));
            counters(encoder, &name, one.help, each)?;
        }
        for (name, help, measure) in MEASURES {
            let each = open.iter().map(|(labels, c)| (labels, measure(c)));
            gauges(encoder, name, help, each)?;
        }
        for (name, help, measure) in PATH_MEASURES {
            let each = paths.iter().map(|(labels, path)| (labels, measure(path)));
            gauges(encoder, name, help, each)?;
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

fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    labels: &Labels,
    stalls: &Histogram,
) -> fmt::Result {
    let help = "How long in-order delivery waited for lost symbols";
    let mut family =
        encoder.encode_descriptor("stall_seconds", help, None, MetricType::Histogram)?;
    let bounds = Histogram::BOUNDS.iter().map(|bound| bound.as_secs_f64());
    let buckets: Vec<(f64, u64)> = bounds.chain([f64::MAX]).zip(stalls.counts).collect();
    let mut one = family.encode_family(labels)?;
    let sum = stalls.total_us as f64 * 1e-6;
    one.encode_histogram::<NoLabelSet>(sum, stalls.count(), &buckets, None)
}

/// The command's own counters, by their names in its JSON: `dropped.late` of the relay becomes
/// `weftline_relay_dropped_late`. What describes a session is told above.
fn own(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    value: &Value,
    labels: &Labels,
) -> fmt::Result {
    let number = match value {
        Value::Object(all) => {
            let all = all.iter().filter(|(key, _)| *key != "session");
            for (key, value) in all {
                own(encoder, &format!("{name}_{key}"), value, labels)?;
            }
            return Ok(());
        }
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        value => value.as_f64(),
    };
    match number {
        Some(number) => {
            let help = "As in the command's record at its end";
            gauges(encoder, name, help, [(labels, number)])
        }
        None => Ok(()),
    }
}
