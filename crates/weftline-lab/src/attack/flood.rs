//! What strangers send.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::ValueEnum;
use quinn_udp::{Transmit, UdpSocketState};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use weftline::{Allowed, Config, Endpoint, EndpointConfig, Fingerprint, InsecureEndpoint};
use weftline_apps::Protocol;

use super::good::Good;
use super::initial::{Flight, ID, Retry};
use super::source;

/// A kind of flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Random bytes, of random lengths.
    Garbage,
    /// A client's first packets, from addresses that cannot answer: nothing is read from them.
    Initials,
    /// Handshakes that prove their address, and then stop.
    Handshakes,
    /// Packets of a good session, again and again, from other addresses.
    Replays,
    /// First datagrams of sessions over plain UDP; the server serves plain UDP.
    Hellos,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Garbage => "garbage",
            Kind::Initials => "initials",
            Kind::Handshakes => "handshakes",
            Kind::Replays => "replays",
            Kind::Hellos => "hellos",
        }
    }
}

/// How long a real client is listened to.
const LISTEN: Duration = Duration::from_millis(150);
/// Packets of a good session that are kept.
const KEPT: usize = 500;
/// Beginnings of handshakes that are made before the flood, which then costs strangers little.
const BEGINNINGS: usize = 5000;
/// Strangers give way to good sessions and newcomers, with which they share processors: what these lose,
/// they lose at the server.
const NICE: i32 = 10;

/// A flood that has not begun.
pub(super) struct Flood {
    kind: Kind,
    sockets: Vec<Source>,
    flight: Option<Flight>,
    /// Packets that are sent as they are, but for the first bytes of a HELLO.
    packets: Vec<Vec<u8>>,
    /// First packets of handshakes with different ids.
    beginnings: Vec<Vec<Vec<u8>>>,
    draws: Xoshiro256PlusPlus,
}

