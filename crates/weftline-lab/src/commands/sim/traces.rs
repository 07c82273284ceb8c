//! `weftline-lab sim traces`: with coding and without, on recorded links.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};
use weftline_netem::LossModel;

use crate::recordings::{self, App, GENERATED, LOSSES};
use crate::sim::traces::{Compared, Comparison, Measured};
use weftline_sim::schemes;

const HELP: &str = "\
Links: the trace forwards (20 ms one way, or as recorded in NAME.delay), a queue of 500 ms, 48 Mbit/s
and 20 ms back. Traffic: bulk; a stream of 1200-byte messages at 40 % of the mean capacity; a video of
30 frames/s with that mean rate, 8 Mbit/s at most. The first second does not count.

The last lines judge \"never worse than none\": goodput and the 99th percentile of delay at most 5 %
worse than --against, and where nothing is lost at most 2 % more bytes.

Examples:
  weftline-lab sim traces ~/traces
  weftline-lab sim traces generated --apps stream --losses 'none;ge:1%,4' --secs 20
  weftline-lab sim traces ~/traces --settings delay=40 --against 'preset=streaming l=7' --seeds 3";

/// Run the real engine with coding and without over recorded links
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct TracesArgs {
    /// A folder with recorded links, NAME.trace each in mahimahi's format, or `generated` for some that
    /// are made here
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// What is judged: settings as of `sim engine`, separated by spaces
    #[arg(long, value_name = "SETTINGS", default_value = "preset=auto")]
    settings: String,
    /// What it is judged by
    #[arg(long, value_name = "SETTINGS", default_value = "preset=arq")]
    against: String,
    /// Only traces whose names contain one of these texts, separated by semicolons
    #[arg(long, value_name = "TEXTS", value_delimiter = ';')]
    only: Vec<String>,
    /// Traffic, separated by commas
    #[arg(
        long,
        value_name = "APPS",
        value_delimiter = ',',
        default_value = "bulk,stream,video"
    )]
    apps: Vec<App>,
    /// Losses, separated by semicolons
    #[arg(long, value_name = "LOSSES", value_delimiter = ';', default_values = LOSSES, value_parser = loss)]
    losses: Vec<String>,
    /// Seconds of traffic
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(2..=3600))]
    secs: u64,
    /// Runs of each case, each with the next seed; medians are printed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Bytes that IP, UDP and the carrier add to each datagram: 64 is QUIC over IPv4, 36 plain UDP
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    overhead: u16,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
}

fn loss(text: &str) -> Result<String, String> {
    let model: Result<LossModel, _> = text.parse();
    model.map(|_| text.to_owned()).map_err(|e| e.to_string())
}

pub(super) fn run(args: &TracesArgs, output: OutputOptions) -> Result<Exit> {
    let config = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut config =
            schemes::read(&words).map_err(|error| Failure::usage(error.to_string()))?;
        config.datagram_overhead = args.overhead;
        Ok::<_, Failure>(config)
    };
    let configs = [config(&args.settings)?, config(&args.against)?];
    let made = tempfile::tempdir().context("no folder for generated traces")?;
    let folder = match args.folder == Path::new(GENERATED) {
        true => {
            recordings::generate::write(made.path())?;
            made.path()
        }
        false => &args.folder,
    };
    let mut recordings =
        recordings::open(folder).map_err(|error| Failure::usage(error.to_string()))?;
    if !args.only.is_empty() {
        recordings.retain(|r| args.only.iter().any(|text| r.name.contains(text)));
    }
    if recordings.is_empty() {
        let message = format!(
            "--only: no trace has `{}` in its name",
            args.only.join("` or `")
        );
        return Err(Failure::usage(message).into());
    }
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    let comparison = Comparison {
        configs,
        recordings,
        apps: args.apps.clone(),
        losses: args.losses.clone(),
        duration: Duration::from_secs(args.secs),
        seeds: args.seeds,
        threads: args.threads.map_or_else(available, |n| n as usize),
    };
    let cases = comparison.run().map_err(Failure::usage)?;
    if output.json {
        output::print(json!({
            "settings": args.settings, "against": args.against, "secs": args.secs, "seeds": args.seeds, "cases": cases
        }));
    } else {
        output::print(table(&cases));
        output::print(verdict(&cases));
    }
    Ok(Exit::Ok)
}

/// A row for each case; in each cell what is judged, and what it is judged by.
fn table(cases: &[Compared]) -> String {
    let head = [
        "trace, traffic, losses",
        "Mbit/s",
        "share of capacity",
        "p50, ms",
        "p99, ms",
        "bytes/byte",
        "repairs",
        "queue p50, ms",
        "queue p95, ms",
        "queue drops",
        "worse",
    ];
    let mut lines = vec![
        format!("| {} |", head.join(" | ")),
        format!("|---|{}", "---:|".repeat(head.len() - 1)),
    ];
    for case in cases {
        let both = |digits: usize, value: &dyn Fn(&Measured) -> Option<f64>| {
            let texts = case
                .results
                .each_ref()
                .map(|measured| match value(measured) {
                    Some(value) => format!("{value:.digits$}"),
                    None => "-".to_owned(),
                });
            texts.join(" / ")
        };
        let worse: Vec<String> = case.worse.iter().map(ToString::to_string).collect();
        let cells = [
            format!("{}, {}, {}", case.trace, case.app, case.loss),
            both(2, &|m| Some(m.numbers.goodput)),
            both(3, &|m| m.share),
            both(0, &|m| m.p50),
            both(0, &|m| m.numbers.p99),
            both(3, &|m| Some(m.numbers.wire)),
            both(3, &|m| Some(m.repairs)),
            both(0, &|m| Some(m.queue50)),
            both(0, &|m| Some(m.queue95)),
            both(0, &|m| Some(m.drops)),
            worse.join(", "),
        ];
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n") + "\n"
}

/// How many cases keep each promise, and the worst.
fn verdict(cases: &[Compared]) -> String {
    let good = cases.iter().filter(|case| case.worse.is_empty()).count();
    let mut lines = vec![format!(
        "never worse than none: {good} of {} cases",
        cases.len()
    )];
    let all = || {
        cases
            .iter()
            .flat_map(|case| case.worse.iter().map(move |worse| (case, worse)))
    };
    for what in ["goodput", "p99", "bytes"] {
        let of = || all().filter(|(_, worse)| worse.what == what);
        let badness = |ratio: f64| if what == "goodput" { -ratio } else { ratio };
        let Some((case, worst)) =
            of().max_by(|a, b| badness(a.1.ratio).total_cmp(&badness(b.1.ratio)))
        else {
            continue;
        };
        let Compared {
            trace, app, loss, ..
        } = case;
        lines.push(format!(
            "  {what}: worse in {}, most in {trace}, {app}, {loss}: x{:.3}",
            of().count(),
            worst.ratio
        ));
    }
    lines.join("\n")
}
