//! `weftline-lab sim paths`: two paths under one session, and each of them alone.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};

use crate::recordings;
use crate::sim::paths::{Cut, Goal, Order, PROFILES, Recorded, Row, Shared, Studied, Study, goals};
use weftline_sim::engine::check_paths;
use weftline_sim::schemes;

const HELP: &str = "\
Sixteen pairs of paths with published results; delay, jitter and loss are the same in both directions,
rates are of IP packets, and queues hold 100 ms. Pairs with jitter run twice: jitter keeps the order of
packets, or reorders them (`NAME,reorder`).

Each pair carries bulk data for 10 s from the start of the session, and a stream of 10 Mbit/s in
messages of 1200 bytes for 20 s: over the first path alone, the second alone, and both. Then the first
path of some pairs is cut from 5 s to 10 s, and two paths share a bottleneck with one other flow.

The last lines judge the goals.

Examples:
  weftline-lab sim paths
  weftline-lab sim paths --only baseline,dual_lte --seeds 1
  weftline-lab sim paths preset=arq --json";

/// Run the real engine over pairs of paths, and over each path alone
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct PathsArgs {
    /// Settings of the engine, as of `sim engine`
    #[arg(value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Only these pairs, and `bottleneck`, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    only: Vec<String>,
    /// Also a stream over all pairs of the recorded links in this folder, NAME.trace each, at 60 % of
    /// what both carry
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// Only jitter that keeps the order
    #[arg(long)]
    in_order: bool,
    /// Runs of each case, each with the next seed; medians are printed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Bytes that IP, UDP and the carrier add to each datagram: 64 is QUIC over IPv4, 36 plain UDP
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    overhead: u16,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
}

/// The part without a pair.
const BOTTLENECK: &str = "bottleneck";

fn name(text: &str) -> Result<String, String> {
    let mut known = PROFILES.map(|profile| profile.name).to_vec();
    known.push(BOTTLENECK);
    match known.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("give some of {}", known.join(", "))),
    }
}

pub(super) fn run(args: &PathsArgs, output: OutputOptions) -> Result<Exit> {
    let mut config =
        schemes::read(&args.settings).map_err(|error| Failure::usage(error.to_string()))?;
    config.datagram_overhead = args.overhead;
    check_paths(&config, 2).map_err(|error| Failure::usage(error.to_string()))?;
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|n| n == name);
    let chosen = PROFILES.into_iter().filter(|profile| wanted(profile.name));
    let pairs = chosen.flat_map(|profile| {
        let twice = profile.has_jitter() && !args.in_order;
        let orders = [Order::Kept, Order::Lost].into_iter();
        orders
            .take(1 + usize::from(twice))
            .map(move |order| (profile, order))
    });
    let recordings = match &args.traces {
        Some(folder) => {
            recordings::open(folder).map_err(|error| Failure::usage(error.to_string()))?
        }
        None => Vec::new(),
    };
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let study = Study {
        config,
        pairs: pairs.collect(),
        shared: wanted(BOTTLENECK),
        recordings,
        seeds: args.seeds,
        threads: args.threads.map_or_else(available, |n| n as usize),
    };
    let studied = study.run();
    let goals = goals(&studied);
    if output.json {
        let all = json!({
            "settings": args.settings, "seeds": args.seeds, "results": studied, "goals": goals
        });
        output::print(all);
    } else {
        output::print(text(&studied, &goals));
    }
    Ok(Exit::Ok)
}

fn text(studied: &Studied, goals: &[Goal]) -> String {
    let mut parts = vec![
        pairs(&studied.rows),
        cuts(&studied.cuts),
        shared(&studied.shared),
        recorded(&studied.recorded),
    ];
    parts.retain(|part| !part.is_empty());
    parts.push(verdict(goals));
    parts.join("\n")
}

/// Lines of a table in Markdown; nothing without rows.
fn table(head: &[&str], rows: impl ExactSizeIterator<Item = Vec<String>>) -> String {
    if rows.len() == 0 {
        return String::new();
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule = format!("|---|{}\n", "---:|".repeat(head.len() - 1));
    let rows: String = rows.map(|cells| line(&cells)).collect();
    line(&head) + &rule + &rows
}

/// Three values as `A / B / both`.
fn three<T>(of: &[T; 3], digits: usize, value: impl Fn(&T) -> f64) -> String {
    let texts = of.each_ref().map(|of| format!("{:.digits$}", value(of)));
    texts.join(" / ")
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}", share * 1e2))
}

