//! The numbers by which a run is judged.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use weftline_netem::LinkConfig;
use weftline_proto::Config;

use super::record::{Flow, Record};
use super::suite::{View, number};
use crate::sim::paths::payload_share;
use weftline_sim::Pace;
use weftline_sim::jain;

/// A number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its name in tables, with the unit.
    pub title: &'static str,
}

const fn m(key: &'static str, title: &'static str) -> Measure {
    Measure { key, title }
}

/// Measures of every run: the path's load, and the machine's lateness.
const COMMON: [Measure; 4] = [
    m("wire", "wire bytes/byte"),
    m("back", "return bytes/byte"),
    m("late", "emulator late, ms"),
    m("cpu", "processors"),
];

/// The measures of a suite's runs.
pub fn measures(view: View) -> Vec<Measure> {
    let own: &[Measure] = match view {
        View::Goodput => &[
            m("goodput", "goodput, Mbit/s"),
            m("queue", "mean queue, ms"),
            m("drops", "queue drops, %"),
        ],
        View::Delay => &[
            m("mean", "mean, ms"),
            m("p50", "p50"),
            m("p95", "p95"),
            m("p99", "p99"),
            m("p999", "p99.9"),
            m("max", "max"),
            m("missing", "missing, %"),
            m("tool", "tool late, ms"),
        ],
        View::Times => &[
            m("mean", "mean, ms"),
            m("p50", "median"),
            m("max", "max"),
            m("failed", "failed, %"),
        ],
        View::Sharing => &[
            m("goodput", "its goodput, Mbit/s"),
            m("share", "its share / fair share"),
            m("least", "least / fair share"),
            m("jain", "Jain's index"),
            m("utilisation", "utilisation, %"),
            m("queue", "mean queue, ms"),
            m("queue99", "p99 queue, ms"),
        ],
        View::Window => &[
            m("mean", "mean, ms"),
            m("p50", "p50"),
            m("p95", "p95"),
            m("p99", "p99"),
            m("max", "max"),
            m("packets", "packets/information packet"),
            m("goodput", "goodput, Mbit/s"),
        ],
        View::Recorded => &[
            m("goodput", "goodput, Mbit/s"),
            m("share", "share of capacity"),
            m("p50", "p50, ms"),
            m("p95", "p95, ms"),
            m("p99", "p99, ms"),
            m("missing", "missing, %"),
            m("queue50", "median queue, ms"),
            m("queue95", "p95 queue, ms"),
            m("drops", "queue drops, %"),
            m("repairs", "repairs/source symbol"),
            m("tool", "tool late, ms"),
        ],
        View::Paths => &[
            m("goodput", "goodput, Mbit/s"),
            m("ceiling", "share of what all links carry"),
            m("p50", "p50, ms"),
            m("p99", "p99, ms"),
            m("max", "max, ms"),
            m("missing", "missing, %"),
            m("second share", "share of the second link"),
            m("second delay", "the second link's delay, ms"),
            m("repairs", "repairs/source symbol"),
            m("tool", "tool late, ms"),
        ],
    };
    [own, &COMMON].concat()
}

