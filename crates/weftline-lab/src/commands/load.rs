//! `weftline-lab load`: measures a transport from the application's side.

use std::io::{self, Write};

use crate::load::{External, Failed, LoadError, Mode, Request, Side};
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use weftline_cli::ui::{Exit, Failure};

const HELP: &str = "\
Workloads and their settings (both ends get the same ones):
  bulk    as much data as the path carries: secs=10 skip=0 [series=SECS]; over udp also rate= size=
  stream  messages at a constant rate: secs=10 skip=0 rate=10 (Mbit/s) size=1200 drain=2 [cdf=1]
          video=1: 30 frames/s of varying sizes, with that mean rate
  xfer    transfers one after the other: n=10 size=100000 (bytes) reuse=0 gap=0
  any     timeout=30 ip=4|6

Transports and their settings:
  weftline  preset=auto|arq|block|streaming|rest|udp-rc|rlc-block carrier=quic|udp
            cc=engine|cubic|bbr|newreno share= k= as=stream|messages, for the last two presets
            field= extra= pace= header= systematic= control=on|off, and every other option
            of the engine
  tcp       cc=cubic|bbr|reno|... (what the kernel has)
  quinn     cc=cubic|bbr|newreno
  kcp       fast3; window=1024 (packets)
  udp       bare datagrams
  NAME      your own program, with --ext NAME=PROGRAM

An unknown setting is an error that lists the valid names. Times are in seconds.

Examples:
  weftline-lab load recv tcp stream 127.0.0.1 5000 secs=5 &
  weftline-lab load send tcp stream 127.0.0.1 5000 secs=5
  weftline-lab run --link 'rate=25mbit delay=30ms loss=iid:5%' \\
      --b 'weftline-lab load recv weftline stream b 5000' -- weftline-lab load send weftline stream b 5000

docs/reference/load.md specifies the interface for your own programs.";

/// Measure a transport from the application's side: throughput, delays, transfer times
///
/// Prints one line of JSON at the end; the receiver first prints {"listening":true}. Run both ends
/// on one machine (as the two sides of `weftline-lab run` are), because times are compared.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct LoadArgs {
    /// Which end this is: start recv first
    #[arg(value_enum)]
    side: SideName,
    /// Transport to measure: weftline, tcp, quinn, kcp, udp, or the name of an --ext program
    transport: String,
    /// Traffic to carry: bulk, stream or xfer
    workload: Mode,
    /// The receiver's host: a name or an address
    host: String,
    /// The receiver's port
    port: u16,
    /// Settings, as listed below
    #[arg(value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// A program that measures its own transport and keeps the same interface
    #[arg(long, value_name = "NAME=PROGRAM")]
    ext: Vec<External>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SideName {
    Recv,
    Send,
}

impl From<SideName> for Side {
    fn from(name: SideName) -> Self {
        match name {
            SideName::Recv => Side::Recv,
            SideName::Send => Side::Send,
        }
    }
}

/// Runs the command. An error is also printed as a line of JSON on standard output.
pub(crate) async fn run(args: LoadArgs) -> Result<Exit> {
    let measured = match args.ext.iter().find(|ext| ext.name == args.transport) {
        Some(ext) => Err(become_program(ext, &args)),
        None => measure(args).await,
    };
    match measured {
        Ok(()) => Ok(Exit::Ok),
        Err(error) => {
            print(&error.to_json())?;
            let exit = match error.kind() {
                Failed::Usage => Exit::Usage,
                Failed::Lost => Exit::Lost,
                Failed::Corrupt => Exit::Corrupt,
                Failed::General => Exit::General,
            };
            Err(anyhow!(Failure::new(exit, error.to_string())))
        }
    }
}

async fn measure(args: LoadArgs) -> Result<(), LoadError> {
    let request = Request::new(
        args.side.into(),
        &args.transport,
        args.workload,
        &args.host,
        args.port,
        &args.settings,
    )?;
    // On a worker thread: the main thread would have to be woken for each packet.
    let running = tokio::spawn(async move {
        // A reader that closed the output does not wait for the result either.
        request.run(|line| drop(print(line))).await
    });
    let ended = running.await;
    ended.unwrap_or_else(|e| {
        Err(LoadError::Setup(format!(
            "the measurement was stopped: {e}"
        )))
    })
}

/// Replaces this process by the program, so that output, signals and exit code are the program's.
/// Returns only if that fails.
#[cfg(unix)]
fn become_program(ext: &External, args: &LoadArgs) -> LoadError {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(&ext.program);
    let side = args.side.into();
    let arguments = ext.arguments(side, args.workload, &args.host, args.port, &args.settings);
    let error = command.args(arguments).exec();
    LoadError::Setup(format!("cannot run {}: {error}", ext.program.display()))
}

#[cfg(not(unix))]
fn become_program(ext: &External, _: &LoadArgs) -> LoadError {
    LoadError::Setup(format!(
        "--ext needs a Unix system: run {} itself",
        ext.program.display()
    ))
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
