//! `weftline cast recv`: the receiving end.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::cast::{
    Description, GroupKey, Interface, Order, Receiver, ReceiverEvent, ReceiverOptions, Receiving,
};

use super::failure::cannot_open;
use super::options::{latency, linear_system, local_flow};
use super::unprotected;
use crate::options::stats;
use crate::supervise::StayOptions;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::stop::stop_or_hangup;
use crate::ui::{Exit, Failure, OutputOptions, exit};

const EXAMPLES: &str = "\
The description says where to listen: a multicast group, which is joined and may have several
receivers on one host, or an address of this host. Each of its flows needs an --out, in its order.

Examples:
  weftline cast recv --sdp a.sdp --out udp://127.0.0.1:5004
  weftline cast recv --sdp a.sdp --out udp://:5004 --out udp://:5005 --interface eth1 --stats 1s
  weftline cast recv --sdp a.sdp --out udp://:5004 --source 192.0.2.1 --group-key group.key
  weftline cast recv --sdp a.sdp --out udp://:5004 --max-latency 100ms --ls 400

Then, for example: ffplay udp://127.0.0.1:5004";

/// Receive datagrams from `weftline cast send`, recover losses, and deliver them
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct RecvArgs {
    /// The session description that the sender wrote
    #[arg(long, value_name = "FILE")]
    sdp: PathBuf,
    /// Destination of a flow: udp://IP:PORT, or udp://:PORT on this host; one for each flow
    #[arg(long = "out", value_name = "URL", required = true, value_parser = local_flow)]
    outputs: Vec<SocketAddr>,
    /// The interface on which a multicast group is joined: its address or name
    #[arg(long, value_name = "ADDR|NAME")]
    interface: Option<Interface>,
    /// Accept packets from this host only [default: as the description says]
    #[arg(long, value_name = "ADDR")]
    source: Option<IpAddr>,
    /// Deliver in the order of sending; datagrams behind a lost one wait until it arrives or its
    /// deadline passes (default)
    #[arg(long, conflicts_with = "as_decoded")]
    in_order: bool,
    /// Deliver each datagram as soon as it is received or decoded
    #[arg(long)]
    as_decoded: bool,
    /// How long to wait for a datagram [default: as the description says]
    #[arg(long, value_name = "TIME", value_parser = latency)]
    max_latency: Option<Duration>,
    /// Number of newest symbols that equations may contain (ls): more lets datagrams that are too
    /// late help to recover others, and takes more memory and time; at least the decoding window
    /// (dw), which follows from the sender's window [default: 2 dw, at least 40]
    #[arg(long, value_name = "N", value_parser = linear_system)]
    ls: Option<u32>,
    /// Accept only packets that this key opens
    #[arg(long, value_name = "FILE")]
    group_key: Option<PathBuf>,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    stats: Option<Duration>,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
}

/// Runs the command.
pub(super) async fn run(args: RecvArgs, output: OutputOptions) -> Result<Exit> {
    let stopping = stop_or_hangup();
    let report = Report::new("cast", "recv", output, args.stats);
    let monitor = args.stay.monitor.clone();
    let mut receiver = match open(args, &report.reporter) {
        Ok(receiver) => receiver,
        Err(error) => return Ok(report.end(None::<&Receiving>, &exit::wrap(&error))),
    };
    let watch = match monitor.open("cast", "recv").await {
        Ok(watch) => watch,
        Err(error) => return Ok(report.end(None::<&Receiving>, &exit::wrap(&error))),
    };
    let counts = Cell::new(Receiving::default());
    let running = receiver.run(
        |now| counts.set(*now),
        |event| tell(&event, &report.reporter),
    );
    let exit = tokio::select! {
        exit = stopping => exit,
        never = running => match never {},
        never = report.watch(|| counts.get()) => match never {},
        never = watch.serve(|| counts.get(), None) => match never {},
    };
    let last = receiver.finish().await;
    Ok(report.end(Some(&last), &Failure::new(exit, "stopped")))
}

fn open(args: RecvArgs, reporter: &Reporter) -> Result<Receiver> {
    let description = Description::read(&args.sdp)
        .map_err(|error| Failure::new(Exit::General, error.to_string()))?;
    let key = args.group_key.as_deref().map(GroupKey::read).transpose();
    let key = key.map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
    let is_sealed = key.is_some();
    let mut options = ReceiverOptions::new(description, args.outputs);
    options.interface = args.interface;
    options.source = args.source;
    if args.as_decoded {
        options.order = Order::AsDecoded;
    }
    options.max_latency = args.max_latency;
    options.linear_system = args.ls;
    options.group_key = key;
    args.stay.config.checked(None)?;
    let receiver = Receiver::open(&options).map_err(|error| cannot_open(&error))?;
    for (at, to) in receiver.flows() {
        reporter.note(&format!("{at} -> udp://{to}"));
    }
    if !is_sealed {
        unprotected();
    }
    Ok(receiver)
}

fn tell(event: &ReceiverEvent, reporter: &Reporter) {
    match event {
        ReceiverEvent::Silent { since } => reporter.warn(&format!(
            "nothing was received for {} s: is the sender running, is --interface right, does a firewall drop it?",
            since.as_secs()
        )),
        ReceiverEvent::WrongKey => reporter.warn(
            "packets arrive that this group key does not open: does the sender use the same --group-key?",
        ),
        ReceiverEvent::ShortLinearSystem { given, used } => reporter.warn(&format!(
            "--ls {given} is shorter than the decoding window that follows from the sender's window: at least {used} symbols are used",
        )),
        _ => {}
    }
}
