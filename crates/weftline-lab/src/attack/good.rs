//! The good sessions: client ends of the relay with a flow each, and newcomers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::net::UdpSocket;
use tokio::runtime::Runtime;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use weftline::{Allowed, Endpoint, EndpointConfig, Fingerprint, Identity};
use weftline_apps::relay::{Client, ClientOptions};
use weftline_apps::{Protocol, Stopper};

use super::{Counts, Shared, read};

/// Bytes of a datagram, and the time between two of one flow.
const SIZE: usize = 600;
const PACE: Duration = Duration::from_millis(50);
/// How long all sessions may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a newcomer tries.
const NEWCOMER: Duration = Duration::from_secs(10);

pub(super) struct Good {
    identities: Vec<Identity>,
    newcomer: Identity,
    secure: bool,
    target: SocketAddr,
    sent: Shared,
    answered: Shared,
}

impl Good {
    /// Sessions that are not connected yet, and the service that answers them.
    pub(super) async fn new(sessions: usize, secure: bool) -> Result<Self> {
        let echo = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let target = echo.local_addr()?;
        tokio::spawn(async move {
            let mut buffer = vec![0; 1 << 16];
            loop {
                // An error is a late report that a socket is gone.
                if let Ok((len, from)) = echo.recv_from(&mut buffer).await {
                    let _ = echo.send_to(&buffer[..len], from).await;
                }
            }
        });
        Ok(Good {
            identities: (0..sessions).map(|_| Identity::generate()).collect(),
            newcomer: Identity::generate(),
            secure,
            target,
            sent: Shared::default(),
            answered: Shared::default(),
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

    /// Connects every session, and waits until each has an answer.
    pub(super) async fn connect(&self, server: SocketAddr, peer: Fingerprint) -> Result<()> {
        let first = Arc::new(AtomicU64::new(0));
        for identity in &self.identities {
            let client = self.client(server, peer, identity)?;
            let at = client.addresses()?[0];
            tokio::spawn(async move { client.run(&Stopper::new()).await });
            let flow = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            flow.connect(at).await?;
            let (sent, answered, first) = (self.sent.clone(), self.answered.clone(), first.clone());
            tokio::spawn(carry(flow, sent, answered, first));
        }
        let started = Instant::now();
        while (read(&first) as usize) < self.identities.len() {
            if started.elapsed() > PATIENCE {
                bail!(
                    "{} of {} good sessions began",
                    read(&first),
                    self.identities.len()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    fn client(&self, server: SocketAddr, peer: Fingerprint, identity: &Identity) -> Result<Client> {
        let rule = format!("127.0.0.1:0={}", self.target).parse()?;
        let identity = self.secure.then(|| (peer, identity.clone()));
        let options = ClientOptions::new(server.to_string().parse()?, identity, vec![rule]);
        Ok(Client::open(options, |_| {})?)
    }

    /// Another good session with this server at another address, whose traffic is not counted.
    pub(super) async fn another(&self, at: SocketAddr, peer: Fingerprint) -> Result<JoinSet<()>> {
        let client = self.client(at, peer, &self.newcomer)?;
        let flow = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        flow.connect(client.addresses()?[0]).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(client.run(&Stopper::new()).await) });
        tasks.spawn(carry(
            flow,
            Shared::default(),
            Shared::default(),
            Arc::default(),
        ));
        Ok(tasks)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: read(&self.sent),
            answered: read(&self.answered),
        }
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

async fn carry(flow: UdpSocket, sent: Shared, answered: Shared, first: Arc<AtomicU64>) {
    let mut tick = tokio::time::interval(PACE);
    let (data, mut buffer, mut is_first) = ([7; SIZE], [0; 2 * SIZE], true);
    loop {
        tokio::select! {
            _ = tick.tick() => {
                if flow.send(&data).await.is_ok() {
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(_) = flow.recv(&mut buffer) => {
                answered.fetch_add(1, Ordering::Relaxed);
                if std::mem::take(&mut is_first) {
                    first.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}
