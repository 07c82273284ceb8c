//! `weftline-lab sim engine`: the real engine over simulated links.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::commands::links::several;
use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use weftline_sim::engine::{
    self, Application, Experiment, LogLine, Outcome, PathOutcome, TooManyEntries, check_paths,
    symbols,
};

use super::common::seconds;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};
use weftline_emulator::Links;
use weftline_netem::units;
use weftline_sim::schemes;

const HELP: &str = "\
Settings are those of `weftline-lab load`'s transport weftline, without its carrier: preset=NAME
share= l= k= delay= deadline= without= encoding= feedback= topup= symbol= fixed_rate= fixed_window= ...
Presets udp-rc and rlc-block: field=2|4|...|256 extra=N|ack pace= header=seed|vector systematic=0|1
Additional presets for comparison: ac-rlnc, flec-bulk, flec-message, uncoded.
The session controls its rate itself, as on any carrier, unless fixed_rate= (Mbit/s) is given.

--events and --with-events give the event log: what each end sent, received, decoded and delivered,
and what the path did, entry by entry (docs/reference/event-log.md). `weftline-lab why` explains it.

A delay is the time from when a message was due until it was read in order, with the path's delay.

Examples:
  weftline-lab sim engine --link 'rate=25mbit delay=30ms queue=60ms loss=iid:5%' --app cbr:10mbit,1200
  weftline-lab sim engine preset=streaming l=5 --link 'rate=25mbit delay=30ms loss=ge:10%,4' --seeds 9
  weftline-lab sim engine deadline=100 --link 'rate=25mbit delay=30ms loss=ge:10%,4' --within 100
  weftline-lab sim engine --link 'rate=25mbit delay=30ms queue=60ms loss=iid:1%' --app bulk
  weftline-lab sim engine preset=rest encoding=mobile:4 --app file:20000 --events exchange.sqlog
  weftline-lab sim engine preset=streaming l=4 --app file:20000 --json --with-events";

/// Entries of a log that are written to a file.
const MOST_IN_FILE: usize = 2_000_000;
/// Entries of the logs that are printed, of all runs together.
const MOST_PRINTED: usize = 100_000;
/// Entries of the log of one run that is only read.
const MOST_READ: usize = 10_000_000;

/// Run the real engine over simulated links
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct EngineArgs {
    /// Settings of the engine, for both ends
    #[arg(value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// The forward path, in the form of `weftline-lab run`; once for each path of the session
    #[arg(
        long,
        value_name = "LINK",
        default_value = "rate=25mbit delay=30ms queue=60ms loss=iid:5%"
    )]
    link: Vec<String>,
    /// The return path, of several paths the first, the second and so on [default: the same rate,
    /// delay, queue, outages and MTU, without loss]
    #[arg(long, value_name = "LINK")]
    back: Vec<String>,
    /// In place of --link: two paths with a name, as dual_lte, or dual_lte,reorder for jitter that
    /// reorders packets; an unknown name lists all
    #[arg(long, value_name = "NAME", conflicts_with_all = ["link", "back"])]
    paths: Option<String>,
    /// Bytes that IP, UDP and the carrier add to each datagram: 64 is QUIC over IPv4, 36 plain UDP
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    overhead: u16,
    /// The application's traffic: cbr:RATE,SIZE, video:RATE,SIZE (30 frames/s of varying sizes, in
    /// messages of SIZE), bulk, bulk:SIZE (messages, due when accepted) or file:SIZE
    #[arg(long, value_name = "APP", default_value = "cbr:10mbit,1200")]
    app: Application,
    /// Seconds of traffic
    #[arg(long, value_name = "SECS", default_value_t = 30.0)]
    secs: f64,
    /// Exclude messages that are due in the first seconds
    #[arg(long, value_name = "SECS", default_value_t = 1.0)]
    skip: f64,
    /// Print the share of messages that are read within this many ms of their due time
    #[arg(long, value_name = "MS", value_parser = within)]
    within: Option<f64>,
    /// With --json: the distribution of delays in ms, as `cdf`
    #[arg(long)]
    cdf: bool,
    /// Seed of the losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of runs, each with the next seed; medians are printed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Write the event log of the run to this file, as qlog (.sqlog)
    #[arg(long, value_name = "FILE", conflicts_with = "with_events")]
    events: Option<PathBuf>,
    /// With --json: print the event log of each run as `events`, at most 100,000 entries in all
    #[arg(long)]
    with_events: bool,
    /// In an event log: the writer closes the session when everything is acknowledged
    #[arg(long)]
    close: bool,
    /// With --json: add to each run what became of each source symbol (delays without waiting for
    /// earlier symbols, decodings, useless repair symbols), as `symbols`
    #[arg(long)]
    symbols: bool,
    /// With --symbols: add the first run over time
    #[arg(long, requires = "symbols")]
    series: bool,
}

