//! Both ends of `forward` in this process, with an impaired path between them.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use weftline::{Allowed, ConnectError, Connection, Endpoint, EndpointConfig, Identity};

use crate::allow::Allow;
use crate::error::SessionError;
use crate::forward::near::Near;
use crate::forward::{Bounds, Client, ClientOptions, Entry, Left, Server, ServerOptions};
use crate::host::{Hosted, host};
use crate::impaired::{Path, path};
use crate::protocol::Protocol;
use crate::quota::{Budget, Limits};
use crate::soon::{soon, until};
use crate::stopper::Stopper;

/// A task that runs until it is asked to stop.
pub(super) struct Stoppable {
    pub(super) task: JoinHandle<Result<(), SessionError>>,
    stopper: Stopper,
}

impl Stoppable {
    pub(super) fn stop(&mut self) {
        self.stopper.stop();
    }
}

/// Options of the server.
#[derive(Clone, Default)]
pub(super) struct Serve {
    pub(super) options: ServerOptions,
    limits: Limits,
}

impl Serve {
    /// Lets clients reach these targets.
    pub(super) fn allow(targets: &[&str]) -> Self {
        let mut serve = Serve::default();
        let allow = targets.iter().map(|target| target.parse().unwrap());
        serve.options.allow = Vec::from_iter(allow).into();
        serve
    }

    /// Lets clients have it listen there.
    pub(super) fn allow_listen(at: &str) -> Self {
        let mut serve = Serve::default();
        serve.options.allow_listen = vec![at.parse::<Allow>().unwrap()].into();
        serve
    }

    /// Where clients may take this much memory, in megabytes: each by itself, and all together. A
    /// session takes one at least.
    pub(super) fn with_memory(mut self, each: f64, all: f64) -> Self {
        let [each, all] = [each, all].map(|megabytes| (megabytes * 1e6) as u64);
        (self.limits.client_memory, self.limits.memory) = (each, all);
        self
    }

    /// Whose connections are left to the next start.
    pub(super) fn leaves_connections(mut self) -> Self {
        self.options.leaves_connections = true;
        self
    }

    /// With these bounds.
    pub(super) fn bounded(mut self, bounds: Bounds) -> Self {
        self.options.bounds = bounds;
        self
    }
}

/// Bounds as usual but for how long connections may go on.
pub(super) fn draining(drain: Duration) -> Bounds {
    Bounds::new(256, 1_000_000, drain).unwrap()
}

/// An entry at any port that leads to this target.
pub(super) fn to(target: &str) -> (SocketAddr, Entry) {
    (any(), Entry::To(target.parse().unwrap()))
}

/// Any port of this host.
pub(super) fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A running `forward`; it ends when this is dropped.
pub(super) struct World {
    pub(super) near: Arc<Near>,
    pub(super) server: Arc<Server>,
    pub(super) budget: Arc<Budget>,
    pub(super) near_end: Stoppable,
    pub(super) far_end: Stoppable,
    at: SocketAddr,
    serve: Serve,
    /// The client's and the server's.
    identities: [Identity; 2],
    _path: Option<Path>,
    _home: TempDir,
}

impl World {
    /// A `forward` over `link`, the same in both directions, or over bare loopback if `link` is
    /// empty, with these options.
    pub(super) async fn new(
        link: &str,
        serve: Serve,
        connect: impl FnOnce(&mut ClientOptions),
    ) -> World {
        let world = World::started(link, serve, connect).await;
        world.connected().await;
        world
    }

    /// As [`World::new`], but without waiting for a session.
    pub(super) async fn started(
        link: &str,
        serve: Serve,
        connect: impl FnOnce(&mut ClientOptions),
    ) -> World {
        let home = tempfile::tempdir().unwrap();
        let files = ["a.pem", "b.pem"].map(|name| home.path().join(name));
        let identities = files.map(|file| Identity::load_or_create(&file).unwrap());
        let (server, budget, far_end, at) =
            start_server(&identities, any(), &serve, Vec::new()).await;
        let path = path(link, at);
        let via = path.as_ref().map_or(at, Path::address).to_string();
        let [ours, theirs] = &identities;
        let identity = (theirs.fingerprint(), ours.clone());
        let mut options = ClientOptions::new(via.parse().unwrap(), identity);
        options.endpoint = config();
        connect(&mut options);
        let client = Client::open(options, |_| {}).await.unwrap();
        let (near, stopper) = (client.lane.near.clone(), Stopper::new());
        let task = {
            let stopper = stopper.clone();
            tokio::spawn(async move { client.run(&stopper).await })
        };
        World {
            near,
            server,
            budget,
            near_end: Stoppable { task, stopper },
            far_end,
            at,
            serve,
            identities,
            _path: path,
            _home: home,
        }
    }

