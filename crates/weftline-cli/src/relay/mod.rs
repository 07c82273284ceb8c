//! `weftline relay`: UDP flows over a session (`weftline_apps::relay`).

mod connect;
mod options;
pub(crate) mod serve;
mod standing;

use anyhow::Result;
use clap::{Args, Subcommand};
use weftline_apps::relay::{InPieces, wireguard_mtu};

use crate::ui::failure::There;
use crate::ui::{Exit, OutputOptions, terminal};
use weftline_apps::Protocol;

/// The commands of the server end.
const THERE: There = There {
    serve: "weftline relay serve",
    service: Some(Protocol::Relay),
    allow: "weftline relay serve --allow TARGET --peer",
};

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
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(args: RelayArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        End::Connect(args) => connect::run(*args, output).await,
        End::Serve(args) => serve::run(*args, output).await,
    }
}

/// Reports that datagrams travel in pieces.
fn in_pieces(datagram: &InPieces) {
    let InPieces { bytes, longest } = datagram;
    terminal::offer(format!(
        "datagrams of {bytes} bytes travel in pieces: about {longest} fit in one piece; fewer are lost with a \
         lower MTU of the sender (WireGuard: MTU = {})",
        wireguard_mtu(*longest)
    ));
}