pub(super) fn run(args: &EngineArgs, output: OutputOptions) -> Result<Exit> {
    let mut config = schemes::read(&args.settings).map_err(|e| Failure::usage(e.to_string()))?;
    config.datagram_overhead = args.overhead;
    let paths = paths(args)?;
    check_paths(&config, paths.len()).map_err(|e| Failure::usage(e.to_string()))?;
    let mut experiment = Experiment {
        config,
        paths,
        application: args.app,
        duration: seconds("secs", args.secs)?,
        skip: seconds("skip", args.skip)?,
        within: args
            .within
            .map(|millis| Duration::from_secs_f64(millis / 1e3)),
        distribution: args.cdf,
        seed: args.seed,
        close: args.close,
    };
    if args.with_events && !output.json {
        return Err(Failure::usage(
            "--with-events adds to what --json prints: give both".to_owned(),
        )
        .into());
    }
    if args.close && !args.with_events && args.events.is_none() {
        return Err(Failure::usage(
            "--close belongs to an event log: give --events or --with-events".to_owned(),
        )
        .into());
    }
    if args.symbols && !output.json {
        return Err(
            Failure::usage("--symbols adds to what --json prints: give both".to_owned()).into(),
        );
    }
    if args.events.is_some() && args.seeds > 1 {
        return Err(Failure::usage(
            "--events writes the log of one run: leave out --seeds".to_owned(),
        )
        .into());
    }
    let most = match args.events {
        Some(_) => Some(MOST_IN_FILE),
        None if args.symbols && !args.with_events => Some(MOST_READ),
        None => args.with_events.then_some(MOST_PRINTED),
    };
    let (mut outcomes, mut logs, mut told, mut entries) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for n in 0..args.seeds {
        experiment.seed = args.seed.wrapping_add(n);
        let Some(most) = most else {
            outcomes.push(experiment.run());
            continue;
        };
        let logged = experiment.run_logged(most - entries);
        let (outcome, log) =
            logged.map_err(|_| Failure::usage(TooManyEntries { most }.to_string()))?;
        outcomes.push(outcome);
        if args.symbols {
            told.push(symbols(&log, args.series && n == 0));
        }
        if args.with_events || args.events.is_some() {
            entries += log.len();
            logs.push(log);
        }
    }
    if let Some(file) = &args.events {
        // It does not go into what is printed.
        let log = logs.pop().unwrap_or_default();
        write(file, &head(args), &log)
            .with_context(|| format!("cannot write to {}", file.display()))?;
    }
    if output.json {
        let mut logs = logs.iter();
        let runs: Vec<_> = outcomes
            .iter()
            .enumerate()
            .map(|(n, outcome)| {
                let mut run =
                    json!({ "seed": args.seed.wrapping_add(n as u64), "result": outcome });
                if let Some(symbols) = told.get(n) {
                    run["symbols"] = json!(symbols);
                }
                if let Some(log) = logs.next() {
                    run["events"] = json!(log);
                }
                run
            })
            .collect();
        output::print(format_args!(
            "{}",
            json!({ "settings": args.settings, "link": link(args), "app": args.app.to_string(), "runs": runs })
        ));
    } else {
        print(&outcomes, args.app);
    }
    Ok(Exit::Ok)
}

/// The paths, as they were typed.
fn paths(args: &EngineArgs) -> Result<Vec<engine::Path>, Failure> {
    let links = several(args.paths.as_deref(), &args.link, &args.back)?;
    let paths = links.into_iter();
    Ok(paths
        .map(|Links { forward, back }| engine::Path { forward, back })
        .collect())
}

/// One value as it was typed, or several.
fn typed(values: &[String]) -> serde_json::Value {
    match values {
        [] => serde_json::Value::Null,
        [one] => json!(one),
        several => json!(several),
    }
}

/// What was typed for the paths.
fn link(args: &EngineArgs) -> serde_json::Value {
    match &args.paths {
        Some(name) => json!(name),
        None => typed(&args.link),
    }
}

