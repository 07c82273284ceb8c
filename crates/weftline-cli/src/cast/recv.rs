//! `weftline cast recv`: the receiving end.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use weftline_fecframe::{Order, Receiver, ReceiverConfig, Time};

use super::counts::Receiving;
use super::group_key::GroupKey;
use super::interface::{Found, Interface};
use super::joined::Joined;
use super::options::{latency, local_flow, period};
use super::seal::{Lane, Opener, Refusal};
use super::{socket, unprotected};
use crate::exit::{self, Exit, Failure};
use crate::options::OutputOptions;
use crate::report::Report;
use crate::session::stop;

/// Packets that may wait here; the system's buffers hold more.
const WAITING: usize = 512;
/// Time without packets at the start after which a warning is printed.
const SILENCE: Duration = Duration::from_secs(5);
/// Packets that do not open before the key is reported as wrong.
const ENOUGH_FORGED: u64 = 10;
/// Datagrams that are delivered at once; the rest follow at the interval below. The datagrams
/// behind a lost one would overflow the buffer of a program that does not read at this moment.
const BURST: usize = 16;
/// This interval; also the time between attempts to read from a socket that failed.
const GAP: Duration = Duration::from_millis(1);

const EXAMPLES: &str = "\
The description says where to listen: a multicast group, which is joined and may have several
receivers on one host, or an address of this host. Each of its flows needs an --out, in its order.

Examples:
  weftline cast recv --sdp a.sdp --out udp://127.0.0.1:5004
  weftline cast recv --sdp a.sdp --out udp://:5004 --out udp://:5005 --interface eth1 --stats 1s
  weftline cast recv --sdp a.sdp --out udp://:5004 --source 192.0.2.1 --group-key group.key

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
    /// Accept only packets that this key opens
    #[arg(long, value_name = "FILE")]
    group_key: Option<PathBuf>,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = period)]
    stats: Option<Duration>,
}

/// Runs the command.
pub(super) async fn run(args: RecvArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    let report = Report::new("cast", "recv", output, args.stats);
    let mut catcher = match Catcher::open(&args, &report) {
        Ok(catcher) => catcher,
        Err(error) => return Ok(report.end(None::<&Receiving>, &exit::wrap(&error))),
    };
    let counts = Cell::new(Receiving::default());
    let exit = tokio::select! {
        exit = stopping => exit,
        never = catcher.run(&report, &counts) => match never {},
        never = report.watch(|| counts.get()) => match never {},
    };
    catcher.readers.shutdown().await;
    catcher.receiver.flush();
    catcher.hand_on().await;
    Ok(report.end(Some(&catcher.counts()), &Failure::new(exit, "stopped")))
}

/// A packet as received.
struct Caught {
    lane: Lane,
    from: IpAddr,
    at: Instant,
    data: Vec<u8>,
}

/// The receiving end.
struct Catcher {
    config: ReceiverConfig,
    receiver: Receiver,
    opener: Option<Opener>,
    source: Option<IpAddr>,
    packets: mpsc::Receiver<Caught>,
    readers: JoinSet<()>,
    /// By index in the description: identifier, socket and destination.
    outputs: Vec<(u8, UdpSocket, SocketAddr)>,
    /// Counters of earlier receivers, and of this end.
    past: Receiving,
}

impl Catcher {
    fn open(args: &RecvArgs, report: &Report) -> Result<Self> {
        let joined = Joined::read(&args.sdp)?;
        let (sources, repair) = (&joined.ffci.sources, &joined.ffci.repair);
        let usage = |message: String| Failure::new(Exit::Usage, message);
        if sources.len() != args.outputs.len() {
            let message = format!(
                "the description has {} flows: give --out once for each, not {} times",
                sources.len(),
                args.outputs.len()
            );
            return Err(usage(message).into());
        }
        let key = args.group_key.as_deref().map(GroupKey::read).transpose()?;
        if joined.is_sealed && key.is_none() {
            let message = "the packets are sealed with a group key: give --group-key FILE";
            return Err(Failure::new(Exit::Refused, message).into());
        }
        let is_group = |at: SocketAddr| at.ip().is_multicast();
        let interface = match &args.interface {
            Some(_) if !is_group(repair.endpoint.address) => {
                let at = repair.endpoint.address;
                let message = format!("--interface is for multicast groups, and {at} is not one");
                return Err(usage(message).into());
            }
            Some(interface) => interface.find()?,
            None => Found::ANY,
        };
        let mut config = joined.config.clone();
        config.max_latency = args.max_latency.or(config.max_latency);
        if args.as_decoded {
            config.order = Order::AsDecoded;
        }
        let receiver = Receiver::new(config.clone()).context("the session description")?;

        let (mut sockets, mut outputs) = (Vec::new(), Vec::new());
        let source = args.source.or(repair.endpoint.sender);
        let lanes = sources
            .iter()
            .map(|flow| (Lane::Source(flow.id), flow.endpoint));
        for (lane, endpoint) in lanes.chain([(Lane::Repair, repair.endpoint)]) {
            let at = endpoint.address;
            let socket = socket::receiver(at, source, interface).map_err(|error| {
                let message = format!(
                    "cannot receive at {at}: {error}; it must be an address of this host or a group, and no other program may use it"
                );
                Failure::new(Exit::General, message)
            })?;
            sockets.push((lane, socket));
        }
        for (flow, to) in sources.iter().zip(&args.outputs) {
            let socket = socket::outward(*to).with_context(|| format!("cannot send to {to}"))?;
            outputs.push((flow.id, socket, *to));
            let at = flow.endpoint.address;
            report.reporter.note(&format!("{at} -> udp://{to}"));
        }
        if key.is_none() {
            unprotected();
        }
        let (queue, packets) = mpsc::channel(WAITING);
        let mut readers = JoinSet::new();
        readers.spawn(read(sockets, queue));
        Ok(Catcher {
            config,
            receiver,
            opener: key.map(Opener::new),
            source,
            packets,
            readers,
            outputs,
            past: Receiving::default(),
        })
    }

