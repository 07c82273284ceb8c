//! `weftline cast send`: the sending end.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use weftline_apps::Address;
use weftline_apps::cast::{
    CodeRate, EncodingId, GroupKey, Interface, SendError, Sender, SenderEvent, SenderOptions,
    Sending,
};

use super::failure::cannot_open;
use super::options::{encoding_id, latency, local_flow, rate};
use super::unprotected;
use crate::options::stats;
use crate::supervise::StayOptions;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::stop::stop_or_hangup;
use crate::ui::{Exit, Failure, OutputOptions, exit, output};

const EXAMPLES: &str = "\
Flows: each --in is a separate flow. The first goes to the port of --to, the others to the ports
after it. Repair packets go to the port of --to + 2, or the first such port after the flows (+ 4
with three or four flows), or to --repair-to. So RTP and its RTCP may be two flows and stay on
neighbouring ports.

Latency and rate: a lost datagram is recovered at most --max-latency after it was due at the
receiver; the network's own delay is added. With --rate, the flows' bit rate, the window
has a fixed length; without it, time alone decides. --encoding-id 8 needs it.

Symbols: a datagram uses one symbol of --symbol-size bytes, of which 3 hold its length and flow.
A repair packet has one symbol. Repair packets never use more bytes than the flows: for small
datagrams (audio) give the size of the longest datagram, plus 3.

Examples:
  weftline cast send --in udp://:5004 --to 239.1.2.3:6000 --max-latency 200ms --sdp a.sdp
  weftline cast send --in udp://:5004 --in udp://:5005 --to 192.0.2.7:6000 --max-latency 100ms \\
      --code-rate 4/5 --rate 8mbit --group-key group.key --sdp a.sdp

A group key is a file with 32 random bytes in hexadecimal or base64 that only you can read:
  (umask 077; openssl rand -hex 32 > group.key)";

/// Send UDP flows and their repair packets to a host or a multicast group
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct SendArgs {
    /// Address that local programs send a flow to: udp://IP:PORT, or udp://:PORT for this host
    /// only; may be repeated
    #[arg(long = "in", value_name = "URL", required = true, value_parser = local_flow)]
    inputs: Vec<SocketAddr>,
    /// Destination: HOST:PORT of a host or a multicast group (UDP, default port 9338)
    #[arg(long, value_name = "ADDR")]
    to: Address,
    /// Destination of repair packets [default: the port of --to + 2]
    #[arg(long, value_name = "ADDR")]
    repair_to: Option<Address>,
    /// How late a datagram may be recovered at the receiver
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = latency)]
    max_latency: Duration,
    /// Source packets as a share of all packets, 1/2 to 1
    #[arg(long, value_name = "RATIO", default_value = "2/3")]
    code_rate: CodeRate,
    /// The scheme: 10 (sliding window over GF(2^8)), 9 (over GF(2)), 8 (Reed-Solomon)
    #[arg(long, value_name = "NUMBER", default_value = "10", value_parser = encoding_id)]
    encoding_id: EncodingId,
    /// Bytes of a symbol: the longest datagram plus 3
    #[arg(long, value_name = "BYTES", default_value_t = 1400, value_parser = clap::value_parser!(u16).range(4..))]
    symbol_size: u16,
    /// Let datagrams use several symbols
    #[arg(long)]
    long_adus: bool,
    /// Bit rate of all flows together, for example 5mbit
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<u64>,
    /// Write the session description that receivers need
    #[arg(long, value_name = "FILE")]
    sdp: Option<PathBuf>,
    /// The interface to a multicast group: its address or name
    #[arg(long, value_name = "ADDR|NAME")]
    interface: Option<Interface>,
    /// Hop limit of packets [default: 1 to a group]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..))]
    ttl: Option<u8>,
    /// Encrypt and authenticate each packet with this key
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
pub(super) async fn run(args: SendArgs, output: OutputOptions) -> Result<Exit> {
    let stopping = stop_or_hangup();
    let report = Report::new("cast", "send", output, args.stats);
    let monitor = args.stay.monitor.clone();
    let mut sender = match open(args, &report.reporter).await {
        Ok(sender) => sender,
        Err(error) => return Ok(report.end(None::<&Sending>, &exit::wrap(&error))),
    };
    let watch = match monitor.open("cast", "send").await {
        Ok(watch) => watch,
        Err(error) => return Ok(report.end(None::<&Sending>, &exit::wrap(&error))),
    };
    let counts = Cell::new(Sending::default());
    let running = sender.run(
        |now| counts.set(*now),
        |event| tell(&event, &report.reporter),
    );
    let exit = tokio::select! {
        exit = stopping => exit,
        never = running => match never {},
        never = report.watch(|| counts.get()) => match never {},
        never = watch.serve(|| counts.get(), None) => match never {},
    };
    drop(sender);
    let last = counts.get();
    let failure = match last.wire.datagrams == 0 && last.not_sent > 0 {
        true => Failure::new(
            Exit::Lost,
            "nothing left this host: the system refused every packet",
        ),
        false => Failure::new(exit, "stopped"),
    };
    Ok(report.end(Some(&last), &failure))
}

