//! The good sessions: clients of every service, and newcomers.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Runtime;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, timeout};
use weftline::{Allowed, Endpoint, EndpointConfig, Fingerprint, Identity};
use weftline_apps::{Protocol, Stopper, connect, farewell, forward, relay, transfer};

use super::counts::{Counts, Tally};

/// Bytes of a datagram, of a message or of a file.
const SIZE: usize = 600;
/// The time between two datagrams, or messages, of one flow.
const PACE: Duration = Duration::from_millis(50);
/// The time between two files of one sender, each in a session of its own.
const FILES: Duration = Duration::from_secs(3);
/// How long all sessions may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a newcomer tries.
const NEWCOMER: Duration = Duration::from_secs(10);

/// What a good session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// A UDP flow of the relay, whose datagrams come back.
    Relay,
    /// A forwarded TCP connection, whose messages come back.
    Forward,
    /// Files, which the receiver verifies.
    Files,
}

pub(super) struct Good {
    identities: Vec<Identity>,
    newcomer: Identity,
    secure: bool,
    target: SocketAddr,
    tally: Arc<Tally>,
}

impl Good {
    /// Sessions that are not connected yet, and the services that answer them: UDP and TCP at one port.
    pub(super) async fn new(sessions: usize, secure: bool) -> Result<Self> {
        let streams = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let target = streams.local_addr()?;
        let datagrams = UdpSocket::bind(target).await?;
        tokio::spawn(async move {
            let mut buffer = vec![0; 1 << 16];
            loop {
                // An error is a late report that a socket is gone.
                if let Ok((len, from)) = datagrams.recv_from(&mut buffer).await {
                    let _ = datagrams.send_to(&buffer[..len], from).await;
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = streams.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.into_split();
                    drop(tokio::io::copy(&mut from, &mut to).await);
                });
            }
        });
        Ok(Good {
            identities: (0..sessions).map(|_| Identity::generate()).collect(),
            newcomer: Identity::generate(),
            secure,
            target,
            tally: Arc::default(),
        })
    }

    /// Where the server sends.
    pub(super) fn target(&self) -> SocketAddr {
        self.target
    }

    /// Those whom the server must let in; none if it asks for nobody.
    pub(super) fn fingerprints(&self) -> Vec<Fingerprint> {
        let all = self.identities.iter().chain([&self.newcomer]);
        let all = all.map(Identity::fingerprint);
        if self.secure {
            all.collect()
        } else {
            Vec::new()
        }
    }

    /// An identity that is let in.
    pub(super) fn identity(&self) -> &Identity {
        &self.newcomer
    }

    /// What the session with this number does. Plain UDP serves one protocol.
    fn r#use(&self, index: usize) -> Use {
        match index % 3 {
            1 if self.secure => Use::Forward,
            2 if self.secure => Use::Files,
            _ => Use::Relay,
        }
    }

    /// Connects every session, and waits until each has an answer.
    pub(super) async fn connect(&self, server: SocketAddr, peer: Fingerprint) -> Result<()> {
        let first = Arc::new(AtomicU64::new(0));
        for (index, identity) in self.identities.iter().enumerate() {
            let (tally, first) = (self.tally.clone(), first.clone());
            match self.r#use(index) {
                Use::Relay => {
                    let client = self.relay(server, peer, identity)?;
                    let at = client.addresses()?[0];
                    tokio::spawn(async move { client.run(&Stopper::new()).await });
                    tokio::spawn(carry_datagrams(at, tally, first));
                }
                Use::Forward => {
                    let via = server.to_string().parse()?;
                    let mut options = forward::ClientOptions::new(via, (peer, identity.clone()));
                    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                    let target = self.target.to_string().parse()?;
                    options.listen = vec![(any, forward::Entry::To(target))];
                    let client = forward::Client::open(options, |_| {}).await?;
                    let at = client.entries()[0].0;
                    tokio::spawn(async move { client.run(&Stopper::new()).await });
                    tokio::spawn(async move {
                        // While the server lets nobody in, connections wait, and then end.
                        loop {
                            let _ = carry_stream(at, &tally, &first).await;
                            tokio::time::sleep(PACE).await;
                        }
                    });
                }
                Use::Files => {
                    let identity = (peer, identity.clone());
                    // Not all at the same moment.
                    let begin = FILES * index as u32 / self.identities.len() as u32;
                    tokio::spawn(send_files(server, identity, begin, tally, first));
                }
            }
        }
        let started = Instant::now();
        while (first.load(Ordering::Relaxed) as usize) < self.identities.len() {
            if started.elapsed() > PATIENCE {
                bail!(
                    "{} of {} good sessions began",
                    first.load(Ordering::Relaxed),
                    self.identities.len()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    fn relay(
        &self,
        server: SocketAddr,
        peer: Fingerprint,
        identity: &Identity,
    ) -> Result<relay::Client> {
        let rule = format!("127.0.0.1:0={}", self.target).parse()?;
        let identity = self.secure.then(|| (peer, identity.clone()));
        let options = relay::ClientOptions::new(server.to_string().parse()?, identity, vec![rule]);
        Ok(relay::Client::open(options, |_| {})?)
    }

    /// Another good session with this server at another address, whose traffic is not counted.
    pub(super) async fn another(&self, at: SocketAddr, peer: Fingerprint) -> Result<JoinSet<()>> {
        let client = self.relay(at, peer, &self.newcomer)?;
        let at = client.addresses()?[0];
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(client.run(&Stopper::new()).await) });
        tasks.spawn(async move {
            drop(carry_datagrams(at, Arc::default(), Arc::default()).await);
        });
        Ok(tasks)
    }

    /// What has been counted so far.
    pub(super) fn counts(&self) -> Counts {
        self.tally.counts()
    }

    /// Seconds from each datagram, message or file to its answer, sorted, since the last call.
    pub(super) fn delays(&self) -> Vec<f64> {
        self.tally.delays()
    }

    /// Lets `rate` newcomers a second connect, until they are stopped.
    pub(super) fn newcomers(
        &self,
        runtime: &Runtime,
        server: SocketAddr,
        peer: Fingerprint,
        rate: u32,
    ) -> Newcomers {
        let identity = self.newcomer.clone();
        let (stop, mut stopped) = oneshot::channel();
        let task = runtime.spawn(async move {
            let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
            let mut trying = JoinSet::new();
            for index in 0.. {
                if stopped.try_recv() != Err(TryRecvError::Empty) {
                    break;
                }
                tick.tick().await;
                // Hosts of their own, in networks of their own.
                let from =
                    Ipv4Addr::new(127, 100 + (index / 200 % 100) as u8, (index % 200) as u8, 1);
                trying.spawn(newcomer(identity.clone(), from, server, peer));
            }
            trying.join_all().await
        });
        Newcomers { stop, task }
    }
}

