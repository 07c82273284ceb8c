//! Both ends of tunnels in this process: their devices are channels, and their path may be impaired.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use weftline::{Allowed, Endpoint, EndpointConfig, Fingerprint, Identity};

use super::packets::Packet;
use crate::error::SessionError;
use crate::host::{self, Hosted};
use crate::impaired::{Path, path};
use crate::protocol::Protocol;
use crate::quota::{Budget, Limits};
use crate::soon::{soon, until};
use crate::stopper::Stopper;
use crate::tun::{Client, ClientOptions, Device, Lease, Server, ServerOptions, Snapshot, System};

/// A device of channels.
pub(super) struct Channels {
    sent: Mutex<mpsc::UnboundedReceiver<Vec<u8>>>,
    received: mpsc::UnboundedSender<Vec<u8>>,
}

/// The system behind a device.
pub(super) struct Host {
    sends: mpsc::UnboundedSender<Vec<u8>>,
    receives: mpsc::UnboundedReceiver<Vec<u8>>,
}

fn device() -> (Channels, Host) {
    let ((sends, sent), (received, receives)) =
        (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    let device = Channels {
        sent: Mutex::new(sent),
        received,
    };
    (device, Host { sends, receives })
}

fn fill(buffer: &mut [u8], packet: &[u8]) -> usize {
    buffer[..packet.len()].copy_from_slice(packet);
    packet.len()
}

impl Device for Channels {
    async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let packet = self.sent.lock().await.recv().await;
        let packet = packet.ok_or(ErrorKind::BrokenPipe)?;
        Ok(fill(buffer, &packet))
    }

    fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut sent = self.sent.try_lock().map_err(|_| ErrorKind::WouldBlock)?;
        let packet = sent.try_recv().map_err(|_| ErrorKind::WouldBlock)?;
        Ok(fill(buffer, &packet))
    }

    fn try_send(&self, packet: &[u8]) -> io::Result<()> {
        let sent = self.received.send(packet.to_vec());
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

impl Host {
    pub(super) fn send(&self, packet: &Packet) {
        self.sends.send(packet.bytes()).unwrap();
    }

    pub(super) async fn receive(&mut self) -> Vec<u8> {
        soon(self.receives.recv()).await.unwrap()
    }

    /// Whether the device is closed.
    pub(super) fn is_closed(&self) -> bool {
        self.sends.is_closed()
    }

    /// The packets that come until none has come for this long.
    pub(super) async fn drain(&mut self, quiet: Duration) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Ok(Some(packet)) = tokio::time::timeout(quiet, self.receives.recv()).await {
            all.push(packet);
        }
        all
    }
}

/// Opens devices of channels, and tells the test.
struct Channel(mpsc::UnboundedSender<(Lease, Host)>);

impl System for Channel {
    type Device = Channels;

    async fn open(&self, lease: &Lease) -> io::Result<Channels> {
        let (device, host) = device();
        self.0.send((lease.clone(), host)).unwrap();
        Ok(device)
    }
}

/// A server; it ends with this.
pub(super) struct World {
    pub(super) server: Arc<Server>,
    pub(super) host: Host,
    pub(super) at: SocketAddr,
    pub(super) fingerprint: Fingerprint,
    serving: JoinHandle<()>,
    path: Option<Path>,
}

impl World {
    /// A server of two pools, behind `link`, the same in both directions, or over bare loopback if
    /// `link` is empty.
    pub(super) fn new(link: &str) -> World {
        let pools = ["10.77.0.0/24", "fd77::/64"];
        let pools = pools.map(|pool| pool.parse().unwrap()).to_vec();
        World::with(link, ServerOptions::new(pools))
    }

    pub(super) fn with(link: &str, options: ServerOptions) -> World {
        let identity = Identity::generate();
        let fingerprint = identity.fingerprint();
        let mut config = EndpointConfig::default();
        Protocol::offer(&mut config);
        let endpoint = Endpoint::bind(any(), identity, Allowed::anyone(), config).unwrap();
        let at = endpoint.local_addr().unwrap();
        let path = path(link, at);
        let server = Server::new(options, |_| {}).unwrap();
        let (device, host) = device();
        let services = [Hosted::new(server.on(device))];
        let (port, budget) = (endpoint.into(), Budget::new(Limits::default()));
        let serving = tokio::spawn(async move {
            let _ = host::host(&port, &services, &budget, &Stopper::new()).await;
        });
        World {
            server,
            host,
            at: path.as_ref().map_or(at, Path::address),
            fingerprint,
            serving,
            path,
        }
    }

    /// A client with a device of this name, once it is connected.
    pub(super) async fn client(&self, identity: &Identity, name: &str) -> Near {
        self.client_with(identity, name, |_| {}).await
    }

    /// As [`client`](Self::client), with other options.
    pub(super) async fn client_with(
        &self,
        identity: &Identity,
        name: &str,
        edit: impl FnOnce(&mut ClientOptions),
    ) -> Near {
        let server = self.at.to_string().parse().unwrap();
        let peer = Some((self.fingerprint, identity.clone()));
        let mut options = ClientOptions::new(server, peer, name.to_owned());
        edit(&mut options);
        let (opened, mut opens) = mpsc::unbounded_channel();
        let client = Arc::new(Client::new(options, Channel(opened), |_| {}));
        let (running, stopper) = (client.clone(), Stopper::new());
        let asked = stopper.clone();
        let running = tokio::spawn(async move { running.run(&asked).await });
        let (lease, host) = soon(opens.recv()).await.unwrap();
        let looked = client.clone();
        until(move || looked.snapshot().session.is_some()).await;
        Near {
            look: Box::new(move || client.snapshot()),
            lease,
            host,
            stopper,
            opens,
            running,
        }
    }

    pub(super) fn there(&self) -> Snapshot {
        self.server.snapshot()
    }

    pub(super) fn has_path(&self) -> bool {
        self.path.is_some()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A client; it ends with this.
pub(super) struct Near {
    look: Box<dyn Fn() -> Snapshot + Send + Sync>,
    pub(super) lease: Lease,
    pub(super) host: Host,
    pub(super) stopper: Stopper,
    /// Devices that were opened later.
    pub(super) opens: mpsc::UnboundedReceiver<(Lease, Host)>,
    pub(super) running: JoinHandle<Result<(), SessionError>>,
}

impl Near {
    pub(super) fn here(&self) -> Snapshot {
        (self.look)()
    }

    /// Its own IPv4 address.
    pub(super) fn address(&self) -> IpAddr {
        let mut all = self.lease.addresses.iter().map(|own| own.addr());
        all.find(IpAddr::is_ipv4).unwrap()
    }

    /// A packet from its own address to the server's.
    pub(super) fn packet(&self, protocol: u8, number: u32) -> Packet {
        let mut packet = Packet::new(protocol, (1000, 2000), number);
        packet.from = self.address();
        packet
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        self.running.abort();
    }
}

pub(super) fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}
