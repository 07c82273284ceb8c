//! The report: one page without scripts and external resources.

use std::fmt::Write;
use std::time::Duration;

use weftline::Preset;
use weftline_netem::LossModel;
use weftline_plot::{Axis, CHART_STYLE, Marks, Series, chart, escape, figure};

use super::Report;
use super::lateness::Exactness;
use super::run::{Run, Workload};
use super::{sentence, table};
use crate::ui::output::quoted;
use crate::ui::progress::size;

/// Points of a curve: more would not be visible.
const POINTS: usize = 600;
/// Left end of a logarithmic axis, in milliseconds: smaller values are only measurement noise.
const LEAST_MS: f64 = 0.1;

/// The page.
pub(super) fn page(report: &Report<'_>) -> String {
    // Writing to a string cannot fail, here and below.
    let mut page = String::new();
    let _ = writeln!(
        page,
        "<p class=\"lead\">{}</p>",
        escape(&sentence::closing(&report.runs))
    );
    let _ = writeln!(
        page,
        "<h2>The path</h2>\n<p>{}</p>\n<p>{}</p>",
        escape(&path(report)),
        escape(&workloads(report))
    );
    let _ = writeln!(
        page,
        "<h2>The runs</h2>\n<p>{}</p>",
        escape(&presets(report.setup.repair_share))
    );
    page += &rows(&report.runs);
    let streams = streams(report);
    if !streams.is_empty() {
        page += "<h2>In-order delivery delay</h2>\n";
        page += &figure(
            &distribution(&streams),
            "Share of the messages that were delivered within a delay: further left is better. \
             The delay is the time that losses and queues added to the path's own delay.",
        );
        page += &figure(
            &timeline(&streams),
            "Delay of the messages over the time at which they were due. If there are more messages \
             than points, each point is the largest of its neighbours.",
        );
    }
    let _ = writeln!(
        page,
        "<h2>How this was made</h2>\n<pre>{}</pre>",
        escape(&command())
    );
    let _ = writeln!(
        page,
        "<p>weftline {}, {:.0} s, two endpoints and the path in one process. {}</p>",
        env!("CARGO_PKG_VERSION"),
        report.elapsed.as_secs_f64(),
        escape(&Exactness::of(report.runs.iter().map(|r| r.path.lateness)).sentence())
    );
    weftline_plot::page("Weftline demo", "", &page)
}

/// The distribution of delays as a separate picture, if there are any.
pub(super) fn picture(report: &Report<'_>) -> Option<String> {
    let streams = streams(report);
    if streams.is_empty() {
        return None;
    }
    let chart = distribution(&streams);
    let inner = chart.strip_prefix("<svg ")?;
    let (attributes, inner) = inner.split_once('>')?;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {attributes}>\n<style>\n{CHART_STYLE}\
         .ground {{ fill: var(--ground); }}\n</style>\n\
         <rect class=\"ground\" width=\"100%\" height=\"100%\"/>{inner}\n"
    ))
}

/// The runs that have delays.
fn streams<'a>(report: &'a Report<'_>) -> Vec<&'a Run> {
    report
        .runs
        .iter()
        .filter(|r| r.workload == Workload::Stream && r.outcome.bytes > 0)
        .collect()
}

/// The path that all runs share.
pub(super) fn path(report: &Report<'_>) -> String {
    let args = report.args;
    format!(
        "{} each way, round trip {}, queue {}, {}, {}.",
        bit_rate(args.rate),
        time(args.rtt),
        time(args.queue),
        lost(&args.loss, "forward"),
        lost(&args.back_loss, "return"),
    )
}

/// What each preset carries.
pub(super) fn workloads(report: &Report<'_>) -> String {
    let setup = report.setup;
    format!(
        "Stream: {} messages of {} bytes, {}. File: {} of {}. Seed {}.",
        setup.load.count,
        setup.load.size,
        bit_rate(report.args.message_rate),
        size(report.file_bytes),
        report.file_name,
        setup.seed,
    )
}

fn presets(share: f64) -> String {
    format!(
        "arq sends lost packets again and has no repairs; block adds repairs to each block of packets, \
         streaming spreads them evenly over all unacknowledged packets: {share:.3} repairs for each packet in both. \
         auto sends a repair when it is worth its price; beyond that share it only repairs what the receiver is \
         known to lack."
    )
}

fn lost(model: &LossModel, direction: &str) -> String {
    let share = model.mean_loss();
    if share > 0.0 {
        let percent = decimal(share * 100.0);
        format!("{percent} % loss on the {direction} path ({model})")
    } else {
        format!("no loss on the {direction} path")
    }
}

