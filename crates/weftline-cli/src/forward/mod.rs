//! `weftline forward`: TCP connections over a session (`weftline_apps::forward`).

#[cfg(target_os = "linux")]
pub(crate) mod capture;
pub(crate) mod connect;
#[cfg(target_os = "linux")]
mod handover;
pub(crate) mod options;
mod rule;
pub(crate) mod serve;
pub(crate) mod standing;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};

use weftline_apps::Protocol;

use crate::ui::failure::There;
use crate::ui::progress::Reporter;
use crate::ui::{Exit, OutputOptions};

/// The commands of the server end.
const THERE: There = There {
    serve: "weftline forward serve",
    service: Some(Protocol::Forward),
    allow: "weftline forward serve --allow TARGET --peer",
};

const HELP: &str = "\
One host runs `weftline forward serve` and lists the targets that clients may reach; the other
runs `weftline forward` and maps local ports to them. Programs use the local port as if it
were the target.

Examples:
  host-b$ weftline forward serve --allow 127.0.0.1:80 --peer FINGERPRINT-OF-A
  host-a$ weftline forward -L 8080:127.0.0.1:80 host-b --peer FINGERPRINT-OF-B
  host-a$ curl http://127.0.0.1:8080/

  Several targets:
    weftline forward host-b --peer FINGERPRINT -L 8080:web.lan:80 -L 5432:db.lan:5432
  A SOCKS proxy; host-b resolves the names (host-b: serve --allow '*:80,*:443'):
    weftline forward host-b --peer FINGERPRINT -D 1080
    curl --socks5-hostname 127.0.0.1:1080 https://example.org/
  Reverse, host-b's port 2222 to this host's SSH server (host-b: serve --allow-listen
  127.0.0.1:2222):
    weftline forward host-b --peer FINGERPRINT -R 2222:127.0.0.1:22
  All TCP connections to a network, without settings in programs (Linux, root; host-b: serve
  --allow '10.20.0.0/16:*'):
    sudo weftline forward host-b --peer FINGERPRINT -T 10.20.0.0/16

-L, -R and -D are those of ssh: HOST is reached from the other end, and a port without an address is
open to programs of its own host only. `:8080:web.lan:80` opens port 8080 on every address.

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
pub(crate) struct ForwardArgs {
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
pub(crate) async fn run(args: ForwardArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        Some(End::Serve(args)) => serve::run(*args, output).await,
        None => connect::run(args.connect, output).await,
    }
}

/// Reports that the end is stopping and waits for connections.
fn draining(open: u64, patience: Duration, reporter: &Reporter) {
    let seconds = patience.as_secs_f64();
    reporter.note(&format!(
        "stopping: waiting up to {seconds} s for {open} connections to end; stop again to reset them"
    ));
}