    /// Stops the server end.
    pub(super) async fn stop_server(&mut self) {
        self.far_end.stop();
        soon(&mut self.far_end.task).await.unwrap().unwrap();
        until(|| self.near.snapshot().session.is_none()).await;
    }

    /// Starts the server end again, at the same address.
    pub(super) async fn restart_server(&mut self) {
        self.restart_server_with(Vec::new()).await;
    }

    /// As [`restart_server`](Self::restart_server), with connections that an earlier start has left.
    pub(super) async fn restart_server_with(&mut self, left: Vec<Left>) {
        let started = start_server(&self.identities, self.at, &self.serve, left).await;
        (self.server, self.budget, self.far_end, _) = started;
    }

    /// Waits for a session.
    pub(super) async fn connected(&self) {
        until(|| self.near.snapshot().session.is_some()).await;
    }

    /// The address that local programs connect to.
    pub(super) fn entry(&self, place: usize) -> SocketAddr {
        self.near.entries[place].0
    }

    /// A connection of a local program to the first entry.
    pub(super) async fn program(&self) -> TcpStream {
        TcpStream::connect(self.entry(0)).await.unwrap()
    }

    /// A session from the client's host that follows no rules.
    pub(super) async fn stranger(&self) -> (Endpoint, Connection) {
        self.try_stranger().await.unwrap()
    }

    /// As [`World::stranger`], for one that may be refused at once.
    pub(super) async fn try_stranger(&self) -> Result<(Endpoint, Connection), ConnectError> {
        let [ours, theirs] = &self.identities;
        let (nobody, mut config) = (Allowed::nobody(), EndpointConfig::default());
        Protocol::Forward.ask(&mut config);
        let endpoint = Endpoint::bind(any(), ours.clone(), nobody, config).unwrap();
        let peer = theirs.fingerprint();
        let connection = soon(endpoint.connect(self.at, peer)).await?;
        Ok((endpoint, connection))
    }

    /// The error of a program that gets no connection, at any step.
    pub(super) async fn refused(&self) -> ErrorKind {
        match TcpStream::connect(self.entry(0)).await {
            Ok(mut program) => {
                let _ = program.write_all(b"x").await;
                broken(&mut program).await
            }
            Err(error) => error.kind(),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.near_end.task.abort();
        self.far_end.task.abort();
    }
}

/// As the program has it.
fn config() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    config.session.idle_timeout = Duration::from_secs(30);
    config.session.keep_alive = Some(Duration::from_millis(7500));
    config
}

async fn start_server(
    identities: &[Identity; 2],
    at: SocketAddr,
    serve: &Serve,
    left: Vec<Left>,
) -> (Arc<Server>, Arc<Budget>, Stoppable, SocketAddr) {
    let [ours, theirs] = identities;
    let mut config = config();
    serve.options.bounds.apply(&mut config);
    Protocol::offer(&mut config);
    // The old server may take a moment to release its port.
    let endpoint = soon(async {
        loop {
            let allowed = Allowed::only([ours.fingerprint()]);
            match Endpoint::bind(at, theirs.clone(), allowed, config.clone()) {
                Ok(endpoint) => return endpoint,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    })
    .await;
    let at = endpoint.local_addr().unwrap();
    let server = Server::new(serve.options.clone(), |_| {});
    server.adopt(left);
    let stopper = Stopper::new();
    let budget = Budget::new(serve.limits);
    let task = tokio::spawn({
        let (services, budget) = ([Hosted::new(server.clone())], budget.clone());
        let (port, stopper) = (endpoint.into(), stopper.clone());
        async move { host(&port, &services, &budget, &stopper).await }
    });
    (server, budget, Stoppable { task, stopper }, at)
}

/// A listener for a target.
pub(super) async fn target() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    (listener, at)
}

/// A target that echoes what it receives.
pub(crate) async fn echo() -> String {
    let (listener, at) = target().await;
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = tcp.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
                let _ = write.shutdown().await;
            });
        }
    });
    at
}

/// Sends bytes to an echo target, and receives them back.
pub(super) async fn echoed(program: &mut TcpStream, words: &[u8]) {
    program.write_all(words).await.unwrap();
    let mut back = vec![0; words.len()];
    soon(program.read_exact(&mut back)).await.unwrap();
    assert_eq!(back, words);
}

/// The error that a reader of a failed connection gets.
pub(super) async fn broken(program: &mut TcpStream) -> ErrorKind {
    let mut rest = Vec::new();
    soon(program.read_to_end(&mut rest))
        .await
        .unwrap_err()
        .kind()
}