async fn open(args: SendArgs, reporter: &Reporter) -> Result<Sender> {
    let key = args.group_key.as_deref().map(GroupKey::read).transpose();
    let key = key.map_err(|error| Failure::new(Exit::Refused, error.to_string()))?;
    let is_sealed = key.is_some();
    let mut options = SenderOptions::new(args.inputs, args.to);
    options.repair_to = args.repair_to;
    options.max_latency = args.max_latency;
    options.code_rate = args.code_rate;
    options.encoding_id = args.encoding_id;
    options.symbol_size = args.symbol_size;
    options.long_adus = args.long_adus;
    options.rate = args.rate;
    options.interface = args.interface;
    options.ttl = args.ttl;
    options.group_key = key;
    args.stay.config.checked(None)?;
    let sender = Sender::open(&options).await.map_err(|e| cannot_open(&e))?;
    for (at, target) in sender.flows() {
        reporter.note(&format!("udp://{at} -> {target}"));
    }
    reporter.note(&format!(
        "repair -> {}, code rate {}, losses recovered within {} ms, datagrams of up to {} bytes",
        sender.repair_to(),
        args.code_rate,
        args.max_latency.as_millis(),
        sender.longest_datagram()
    ));
    if let Some(path) = &args.sdp {
        std::fs::write(path, sender.description())
            .with_context(|| format!("cannot write {}", path.display()))?;
        let path = output::quoted(&path.display().to_string());
        reporter.note(&format!(
            "wrote {path}; give it to receivers: weftline cast recv --sdp {path} --out udp://127.0.0.1:5004"
        ));
    }
    if let Some(pieces) = sender.fragments() {
        reporter.warn(&format!(
            "repair packets of {} bytes exceed the {} of Ethernet: they are fragmented, and losing a fragment loses the packet; use --symbol-size {} or less",
            pieces.packet, pieces.fits, pieces.symbol_size
        ));
    }
    if !is_sealed {
        unprotected();
    }
    Ok(sender)
}

fn tell(event: &SenderEvent, reporter: &Reporter) {
    let text = match event {
        SenderEvent::TooLong(SendError::AduTooLong { got, limit }) => format!(
            "dropping datagrams of {got} bytes: at most {limit} are protected; use --symbol-size {} or --long-adus",
            got + 3
        ),
        SenderEvent::TooLong(error) => format!("dropping datagrams: {error}"),
        SenderEvent::NotSent { to, error } => {
            format!("cannot send to {to}: {error}; continuing with the next packet")
        }
        SenderEvent::Starved {
            held_back,
            all,
            symbol_size,
        } => format!(
            "datagrams are much smaller than symbols, and repair packets may not use more bytes than datagrams: {held_back} of {all} repairs were held back; use --symbol-size {symbol_size}"
        ),
        _ => return,
    };
    reporter.warn(&text);
}
