//! `weftline demo`: every preset on the same impaired path, inside this process.

mod delay;
mod html;
mod json;
mod lateness;
mod limits;
mod path;
mod run;
mod sentence;
mod table;
mod target;
mod workload;

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use weftline::Preset;
use weftline_netem::{LinkConfig, LossModel, Queue, units};

use self::lateness::Exactness;
use self::run::{Run, Setup, Workload, run};
use self::target::Target;
use self::workload::MessageStream;
use crate::options::repair_share;
use crate::preset::PresetChoice;
use crate::ui::stop::interrupted;
use crate::ui::{Exit, Failure, OutputOptions, output};

/// Headers of the carrier, UDP and IP on a message in its own packet. They determine the time that
/// an undisturbed message takes on the link.
const OVERHEAD: usize = 28 + 36;
/// The smallest default number of repairs for each source symbol.
const LEAST_SHARE: f64 = 0.03;
const DEFAULT_REPORT: &str = "weftline-demo.html";

const EXAMPLES: &str = "\
Examples:
  weftline demo
  weftline demo --loss ge:10%,4 --rtt 120ms      losses in bursts of 4, a longer round trip
  weftline demo --quick --json                   for scripts: about 15 s, one JSON object

Each preset carries the same two workloads between two endpoints in this process, over QUIC
on loopback, through a relay that delays and drops packets as the options say. It needs no
privileges and no network, and opens no port to others.

The delay of a message is the time from when it was due to be written until the receiving
application has read it, minus the one-way delay and the time its packet takes on the
link: the time that losses and queues have added. It is set to 0 where measurement noise made it
negative. A file has no messages, so its delay is empty (null in JSON).

The repair share is 1.5 p/(1-p) at a loss rate of p by default, and at least 0.03: p/(1-p)
replaces the losses on average; half as much again keeps the receiver from waiting for
the next repair whenever a few more packets than average are lost. Block and streaming get
the same share, and auto has it as its limit. arq sends no repairs.";

/// See what erasure coding does on a lossy path, right here
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Presets to compare, each followed by its options: arq,udp-rc,field=256,auto
    #[arg(
        long,
        value_name = "NAME,...",
        default_value = "arq,block,streaming,auto",
        value_parser = presets
    )]
    pub preset: Presets,
    /// Rate of the link in each direction
    #[arg(long, value_name = "RATE", default_value = "25mbit", value_parser = units::parse_rate)]
    pub rate: u64,
    /// Round-trip time
    #[arg(long, value_name = "TIME", default_value = "60ms", value_parser = units::parse_duration)]
    pub rtt: Duration,
    /// Loss on the forward path: 10%, ge:10%,4 (mean loss, mean burst), periodic:N, none
    #[arg(long, value_name = "LOSS", default_value = "10%", value_parser = loss)]
    pub loss: LossModel,
    /// Loss on the return path
    #[arg(long, value_name = "LOSS", default_value = "none", value_parser = loss)]
    pub back_loss: LossModel,
    /// Longest wait in the link's queue; packets that would wait longer are dropped
    #[arg(long, value_name = "TIME", default_value = "60ms", value_parser = units::parse_duration)]
    pub queue: Duration,
    /// How long messages are sent [default: 6s, with --quick 2s]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    pub duration: Option<Duration>,
    /// Rate of the messages' bytes
    #[arg(long, value_name = "RATE", default_value = "10mbit", value_parser = units::parse_rate)]
    pub message_rate: u64,
    /// Bytes in a message
    #[arg(long, value_name = "BYTES", default_value = "1000", value_parser = units::parse_size)]
    pub message_size: usize,
    /// File to send [default: this program]
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Send at most this many bytes of it, for example 500kB [default: 8 MiB, with --quick 1 MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    pub file_size: Option<usize>,
    /// Repairs for each source symbol [default: 1.5 p/(1-p) at loss rate p, at least 0.03]
    #[arg(long, value_name = "SHARE", value_parser = repair_share)]
    pub repair_share: Option<f64>,
    /// Seed of the losses and the content
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// File for the report [default: weftline-demo.html; with --json none]
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "html")]
    pub no_html: bool,
    /// Also draw the distribution of delays into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Shorter: 2 s of messages, a file of 1 MiB
    #[arg(long)]
    pub quick: bool,
}

/// The data of all reports.
struct Report<'a> {
    args: &'a DemoArgs,
    setup: &'a Setup<'a>,
    file_name: String,
    file_bytes: u64,
    runs: Vec<Run>,
    elapsed: Duration,
}

