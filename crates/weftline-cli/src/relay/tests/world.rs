//! Both ends of a relay in this process, with an impaired path between them.

use std::net::SocketAddr;
use std::path::Path as FilePath;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tempfile::TempDir;
use tokio::net::UdpSocket;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weftline::Identity;

use crate::demo::path::Path;
use crate::exit::{Exit, Failure};
use crate::options::OutputOptions;
use crate::relay::connect::{Client, ConnectArgs};
use crate::relay::counts::Snapshot;
use crate::relay::near::Near;
use crate::relay::serve::{self, ServeArgs, Server};
use crate::report::Report;

/// Longest wait for any event, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

const QUIET: OutputOptions = OutputOptions {
    json: false,
    quiet: true,
    verbose: 0,
};

#[derive(Parser)]
struct Parsed<A: clap::Args> {
    #[command(flatten)]
    args: A,
}

fn parse<A: clap::Args>(arguments: &[&str]) -> A {
    let parsed = Parsed::<A>::try_parse_from([&["x"], arguments].concat());
    parsed.unwrap_or_else(|e| panic!("{e}")).args
}

/// A relay; it ends when this is dropped.
pub(super) struct World {
    pub(super) near: Arc<Near>,
    pub(super) server: Arc<Server>,
    pub(super) client_stop: Option<oneshot::Sender<()>>,
    pub(super) client: JoinHandle<Failure>,
    tasks: Vec<JoinHandle<()>>,
    _path: Option<Path>,
    _home: TempDir,
}

impl World {
    /// A relay over `link`, the same in both directions, or over bare loopback if `link` is empty.
    /// The ends have these options in addition to the required ones.
    pub(super) async fn new(link: &str, serve: &[&str], connect: &[&str]) -> World {
        let mut world = World::started(link, serve, connect).await;
        world.connected().await;
        world
    }

    /// As [`World::new`], but without waiting for a session.
    pub(super) async fn started(link: &str, serve: &[&str], connect: &[&str]) -> World {
        let home = tempfile::tempdir().unwrap();
        let (ours, theirs) = (home.path().join("a.pem"), home.path().join("b.pem"));
        let fingerprint = |file: &FilePath| {
            let identity = Identity::load_or_create(file).unwrap();
            identity.fingerprint().to_string()
        };
        let (client, server) = (fingerprint(&ours), fingerprint(&theirs));

        let necessary = ["--listen", "127.0.0.1:0", "--peer", &client, "--identity"];
        let file = theirs.to_str().unwrap();
        let args: ServeArgs = parse(&[&necessary[..], &[file], serve].concat());
        let endpoint = serve::open(&args, QUIET).await.unwrap();
        let at = endpoint.local_addr().unwrap();
        // Such a path has one client for ever; without the path the client may return from another
        // port.
        let path = (!link.is_empty()).then(|| {
            let link = || link.parse().unwrap();
            Path::start(at, link(), link(), 7).unwrap()
        });
        let server_end = Arc::new(Server::new(args));
        let serving = {
            let server = server_end.clone();
            tokio::spawn(async move {
                let report = Report::new("relay", "serve", QUIET, None);
                let never = pin!(std::future::pending::<Exit>());
                serve::serve(&server, &endpoint, &report, never).await;
            })
        };

        let address = path.as_ref().map_or(at, Path::address).to_string();
        let necessary = [&address, "--peer", &server, "--identity"];
        let file = ours.to_str().unwrap();
        let args: ConnectArgs = parse(&[&necessary[..], &[file], connect].concat());
        let client = Client::open(args).unwrap();
        let near = client.near.clone();
        let mut tasks = vec![serving];
        for rule in 0..near.rules().len() {
            tasks.push(tokio::spawn(near.clone().listen(rule as u8)));
        }
        let (client_stop, stopped) = oneshot::channel();
        let client = tokio::spawn(async move {
            let report = Report::new("relay", "connect", QUIET, None);
            let stopping = pin!(async {
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
                Exit::Terminated
            });
            client.serve(&report, stopping).await
        });
        World {
            near,
            server: server_end,
            client_stop: Some(client_stop),
            client,
            tasks,
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
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A socket for a program or a target.
pub(super) async fn target() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

/// The future's value, which must come soon.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("this should have taken a moment")
}

/// Waits until a condition is true.
pub(super) async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
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
