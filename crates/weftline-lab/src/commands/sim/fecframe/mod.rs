//! `weftline-lab sim fecframe`: block against sliding-window codes, tick by tick.

mod recommend;
mod text;

use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};
use weftline_fecframe::{CodeRate, Elimination};
use weftline_netem::LossModel;
use weftline_papers::sim::fecframe::{
    self as study, Code, Experiment, Outcome, StudyError, WindowCode,
};

const HELP: &str = "\
Each source symbol takes a tick. Latency is that of in-order delivery; a symbol not known dw ticks
after it was sent is given up. Senders and receivers are real, and every delivered byte is compared
with the sent one: a difference ends the command with exit code 5.

--json prints {seed, runs, results: [{code, code_rate, decoding_window, loss, symbols, symbol_size,
runs, on_time {mean, stderr}, residual_loss, late, lost, latency {mean, stderr} (ticks),
latency_quantiles [min, 50 %, 90 %, 99 %, 99.9 %, max], histogram [symbols by ticks from 0],
recovered_after [lost symbols that became known, late ones too, by ticks from their sending],
sessions [{seed, on_time, received, latency, mean_recovered_after, histogram, recovered_after,
speed}, one for each seed], repair_share, speed {encode_mbit, decode_mbit}}]}.
docs/results/fecframe-study.md explains this and has results.

With --with-events it prints what the receiver got, held and decoded in each tick
(docs/reference/event-log.md).

Examples:
  weftline-lab sim fecframe --loss iid:30% --ew 83 --dw 167 --ls 400 --decoder discarding
  weftline-lab sim fecframe --code rs --k 167 --loss iid:15% --loss ge:10%,4
  weftline-lab sim fecframe --ew 8 --dw 12 --ls 40 --symbols 100 --json --with-events
  weftline-lab sim fecframe --sweep paper --out study
  weftline-lab sim fecframe recommend --max-latency 200ms --rate 8mbit --loss ge:5%,4";

/// Compare block and sliding-window codes for one-way flows, tick by tick
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(super) struct FecframeArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    code: CodeArgs,
    /// Losses, as in links: iid:5%, ge:10%,4 (in bursts of 4) ...; may be repeated
    #[arg(long = "loss", value_name = "LOSS", default_value = "iid:0.3")]
    losses: Vec<LossModel>,
    /// A set of experiments instead of one code
    #[arg(long, value_name = "NAME", conflicts_with_all = ["CodeArgs", "losses"])]
    sweep: Option<Sweep>,
    /// Source symbols in each run that are counted
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    symbols: u64,
    /// Bytes of a symbol
    #[arg(long, value_name = "BYTES", default_value_t = 256)]
    symbol_size: u16,
    /// Seed of losses and data; all experiments use the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Runs of each experiment, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Runs at a time [default: one for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Write results.json, results.csv, latencies.csv, charts (SVG) and report.html to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// rlc: run Reed-Solomon blocks of dw symbols after it at each loss. Codes and losses take turns,
    /// a seed at a time, so that their speeds are measured at the same times
    #[arg(long, conflicts_with = "sweep")]
    with_blocks: bool,
    /// With --json: print each tick of one run for each code, at most 100,000 ticks in all, instead of
    /// results
    #[arg(long, conflicts_with_all = ["sweep", "out", "seeds"])]
    with_events: bool,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    Recommend(recommend::RecommendArgs),
}

