//! `weftline-lab chaos`: kills, pauses and starves real programs, and checks every byte.

use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};

use super::program;
use crate::chaos::{self, Kind, Options, Tally};

const HELP: &str = "\
A round is a transfer, a forwarded connection or a relayed flow between two real processes on
loopback. Its plan comes from the seed and the round's number: one to three faults, at some time.

A round is good if no byte is wrong, no connection that is cut short looks complete, everything
works again within 60 s once nothing is in the way any more, and each end that fails says why.

Examples:
  weftline-lab chaos --rounds 1000 --jobs 4
  weftline-lab chaos --first 17 --rounds 1                 one round again
  weftline-lab chaos --rounds 60 --without disk,clock";

/// Kill, pause, cut and starve real transfers, forwards and relays, and check every byte
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct ChaosArgs {
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 30)]
    rounds: u64,
    /// Number of the first round
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// Seed of all choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Rounds at the same time
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Faults to leave out
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    without: Vec<Kind>,
    /// The program to test [default: `weftline` beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: ChaosArgs, output: OutputOptions) -> Result<Exit> {
    let mut kinds = Kind::value_variants().to_vec();
    kinds.retain(|kind| !args.without.contains(kind));
    let options = Options {
        program: program(args.program)?,
        rounds: args.rounds,
        first: args.first,
        seed: args.seed,
        jobs: args.jobs,
        kinds,
    };
    let faults = Mutex::new(Vec::new());
    let report = |done: u64, fault: Option<&str>| {
        if let Some(fault) = fault {
            eprintln!("{fault}");
            if let Ok(mut faults) = faults.lock() {
                faults.push(fault.to_owned());
            }
        }
        if !output.quiet && done.is_multiple_of(10) {
            eprintln!("{done} of {} rounds", options.rounds);
        }
    };
    let tally = chaos::run(&options, &report)
        .map_err(|missing| Failure::new(Exit::General, missing.to_string()))?;
    let faults = faults.into_inner().unwrap_or_default();
    if output.json {
        output::print(format_args!(
            "{}",
            json!({ "seed": options.seed, "tally": tally, "faults": faults })
        ));
    } else {
        print(&tally);
    }
    Ok(if tally.is_good() {
        Exit::Ok
    } else {
        Exit::General
    })
}

fn print(tally: &Tally) {
    let made: Vec<String> = tally
        .faults
        .iter()
        .map(|(name, n)| format!("{name} {n}"))
        .collect();
    output::print(format_args!(
        "{} rounds in {:.0} s; {}",
        tally.rounds,
        tally.seconds,
        made.join(", ")
    ));
    output::print(
        "| | rounds | wrong bytes | hangs | unexplained | programs started | until all was done: median, p99, longest |",
    );
    output::print("| --- | --- | --- | --- | --- | --- | --- |");
    for (name, errand) in &tally.errands {
        let recovery = |share| {
            errand
                .recovery(share)
                .map_or("-".to_owned(), |s| format!("{s:.1}"))
        };
        output::print(format_args!(
            "| {name} | {} | {} | {} | {} | {} | {}, {}, {} s |",
            errand.rounds,
            errand.wrong,
            errand.hangs,
            errand.unexplained + errand.laboratory,
            errand.starts,
            recovery(0.5),
            recovery(0.99),
            recovery(1.0),
        ));
    }
}
