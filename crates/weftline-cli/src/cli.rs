//! The command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::{Expanded, Tables};
use crate::monitor::{status, top};
#[cfg(target_os = "linux")]
use crate::tun;
use crate::ui::program::{self, on_runtime};
use crate::ui::{Exit, Failure, OutputOptions, exit};
use crate::{
    cast, config, demo, event_logs, forward, key, peers, placed, recv, relay, send, serve, view,
};

const EXAMPLES: &str = "\
Examples:
  weftline demo                                   see what erasure coding does, right here
  weftline recv                                   wait for files; prints what the sender types
  weftline send movie.mkv HOST --code 7-amber-river

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
    #[cfg(target_os = "linux")]
    Tun(Box<tun::TunArgs>),
    Cast(cast::CastArgs),
    View(Box<view::ViewArgs>),
    Serve(serve::ServeArgs),
    Status(status::StatusArgs),
    Top(top::TopArgs),
    Key(key::KeyArgs),
    Peers(peers::PeersArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  weftline completions bash > ~/.local/share/bash-completion/completions/weftline"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages, one for each command
    #[command(after_help = "Example:\n  weftline man /usr/local/share/man/man1")]
    Man {
        /// The folder, which must exist
        folder: PathBuf,
    },
}

/// The command line as its parser knows it: what documents show is checked against it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// The words of this command line, with what its configuration file gives now.
///
/// # Errors
/// The file cannot be read, or gives what the command does not have.
pub(crate) fn expanded() -> Result<Expanded, Failure> {
    let program = command();
    let words = placed::subcommand_first(std::env::args_os().collect(), &program);
    config::expand(words, program)
}

/// Runs the program.
pub fn main() -> ExitCode {
    let (words, tables) = match expanded() {
        Ok(expanded) => (Ok(expanded.words), expanded.tables),
        Err(failure) => (Err(failure), Tables::new()),
    };
    program::main(words, |cli: &Cli| cli.output, |cli| run(cli, tables))
}

fn run(cli: Cli, tables: Tables) -> Result<ExitCode> {
    let output = cli.output;
    let exit = match cli.command {
        Command::Key(args) => key::run(&args, output),
        Command::Peers(args) => peers::run(args, output),
        Command::Completions { shell } => Ok(program::completions::<Cli>(shell)),
        Command::Status(args) => status::run(&args, output),
        Command::Top(args) => on_runtime(top::run(args, output)),
        Command::Man { folder } => manual(&folder),
        Command::Demo(args) => demo::run_command(&args, output),
        Command::Send(args) => on_runtime(send::run(args, output)),
        Command::Recv(args) => on_runtime(recv::run(args, output)),
        Command::Forward(args) => on_runtime(forward::run(args, output)),
        Command::Relay(args) => on_runtime(relay::run(args, output)),
        #[cfg(target_os = "linux")]
        Command::Tun(args) => on_runtime(tun::run(*args, output)),
        Command::Cast(args) => on_runtime(cast::run(args, output)),
        Command::View(args) => on_runtime(view::run(*args, output)),
        Command::Serve(args) => on_runtime(serve::run(args, tables, output)),
    };
    event_logs::flush();
    exit.map(ExitCode::from)
}

fn manual(folder: &Path) -> Result<Exit> {
    let written = clap_mangen::generate_to(Cli::command(), folder);
    written.with_context(|| format!("cannot write the pages into {}", folder.display()))?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::places::To;

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
        assert_eq!(args.places.files.len(), 2);
        assert!(matches!(args.places.to, To::Address(address) if address.to_string() == "host:1"));
    }

    #[test]
    fn a_code_may_stand_in_place_of_the_address() {
        for (last, is_code) in [
            ("7-amber-river", true),
            ("7-amber-river:1", false),
            ("river", false),
        ] {
            let cli = Cli::try_parse_from(["weftline", "send", "a", last]).unwrap();
            let Command::Send(args) = cli.command else {
                panic!("send was asked for")
            };
            assert_eq!(matches!(args.places.to, To::Code(_)), is_code, "{last}");
        }
    }

    #[test]
    fn options_may_stand_anywhere() {
        let peer = "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa";
        for line in [
            "send a b host --peer PEER --json",
            "send a b --peer PEER --json host",
            "send a --peer PEER b --json host",
            "send --peer PEER --json a b host",
            "--json send --peer PEER a b host",
        ] {
            let words = line.replace("PEER", peer);
            let words = ["weftline"].into_iter().chain(words.split(' '));
            let cli = Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
            let Command::Send(args) = cli.command else {
                panic!("send was asked for")
            };
            assert_eq!(args.places.files, ["a", "b"].map(PathBuf::from), "{line}");
            assert!(
                matches!(args.places.to, To::Address(address) if address.host() == "host"),
                "{line}"
            );
            assert!(cli.output.json, "{line}");
        }
        for line in [
            "recv --listen 1 in --peer PEER",
            "recv in --listen 1 --peer PEER",
            "relay connect --peer PEER host --udp 5=host:5",
            "relay connect host --udp 5=host:5 --json --peer PEER",
            "forward -L 8:h:8 host -D 9 --peer PEER",
            "relay serve --peer PEER --allow *:1,*:2 --listen :1",
        ] {
            let words = line.replace("PEER", peer);
            let words = ["weftline"].into_iter().chain(words.split(' '));
            Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }

    #[test]
    fn a_sender_says_in_one_way_who_the_receiver_is() {
        let send = |more: &[&str]| {
            Cli::try_parse_from([&["weftline", "send", "a", "host"], more].concat()).is_ok()
        };
        let (code, peer) = (["--code", "7-amber-river"], ["--peer", "studio"]);
        assert!(send(&[]) && send(&["--insecure-udp"]) && send(&code) && send(&peer));
        assert!(!send(&[code, peer].concat()));
        assert!(!send(&[&code[..], &["--insecure-udp"]].concat()));
        assert!(!send(&[&peer[..], &["--insecure-udp"]].concat()));
        for (words, why) in [
            (&["a"][..], "after them the address"),
            (&["a", "b c"], "`b c` is not an address"),
        ] {
            let words = [&["weftline", "send", "--insecure-udp"], words].concat();
            let error = Cli::try_parse_from(words).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