/// Options of one code.
#[derive(Args, Clone, Debug)]
struct CodeArgs {
    /// Sliding-window code, Reed-Solomon blocks, or ideal blocks
    #[arg(long, value_name = "NAME", default_value = "rlc")]
    code: CodeName,
    /// Source symbols as a share of all symbols
    #[arg(long, value_name = "RATIO", default_value = "2/3")]
    code_rate: CodeRate,
    /// Symbols within which a symbol must be known (dw) [default: 167, or k]
    #[arg(long, value_name = "N")]
    dw: Option<u32>,
    /// rlc: symbols that a repair covers (ew)
    #[arg(long, value_name = "N", conflicts_with = "wsr")]
    ew: Option<u16>,
    /// rlc: the same, as a share of dw
    #[arg(long, value_name = "RATIO", default_value_t = 0.5)]
    wsr: f64,
    /// rlc: symbols that equations may contain (ls) [default: 2 dw, at least 40]
    #[arg(long, value_name = "N")]
    ls: Option<u32>,
    /// rlc: the field of coefficients
    #[arg(long, value_name = "NAME", default_value = "gf256")]
    field: FieldName,
    /// rlc: density threshold, 0 to 15: (DT + 1) / 16 of a window are covered [default: 15, with
    /// gf2 7]
    #[arg(long, value_name = "DT")]
    density: Option<u8>,
    /// rlc: treatment of equations when a symbol leaves the linear system
    #[arg(long, value_name = "NAME", default_value = "keeping")]
    decoder: DecoderName,
    /// rs, ideal: source symbols of a block [default: dw]
    #[arg(long, value_name = "N")]
    k: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CodeName {
    /// Random linear codes over a sliding window (RFC 8681)
    Rlc,
    /// Reed-Solomon blocks (RFC 6865)
    Rs,
    /// Blocks that any k of their packets decode: a count of losses, without a codec
    Ideal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FieldName {
    /// GF(2)
    Gf2,
    /// GF(2^8)
    Gf256,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DecoderName {
    /// Keep everything received that is still useful
    Keeping,
    /// Drop received equations that contain it, as in the paper
    Discarding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sweep {
    /// The paper's codes at 0 to 35 % of independent loss
    Paper,
    /// Bursts, GF(2), sparse densities, other windows
    Beyond,
    /// Both sets
    All,
    /// Speeds of receivers, as in the paper's Table II; most exact with --jobs 1
    Speed,
}

pub(super) fn run(args: &FecframeArgs, output: OutputOptions) -> Result<Exit> {
    if let Some(Command::Recommend(args)) = &args.command {
        return recommend::run(args, output);
    }
    let experiments = experiments(args).map_err(|e| Failure::usage(e.to_string()))?;
    if args.with_events {
        return trace(args, &experiments, output);
    }
    let progress = Progress::new(output);
    let outcomes = study::run_all(
        &experiments,
        args.seed,
        args.seeds,
        jobs(args.jobs),
        |done, all| progress.tell(done, all),
    );
    progress.end();
    let outcomes = outcomes.map_err(failure)?;
    let results = json!({ "seed": args.seed, "runs": args.seeds, "results": outcomes });
    if let Some(folder) = &args.out {
        write(folder, &outcomes, &results.to_string())
            .with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    if output.json {
        output::print(results);
    } else if !output.quiet {
        text::print(&study::table(&outcomes));
        output::print("latency in ticks; speeds are of processor time, in source bits");
    }
    Ok(Exit::Ok)
}

/// Prints what happens in each tick.
fn trace(args: &FecframeArgs, experiments: &[Experiment], output: OutputOptions) -> Result<Exit> {
    let usage = |text: &str| Failure::usage(text.to_owned());
    if !output.json {
        return Err(usage("--with-events adds to what --json prints: give both").into());
    }
    let (mut runs, mut ticks) = (Vec::new(), 0);
    for experiment in experiments {
        let events = study::trace(experiment, args.seed).map_err(|error| match error {
            StudyError::Parameter { .. } | StudyError::NoCodec(_) => {
                usage(&error.to_string()).into()
            }
            _ => failure(error),
        })?;
        ticks += events.len() as u64;
        if ticks > study::MOST_TICKS {
            let text = "--with-events prints at most 100,000 ticks: count fewer --symbols";
            return Err(usage(text).into());
        }
        let window = match experiment.code {
            Code::Window(code) => Some(code),
            Code::Block(_) | Code::Ideal(_) => None,
        };
        runs.push(json!({
            "code": experiment.code.to_string(),
            "code_rate": experiment.code_rate.to_string(),
            "loss": experiment.loss.to_string(),
            "ew": experiment.code.covers(),
            "dw": experiment.decoding_window,
            "ls": window.map(|code| code.linear_system),
            "events": events,
        }));
    }
    output::print(format_args!(
        "{}",
        json!({ "seed": args.seed, "runs": runs })
    ));
    Ok(Exit::Ok)
}

/// The experiments that the options describe.
fn experiments(args: &FecframeArgs) -> Result<Vec<Experiment>> {
    let (symbols, size) = (args.symbols, args.symbol_size);
    let mut all = Vec::new();
    if let Some(sweep) = args.sweep {
        if matches!(sweep, Sweep::Paper | Sweep::All) {
            all.extend(study::paper(symbols, size)?);
        }
        if matches!(sweep, Sweep::Beyond | Sweep::All) {
            let more = study::beyond(symbols, size)?;
            let new: Vec<_> = more.into_iter().filter(|e| !all.contains(e)).collect();
            all.extend(new);
        }
        if sweep == Sweep::Speed {
            all.extend(study::speeds(symbols, size)?);
        }
    } else {
        let (code, decoding_window) = code(&args.code)?;
        let mut codes = vec![code];
        if args.with_blocks {
            codes.push(blocks(code, decoding_window)?);
        }
        let codes = |loss| codes.iter().map(move |code| (*code, loss));
        all.extend(
            args.losses
                .iter()
                .flat_map(codes)
                .map(|(code, loss)| Experiment {
                    code,
                    code_rate: args.code.code_rate,
                    decoding_window,
                    loss: LossModel::clone(loss),
                    symbols,
                    symbol_size: size,
                }),
        );
    }
    all.iter().try_for_each(Experiment::check)?;
    Ok(all)
}

/// The code, and dw.
fn code(args: &CodeArgs) -> Result<(Code, u32)> {
    const USUAL: u32 = 167;
    if args.code != CodeName::Rlc {
        let dw = args.dw.or(args.k.map(u32::from)).unwrap_or(USUAL);
        let k = args.k.map_or_else(|| u16::try_from(dw), Ok)?;
        let code = match args.code {
            CodeName::Ideal => Code::Ideal(k),
            _ => Code::Block(k),
        };
        return Ok((code, dw));
    }
    let dw = args.dw.unwrap_or(USUAL);
    if !(args.wsr > 0.0 && args.wsr <= 1.0) {
        anyhow::bail!("--wsr is a share above 0 and at most 1, not {}", args.wsr);
    }
    let share = (f64::from(dw) * args.wsr).max(1.0) as u16;
    let mut code = WindowCode::new(args.ew.unwrap_or(share), dw);
    if args.field == FieldName::Gf2 {
        code = code.binary();
    }
    code.density_threshold = args.density.unwrap_or(code.density_threshold);
    code.linear_system = args.ls.unwrap_or(code.linear_system);
    if args.decoder == DecoderName::Discarding {
        code.elimination = Elimination::Discarding;
    }
    Ok((Code::Window(code), dw))
}

/// The blocks that a window is compared with.
fn blocks(code: Code, decoding_window: u32) -> Result<Code> {
    if !matches!(code, Code::Window(_)) {
        anyhow::bail!("--with-blocks is for --code rlc");
    }
    let k = u16::try_from(decoding_window);
    Ok(Code::Block(
        k.context("--with-blocks: dw is too long for a block")?,
    ))
}

fn write(folder: &Path, outcomes: &[Outcome], results: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text);
    write("results.json", results)?;
    write("results.csv", &study::results_csv(outcomes))?;
    write("latencies.csv", &study::latencies_csv(outcomes))?;
    for picture in study::pictures(outcomes) {
        write(&format!("{}.svg", picture.name), &picture.file())?;
    }
    write(
        "report.html",
        &study::page(outcomes, &output::quoted_command("weftline-lab", "")),
    )
}

fn jobs(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    asked.unwrap_or_else(all)
}

/// A wrong octet has its own exit code.
fn failure(error: StudyError) -> anyhow::Error {
    let exit = match error {
        StudyError::Wrong { .. } | StudyError::Inconsistent { .. } => Exit::Corrupt,
        _ => Exit::General,
    };
    Failure::new(exit, error.to_string()).into()
}

/// Shows progress on terminals.
struct Progress {
    is_shown: bool,
}

impl Progress {
    fn new(output: OutputOptions) -> Self {
        let is_shown = !output.quiet && std::io::stderr().is_terminal();
        Self { is_shown }
    }

    fn tell(&self, done: usize, all: usize) {
        if self.is_shown {
            eprint!("\r{done} of {all} done");
            let _ = std::io::stderr().flush();
        }
    }

    fn end(&self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: FecframeArgs,
    }

    fn parse(line: &str) -> Result<Vec<Experiment>> {
        let words = std::iter::once("sim").chain(line.split_whitespace());
        experiments(&Line::try_parse_from(words)?.args)
    }

    fn names(line: &str) -> Vec<String> {
        let all = parse(line).unwrap();
        all.iter().map(Experiment::name).collect()
    }

    #[test]
    fn options_select_the_code() {
        assert_eq!(names(""), ["RLC ew 83 ls 334 at iid:30%"]);
        let line = "--ew 19 --dw 38 --ls 200 --decoder discarding --loss iid:0.1 --loss ge:5%,4";
        let names_of_two = [
            "RLC ew 19 ls 200 discarding at iid:10%",
            "RLC ew 19 ls 200 discarding at ge:5%,4",
        ];
        assert_eq!(names(line), names_of_two);
        assert_eq!(
            names("--field gf2 --wsr 0.25"),
            ["RLC GF(2) ew 41 ls 334 at iid:30%"]
        );
        assert_eq!(names("--code rs --k 38"), ["RS k 38 at iid:30%"]);
        assert_eq!(
            names("--with-blocks --loss iid:5% --loss iid:10%"),
            [
                "RLC ew 83 ls 334 at iid:5%",
                "RS k 167 at iid:5%",
                "RLC ew 83 ls 334 at iid:10%",
                "RS k 167 at iid:10%",
            ]
        );
        assert_eq!(
            names("--code ideal --k 38"),
            ["ideal blocks k 38 at iid:30%"]
        );
        assert_eq!(parse("--code rs --k 38").unwrap()[0].decoding_window, 38);
        assert_eq!(parse("--sweep paper").unwrap().len(), 11 * 12);
        let (both, beyond) = (
            parse("--sweep all").unwrap(),
            parse("--sweep beyond").unwrap(),
        );
        // Blocks at four independent losses are in both sets.
        assert_eq!(both.len(), 11 * 12 + beyond.len() - 4);
        assert_eq!(parse("--sweep speed").unwrap().len(), 9);
    }

    #[test]
    fn invalid_options_are_refused() {
        for line in [
            "--code rs --k 200",
            "--wsr 0",
            "--wsr 1.5",
            "--ls 10",
            "--density 16",
            "--symbols 1",
            "--sweep paper --ew 3",
            "--sweep paper --with-events",
            "--sweep paper --with-blocks",
            "--code rs --k 38 --with-blocks",
            "--dw 171 --with-blocks",
            "--ew 3 --wsr 0.5",
            "--loss ge:10%",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
