//! `weftline cast`: UDP flows by FECFRAME, without a return path (`weftline_apps::cast`).

mod failure;
mod options;
mod recv;
mod send;
mod standing;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::ui::{Exit, OutputOptions, output};

const HELP: &str = "\
The sender reads UDP from local programs and sends it with repair packets to a unicast or multicast
address, and writes a session description (SDP); receivers read it, recover losses, and
deliver the datagrams in order, each within the maximum latency or never. SIGHUP stops a sender or
receiver that was started on a terminal, and none that runs as a service.

Examples:
  sender$   weftline cast send --in udp://:5004 --to 239.1.2.3:6000 --max-latency 200ms --sdp a.sdp
  receiver$ weftline cast recv --sdp a.sdp --out udp://127.0.0.1:5004

`weftline cast send --help` explains rates and ports, `weftline cast recv --help` explains order and
sources.";

/// Send UDP (RTP, MPEG-TS) to one or many receivers and repair losses without a return path
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct CastArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Clone, Debug, Subcommand)]
enum End {
    Send(Box<send::SendArgs>),
    Recv(Box<recv::RecvArgs>),
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(args: CastArgs, output: OutputOptions) -> Result<Exit> {
    match args.end {
        End::Send(args) => send::run(*args, output).await,
        End::Recv(args) => recv::run(*args, output).await,
    }
}

/// The warning for a group without a key.
fn unprotected() {
    output::line(
        "WARNING: no --group-key: nothing is encrypted or authenticated; anyone who can reach the",
    );
    output::line(
        "WARNING: receivers can add packets and corrupt the flow, and anyone on the path can read it.",
    );
}
