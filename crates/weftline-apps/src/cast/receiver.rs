//! The receiving end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use weftline_fecframe::{Receiver as Decoder, ReceiverConfig, Time};

use super::counts::Receiving;
use super::event::ReceiverEvent;
use super::interface::Found;
use super::options::{OpenError, ReceiverOptions};
use super::seal::{Lane, Opener, Refusal};
use super::socket;

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

/// A packet as received.
struct Caught {
    lane: Lane,
    from: IpAddr,
    at: Instant,
    data: Vec<u8>,
}

/// The receiving end.
pub struct Receiver {
    config: ReceiverConfig,
    decoder: Decoder,
    opener: Option<Opener>,
    source: Option<IpAddr>,
    packets: mpsc::Receiver<Caught>,
    readers: JoinSet<()>,
    /// By index in the description: identifier, socket and destination.
    outputs: Vec<(u8, UdpSocket, SocketAddr)>,
    at: Vec<SocketAddr>,
    started: Instant,
    /// Counters of earlier decoders, and of this end.
    past: Receiving,
}

impl Receiver {
    /// Opens the sockets, and joins the group if it is one. Packets are received from now on, and
    /// delivered while [`run`](Receiver::run) is polled.
    ///
    /// # Errors
    /// The options do not match the description, or an address cannot be used.
    pub fn open(options: &ReceiverOptions) -> Result<Self, OpenError> {
        let description = &options.description;
        let (sources, repair) = (&description.ffci.sources, &description.ffci.repair);
        if sources.len() != options.outputs.len() {
            return Err(OpenError::Outputs {
                flows: sources.len(),
                outputs: options.outputs.len(),
            });
        }
        if description.is_sealed && options.group_key.is_none() {
            return Err(OpenError::KeyNeeded);
        }
        let group = repair.endpoint.address;
        let interface = match &options.interface {
            Some(_) if !group.ip().is_multicast() => return Err(OpenError::NoGroup(group)),
            Some(interface) => interface.find()?,
            None => Found::ANY,
        };
        let mut config = description.config.clone();
        config.max_latency = options.max_latency.or(config.max_latency);
        config.order = options.order;
        let decoder = Decoder::new(config.clone())?;

        let (mut sockets, mut outputs) = (Vec::new(), Vec::new());
        let source = options.source.or(repair.endpoint.sender);
        let lanes = sources
            .iter()
            .map(|flow| (Lane::Source(flow.id), flow.endpoint));
        for (lane, endpoint) in lanes.chain([(Lane::Repair, repair.endpoint)]) {
            let at = endpoint.address;
            let socket = socket::receiver(at, source, interface);
            let socket = socket.map_err(|source| OpenError::Receive { at, source })?;
            sockets.push((lane, socket));
        }
        for (flow, &to) in sources.iter().zip(&options.outputs) {
            let socket = socket::outward(to).map_err(|source| OpenError::Send { to, source })?;
            outputs.push((flow.id, socket, to));
        }
        let (queue, packets) = mpsc::channel(WAITING);
        let mut readers = JoinSet::new();
        readers.spawn(read(sockets, queue));
        Ok(Receiver {
            config,
            decoder,
            opener: options.group_key.clone().map(Opener::new),
            source,
            packets,
            readers,
            outputs,
            at: sources.iter().map(|flow| flow.endpoint.address).collect(),
            started: Instant::now(),
            past: Receiving::default(),
        })
    }

    /// The local address and the destination of each flow.
    pub fn flows(&self) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        let outputs = self.outputs.iter().map(|(.., to)| *to);
        self.at.iter().copied().zip(outputs)
    }

    /// Stops receiving, and delivers the datagrams that are held back. Returns the final counters.
    pub async fn finish(mut self) -> Receiving {
        self.readers.shutdown().await;
        self.decoder.flush();
        self.hand_on().await;
        self.counts()
    }

    fn time(&self, at: Instant) -> Time {
        Time::ZERO + at.saturating_duration_since(self.started)
    }

    fn counts(&self) -> Receiving {
        self.past.with(self.decoder.stats())
    }

    /// Receives, recovers and delivers while it is polled. `on_counts` gets the counters after each
    /// step.
    pub async fn run(
        &mut self,
        on_counts: impl Fn(&Receiving),
        on_event: impl Fn(ReceiverEvent),
    ) -> Infallible {
        let mut silence = Some(Instant::now() + SILENCE);
        let mut warned_forged = false;
        loop {
            let far_off = Instant::now() + Duration::from_secs(3600);
            let due = self.decoder.poll_timeout();
            let started = self.started;
            let at = |due: Time| started + due.since(Time::ZERO);
            let waiting = sleep_until(due.map_or(far_off, at).into());
            let listening = sleep_until(silence.unwrap_or(far_off).into());
            tokio::select! {
                Some(mut caught) = self.packets.recv() => {
                    silence = None;
                    self.take(&mut caught).await;
                }
                () = waiting, if due.is_some() => {
                    let now = self.time(Instant::now());
                    self.decoder.handle_timeout(due.map_or(now, |due| due.max(now)));
                }
                () = listening, if silence.is_some() => {
                    silence = None;
                    on_event(ReceiverEvent::Silent { since: SILENCE });
                }
            }
            self.hand_on().await;
            let counts = self.counts();
            on_counts(&counts);
            if counts.forged >= ENOUGH_FORGED && counts.source_packets == 0 && !warned_forged {
                warned_forged = true;
                on_event(ReceiverEvent::WrongKey);
            }
        }
    }

    /// Handles a received packet.
    async fn take(&mut self, caught: &mut Caught) {
        if self.source.is_some_and(|source| source != caught.from) {
            self.past.foreign += 1;
            return;
        }
        let now = self.time(caught.at);
        let packet = match &mut self.opener {
            None => &caught.data[..],
            Some(opener) => match opener.open(caught.lane, &mut caught.data) {
                Ok(opened) if opened.is_new_run => {
                    self.decoder.flush();
                    self.hand_on().await;
                    self.past = self.past.with(self.decoder.stats());
                    self.past.restarts += 1;
                    self.decoder = Decoder::new(self.config.clone())
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
            Lane::Source(flow) => self.decoder.source_packet(flow, packet, now),
            Lane::Repair => self.decoder.repair_packet(packet, now),
        };
    }

    /// Delivers the datagrams that are ready.
    async fn hand_on(&mut self) {
        let mut left = BURST;
        while let Some(adu) = self.decoder.poll_adu() {
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
