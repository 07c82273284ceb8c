//! `weftline relay`: UDP flows over a session (`weftline_apps::relay`).

mod connect;
mod options;
mod serve;
mod standing;

use anyhow::Result;
use clap::{Args, Subcommand};
use weftline_apps::relay::{TooLong, wireguard_mtu};

use crate::ui::failure::There;
use crate::ui::{Exit, OutputOptions, terminal};

/// What runs at the other end of a client.
const THERE: There = There {
    serve: "weftline relay serve",
    allow: "weftline relay serve --allow TARGET --peer",
};

const HELP: &str = "\
One host runs `serve` and names the targets that may be reached from it; the other runs `connect`
and names local ports that lead there. Programs use the local port as if it were the target.

Examples:
  host-b$ weftline relay serve --allow 127.0.0.1:51820 --peer FINGERPRINT-OF-A
  host-a$ weftline relay connect host-b --peer FINGERPRINT-OF-B --udp 51820=127.0.0.1:51820

`weftline relay connect --help` explains rules and deliveries, `weftline relay serve --help` what
can be allowed.";

/// Carry UDP (WireGuard, games, RTP) between two hosts, its losses repaired
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct RelayArgs {
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
/// Whatever kept it from starting; what happened later is in the exit code, and was told.
pub(crate) async fn run(args: RelayArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        End::Connect(args) => connect::run(*args, output).await,
        End::Serve(args) => serve::run(*args, output).await,
    }
}

/// Tells of a datagram that is too long.
fn too_long(datagram: &TooLong) {
    let TooLong { bytes, longest } = datagram;
    terminal::offer(format!(
        "warning: dropped a datagram of {bytes} bytes: about {longest} pass in one piece; lower the MTU of \
         what sends them (WireGuard: MTU = {}), or start the client with --fragment",
        wireguard_mtu(*longest)
    ));
}
