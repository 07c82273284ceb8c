//! The sending end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use weftline_fecframe::{Sender as Encoder, Time};

use super::counts::Sending;
use super::event::SenderEvent;
use super::interface::Found;
use super::options::{OpenError, SenderOptions};
use super::plan::{Plan, Wanted};
use super::seal::{Lane, OVERHEAD, Sealer};
use super::socket::{self, Leaving};
use crate::address::{Address, UnknownHost};

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

/// A datagram of a local program.
struct Arrival {
    flow: u8,
    at: Instant,
    data: Vec<u8>,
}

/// Repair packets that exceed an Ethernet frame: they are fragmented, and losing a fragment loses
/// the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// Bytes of a repair packet.
    pub packet: usize,
    /// Bytes that fit a frame.
    pub fits: usize,
    /// The largest symbol size whose repair packets fit.
    pub symbol_size: usize,
}

/// The sending end.
pub struct Sender {
    encoder: Encoder,
    sealer: Option<Sealer>,
    socket: UdpSocket,
    /// By flow.
    to: Vec<SocketAddr>,
    at: Vec<SocketAddr>,
    repair_to: SocketAddr,
    longest: usize,
    description: String,
    arrivals: mpsc::Receiver<Arrival>,
    /// Dropping this set ends the readers.
    _readers: JoinSet<()>,
    packet: Vec<u8>,
    started: Instant,
    counts: Sending,
    /// Time without datagrams after which the flow counts as paused.
    pause: Duration,
    warned_long: bool,
    warned_unsent: bool,
    judged: bool,
}

impl Sender {
    /// Opens the sockets of all flows. Datagrams are received from now on, and sent
    /// while [`run`](Sender::run) is polled.
    ///
    /// # Errors
    /// The options contradict each other, or an address cannot be used.
    pub async fn open(options: &SenderOptions) -> Result<Self, OpenError> {
        if options.inputs.len() > MOST_FLOWS {
            return Err(OpenError::TooManyFlows {
                got: options.inputs.len(),
                most: MOST_FLOWS,
            });
        }
        let to = first(&options.to).await?;
        let repair_to = match &options.repair_to {
            Some(address) => Some(first(address).await?),
            None => None,
        };
        let interface = match &options.interface {
            Some(_) if !to.ip().is_multicast() => return Err(OpenError::NoGroup(to)),
            Some(interface) => interface.find()?,
            None if socket::has_no_interface(to) => return Err(OpenError::NoRoute(to.ip())),
            None => Found::ANY,
        };
        let leaving = Leaving {
            interface,
            ttl: options.ttl,
        };
        let sealer = options.group_key.as_ref().map(Sealer::new).transpose()?;
        let plan = Plan::new(&Wanted {
            flows: options.inputs.len(),
            to,
            repair_to,
            max_latency: options.max_latency,
            code_rate: options.code_rate,
            encoding_id: options.encoding_id,
            symbol_size: options.symbol_size,
            long_adus: options.long_adus,
            rate: options.rate,
            ttl: options.ttl,
            is_sealed: sealer.is_some(),
            source: socket::source_of(to, leaving),
        })?;
        let socket =
            socket::sender(to, leaving).map_err(|source| OpenError::Send { to, source })?;
        let (queue, arrivals) = mpsc::channel(WAITING);
        let mut readers = JoinSet::new();
        let sources = plan.ffci.sources.iter();
        let targets: Vec<SocketAddr> = sources.map(|flow| flow.endpoint.address).collect();
        let mut bound = Vec::new();
        for (flow, input) in options.inputs.iter().enumerate() {
            let failed = |source: io::Error| OpenError::Listen { at: *input, source };
            let socket = socket::receiver(*input, None, Found::ANY).map_err(failed)?;
            bound.push(socket.local_addr().map_err(failed)?);
            readers.spawn(read(socket, flow as u8, queue.clone()));
        }
        Ok(Sender {
            longest: plan.longest_adu(),
            repair_to: plan.ffci.repair.endpoint.address,
            description: plan.ffci.to_sdp(),
            encoder: Encoder::new(plan.config)?,
            sealer,
            socket,
            to: targets,
            at: bound,
            arrivals,
            _readers: readers,
            packet: Vec::new(),
            started: Instant::now(),
            counts: Sending::default(),
            pause: options.max_latency / 4,
            warned_long: false,
            warned_unsent: false,
            judged: false,
        })
    }

    /// The local address and the destination of each flow.
    pub fn flows(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        self.at.iter().copied().zip(self.to.iter().copied())
    }

    /// The destination of repair packets.
    pub fn repair_to(&self) -> SocketAddr {
        self.repair_to
    }

    /// Length of the longest datagram that can be protected, in bytes.
    pub fn longest_datagram(&self) -> usize {
        self.longest
    }