/// Newcomers who are trying.
pub(super) struct Newcomers {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Vec<f64>>,
}

impl Newcomers {
    /// The seconds that each needed, sorted, once all have got in or given up.
    pub(super) fn stop(self, runtime: &Runtime) -> Vec<f64> {
        drop(self.stop);
        let mut all = runtime.block_on(self.task).unwrap_or_default();
        all.sort_by(f64::total_cmp);
        all
    }
}

/// Seconds until the server let it in; infinite if it did not.
async fn newcomer(
    identity: Identity,
    from: Ipv4Addr,
    server: SocketAddr,
    peer: Fingerprint,
) -> f64 {
    let started = Instant::now();
    let from = SocketAddr::from((from, 0));
    let mut config = EndpointConfig::default();
    Protocol::Relay.ask(&mut config);
    let Ok(endpoint) = Endpoint::bind(from, identity, Allowed::nobody(), config) else {
        return f64::INFINITY;
    };
    match timeout(NEWCOMER, endpoint.connect(server, peer)).await {
        Ok(Ok(connection)) => {
            let seconds = started.elapsed().as_secs_f64();
            connection.close(0, "");
            seconds
        }
        _ => f64::INFINITY,
    }
}

/// A datagram or a message, with the time in it.
fn stamped(epoch: Instant) -> [u8; SIZE] {
    let mut data = [7; SIZE];
    data[..8].copy_from_slice(&epoch.elapsed().as_secs_f64().to_be_bytes());
    data
}