/// Runs the command.
///
/// # Errors
/// The options are invalid, a report cannot be written, or the demo cannot be set up.
pub(crate) fn run_command(args: &DemoArgs, output: OutputOptions) -> Result<Exit> {
    let started = Instant::now();
    limits::check(args)?;
    let targets = Targets::open(args, output)?;
    let scratch = tempfile::tempdir().context("making a temporary directory")?;
    let (file, file_name) = prepare_file(args, scratch.path())?;
    let setup = setup(args, &file);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut report = Report {
        args,
        setup: &setup,
        file_name,
        file_bytes: std::fs::metadata(&file)?.len(),
        runs: Vec::new(),
        elapsed: Duration::ZERO,
    };
    if !output.quiet && !output.json {
        output::line(&html::path(&report));
        output::line(&html::workloads(&report));
    }
    let mut progress = Progress::new(output, args.preset.0.len() * 2);
    for choice in &args.preset.0 {
        let preset = choice.preset;
        for workload in [Workload::Stream, Workload::File] {
            progress.begin(preset, workload);
            let run = runtime.block_on(async {
                tokio::select! {
                    run = run(&setup, choice, workload) => run.map(Some),
                    () = interrupted() => Ok(None),
                }
            })?;
            // Returning, instead of letting the signal end the process, removes the temporary
            // files.
            let Some(run) = run else {
                progress.finish();
                runtime.shutdown_timeout(Duration::from_secs(1));
                return Err(Failure::new(Exit::Interrupted, "stopped").into());
            };
            progress.end(&run);
            report.runs.push(run);
        }
    }
    progress.finish();
    runtime.shutdown_timeout(Duration::from_secs(1));
    report.elapsed = started.elapsed();
    tell(&report, targets, output)
}

fn tell(report: &Report<'_>, targets: Targets, output: OutputOptions) -> Result<Exit> {
    if output.json {
        output::print(json::object(report));
    } else {
        output::print(table::text(&report.runs));
        if !output.quiet {
            table::LEGEND.lines().for_each(output::line);
        }
        output::print(sentence::closing(&report.runs));
    }
    if let Some(target) = targets.page {
        let path = target.path().display().to_string();
        target.write(&html::page(report))?;
        if !output.quiet && !output.json {
            output::line(&format!("report: {path}"));
        }
    }
    if let Some(target) = targets.picture {
        match html::picture(report) {
            Some(picture) => target.write(&picture)?,
            None => output::line("warning: --svg: no run has delays to draw; nothing was written"),
        }
    }
    if !output.quiet && !output.json {
        output::line(&format!("took {:.0} s", report.elapsed.as_secs_f64()));
    }
    for run in &report.runs {
        let (preset, workload) = (run.preset, run.workload);
        if let Some(error) = &run.error {
            output::line(&format!("error: {preset} {workload}: {error}"));
        } else if !run.outcome.verified {
            output::line(&format!(
                "error: {preset} {workload}: the received content differs from the sent content"
            ));
        }
    }
    let exactness = Exactness::of(report.runs.iter().map(|run| run.path.lateness));
    if !output.quiet && exactness.is_busy() {
        output::line(&format!("warning: {}", exactness.sentence()));
    }
    let verified = report.runs.iter().all(|run| run.outcome.verified);
    Ok(if verified { Exit::Ok } else { Exit::Corrupt })
}

/// The files for the reports.
struct Targets {
    page: Option<Target>,
    picture: Option<Target>,
}

impl Targets {
    fn open(args: &DemoArgs, output: OutputOptions) -> Result<Self> {
        // A script that asked for JSON gets a file only if it asked for the file too.
        let default = (!args.no_html && !output.json).then(|| PathBuf::from(DEFAULT_REPORT));
        let page = args.html.clone().or(default);
        if page.is_some() && page == args.svg {
            let message = "--svg: give a file other than the report";
            return Err(Failure::usage(message).into());
        }
        let open = |flag, path: Option<&PathBuf>| path.map(|p| Target::open(flag, p)).transpose();
        Ok(Targets {
            page: open("--html", page.as_ref())?,
            picture: open("--svg", args.svg.as_ref())?,
        })
    }
}

/// Each preset once, in the given order.
#[derive(Clone, Debug)]
pub(crate) struct Presets(Vec<PresetChoice>);

fn presets(text: &str) -> Result<Presets, String> {
    PresetChoice::list(text).map(Presets)
}

/// The time in which messages are sent, the interval between them, and their number.
fn load_of(args: &DemoArgs) -> (Duration, Duration, u64) {
    let duration = args
        .duration
        .unwrap_or(Duration::from_secs(if args.quick { 2 } else { 6 }));
    let period = Duration::from_secs_f64(args.message_size as f64 * 8.0 / args.message_rate as f64);
    let count = (duration.as_secs_f64() / period.as_secs_f64()).round() as u64;
    (duration, period, count)
}