/// The value of a measure in a run; `None` if the run does not have it.
pub(super) fn value(record: &Record, view: View, measure: Measure) -> Option<f64> {
    let flow = record.flow()?;
    let received = |name: &str| flow.received.as_ref()?.get(name)?.as_f64();
    let sent = |name: &str| flow.sent.as_ref()?.get(name)?.as_f64();
    let counter = |pointer: &str| record.counter(pointer);
    match measure.key {
        "wire" => Some(sum(record, "/a_to_b/bytes")? / delivered(record)?),
        "back" => Some(sum(record, "/b_to_a/bytes")? / delivered(record)?),
        "late" => {
            let pointers = ["/a_to_b/lateness_ms/p99", "/b_to_a/lateness_ms/p99"];
            let each = pointers.iter().flat_map(|p| record.counters(p));
            each.reduce(f64::max)
        }
        "ceiling" => Some(received("goodput")? / ceiling(record)?),
        "second share" => {
            let all = record.counters("/a_to_b/delivered_bytes");
            Some(all.get(1)? / all.iter().sum::<f64>())
        }
        "second delay" => {
            let second: LinkConfig = record.what.more.first()?.link.parse().ok()?;
            Some(second.delay.as_secs_f64() * 1e3)
        }
        "cpu" => Some(record.cpu),
        "queue" => counter("/a_to_b/queue_delay_ms/mean"),
        "queue50" => counter("/a_to_b/queue_delay_ms/p50"),
        "queue95" => counter("/a_to_b/queue_delay_ms/p95"),
        "queue99" => counter("/a_to_b/queue_delay_ms/p99"),
        "drops" => Some(100.0 * counter("/a_to_b/queue_drops")? / counter("/a_to_b/packets")?),
        "missing" => Some(100.0 * received("missing")? / received("sent")?),
        "tool" => flow.sent.as_ref()?.pointer("/late/p99")?.as_f64(),
        "failed" => Some(100.0 * sent("failed")? / number(&record.what.settings, "n")?),
        "packets" => packets(flow),
        "repairs" => {
            let symbols = flow.sent.as_ref()?.get("symbols")?;
            Some(symbols.get("repair")?.as_f64()? / symbols.get("source")?.as_f64()?)
        }
        "goodput" if record.what.mode == "stream" => {
            let get = |name: &str| number(&record.what.settings, name);
            let bits = received("got")? * get("size")? * 8.0;
            Some(bits / 1e6 / (get("secs")? - get("skip")?))
        }
        "share" if view == View::Recorded => Some(received("goodput")? / record.capacity?),
        "goodput" if view != View::Sharing => received("goodput"),
        "goodput" | "share" | "least" | "jain" | "utilisation" => {
            Sharing::of(record)?.value(measure.key)
        }
        // Delays and times.
        name if view == View::Times => sent(name),
        // The path's own delay changes with time, or there are several.
        name if matches!(view, View::Recorded | View::Paths) => received(name),
        name => Some((received(name)? - path_delay(record)).max(0.0)),
    }
}

/// The distribution of delays without the path's own, as shares and ms.
pub(super) fn distribution(record: &Record) -> Option<Vec<(f64, f64)>> {
    let received = record.flow()?.received.as_ref()?;
    let own = path_delay(record);
    let pair = |pair: &Value| Some((pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?));
    let known: Vec<(f64, f64)> = match received.get("cdf").and_then(Value::as_array) {
        Some(pairs) => pairs.iter().filter_map(pair).collect(),
        None => {
            let percentiles = [
                ("p50", 0.5),
                ("p95", 0.95),
                ("p99", 0.99),
                ("p999", 0.999),
                ("max", 1.0),
            ];
            let at = |(name, share): (&str, f64)| Some((share, received.get(name)?.as_f64()?));
            percentiles.into_iter().filter_map(at).collect()
        }
    };
    let less = known
        .into_iter()
        .map(|(share, ms)| (share, (ms - own).max(0.0)));
    Some(less.collect::<Vec<_>>()).filter(|curve| !curve.is_empty())
}

/// The times of a run's transfers, in ms; `None` for one that failed.
pub(super) fn transfers(record: &Record) -> Option<Vec<Option<f64>>> {
    let times = record.flow()?.sent.as_ref()?.get("times")?.as_array()?;
    Some(times.iter().map(Value::as_f64).collect())
}

/// A counter of all links together.
fn sum(record: &Record, pointer: &str) -> Option<f64> {
    let all = record.counters(pointer);
    (!all.is_empty()).then(|| all.iter().sum())
}