/// How long ago it was made.
fn age(data: &[u8], epoch: Instant) -> Option<f64> {
    let stamp = data.first_chunk().copied().map(f64::from_be_bytes)?;
    Some(epoch.elapsed().as_secs_f64() - stamp)
}

async fn carry_datagrams(
    at: SocketAddr,
    tally: Arc<Tally>,
    first: Arc<AtomicU64>,
) -> std::io::Result<()> {
    let flow = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    flow.connect(at).await?;
    let (mut tick, epoch) = (tokio::time::interval(PACE), Instant::now());
    let (mut buffer, mut is_first) = ([0; 2 * SIZE], true);
    loop {
        tokio::select! {
            _ = tick.tick() => {
                if flow.send(&stamped(epoch)).await.is_ok() {
                    tally.sent();
                }
            }
            Ok(len) = flow.recv(&mut buffer) => {
                if let Some(delay) = age(&buffer[..len], epoch) {
                    tally.answered(delay);
                    first.fetch_add(u64::from(std::mem::take(&mut is_first)), Ordering::Relaxed);
                }
            }
        }
    }
}

/// As long as the connection is there.
async fn carry_stream(at: SocketAddr, tally: &Tally, first: &AtomicU64) -> std::io::Result<()> {
    let (mut from, mut to) = TcpStream::connect(at).await?.into_split();
    let epoch = Instant::now();
    let sending = async move {
        let mut tick = tokio::time::interval(PACE);
        loop {
            tick.tick().await;
            tally.sent();
            to.write_all(&stamped(epoch)).await?;
        }
    };
    let reading = async move {
        let (mut buffer, mut is_first) = ([0; SIZE], true);
        loop {
            from.read_exact(&mut buffer).await?;
            if let Some(delay) = age(&buffer, epoch) {
                tally.answered(delay);
                first.fetch_add(u64::from(std::mem::take(&mut is_first)), Ordering::Relaxed);
            }
        }
    };
    tokio::select! {
        ended = sending => ended,
        ended = reading => ended,
    }
}

async fn send_files(
    server: SocketAddr,
    identity: (Fingerprint, Identity),
    begin: Duration,
    tally: Arc<Tally>,
    first: Arc<AtomicU64>,
) {
    tokio::time::sleep(begin).await;
    let (mut tick, mut is_first) = (tokio::time::interval(FILES), true);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let who = identity.1.fingerprint();
    for number in 0_u32.. {
        tick.tick().await;
        tally.sent();
        let started = Instant::now();
        let name = format!("{who}-{number}");
        let verified = || tally.answered(started.elapsed().as_secs_f64());
        if let Ok(true) = send_file(server, &identity, &name, verified).await {
            first.fetch_add(u64::from(std::mem::take(&mut is_first)), Ordering::Relaxed);
        }
    }
}

/// Sends a file in a session of its own. Returns whether the receiver has verified it; `verified` is called
/// at that moment.
async fn send_file(
    server: SocketAddr,
    identity: &(Fingerprint, Identity),
    name: &str,
    verified: impl FnOnce(),
) -> Result<bool> {
    let (address, config) = (server.to_string().parse()?, EndpointConfig::default());
    let session = connect(&address, Some(identity.clone()), Protocol::Files, &config);
    let (endpoint, connection) = session.await?;
    let stream = connection.open_stream().await?;
    let listing = transfer::collect(&[PathBuf::from("-")], name)?;
    let sent = transfer::send(stream, &listing, &[7; SIZE][..], PATIENCE, &|_| {}).await;
    let is_complete = sent.is_ok_and(|summary| summary.is_complete());
    if is_complete {
        verified();
    }
    farewell(&endpoint, 0, "").await;
    Ok(is_complete)
}
