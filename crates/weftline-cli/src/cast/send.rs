//! `weftline cast send`: the sending end.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use weftline_fecframe::{CodeRate, EncodingId, SendError, Sender, Time};

use super::counts::Sending;
use super::group_key::GroupKey;
use super::interface::{Found, Interface};
use super::options::{encoding_id, latency, local_flow, period, rate};
use super::plan::{Plan, Wanted};
use super::seal::{Lane, OVERHEAD, Sealer};
use super::socket::{self, Leaving};
use super::unprotected;
use crate::address::Address;
use crate::exit::{self, Exit, Failure};
use crate::options::OutputOptions;
use crate::output;
use crate::report::Report;
use crate::session::stop;

/// Most flows of one instance that may have separate ports.
const MOST_FLOWS: usize = 64;
/// Datagrams that may wait here; the system's buffers hold more.
const WAITING: usize = 256;
/// Repair packets that are sent at once; the rest follow at this interval.
const BURST: usize = 4;
const GAP: Duration = Duration::from_millis(1);
/// Repair packets beyond the code rate when the flow pauses, so that the last datagrams before the
/// pause are protected too.
const AFTER_PAUSE: u32 = 2;
/// Most octets before the symbol in a repair packet.
const REPAIR_ID: usize = 8;
/// ADUs after which the sender checks whether the bandwidth cap starves the flow of repair.
const ENOUGH: u64 = 200;

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

A group key is a file with 32 random bytes in hexadecimal or base64: openssl rand -hex 32 > group.key";

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
    #[arg(long, value_name = "TIME", value_parser = period)]
    stats: Option<Duration>,
}

/// Runs the command.
pub(super) async fn run(args: SendArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    let report = Report::new("cast", "send", output, args.stats);
    let mut caster = match Caster::open(&args, &report).await {
        Ok(caster) => caster,
        Err(error) => return Ok(report.end(None::<&Sending>, &exit::wrap(&error))),
    };
    let counts = Cell::new(Sending::default());
    let exit = tokio::select! {
        exit = stopping => exit,
        never = caster.run(&report, &counts) => match never {},
        never = report.watch(|| counts.get()) => match never {},
    };
    caster.readers.shutdown().await;
    Ok(report.end(Some(&counts.get()), &Failure::new(exit, "stopped")))
}

/// A datagram of a local program.
struct Arrival {
    flow: u8,
    at: Instant,
    data: Vec<u8>,
}

/// The sending end.
struct Caster {
    sender: Sender,
    sealer: Option<Sealer>,
    socket: UdpSocket,
    /// By flow.
    to: Vec<SocketAddr>,
    repair_to: SocketAddr,
    arrivals: mpsc::Receiver<Arrival>,
    readers: JoinSet<()>,
    packet: Vec<u8>,
    counts: Sending,
    /// Time without datagrams after which the flow counts as paused.
    pause: Duration,
    warned_long: bool,
    warned_unsent: bool,
    judged: bool,
}