/// What full datagrams of ours carry over all links together, without what these lose, in Mbit/s;
/// `None` if a link has no rate or its rate changes.
fn ceiling(record: &Record) -> Option<f64> {
    static PAYLOAD: OnceLock<f64> = OnceLock::new();
    let more = record.what.more.iter().map(|more| &more.link);
    let links = [&record.what.link].into_iter().chain(more);
    let carried = links.map(|text| {
        let link: LinkConfig = text.parse().ok()?;
        Some(link.rate? as f64 / 1e6 * (1.0 - link.loss.mean_loss()))
    });
    let payload = PAYLOAD.get_or_init(|| payload_share(&Config::default()));
    Some(carried.sum::<Option<f64>>()? * payload)
}

/// The delay of the link itself, in ms.
fn path_delay(record: &Record) -> f64 {
    let link: Option<LinkConfig> = record.what.link.parse().ok();
    link.map_or(0.0, |link| link.delay.as_secs_f64() * 1e3)
}

/// Bytes that the applications read.
fn delivered(record: &Record) -> Option<f64> {
    let settings = &record.what.settings;
    let get = |name: &str| number(settings, name);
    let of = |flow: &Flow| {
        let (received, sent) = (flow.received.as_ref()?, flow.sent.as_ref()?);
        let known = |name: &str| received.get(name)?.as_f64();
        Some(match record.what.mode.as_str() {
            // Only messages after `skip` are counted; the earlier ones have the same losses.
            "stream" => {
                let (secs, rate) = (get("secs")?, get("rate")? * 1e6);
                let offered = match get("video") {
                    Some(1.0) => {
                        let (time, size) = (Duration::from_secs_f64(secs), get("size")?);
                        Pace::Video.before(rate.round() as u64, size as usize, time) as f64 * size
                    }
                    _ => secs * rate / 8.0,
                };
                offered * known("got")? / known("sent")?
            }
            "xfer" => {
                let times = sent.get("times")?.as_array()?;
                let whole = times.iter().filter(|t| !t.is_null()).count();
                whole as f64 * get("size")?
            }
            _ => known("total").or_else(|| {
                let skipped = get("skip").unwrap_or(0.0);
                Some(known("bytes")? * get("secs")? / (get("secs")? - skipped))
            })?,
        })
    };
    let sum = record.flows.iter().map(of).sum::<Option<f64>>()?;
    (sum > 0.0).then_some(sum)
}

/// Packets with data sent for each with information.
fn packets(flow: &Flow) -> Option<f64> {
    let symbols = flow.sent.as_ref()?.get("symbols")?;
    let count = |name: &str| symbols.get(name)?.as_f64();
    let source = count("source")?;
    Some((source + count("resent")? + count("repair")?) / source)
}

/// The goodput of each flow in the time in which all flows are measured.
struct Sharing {
    /// Mbit/s, the measured flow's last.
    rates: Vec<f64>,
    /// The link's rate in Mbit/s.
    link: f64,
}

impl Sharing {
    fn of(record: &Record) -> Option<Sharing> {
        let link: LinkConfig = record.what.link.parse().ok()?;
        let settings = &record.what.settings;
        let start = record.flow()?.received.as_ref()?.get("start")?.as_f64()? / 1e9;
        let from = start + number(settings, "skip")?;
        let to = start + number(settings, "secs")?;
        let step = number(settings, "series")?;
        let rate = |flow: &Flow| {
            let received = flow.received.as_ref()?;
            let start = received.get("start")?.as_f64()? / 1e9;
            let series = received.get("series")?.as_array()?;
            let mbit: f64 = series
                .iter()
                .enumerate()
                .map(|(index, rate)| {
                    let (a, b) = (
                        start + index as f64 * step,
                        start + (index + 1) as f64 * step,
                    );
                    rate.as_f64().unwrap_or(0.0) * (b.min(to) - a.max(from)).max(0.0)
                })
                .sum();
            Some(mbit / (to - from))
        };
        Some(Sharing {
            rates: record.flows.iter().map(rate).collect::<Option<_>>()?,
            link: link.rate? as f64 / 1e6,
        })
    }