    /// The session description (SDP) that receivers need.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The size of repair packets, if Ethernet fragments them.
    pub fn fragments(&self) -> Option<Fragments> {
        let fits = match self.repair_to {
            SocketAddr::V4(_) => 1472,
            SocketAddr::V6(_) => 1452,
        };
        let head = REPAIR_ID + if self.sealer.is_some() { OVERHEAD } else { 0 };
        let packet = usize::from(self.encoder.config().fssi.symbol_size()) + head;
        (packet > fits).then_some(Fragments {
            packet,
            fits,
            symbol_size: fits - head,
        })
    }

    /// Sends the datagrams of the flows, and their repair packets, while it is polled. `on_counts`
    /// gets the counters after each step.
    pub async fn run(
        &mut self,
        on_counts: impl Fn(&Sending),
        on_event: impl Fn(SenderEvent),
    ) -> Infallible {
        let mut more_repair: Option<Instant> = None;
        let mut pause: Option<(Instant, u32)> = None;
        loop {
            let far_off = Instant::now() + Duration::from_secs(3600);
            let repairing = sleep_until(more_repair.unwrap_or(far_off).into());
            let pausing = sleep_until(pause.map_or(far_off, |(at, _)| at).into());
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => {
                    let now = self.time(arrival.at);
                    self.take(&arrival, now, &on_event).await;
                    if self.repair(now, &on_event).await {
                        more_repair.get_or_insert(arrival.at + GAP);
                    } else {
                        more_repair = None;
                    }
                    pause = Some((arrival.at + self.pause, AFTER_PAUSE));
                }
                () = repairing, if more_repair.is_some() => {
                    let at = Instant::now();
                    let more = self.repair(self.time(at), &on_event).await;
                    more_repair = more.then_some(at + GAP);
                }
                () = pausing, if pause.is_some() => {
                    let at = Instant::now();
                    let now = self.time(at);
                    let made = self.encoder.extra_repair(now, &mut self.packet).is_some();
                    if made {
                        self.transmit(Lane::Repair, self.repair_to, &on_event).await;
                    }
                    let left = pause.map_or(0, |(_, left)| left.saturating_sub(1));
                    pause = (made && left > 0).then_some((at + self.pause / 4, left));
                }
            }
            self.counts.stats = *self.encoder.stats();
            on_counts(&self.counts);
            self.check_cap(&on_event);
        }
    }

    /// Sends a source packet.
    async fn take(&mut self, arrival: &Arrival, now: Time, on_event: &impl Fn(SenderEvent)) {
        let Arrival { flow, data, .. } = arrival;
        self.counts.longest = self.counts.longest.max(data.len());
        match self.encoder.source(*flow, data, now, &mut self.packet) {
            Ok(_) => {
                let to = self.to[usize::from(*flow)];
                self.transmit(Lane::Source(*flow), to, on_event).await;
            }
            Err(error) => {
                self.counts.too_long += 1;
                if !std::mem::replace(&mut self.warned_long, true) {
                    on_event(SenderEvent::TooLong(error));
                }
            }
        }
    }

    /// Sends some of the due repair packets; returns whether there may be more.
    async fn repair(&mut self, now: Time, on_event: &impl Fn(SenderEvent)) -> bool {
        for _ in 0..BURST {
            if self.encoder.poll_repair(now, &mut self.packet).is_none() {
                return false;
            }
            self.transmit(Lane::Repair, self.repair_to, on_event).await;
        }
        true
    }

    /// Sends the packet that was made.
    async fn transmit(&mut self, lane: Lane, to: SocketAddr, on_event: &impl Fn(SenderEvent)) {
        let packet = match &mut self.sealer {
            Some(sealer) => sealer.seal(lane, &self.packet),
            None => &self.packet,
        };
        match self.socket.send_to(packet, to).await {
            Ok(bytes) => self.counts.wire.add(bytes),
            Err(error) => {
                self.counts.not_sent += 1;
                if !std::mem::replace(&mut self.warned_unsent, true) {
                    on_event(SenderEvent::NotSent { to, error });
                }
            }
        }
    }

    /// Warns once if symbols are so much larger than datagrams that repair packets are held back.
    fn check_cap(&mut self, on_event: &impl Fn(SenderEvent)) {
        let stats = &self.counts.stats;
        if self.judged || stats.adus < ENOUGH {
            return;
        }
        self.judged = true;
        let symbol = self.counts.longest + 3;
        let is_starved = stats.capped * 10 > stats.capped + stats.repair_symbols;
        if is_starved && symbol < usize::from(self.encoder.config().fssi.symbol_size()) {
            on_event(SenderEvent::Starved {
                held_back: stats.capped,
                all: stats.capped + stats.repair_symbols,
                symbol_size: symbol,
            });
        }
    }

    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.started)
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

async fn first(address: &Address) -> Result<SocketAddr, UnknownHost> {
    let mut found = address.resolve().await?;
    // `resolve` returns at least one.
    Ok(found.swap_remove(0))
}
