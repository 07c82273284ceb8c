//! `weftline tun`: IP packets of a host over a session (`weftline_apps::tun`).

mod client;
mod device;
mod down;
mod lane;
mod network;
pub(crate) mod serve;
mod standing;
mod system;

use anyhow::Result;
use clap::{Args, Subcommand};

use weftline_apps::Protocol;

use crate::ui::failure::There;
use crate::ui::{Exit, OutputOptions};

/// The commands of the server end.
const THERE: There = There {
    serve: "weftline tun serve",
    service: Some(Protocol::Tun),
    allow: "weftline tun serve --pool NETWORK --peer",
};

/// Losses are repaired at once even while more waits than the path takes: a TCP flow inside would have
/// longer round trips, and need larger windows, if it waited for reports.
const PRESET: &str = "auto,without=backlog";

const HELP: &str = "\
One host runs `serve` and gives addresses of its pools to its clients; the other connects to it and
has a network device whose packets come out there. What the path loses is repaired: TCP inside
does not slow down. Both need the capability CAP_NET_ADMIN, as root has it.

Examples:
  host-b$ weftline tun serve --pool 10.77.0.0/24 --peer FINGERPRINT-OF-A
  host-a$ weftline tun host-b --peer FINGERPRINT-OF-B
  host-a$ ping 10.77.0.1

  Everything through the tunnel, and nothing past it:
    weftline tun host-b --peer FINGERPRINT --default-route --dns server --kill-switch

  Two links at once:
    weftline tun host-b --peer FINGERPRINT --path eth0 --path wwan0

`weftline tun serve --help` explains pools.";

/// Carry all IP packets of a host through a tunnel and repair losses
#[derive(Args, Clone, Debug)]
#[command(
    after_help = HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    mut_arg("preset", |arg| arg.default_value(PRESET))
)]
pub(crate) struct TunArgs {
    #[command(subcommand)]
    end: Option<End>,
    #[command(flatten)]
    client: client::ClientArgs,
}

#[derive(Clone, Debug, Subcommand)]
enum End {
    Serve(Box<serve::ServeArgs>),
    Down(down::DownArgs),
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(args: TunArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        Some(End::Serve(args)) => serve::run(*args, output).await,
        Some(End::Down(args)) => down::run(&args, output),
        None => client::run(args.client, output).await,
    }
}