fn bit_rate(bits_per_second: u64) -> String {
    let rate = bits_per_second as f64;
    if rate >= 1e9 {
        format!("{} Gbit/s", decimal(rate / 1e9))
    } else if rate >= 1e6 {
        format!("{} Mbit/s", decimal(rate / 1e6))
    } else {
        format!("{} kbit/s", decimal(rate / 1e3))
    }
}

fn time(time: Duration) -> String {
    format!("{} ms", decimal(time.as_secs_f64() * 1e3))
}

/// At most two decimals, without trailing zeros.
fn decimal(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn rows(runs: &[Run]) -> String {
    let mut out = "<div class=\"wide\"><table><thead><tr>".to_owned();
    for title in table::TITLES {
        let _ = write!(out, "<th>{}</th>", escape(title));
    }
    out += "</tr></thead><tbody>\n";
    for run in runs {
        out += "<tr>";
        for cell in table::row(run) {
            let _ = write!(out, "<td>{}</td>", escape(&cell));
        }
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n<p class=\"small\">";
    out += &escape(table::LEGEND).replace('\n', "<br>\n");
    out + "</p>\n"
}

fn distribution(streams: &[&Run]) -> String {
    let max = largest(streams);
    let at = |percent| {
        streams
            .iter()
            .map(move |r| r.outcome.delays.percentile(percent))
    };
    let low_median = at(50.0).fold(f64::INFINITY, f64::min).max(LEAST_MS);
    let high_tail = at(99.0).fold(0.0, f64::max);
    // If the presets differ by much, a linear axis would squeeze the better ones into its corner.
    let log = high_tail / low_median > 10.0;
    let low = if log { LEAST_MS } else { 0.0 };
    let x = Axis {
        label: "added delay, ms".into(),
        log,
        range: (low, max.max(10.0 * LEAST_MS)),
    };
    let y = Axis {
        label: "share of messages, %".into(),
        log: false,
        range: (0.0, 100.0),
    };
    let series: Vec<_> = streams
        .iter()
        .map(|run| {
            let curve = run.outcome.delays.distribution(POINTS);
            let start = curve.first().map(|first| (first.0, 0.0));
            // At its largest delay a curve has reached 100 %, and stays there.
            let end = (max, 1.0);
            line(
                run,
                start
                    .into_iter()
                    .chain(curve)
                    .chain([end])
                    .map(|(ms, share)| (ms, share * 100.0))
                    .collect(),
            )
        })
        .collect();
    chart("Distribution of the added delay", &x, &y, &series)
}

fn timeline(streams: &[&Run]) -> String {
    let curves: Vec<_> = streams
        .iter()
        .map(|run| line(run, run.outcome.delays.timeline(POINTS)))
        .collect();
    let end = curves
        .iter()
        .filter_map(|c| c.points.last())
        .map(|p| p.0)
        .fold(0.1, f64::max);
    let x = Axis {
        label: "time, s".into(),
        log: false,
        range: (0.0, end),
    };
    let y = Axis {
        label: "added delay, ms".into(),
        log: false,
        range: (0.0, largest(streams).max(1.0)),
    };
    chart("Added delay over time", &x, &y, &curves)
}

fn line(run: &Run, points: Vec<(f64, f64)>) -> Series {
    let style = Preset::ALL
        .iter()
        .position(|p| *p == run.preset)
        .unwrap_or(0);
    Series {
        name: run.preset.to_string(),
        style,
        points,
        marks: Marks::Line,
    }
}

fn largest(streams: &[&Run]) -> f64 {
    streams
        .iter()
        .filter_map(|r| r.outcome.delays.summary())
        .map(|d| d.max)
        .fold(0.0, f64::max)
}

fn command() -> String {
    let arguments = std::env::args().skip(1).map(|a| quoted(&a));
    std::iter::once("weftline".to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_described_in_plain_words() {
        assert_eq!(bit_rate(25_000_000), "25 Mbit/s");
        assert_eq!(bit_rate(100_000), "100 kbit/s");
        assert_eq!(bit_rate(2_500_000_000), "2.5 Gbit/s");
        assert_eq!(time(Duration::from_micros(60_500)), "60.5 ms");
        assert_eq!(time(Duration::from_secs(10)), "10000 ms");
        assert_eq!(
            lost(&LossModel::iid(0.1), "forward"),
            "10 % loss on the forward path (iid:10%)"
        );
        assert_eq!(
            lost(&LossModel::None, "return"),
            "no loss on the return path"
        );
    }
}