fn pairs(rows: &[Row]) -> String {
    let head = [
        "pair: A / B / both",
        "bulk, Mbit/s",
        "of ceiling",
        "from 5 s",
        "of A + B",
        "bytes/byte",
        "over B, %",
        "p50, ms",
        "p99, ms",
        "longest, ms",
        "lost",
        "bytes/byte",
        "over B, %",
        "p99 for best",
        "added",
    ];
    let cells = |row: &Row| {
        let (ratio, added) = row.p99_ratio();
        vec![
            row.pair.clone(),
            three(&row.bulk, 1, |b| b.goodput_mbit),
            format!("{:.2}", row.share()),
            format!("{:.2}", row.bulk[2].late_mbit / row.ceiling_mbit),
            format!("{:.2}", row.share_of_alone()),
            three(&row.bulk, 2, |b| b.wire),
            percent(row.bulk[2].second_share),
            three(&row.stream, 0, |s| s.p50),
            three(&row.stream, 0, |s| s.p99),
            three(&row.stream, 0, |s| s.max),
            three(&row.stream, 0, |s| s.missing),
            three(&row.stream, 2, |s| s.wire),
            percent(row.stream[2].second_share),
            format!("x{ratio:.2}"),
            format!("x{added:.2}"),
        ]
    };
    table(&head, rows.iter().map(cells))
}

fn cuts(cuts: &[Cut]) -> String {
    let head = [
        "A is cut from 5 s to 10 s",
        "lost",
        "longest, ms",
        "allowed",
        "p99, ms",
        "use of A before",
        "12 s to 13 s",
        "use of B in between",
        "bulk, Mbit/s",
    ];
    let cells = |cut: &Cut| {
        vec![
            cut.pair.to_owned(),
            format!("{:.0}", cut.missing),
            format!("{:.0}", cut.max_ms),
            format!("{:.0}", cut.limit_ms),
            format!("{:.0}", cut.p99_ms),
            format!("{:.2}", cut.before),
            format!("{:.2}", cut.after),
            format!("{:.2}", cut.other),
            format!("{:.1}", cut.bulk.goodput_mbit),
        ]
    };
    table(&head, cuts.iter().map(cells))
}

fn shared(rows: &[Shared]) -> String {
    let head = [
        "one bottleneck, beside",
        "one path, Mbit/s",
        "two paths",
        "ratio",
        "the other, beside one / two",
    ];
    let cells = |row: &Shared| {
        let [one, two] = row.other_mbit;
        vec![
            row.other.to_owned(),
            format!("{:.1}", row.one_mbit),
            format!("{:.1}", row.two_mbit),
            format!("x{:.2}", row.two_mbit / row.one_mbit),
            format!("{one:.1} / {two:.1}"),
        ]
    };
    table(&head, rows.iter().map(cells))
}

fn recorded(rows: &[Recorded]) -> String {
    let head = [
        "recorded: A / B / both",
        "offered, Mbit/s",
        "p50, ms",
        "p99, ms",
        "lost",
        "redundancy, %",
        "over B, %",
        "p99 for best",
    ];
    let cells = |row: &Recorded| {
        vec![
            row.pair.join(" + "),
            format!("{:.1}", row.offered_mbit),
            three(&row.stream, 0, |s| s.p50),
            three(&row.stream, 0, |s| s.p99),
            three(&row.stream, 0, |s| s.missing),
            three(&row.stream, 0, |s| s.redundancy * 1e2),
            percent(row.stream[2].second_share),
            format!("x{:.2}", row.p99_ratio()),
        ]
    };
    table(&head, rows.iter().map(cells))
}

fn verdict(goals: &[Goal]) -> String {
    let line = |goal: &Goal| {
        let good = goal.cases - goal.missed.len();
        let missed = match goal.missed.is_empty() {
            true => String::new(),
            false => format!("; missed: {}", goal.missed.join(", ")),
        };
        format!("{}: {good} of {}{missed}", goal.what, goal.cases)
    };
    goals.iter().map(line).collect::<Vec<_>>().join("\n")
}
