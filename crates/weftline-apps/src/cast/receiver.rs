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
use weftline_fecframe::{EncodingId, Receiver as Decoder, ReceiverConfig, Time};

use super::counts::Receiving;
use super::event::ReceiverEvent;
use super::interface::Found;
use super::options::{LONGEST_LINEAR_SYSTEM, OpenError, ReceiverOptions};
use super::seal::{Lane, Opener, Refusal};
use super::socket;

/// Packets that may wait here; the system's buffers hold more.
const WAITING: usize = 512;
/// Time without packets at the start after which a warning is printed.
const SILENCE: Duration = Duration::from_secs(5);
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
            None if socket::has_no_interface(group) => return Err(OpenError::NoRoute(group.ip())),
            None => Found::ANY,
        };
        let mut config = description.config.clone();
        config.max_latency = options.max_latency.or(config.max_latency);
        config.order = options.order;
        choose_system(&mut config, options.linear_system)?;
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
        let (mut warned_forged, mut warned_short) = (false, false);
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
            if counts.forged > 0 && counts.source_packets == 0 && !warned_forged {
                warned_forged = true;
                on_event(ReceiverEvent::WrongKey);
            }
            if !warned_short && let Some((given, used)) = self.short_system() {
                warned_short = true;
                on_event(ReceiverEvent::ShortLinearSystem { given, used });
            }
        }
    }

    /// The linear system as given and as used, once the sender's window is known to be too long for
    /// it.
    fn short_system(&self) -> Option<(u32, u32)> {
        let given = self.config.linear_system?;
        let Decoder::Window(decoder) = &self.decoder else {
            return None;
        };
        // Repair packets tell the length of the sender's window, which grows at the start.
        let is_known = decoder.stats().useful_repair + decoder.stats().redundant_repair > 0;
        let used = decoder.linear_system();
        (is_known && used > given).then_some((given, used))
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

/// Sets the linear system that the receiver chose.
fn choose_system(config: &mut ReceiverConfig, chosen: Option<u32>) -> Result<(), OpenError> {
    let Some(symbols) = chosen else {
        return Ok(());
    };
    if config.encoding_id == EncodingId::ReedSolomon {
        return Err(OpenError::NoLinearSystem);
    }
    if !(1..=LONGEST_LINEAR_SYSTEM).contains(&symbols) {
        return Err(OpenError::LinearSystem(symbols));
    }
    config.linear_system = Some(symbols);
    let limits = &mut config.limits;
    limits.max_linear_system = limits.max_linear_system.max(symbols);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_fecframe::Fssi;

    fn rlc() -> ReceiverConfig {
        let fssi = Fssi::Rlc {
            symbol_size: 100,
            window_size_ratio: 191,
        };
        ReceiverConfig::new(EncodingId::RlcGf256, fssi)
    }

    #[test]
    fn each_receiver_chooses_its_linear_system_within_bounds() {
        let chosen = |symbols| {
            let mut config = rlc();
            choose_system(&mut config, symbols)?;
            let most = config.limits.max_linear_system;
            Decoder::new(config.clone())?;
            Ok::<_, OpenError>((config.linear_system, most))
        };
        let most = rlc().limits.max_linear_system;
        assert!(matches!(chosen(None), Ok((None, same)) if same == most));
        assert!(matches!(chosen(Some(400)), Ok((Some(400), same)) if same == most));
        // A longer one raises the limit on memory with it.
        assert!(matches!(
            chosen(Some(LONGEST_LINEAR_SYSTEM)),
            Ok((_, LONGEST_LINEAR_SYSTEM))
        ));
        for bad in [0, LONGEST_LINEAR_SYSTEM + 1] {
            assert!(
                matches!(chosen(Some(bad)), Err(OpenError::LinearSystem(symbols)) if symbols == bad)
            );
        }
    }

    #[test]
    fn blocks_have_no_linear_system() {
        let fssi = Fssi::ReedSolomon {
            symbol_size: 100,
            strict: false,
            m: 8,
        };
        let mut config = ReceiverConfig::new(EncodingId::ReedSolomon, fssi);
        assert!(matches!(
            choose_system(&mut config, Some(400)),
            Err(OpenError::NoLinearSystem)
        ));
    }
}
