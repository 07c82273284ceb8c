//! Both ends of a relay in this process, with an impaired path between them.

use std::net::SocketAddr;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use weftline::{Allowed, Endpoint, EndpointConfig, Identity};

use crate::allow::Allow;
use crate::error::SessionError;
use crate::host::{Hosted, host};
use crate::impaired::{Path, path};
use crate::protocol::Protocol;
use crate::quota::{Budget, Limits};
use crate::relay::near::Near;
use crate::relay::{Client, ClientOptions, Rule, Server, ServerOptions, Snapshot};
use crate::soon::{soon, until};
use crate::stopper::Stopper;

/// A relay; it ends when this is dropped.
pub(super) struct World {
    pub(super) near: Arc<Near>,
    pub(super) server: Arc<Server>,
    pub(super) stopper: Stopper,
    pub(super) client: JoinHandle<Result<(), SessionError>>,
    serving: JoinHandle<()>,
    _path: Option<Path>,
    _home: TempDir,
}

/// No further options for the client end.
pub(super) fn nothing_more(_: &mut ClientOptions) {}

impl World {
    /// A relay over `link`, the same in both directions, or over bare loopback if `link` is empty.
    /// The server allows one target; `connect` sets further options of the client.
    pub(super) async fn new(
        link: &str,
        allow: &str,
        rules: &[&str],
        connect: impl FnOnce(&mut ClientOptions),
    ) -> World {
        let mut world = World::started(link, allow, rules, connect).await;
        world.connected().await;
        world
    }

    /// As [`World::new`], but without waiting for a session.
    pub(super) async fn started(
        link: &str,
        allow: &str,
        rules: &[&str],
        connect: impl FnOnce(&mut ClientOptions),
    ) -> World {
        let home = tempfile::tempdir().unwrap();
        let identity = |file: &FilePath| Identity::load_or_create(file).unwrap();
        let ours = identity(&home.path().join("a.pem"));
        let theirs = identity(&home.path().join("b.pem"));
        let (client, server) = (ours.fingerprint(), theirs.fingerprint());

        let any = "127.0.0.1:0".parse().unwrap();
        let allowed = Allowed::only([client]);
        let endpoint = Endpoint::bind(any, theirs, allowed, offering()).unwrap();
        let at = endpoint.local_addr().unwrap();
        let path = path(link, at);
        let options = ServerOptions::new(vec![allow.parse::<Allow>().unwrap()]);
        let server_end = Server::new(options, |_| {});
        let serving = {
            let services = [Hosted::new(server_end.clone())];
            let budget = Budget::new(Limits::default());
            let port = endpoint.into();
            tokio::spawn(async move {
                let _ = host(&port, &services, &budget, &Stopper::new()).await;
            })
        };

        let address = path.as_ref().map_or(at, Path::address).to_string();
        let rules = rules.iter().map(|rule| rule.parse().unwrap());
        let rules: Vec<Rule> = rules.collect();
        let identity = Some((server, ours));
        let mut options = ClientOptions::new(address.parse().unwrap(), identity, rules);
        options.endpoint = config();
        connect(&mut options);
        let client = Client::open(options, |_| {}).unwrap();
        let (near, stopper) = (client.near.clone(), Stopper::new());
        let client = {
            let stopper = stopper.clone();
            tokio::spawn(async move { client.run(&stopper).await })
        };
        World {
            near,
            server: server_end,
            stopper,
            client,
            serving,
            _path: path,
            _home: home,
        }
    }

    /// Waits for a session.
    pub(super) async fn connected(&mut self) {
        let near = self.near.clone();
        until(|| near.snapshot().session.is_some()).await;
    }

    /// A local program that talks to the first rule.
    pub(super) async fn program(&self) -> UdpSocket {
        self.program_of(0).await
    }

    /// A local program that talks to this rule.
    pub(super) async fn program_of(&self, rule: usize) -> UdpSocket {
        let program = target().await;
        program
            .connect(self.near.addresses().unwrap()[rule])
            .await
            .unwrap();
        program
    }

    pub(super) fn here(&self) -> Snapshot {
        self.near.snapshot()
    }

    pub(super) fn there(&self) -> Snapshot {
        self.server.snapshot()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.client.abort();
        self.serving.abort();
    }
}

/// As the program has it.
fn config() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config.session.idle_timeout = Duration::from_secs(30);
    config.session.keep_alive = Some(Duration::from_millis(7500));
    config
}

/// That of the server.
fn offering() -> EndpointConfig {
    let mut config = config();
    Protocol::offer(&mut config);
    config
}

/// A socket for a program or a target.
pub(super) async fn target() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

/// The datagrams that arrive until nothing has arrived for this long.
pub(super) async fn drain(socket: &UdpSocket, quiet: Duration) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Ok(received) = tokio::time::timeout(quiet, socket.recv(&mut buffer)).await {
        all.push(buffer[..received.unwrap()].to_vec());
    }
    all
}

/// The next datagram and its source address.
pub(super) async fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 1 << 16];
    let (len, from) = soon(socket.recv_from(&mut buffer)).await.unwrap();
    buffer.truncate(len);
    (buffer, from)
}
