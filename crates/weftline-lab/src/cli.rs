//! The command line.

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use weftline_cli::ui::program::{self, on_runtime};
use weftline_cli::ui::{OutputOptions, exit};

use crate::commands::{attack, bench, chaos, lab, load, repro, sim, theory, vectors, why};

const EXAMPLES: &str = "\
Examples:
  weftline-lab run --link wifi -- ping -c 20 b              real programs on an emulated path (root)
  weftline-lab compare B --quick --out compare-b            transports side by side (root)
  weftline-lab sim engine --link 'delay=30ms loss=iid:5%'   the engine in virtual time
  weftline-lab repro --quick --out quick                    runs the papers' figures again

`weftline-lab COMMAND --help` explains each command. `run`, `on` and `compare` end with 125 when the
laboratory fails and with 127 when there is no such command.";

/// Measures Weftline, other transports and the papers it comes from
#[derive(Debug, Parser)]
#[command(name = "weftline-lab", version, max_term_width = 100)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
struct Cli {
    #[command(flatten)]
    output: OutputOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(lab::RunArgs),
    On(lab::OnArgs),
    Compare(lab::CompareArgs),
    Chaos(chaos::ChaosArgs),
    Attack(attack::AttackArgs),
    Load(load::LoadArgs),
    Sim(sim::SimArgs),
    Theory(theory::TheoryArgs),
    Repro(repro::ReproArgs),
    Bench(bench::BenchArgs),
    Vectors(vectors::VectorsArgs),
    Why(why::WhyArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  weftline-lab completions bash > ~/.local/share/bash-completion/completions/weftline-lab"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The command line as its parser knows it: what documents show is checked against it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program.
pub fn main() -> ExitCode {
    program::main(
        Ok(std::env::args_os().collect()),
        |cli: &Cli| cli.output,
        run,
    )
}

fn run(cli: Cli) -> Result<ExitCode> {
    let output = cli.output;
    let exit = match cli.command {
        // These commands exit with the exit code of the command that they ran.
        Command::Run(args) => return Ok(lab::run(&args, output)),
        Command::On(args) => return Ok(lab::on(&args)),
        Command::Compare(args) => return Ok(lab::compare(&args, output)),
        Command::Attack(args) => attack::run(args, output),
        Command::Chaos(args) => chaos::run(args, output),
        Command::Load(args) => on_runtime(load::run(args)),
        Command::Sim(args) => sim::run(&args, output),
        Command::Theory(args) => theory::run(&args, output),
        Command::Repro(args) => repro::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Vectors(args) => vectors::run(&args, output),
        Command::Why(args) => why::run(&args, output),
        Command::Completions { shell } => Ok(program::completions::<Cli>(shell)),
    };
    exit.map(ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