    fn value(&self, key: &str) -> Option<f64> {
        let own = *self.rates.last()?;
        let sum: f64 = self.rates.iter().sum();
        let fair = sum / self.rates.len() as f64;
        Some(match key {
            "goodput" => own,
            "share" => own / fair,
            "least" => self.rates.iter().copied().fold(f64::INFINITY, f64::min) / fair,
            "jain" => jain(&self.rates),
            _ => 100.0 * sum / self.link,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::record::tests::record;
    use super::super::suite::LinkText;
    use super::*;

    fn flow(received: Value, sent: Value) -> Flow {
        Flow {
            peer: "x".into(),
            offset: 0.0,
            commands: Default::default(),
            received: Some(received),
            sent: Some(sent),
        }
    }

    fn get(record: &Record, view: View, key: &str) -> Option<f64> {
        let measure = measures(view).into_iter().find(|m| m.key == key).unwrap();
        value(record, view, measure)
    }

    fn with(mode: &str, settings: &[&str], flows: Vec<Flow>) -> Record {
        let mut record = record("x", 1, true, None);
        record.what.mode = mode.into();
        record.what.link = "rate=20mbit delay=30ms".into();
        record.what.settings = settings.iter().map(|s| (*s).to_owned()).collect();
        record.path = Some(json!({
            "a_to_b": {"bytes": 3_000_000, "packets": 100, "queue_drops": 2,
                       "lateness_ms": {"p99": 0.2}},
            "b_to_a": {"bytes": 150_000, "lateness_ms": {"p99": 0.3}},
        }));
        record.flows = flows;
        record
    }

    #[test]
    fn delays_are_without_the_paths_own_and_bytes_are_per_byte_delivered() {
        let received = json!({"sent": 100, "got": 50, "missing": 50, "mean": 42.5, "p50": 29.9,
                              "cdf": [[0.5, 29.9], [1.0, 42.5]]});
        let sent = json!({"late": {"p99": 0.1}});
        let settings = ["secs=4", "rate=10", "size=1200"];
        let record = with("stream", &settings, vec![flow(received, sent)]);
        let get = |key: &str| get(&record, View::Delay, key);
        assert_eq!(get("mean"), Some(12.5));
        assert_eq!(get("p50"), Some(0.0), "never below none");
        assert_eq!(get("missing"), Some(50.0));
        // 4 s of 10 Mbit/s are 5 MB; half of them arrived.
        assert_eq!(get("wire"), Some(1.2));
        assert_eq!(get("back"), Some(0.06));
        assert_eq!((get("late"), get("tool")), (Some(0.3), Some(0.1)));
        assert_eq!(get("max"), None, "what is not told is not made up");
        assert_eq!(distribution(&record), Some(vec![(0.5, 0.0), (1.0, 12.5)]));
    }

    #[test]
    fn on_a_recorded_link_goodput_is_a_share_of_what_it_could_have_carried() {
        let symbols = json!({"symbols": {"source": 100, "repair": 3}});
        let settings = ["secs=5", "skip=1"];
        let received = json!({"goodput": 6.0, "total": 3_000_000});
        let mut record = with("bulk", &settings, vec![flow(received, symbols.clone())]);
        let of = |record: &Record, key| get(record, View::Recorded, key);
        assert_eq!(of(&record, "share"), None, "without a capacity");
        record.capacity = Some(8.0);
        record.path.as_mut().unwrap()["a_to_b"]["queue_delay_ms"] =
            json!({"p50": 7.0, "p95": 21.0});
        assert_eq!(of(&record, "share"), Some(0.75));
        assert_eq!(
            (of(&record, "queue50"), of(&record, "queue95")),
            (Some(7.0), Some(21.0))
        );
        assert_eq!(
            (of(&record, "repairs"), of(&record, "wire")),
            (Some(0.03), Some(1.0))
        );
        // A video is not cut off in the middle of a group: 3 s are 90 frames.
        let settings = ["secs=3", "skip=1", "rate=4", "size=1000", "video=1"];
        let received = json!({"sent": 500, "got": 500, "missing": 0, "p99": 90.0});
        let record = with("stream", &settings, vec![flow(received, symbols)]);
        let sent = Pace::Video.before(4_000_000, 1000, Duration::from_secs(3));
        assert_eq!(of(&record, "wire"), Some(3_000.0 / sent as f64));
        assert!(sent > 1500, "{sent}: a key frame begins the second half");
        assert_eq!(
            (of(&record, "p99"), of(&record, "goodput")),
            (Some(90.0), Some(2.0))
        );
    }

    #[test]
    fn what_several_links_carry_counts_together() {
        let received = json!({"goodput": 40.0, "total": 4_000_000});
        let mut record = with(
            "bulk",
            &["secs=10", "skip=0"],
            vec![flow(received, json!({}))],
        );
        record.what.link = "rate=30mbit delay=20ms".into();
        record.what.more = vec![LinkText {
            link: "rate=20mbit delay=45ms loss=iid:10%".into(),
            back: None,
        }];
        record.path = Some(json!({
            "a_to_b": {"bytes": 3_000_000, "delivered_bytes": 3_000_000, "lateness_ms": {"p99": 0.2}},
            "b_to_a": {"bytes": 100_000, "lateness_ms": {"p99": 0.3}},
            "more": [{
                "a_to_b": {"bytes": 1_500_000, "delivered_bytes": 1_000_000, "lateness_ms": {"p99": 0.1}},
                "b_to_a": {"bytes": 100_000, "lateness_ms": {"p99": 0.7}},
            }],
        }));
        let get = |key: &str| get(&record, View::Paths, key).unwrap();
        // 48 Mbit/s of packets, of which some 7 % are headers.
        assert!((0.88..0.91).contains(&get("ceiling")), "{}", get("ceiling"));
        assert_eq!((get("second share"), get("second delay")), (0.25, 45.0));
        assert_eq!((get("wire"), get("back"), get("late")), (1.125, 0.05, 0.7));
    }

    #[test]
    fn times_are_the_senders_and_failures_are_a_share() {
        let sent =
            json!({"times": [10.0, null, 12.0, null], "failed": 2, "mean": 11.0, "max": 12.0});
        let received = json!({"got": 2, "bytes": 2_000_000});
        let settings = ["n=4", "size=1000000"];
        let record = with("xfer", &settings, vec![flow(received, sent)]);
        assert_eq!(get(&record, View::Times, "mean"), Some(11.0));
        assert_eq!(get(&record, View::Times, "failed"), Some(50.0));
        assert_eq!(get(&record, View::Times, "wire"), Some(1.5));
    }

    #[test]
    fn packets_are_all_with_data_for_each_with_new_data() {
        let sent = json!({"symbols": {"source": 100, "resent": 5, "repair": 20}});
        let record = with("bulk", &["secs=4"], vec![flow(json!({}), sent)]);
        assert_eq!(get(&record, View::Window, "packets"), Some(1.25));
    }

    #[test]
    fn shares_are_compared_in_the_same_seconds() {
        let second = 1_000_000_000i64;
        // The newcomer starts 2 s later; the measured time is 3 s to 4 s on the old flow's clock.
        let old = json!({"start": 5 * second, "total": 1, "series": [20.0, 20.0, 8.0, 12.0, 20.0]});
        let new = json!({"start": 7 * second, "total": 1, "series": [0.0, 4.0]});
        let sent = json!({});
        let flows = vec![flow(old, sent.clone()), flow(new, sent)];
        let record = with("bulk", &["secs=2", "skip=1", "series=1"], flows);
        let get = |key: &str| get(&record, View::Sharing, key);
        assert_eq!(get("goodput"), Some(4.0));
        assert_eq!((get("share"), get("least")), (Some(0.5), Some(0.5)));
        assert_eq!(get("utilisation"), Some(80.0));
        assert_eq!(get("jain"), Some(0.8));
    }
}