impl Flood {
    /// Takes what it needs from real clients.
    pub(super) async fn prepare(
        kind: Kind,
        server: SocketAddr,
        peer: Fingerprint,
        sources: usize,
        good: &Good,
    ) -> Result<Self> {
        let socket = |index| {
            let socket = UdpSocket::bind(source(index))?;
            socket.connect(server)?;
            let state = UdpSocketState::new((&socket).into())?;
            Ok(Source {
                socket,
                server,
                state,
            })
        };
        let sockets = (0..sources)
            .map(socket)
            .collect::<std::io::Result<Vec<_>>>()?;
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut flight, mut packets, mut beginnings) = (None, Vec::new(), Vec::new());
        match kind {
            Kind::Garbage => {}
            Kind::Initials | Kind::Handshakes => {
                let one = Flight::of(&overheard(good, true).await?)?;
                for _ in 0..BEGINNINGS {
                    let mut id = [0; ID];
                    draws.fill_bytes(&mut id);
                    beginnings.push(one.datagrams(&id, &[])?);
                }
                flight = Some(one);
            }
            Kind::Hellos => packets = overheard(good, false).await?,
            Kind::Replays => packets = recorded(good, server, peer).await?,
        }
        Ok(Flood {
            kind,
            sockets,
            flight,
            packets,
            beginnings,
            draws,
        })
    }

    /// Sends `rate` packets, or begins `rate` handshakes, a second until the flood is stopped.
    pub(super) fn start(mut self, rate: u32) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(Done::default());
        let (stopped, count) = (stop.clone(), done.clone());
        let thread = std::thread::spawn(move || {
            // Of this thread alone. Without the right to it they are as important as the others.
            let _ = rustix::process::setpriority_process(None, NICE);
            let started = Instant::now();
            let mut next = 0;
            while !stopped.load(Ordering::Relaxed) {
                let due = (started.elapsed().as_secs_f64() * f64::from(rate)) as u64;
                while next < due && !stopped.load(Ordering::Relaxed) {
                    let _ = self.send(next as usize % self.sockets.len(), &count);
                    next += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Running { stop, done, thread }
    }

    /// Sends the next of one source, and counts it.
    fn send(&mut self, from: usize, done: &Done) -> Result<()> {
        let socket = &self.sockets[from];
        match self.kind {
            Kind::Garbage => {
                let mut bytes = vec![0; 20 + self.draws.next_u64() as usize % 1200];
                self.draws.fill_bytes(&mut bytes);
                done.sent(socket.send(&bytes)?);
            }
            Kind::Hellos | Kind::Replays => {
                let mut bytes =
                    self.packets[self.draws.next_u64() as usize % self.packets.len()].clone();
                if self.kind == Kind::Hellos {
                    self.draws.fill_bytes(&mut bytes[..8]);
                }
                done.sent(socket.send(&bytes)?);
            }
            Kind::Initials | Kind::Handshakes => {
                let Some(flight) = &self.flight else {
                    bail!("no handshake was recorded");
                };
                let mut buffer = [0; 1500];
                while self.kind == Kind::Handshakes
                    && let Ok(len) = socket.socket.recv(&mut buffer)
                {
                    if let Some(retry) = Retry::read(&buffer[..len])
                        && socket.send_all(&flight.after(&retry)?)?
                    {
                        done.proved.fetch_add(1, Ordering::Relaxed);
                    }
                }
                let at = self.draws.next_u64() as usize % self.beginnings.len();
                done.sent(socket.send_all(&self.beginnings[at])?);
            }
        }
        Ok(())
    }
}

/// What a flood has sent.
#[derive(Default)]
pub(super) struct Done {
    sent: AtomicU64,
    proved: AtomicU64,
}

impl Done {
    fn sent(&self, sent: bool) {
        self.sent.fetch_add(sent.into(), Ordering::Relaxed);
    }
}

/// A flood that is on.
pub(super) struct Running {
    stop: Arc<AtomicBool>,
    done: Arc<Done>,
    thread: JoinHandle<()>,
}

impl Running {
    /// Stops it; returns how many packets it sent, or handshakes it began, and how many of these proved
    /// their address.
    pub(super) fn stop(self) -> [u64; 2] {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
        [&self.done.sent, &self.done.proved].map(|count| count.load(Ordering::Relaxed))
    }
}

/// An address of strangers.
struct Source {
    socket: UdpSocket,
    server: SocketAddr,
    state: UdpSocketState,
}

impl Source {
    /// False: the queue was full.
    fn send(&self, bytes: &[u8]) -> Result<bool> {
        self.send_batch(bytes, None)
    }

    /// Sends these in one system call if all have one length: strangers are as fast as they can be.
    fn send_all(&self, datagrams: &[Vec<u8>]) -> Result<bool> {
        let length = datagrams.first().map_or(0, Vec::len);
        if datagrams.len() <= self.state.max_gso_segments()
            && datagrams.iter().all(|datagram| datagram.len() == length)
        {
            return self.send_batch(&datagrams.concat(), Some(length));
        }
        let mut all = true;
        for datagram in datagrams {
            all &= self.send(datagram)?;
        }
        Ok(all)
    }

    fn send_batch(&self, contents: &[u8], segment_size: Option<usize>) -> Result<bool> {
        let transmit = Transmit {
            destination: self.server,
            ecn: None,
            contents,
            segment_size,
            src_ip: None,
        };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Ok(()) => Ok(true),
            // A full queue, or a late report.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What a real client sends first, to an address that does not answer.
async fn overheard(good: &Good, secure: bool) -> Result<Vec<Vec<u8>>> {
    let ear = tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let at = ear.local_addr()?;
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let connecting = match secure {
        true => {
            let identity = good.identity().clone();
            let peer = identity.fingerprint();
            let mut config = EndpointConfig::default();
            Protocol::Relay.ask(&mut config);
            let endpoint = Endpoint::bind(any, identity, Allowed::nobody(), config)?;
            tokio::spawn(async move { endpoint.connect(at, peer).await.map(drop) })
        }
        false => {
            let endpoint = InsecureEndpoint::bind(any, Config::default())?;
            tokio::spawn(async move { endpoint.connect(at).await.map(drop) })
        }
    };
    let mut packets = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Ok(received) = tokio::time::timeout(LISTEN, ear.recv(&mut buffer)).await {
        packets.push(buffer[..received?].to_vec());
    }
    connecting.abort();
    if packets.is_empty() {
        bail!("a client that connects sent nothing");
    }
    Ok(packets)
}

/// What a real session sends to the server.
async fn recorded(good: &Good, server: SocketAddr, peer: Fingerprint) -> Result<Vec<Vec<u8>>> {
    let (near, far) = (
        tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?,
        tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?,
    );
    far.connect(server).await?;
    let session = good.another(near.local_addr()?, peer).await?;
    let (mut client, mut packets) = (None, Vec::new());
    let (mut there, mut back) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    while packets.len() < KEPT {
        let received = tokio::time::timeout(Duration::from_secs(10), async {
            tokio::select! {
                received = near.recv_from(&mut there) => received.map(|from| (Some(from), 0)),
                received = far.recv(&mut back) => received.map(|len| (None, len)),
            }
        });
        let Ok(received) = received.await else {
            bail!("a good session sent only {} packets", packets.len());
        };
        match (received?, client) {
            ((Some((len, from)), _), _) => {
                client = Some(from);
                far.send(&there[..len]).await?;
                packets.push(there[..len].to_vec());
            }
            ((None, len), Some(client)) => drop(near.send_to(&back[..len], client).await),
            _ => {}
        }
    }
    drop(session);
    Ok(packets)
}
