//! `weftline relay`: UDP flows over a session.
//!
//! The client (`connect`, with its flows in `near`) receives datagrams from local programs. The
//! server (`serve`, with its flows in `far`) sends them to their targets and returns the answers.
//! `table` holds the flow logic of both ends, `wire` their messages.

pub(crate) mod allow;
mod connect;
mod counts;
mod delivery;
mod far;
mod inward;
mod near;
mod options;
mod order;
mod rule;
mod serve;
mod table;
pub(crate) mod target;
mod wire;

#[cfg(test)]
mod tests;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::options::OutputOptions;

const HELP: &str = "\
One host runs `serve` and lists the targets that clients may reach; the other runs `connect`
and maps local ports to them. Programs use the local port as if it were the target.

Examples:
  host-b$ weftline relay serve --allow 127.0.0.1:51820 --peer FINGERPRINT-OF-A
  host-a$ weftline relay connect host-b --peer FINGERPRINT-OF-B --udp 51820=127.0.0.1:51820

`weftline relay connect --help` explains rules and deliveries, `weftline relay serve --help`
explains what can be allowed.";

/// Carry UDP (WireGuard, games, RTP) between two hosts and repair losses
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct RelayArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Clone, Debug, Subcommand)]
enum End {
    Connect(Box<connect::ConnectArgs>),
    Serve(Box<serve::ServeArgs>),
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub async fn run(args: RelayArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        End::Connect(args) => connect::run(*args, output).await,
        End::Serve(args) => serve::run(*args, output).await,
    }
}