impl Caster {
    async fn open(args: &SendArgs, report: &Report) -> Result<Self> {
        let usage = |message: String| Failure::new(Exit::Usage, message);
        if args.inputs.len() > MOST_FLOWS {
            let message =
                format!("more than {MOST_FLOWS} flows: start a second sender for the rest");
            return Err(usage(message).into());
        }
        let to = first(&args.to).await?;
        let repair_to = match &args.repair_to {
            Some(address) => Some(first(address).await?),
            None => None,
        };
        let interface = match &args.interface {
            Some(_) if !to.ip().is_multicast() => {
                let message = format!("--interface is for multicast groups, and {to} is not one");
                return Err(usage(message).into());
            }
            Some(interface) => interface.find()?,
            None => Found::ANY,
        };
        let leaving = Leaving {
            interface,
            ttl: args.ttl,
        };
        let key = args.group_key.as_deref().map(GroupKey::read).transpose()?;
        let sealer = key.as_ref().map(Sealer::new).transpose()?;
        let plan = Plan::new(&Wanted {
            flows: args.inputs.len(),
            to,
            repair_to,
            max_latency: args.max_latency,
            code_rate: args.code_rate,
            encoding_id: args.encoding_id,
            symbol_size: args.symbol_size,
            long_adus: args.long_adus,
            rate: args.rate,
            ttl: args.ttl,
            is_sealed: key.is_some(),
            source: socket::source_of(to, leaving),
        })?;
        let socket = socket::sender(to, leaving).with_context(|| format!("cannot send to {to}"))?;
        let (queue, arrivals) = mpsc::channel(WAITING);
        let mut readers = JoinSet::new();
        let targets: Vec<SocketAddr> = plan
            .ffci
            .sources
            .iter()
            .map(|flow| flow.endpoint.address)
            .collect();
        for (flow, (input, target)) in args.inputs.iter().zip(&targets).enumerate() {
            let socket = socket::receiver(*input, None, Found::ANY).map_err(|error| {
                let message =
                    format!("cannot listen on {input}: {error}; choose another address in --in");
                Failure::new(Exit::General, message)
            })?;
            let at = socket.local_addr()?;
            report.reporter.note(&format!("udp://{at} -> {target}"));
            readers.spawn(read(socket, flow as u8, queue.clone()));
        }
        let repair_to = plan.ffci.repair.endpoint.address;
        report.reporter.note(&format!(
            "repair -> {repair_to}, code rate {}, losses recovered within {} ms, datagrams of up to {} bytes",
            args.code_rate,
            args.max_latency.as_millis(),
            plan.longest_adu()
        ));
        if let Some(path) = &args.sdp {
            std::fs::write(path, plan.ffci.to_sdp())
                .with_context(|| format!("cannot write {}", path.display()))?;
            let path = output::quoted(&path.display().to_string());
            report.reporter.note(&format!(
                "wrote {path}; give it to receivers: weftline cast recv --sdp {path} --out udp://127.0.0.1:5004"
            ));
        }
        let payload = if to.is_ipv4() { 1472 } else { 1452 };
        let sealing = if key.is_some() { OVERHEAD } else { 0 };
        let largest = usize::from(args.symbol_size) + REPAIR_ID + sealing;
        if largest > payload {
            report.reporter.warn(&format!(
                "repair packets of {largest} bytes exceed the {payload} of Ethernet: they are fragmented, and losing a fragment loses the packet; use --symbol-size {} or less",
                payload - REPAIR_ID - sealing
            ));
        }
        if key.is_none() {
            unprotected();
        }
        Ok(Caster {
            sender: Sender::new(plan.config)?,
            sealer,
            socket,
            to: targets,
            repair_to,
            arrivals,
            readers,
            packet: Vec::new(),
            counts: Sending::default(),
            pause: args.max_latency / 4,
            warned_long: false,
            warned_unsent: false,
            judged: false,
        })
    }