/// The head of a file: what was run.
fn head(args: &EngineArgs) -> serde_json::Value {
    json!({
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": "weftline-lab sim engine",
        "trace": {
            "vantage_point": { "type": "unknown" },
            "common_fields": { "time_format": "relative", "reference_time": 0 },
            "configuration": { "weftline": {
                "version": 1,
                "settings": args.settings,
                "link": link(args),
                "back": typed(&args.back),
                "app": args.app.to_string(),
                "secs": args.secs,
                "seed": args.seed,
            }},
        },
    })
}

/// A JSON text sequence (RFC 7464).
fn write(file: &Path, head: &serde_json::Value, log: &[LogLine]) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    writeln!(out, "\x1e{head}")?;
    for line in log {
        out.write_all(b"\x1e")?;
        serde_json::to_writer(&mut out, line)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn within(text: &str) -> Result<f64, String> {
    let millis = text.parse().ok();
    millis
        .filter(|ms| (0.0..=3_600_000.0).contains(ms))
        .ok_or_else(|| format!("`{text}` is not a time in ms: give for example 100"))
}

fn print(outcomes: &[Outcome], app: Application) {
    let median = |value: &dyn Fn(&Outcome) -> Option<f64>| {
        let mut values: Vec<f64> = outcomes.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let show = |name: &str, unit: &str, value: &dyn Fn(&Outcome) -> Option<f64>| {
        if let Some(value) = median(value) {
            output::print(format_args!("{name:<22} {value:>10.3} {unit}"));
        }
    };
    if let Application::Cbr { .. } | Application::Video { .. } | Application::Saturating { .. } =
        app
    {
        show("messages due", "", &|o| Some(o.sent as f64));
        show("messages read", "", &|o| Some(o.got as f64));
        show("delay, mean", "ms", &|o| o.delay.mean);
        show("delay, median", "ms", &|o| o.delay.p50);
        show("delay, 95 %", "ms", &|o| o.delay.p95);
        show("delay, 99 %", "ms", &|o| o.delay.p99);
        show("delay, 99.9 %", "ms", &|o| o.delay.p999);
        show("delay, longest", "ms", &|o| o.delay.max);
        show("on time", "%", &|o| o.on_time.map(|share| share * 1e2));
    }
    if let Application::File { size } = app {
        output::print(format_args!(
            "{:<22} {:>10}",
            "file",
            units::size(size as usize)
        ));
        show("completed after", "s", &|o| o.completion_s);
    } else {
        show("goodput", "Mbit/s", &|o| Some(o.goodput_mbit));
        show("share of capacity", "%", &|o| {
            o.capacity_share.map(|share| share * 1e2)
        });
    }
    show("wire bytes per byte", "", &|o| Some(o.wire_per_byte));
    show("return bytes per byte", "", &|o| Some(o.back_per_byte));
    show("repairs per source", "", &|o| Some(o.repair_share));
    show("sources per symbol", "", &|o| Some(o.effective_rate));
    show("loss rate", "", &|o| Some(o.loss_rate));
    show("queue drops", "", &|o| Some(o.queue_drops as f64));
    show("queue, median", "ms", &|o| Some(o.queue_ms[0]));
    show("queue, 95 %", "ms", &|o| Some(o.queue_p95_ms));
    show("queue, 99 %", "ms", &|o| Some(o.queue_ms[1]));
    let paths = outcomes.first().map_or(0, |outcome| outcome.paths.len());
    for n in 0..paths {
        output::print(format_args!("path {n}"));
        let show = |name, unit, value: &dyn Fn(&PathOutcome) -> f64| {
            show(name, unit, &|o| o.paths.get(n).map(value));
        };
        show("  arrived", "Mbit/s", &|path| path.arrived_mbit);
        show("  share", "%", &|path| path.share * 1e2);
        show("  sent", "MB", &|path| path.wire_bytes as f64 / 1e6);
        show("  round trip", "ms", &|path| path.rtt_ms);
        show("  recovered", "", &|path| path.recovered as f64);
        show("  loss rate", "", &|path| path.loss_rate);
        show("  queue drops", "", &|path| path.queue_drops as f64);
        show("  queue, median", "ms", &|path| path.queue_ms[0]);
        show("  queue, 99 %", "ms", &|path| path.queue_ms[1]);
    }
}