    fn counts(&self) -> Receiving {
        self.past.with(self.receiver.stats())
    }

    /// Receives, recovers and delivers.
    async fn run(&mut self, report: &Report, counts: &Cell<Receiving>) -> Infallible {
        let mut silence = Some(Instant::now() + SILENCE);
        let mut warned_forged = false;
        loop {
            let far_off = Instant::now() + Duration::from_secs(3600);
            let due = self.receiver.poll_timeout();
            let at = |due: Time| report.started + due.since(Time::ZERO);
            let waiting = sleep_until(due.map_or(far_off, at).into());
            let listening = sleep_until(silence.unwrap_or(far_off).into());
            tokio::select! {
                Some(mut caught) = self.packets.recv() => {
                    silence = None;
                    self.take(report, &mut caught).await;
                }
                () = waiting, if due.is_some() => {
                    let now = time(report, Instant::now());
                    self.receiver.handle_timeout(due.map_or(now, |due| due.max(now)));
                }
                () = listening, if silence.is_some() => {
                    silence = None;
                    let seconds = SILENCE.as_secs();
                    report.reporter.warn(&format!(
                        "nothing was received for {seconds} s: is the sender running, is --interface right, does a firewall drop it?"
                    ));
                }
            }
            self.hand_on().await;
            counts.set(self.counts());
            let (forged, sound) = (self.past.forged, counts.get().source_packets);
            if forged >= ENOUGH_FORGED && sound == 0 && !warned_forged {
                warned_forged = true;
                report.reporter.warn(
                    "no packet opens with this group key: does the sender use the same --group-key?",
                );
            }
        }
    }

    /// Handles a received packet.
    async fn take(&mut self, report: &Report, caught: &mut Caught) {
        if self.source.is_some_and(|source| source != caught.from) {
            self.past.foreign += 1;
            return;
        }
        let now = time(report, caught.at);
        let packet = match &mut self.opener {
            None => &caught.data[..],
            Some(opener) => match opener.open(caught.lane, &mut caught.data) {
                Ok(opened) if opened.is_new_run => {
                    self.receiver.flush();
                    self.hand_on().await;
                    self.past = self.past.with(self.receiver.stats());
                    self.past.restarts += 1;
                    self.receiver = Receiver::new(self.config.clone())
                        .expect("this configuration was accepted before");
                    opened.packet
                }
                Ok(opened) => opened.packet,
                Err(Refusal::Forged) => return self.past.forged += 1,
                Err(Refusal::Replayed) => return self.past.replayed += 1,
            },
        };
        // The receiver counts refused packets.
        let _ = match caught.lane {
            Lane::Source(flow) => self.receiver.source_packet(flow, packet, now),
            Lane::Repair => self.receiver.repair_packet(packet, now),
        };
    }

    /// Delivers the datagrams that are ready.
    async fn hand_on(&mut self) {
        let mut left = BURST;
        while let Some(adu) = self.receiver.poll_adu() {
            if left == 0 {
                tokio::time::sleep(GAP).await;
                left = BURST;
            }
            left -= 1;
            let output = self.outputs.iter().find(|(flow, ..)| *flow == adu.flow);
            let Some((_, socket, to)) = output else {
                continue;
            };
            match socket.send_to(&adu.data, to).await {
                Ok(bytes) => self.past.delivered.add(bytes),
                Err(_) => self.past.not_delivered += 1,
            }
        }
    }
}

/// Reads packets from all sockets. One task reads source flows first: a repair packet that
/// overtook the packets that it protects would otherwise recover them although they have arrived.
async fn read(sockets: Vec<(Lane, UdpSocket)>, queue: mpsc::Sender<Caught>) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let next = poll_fn(|cx| {
            for (lane, socket) in &sockets {
                let mut data = ReadBuf::new(&mut buffer);
                if let Poll::Ready(came) = socket.poll_recv_from(cx, &mut data) {
                    return Poll::Ready((*lane, came, data.filled().to_vec()));
                }
            }
            Poll::Pending
        });
        match next.await {
            (lane, Ok(from), data) => {
                let caught = Caught {
                    lane,
                    from: from.ip(),
                    at: Instant::now(),
                    data,
                };
                if queue.send(caught).await.is_err() {
                    return;
                }
            }
            // Some systems report the errors of earlier packets here.
            (_, Err(_), _) => tokio::time::sleep(GAP).await,
        }
    }
}

fn time(report: &Report, at: Instant) -> Time {
    Time::ZERO + at.saturating_duration_since(report.started)
}