    /// Sends the datagrams of the flows, and their repair packets.
    async fn run(&mut self, report: &Report, counts: &Cell<Sending>) -> Infallible {
        let mut more_repair: Option<Instant> = None;
        let mut pause: Option<(Instant, u32)> = None;
        loop {
            let far_off = Instant::now() + Duration::from_secs(3600);
            let repairing = sleep_until(more_repair.unwrap_or(far_off).into());
            let pausing = sleep_until(pause.map_or(far_off, |(at, _)| at).into());
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => {
                    let now = time(report, arrival.at);
                    self.take(report, &arrival, now).await;
                    if self.repair(report, now).await {
                        more_repair.get_or_insert(arrival.at + GAP);
                    } else {
                        more_repair = None;
                    }
                    pause = Some((arrival.at + self.pause, AFTER_PAUSE));
                }
                () = repairing, if more_repair.is_some() => {
                    let at = Instant::now();
                    let more = self.repair(report, time(report, at)).await;
                    more_repair = more.then_some(at + GAP);
                }
                () = pausing, if pause.is_some() => {
                    let at = Instant::now();
                    let now = time(report, at);
                    let made = self.sender.extra_repair(now, &mut self.packet).is_some();
                    if made {
                        self.transmit(report, Lane::Repair, self.repair_to).await;
                    }
                    let left = pause.map_or(0, |(_, left)| left.saturating_sub(1));
                    pause = (made && left > 0).then_some((at + self.pause / 4, left));
                }
            }
            self.counts.stats = *self.sender.stats();
            counts.set(self.counts);
            self.check_cap(report);
        }
    }

    /// Sends a source packet.
    async fn take(&mut self, report: &Report, arrival: &Arrival, now: Time) {
        let Arrival { flow, data, .. } = arrival;
        self.counts.longest = self.counts.longest.max(data.len());
        match self.sender.source(*flow, data, now, &mut self.packet) {
            Ok(_) => {
                let to = self.to[usize::from(*flow)];
                self.transmit(report, Lane::Source(*flow), to).await;
            }
            Err(error) => {
                self.counts.too_long += 1;
                if !std::mem::replace(&mut self.warned_long, true) {
                    report.reporter.warn(&too_long(error));
                }
            }
        }
    }

    /// Sends some of the due repair packets; returns whether there may be more.
    async fn repair(&mut self, report: &Report, now: Time) -> bool {
        for _ in 0..BURST {
            if self.sender.poll_repair(now, &mut self.packet).is_none() {
                return false;
            }
            self.transmit(report, Lane::Repair, self.repair_to).await;
        }
        true
    }

    /// Sends the packet that was made.
    async fn transmit(&mut self, report: &Report, lane: Lane, to: SocketAddr) {
        let packet = match &mut self.sealer {
            Some(sealer) => sealer.seal(lane, &self.packet),
            None => &self.packet,
        };
        match self.socket.send_to(packet, to).await {
            Ok(bytes) => self.counts.wire.add(bytes),
            Err(error) => {
                self.counts.not_sent += 1;
                if !std::mem::replace(&mut self.warned_unsent, true) {
                    let text =
                        format!("cannot send to {to}: {error}; continuing with the next packet");
                    report.reporter.warn(&text);
                }
            }
        }
    }

    /// Warns once if symbols are so much larger than datagrams that repair packets are held back.
    fn check_cap(&mut self, report: &Report) {
        let stats = &self.counts.stats;
        if self.judged || stats.adus < ENOUGH {
            return;
        }
        self.judged = true;
        let symbol = self.counts.longest + 3;
        let is_starved = stats.capped * 10 > stats.capped + stats.repair_symbols;
        if is_starved && symbol < usize::from(self.sender.config().fssi.symbol_size()) {
            report.reporter.warn(&format!(
                "datagrams are much smaller than symbols, and repair packets may not use more bytes than datagrams: {} of {} repairs were held back; use --symbol-size {symbol}",
                stats.capped,
                stats.capped + stats.repair_symbols
            ));
        }
    }
}

/// Reads the datagrams of a flow from a local socket.
async fn read(socket: UdpSocket, flow: u8, queue: mpsc::Sender<Arrival>) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((length, _)) => {
                let arrival = Arrival {
                    flow,
                    at: Instant::now(),
                    data: buffer[..length].to_vec(),
                };
                if queue.send(arrival).await.is_err() {
                    return;
                }
            }
            // Some systems report the errors of earlier packets here.
            Err(_) => tokio::time::sleep(GAP).await,
        }
    }
}

async fn first(address: &Address) -> Result<SocketAddr, Failure> {
    let mut found = address.resolve().await?;
    // `resolve` returns at least one.
    Ok(found.swap_remove(0))
}

fn time(report: &Report, at: Instant) -> Time {
    Time::ZERO + at.saturating_duration_since(report.started)
}

fn too_long(error: SendError) -> String {
    match error {
        SendError::AduTooLong { got, limit } => format!(
            "dropping datagrams of {got} bytes: at most {limit} are protected; use --symbol-size {} or --long-adus",
            got + 3
        ),
        error => format!("dropping datagrams: {error}"),
    }
}
