//! `weftline forward`: TCP connections over a session.
//!
//! The client end (`connect`, with its connections in `near`) accepts connections from local
//! programs. The server end (`serve`, with its sessions in `far`) makes the matching connections
//! to the targets. Reverse rules swap these roles. `carry` moves a connection's data at both ends,
//! `wire` holds their messages.

mod agree;
mod carry;
mod connect;
mod counts;
mod dial;
mod far;
mod listeners;
mod near;
mod options;
mod serve;
mod socks;
mod wire;

#[cfg(test)]
mod tests;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::options::OutputOptions;

const HELP: &str = "\
One host runs `weftline forward serve` and lists the targets that clients may reach; the other
runs `weftline forward` and maps local ports to them. Programs use the local port as if it
were the target.

Examples:
  host-b$ weftline forward serve --allow 127.0.0.1:80 --peer FINGERPRINT-OF-A
  host-a$ weftline forward --listen 8080 --to 127.0.0.1:80 --via host-b --peer FINGERPRINT-OF-B
  host-a$ curl http://127.0.0.1:8080/

  Several targets:
    weftline forward --via host-b --peer abcd-... --listen 8080 --to web.lan:80 \\
        --listen 127.0.0.1:5432 --to db.lan:5432
  A SOCKS proxy (host-b: serve --allow '*:80,*:443'), which resolves the names):
    weftline forward --via host-b --peer abcd-... --socks 1080
    curl --socks5-hostname 127.0.0.1:1080 https://example.org/
  Reverse, host-b's port 2222 to this host's SSH server (host-b: serve --allow-listen
  127.0.0.1:2222):
    weftline forward --via host-b --peer abcd-... --remote-listen 2222 --remote-to 127.0.0.1:22

Local ports stay open while a lost session is restored. `weftline forward serve --help`
explains what can be allowed.";

/// Carry TCP connections between two hosts and repair losses
#[derive(Args, Clone, Debug)]
#[command(
    after_help = HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    mut_arg("insecure_udp", |arg| arg.hide(true))
)]
pub struct ForwardArgs {
    #[command(subcommand)]
    end: Option<End>,
    #[command(flatten)]
    connect: connect::ConnectArgs,
}

#[derive(Clone, Debug, Subcommand)]
enum End {
    Serve(Box<serve::ServeArgs>),
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub async fn run(args: ForwardArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        Some(End::Serve(args)) => serve::run(*args, output).await,
        None => connect::run(args.connect, output).await,
    }
}
