//! The command line.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::exit::{self, Exit};
use crate::options::OutputOptions;
use crate::{
    bench, cast, console, demo, forward, key, lab, load, output, recv, relay, repro, send, sim,
    theory, vectors,
};

const EXAMPLES: &str = "\
Examples:
  weftline demo                                   see what erasure coding does, right here
  weftline recv                                   wait for files; prints what the sender types
  weftline send movie.mkv HOST --peer FINGERPRINT

`weftline COMMAND --help` explains each command.";

/// Carries data over lossy networks: reliably, in order, with hardly any added delay
#[derive(Debug, Parser)]
#[command(name = "weftline", version, max_term_width = 100)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
struct Cli {
    #[command(flatten)]
    output: OutputOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Send(send::SendArgs),
    Recv(recv::RecvArgs),
    Forward(forward::ForwardArgs),
    Relay(relay::RelayArgs),
    Cast(cast::CastArgs),
    Key(key::KeyArgs),
    Bench(bench::BenchArgs),
    Lab(lab::LabArgs),
    Load(load::LoadArgs),
    Repro(repro::ReproArgs),
    Sim(sim::SimArgs),
    Theory(theory::TheoryArgs),
    Vectors(vectors::VectorsArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  weftline completions bash > ~/.local/share/bash-completion/completions/weftline"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Runs the program: parses the command line, runs the command, reports errors.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done about an output that is closed.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            }
            .into();
        }
    };
    log(cli.output.verbose);
    let code = match run(cli) {
        Ok(code) => code,
        Err(error) => {
            output::line(&format!("error: {}", exit::text(&error)));
            Exit::of(&error).into()
        }
    };
    console::flush();
    code
}

fn run(cli: Cli) -> Result<ExitCode> {
    let output = cli.output;
    let exit = match cli.command {
        // The lab exits with the exit code of the command it ran.
        Command::Lab(args) => return Ok(lab::run(&args, output)),
        Command::Key(args) => key::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Repro(args) => repro::run(&args, output),
        Command::Sim(args) => sim::run(&args, output),
        Command::Theory(args) => theory::run(&args, output),
        Command::Vectors(args) => vectors::run(&args, output),
        Command::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Cli::command(),
                "weftline",
                &mut std::io::stdout(),
            );
            Ok(Exit::Ok)
        }
        Command::Demo(args) => demo::run_command(&args, output),
        Command::Send(args) => on_runtime(send::run(args, output)),
        Command::Recv(args) => on_runtime(recv::run(args, output)),
        Command::Forward(args) => on_runtime(forward::run(args, output)),
        Command::Relay(args) => on_runtime(relay::run(args, output)),
        Command::Cast(args) => on_runtime(cast::run(args, output)),
        Command::Load(args) => on_runtime(load::run(args)),
    };
    exit.map(ExitCode::from)
}

fn on_runtime(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(command);
    // A thread that waits for standard input must not keep the program running.
    runtime.shutdown_background();
    result
}

fn log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(|| console::Lines)
        .init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_last_argument_of_send_is_the_address() {
        let peer = "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa";
        let cli =
            Cli::try_parse_from(["weftline", "send", "a", "b", "host:1", "--peer", peer]).unwrap();
        let Command::Send(args) = cli.command else {
            panic!("send was asked for")
        };
        assert_eq!(
            (args.files.len(), args.address.to_string()),
            (2, "host:1".to_owned())
        );
    }

    #[test]
    fn sending_needs_a_peer_or_an_explicit_insecure_option() {
        assert!(Cli::try_parse_from(["weftline", "send", "a", "host"]).is_err());
        assert!(Cli::try_parse_from(["weftline", "send", "a", "host", "--insecure-udp"]).is_ok());
    }
}