/// Settings that passed [`limits::check`], in the form that runs need.
fn setup<'a>(args: &DemoArgs, file: &'a Path) -> Setup<'a> {
    let (_, period, count) = load_of(args);
    let p = args.loss.mean_loss();
    let way = args.rtt / 2;
    let link = LinkConfig::default()
        .with_rate(args.rate)
        .with_delay(way)
        .with_queue(Queue::time(args.queue));
    let serialisation = (args.message_size + OVERHEAD) as f64 * 8.0 / args.rate as f64;
    Setup {
        forward: link.clone().with_loss(args.loss.clone()),
        back: link.with_loss(args.back_loss.clone()),
        rate: args.rate,
        repair_share: args
            .repair_share
            .unwrap_or_else(|| (1.5 * p / (1.0 - p)).clamp(LEAST_SHARE, 4.0)),
        seed: args.seed,
        load: MessageStream {
            size: args.message_size,
            period,
            count,
            seed: args.seed,
            floor: way + Duration::from_secs_f64(serialisation),
        },
        file,
    }
}

/// Copies the beginning of the file to send into `scratch`.
fn prepare_file(args: &DemoArgs, scratch: &Path) -> Result<(PathBuf, String)> {
    let limit = args
        .file_size
        .unwrap_or(if args.quick { 1 << 20 } else { 8 << 20 });
    let source = match &args.file {
        Some(path) => path.clone(),
        None => {
            std::env::current_exe().context("finding this program's own file; give --file PATH")?
        }
    };
    let name = source
        .file_name()
        .map_or_else(|| "file".into(), |n| n.to_string_lossy().into_owned());
    let input = File::open(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let target = scratch.join("sample");
    let copied = std::io::copy(&mut input.take(limit as u64), &mut File::create(&target)?)
        .with_context(|| format!("copying {}", source.display()))?;
    if copied == 0 {
        let message = format!("--file: {} is empty", source.display());
        return Err(Failure::usage(message).into());
    }
    Ok((target, name))
}

/// Shows the current run on standard error.
struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    count: usize,
    total: usize,
}

impl Progress {
    fn new(output: OutputOptions, total: usize) -> Self {
        let shown = !output.json && !output.quiet;
        let terminal = std::io::stderr().is_terminal();
        let bar = (shown && terminal).then(|| {
            let style = ProgressStyle::with_template("{spinner} [{elapsed_precise}] {msg}");
            let bar = ProgressBar::new_spinner();
            bar.set_style(style.expect("the template is a constant that parses"));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Progress {
            bar,
            lines: shown,
            count: 0,
            total,
        }
    }

    fn begin(&mut self, preset: Preset, workload: Workload) {
        self.count += 1;
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}/{} {preset} {workload}", self.count, self.total));
        }
    }

    fn end(&self, run: &Run) {
        let seconds = run.outcome.elapsed.as_secs_f64();
        let (preset, workload) = (run.preset, run.workload);
        let line = format!(
            "[{}/{}] {preset} {workload}: {seconds:.1} s",
            self.count, self.total
        );
        match &self.bar {
            Some(bar) => bar.println(line),
            None if self.lines => output::line(&line),
            None => {}
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `10%` is short for `iid:10%`.
fn loss(text: &str) -> Result<LossModel, String> {
    let short = units::parse_probability(text).map(LossModel::iid);
    short
        .or_else(|_| text.parse())
        .map_err(|e: units::ValueError| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Test {
        #[command(flatten)]
        demo: DemoArgs,
    }

    pub(super) fn args(arguments: &[&str]) -> DemoArgs {
        Test::try_parse_from([&["x"], arguments].concat())
            .unwrap_or_else(|e| panic!("{e}"))
            .demo
    }

    fn names(args: &DemoArgs) -> Vec<Preset> {
        args.preset.0.iter().map(|choice| choice.preset).collect()
    }

    #[test]
    fn the_defaults_are_the_documented_path() {
        let args = args(&[]);
        let setup = setup(&args, Path::new("f"));
        assert_eq!(
            setup.forward.to_string().parse::<LinkConfig>().unwrap(),
            setup.forward
        );
        assert_eq!(setup.forward.loss, LossModel::iid(0.1));
        assert_eq!(setup.back.loss, LossModel::None);
        assert_eq!(setup.load.count, 7500);
        assert!((setup.repair_share - 1.0 / 6.0).abs() < 1e-12);
        let compared = [Preset::Arq, Preset::Block, Preset::Streaming, Preset::Auto];
        assert_eq!(names(&args), compared);
    }

    #[test]
    fn loss_forms_are_read() {
        for (text, mean) in [
            ("10%", 0.1),
            ("0.05", 0.05),
            ("none", 0.0),
            ("periodic:4", 0.25),
            ("ge:10%,4", 0.1),
        ] {
            assert!(
                (loss(text).unwrap().mean_loss() - mean).abs() < 1e-9,
                "{text}"
            );
        }
        assert!(loss("often").is_err());
    }

    #[test]
    fn each_preset_runs_once() {
        let args = args(&["--preset", "streaming,arq,streaming"]);
        assert_eq!(names(&args), [Preset::Streaming, Preset::Arq]);
    }

    #[test]
    fn without_losses_some_repairs_remain() {
        let setup = setup(&args(&["--loss", "none"]), Path::new("f"));
        assert_eq!(setup.repair_share, LEAST_SHARE);
    }
}
