//! Both ends of `forward` in this process, with an impaired path between them.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path as FilePath, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weftline::{Allowed, Connection, Endpoint, EndpointConfig, Identity};

use crate::demo::path::Path;
use crate::exit::{Exit, Failure};
use crate::forward::connect::{Client, ConnectArgs};
use crate::forward::near::Near;
use crate::forward::serve::{self, ServeArgs, Server};
use crate::options::OutputOptions;
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

/// A task that runs until it is asked to stop.
pub(super) struct Stoppable {
    pub(super) task: JoinHandle<Failure>,
    stop: Option<oneshot::Sender<()>>,
}

impl Stoppable {
    pub(super) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }
}

async fn asked(stopped: oneshot::Receiver<()>) -> Exit {
    if stopped.await.is_err() {
        std::future::pending::<()>().await;
    }
    Exit::Terminated
}

/// A running `forward`; it ends when this is dropped.
pub(super) struct World {
    pub(super) near: Arc<Near>,
    pub(super) server: Arc<Server>,
    pub(super) near_end: Stoppable,
    pub(super) far_end: Stoppable,
    at: SocketAddr,
    serve: Vec<String>,
    files: [PathBuf; 2],
    _path: Option<Path>,
    _home: TempDir,
}

fn fingerprint(file: &FilePath) -> String {
    let identity = Identity::load_or_create(file).unwrap();
    identity.fingerprint().to_string()
}

impl World {
    /// A `forward` over `link`, the same in both directions, or over bare loopback if `link` is
    /// empty. The ends have these options in addition to the required ones.
    pub(super) async fn new(link: &str, serve: &[&str], connect: &[&str]) -> World {
        let world = World::started(link, serve, connect).await;
        world.connected().await;
        world
    }

    /// As [`World::new`], but without waiting for a session.
    pub(super) async fn started(link: &str, serve: &[&str], connect: &[&str]) -> World {
        let home = tempfile::tempdir().unwrap();
        let files = [home.path().join("a.pem"), home.path().join("b.pem")];
        let serve: Vec<String> = serve.iter().map(|&s| s.to_owned()).collect();
        let any = "127.0.0.1:0".parse().unwrap();
        let (server, far_end, at) = start_server(&files, any, &serve).await;
        // Such a path has one client for ever; without the path the client may return from another
        // port.
        let path = (!link.is_empty()).then(|| {
            let link = || link.parse().unwrap();
            Path::start(at, link(), link(), 7).unwrap()
        });
        let via = path.as_ref().map_or(at, Path::address).to_string();
        let peer = fingerprint(&files[1]);
        let file = files[0].to_str().unwrap();
        let necessary = ["--via", &via, "--peer", &peer, "--identity", file];
        let args: ConnectArgs = parse(&[&necessary[..], connect].concat());
        let report = Report::new("forward", "connect", QUIET, None);
        let client = Client::open(args, &report).await.unwrap();
        let near = client.near.clone();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move { client.serve(&report, pin!(asked(stopped))).await });
        World {
            near,
            server,
            near_end: Stoppable {
                task,
                stop: Some(stop),
            },
            far_end,
            at,
            serve,
            files,
            _path: path,
            _home: home,
        }
    }

    /// Stops the server end.
    pub(super) async fn stop_server(&mut self) {
        self.far_end.stop();
        soon(&mut self.far_end.task).await.unwrap();
        until(|| self.near.snapshot().session.is_none()).await;
    }

    /// Starts the server end again, at the same address.
    pub(super) async fn restart_server(&mut self) {
        let (server, far_end, _) = start_server(&self.files, self.at, &self.serve).await;
        (self.server, self.far_end) = (server, far_end);
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
        let identity = Identity::load_or_create(&self.files[0]).unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let nobody = Allowed::nobody();
        let endpoint = Endpoint::bind(any, identity, nobody, EndpointConfig::default()).unwrap();
        let peer = fingerprint(&self.files[1]).parse().unwrap();
        let connection = soon(endpoint.connect(self.at, &peer)).await.unwrap();
        (endpoint, connection)
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

async fn start_server(
    files: &[PathBuf; 2],
    at: SocketAddr,
    more: &[String],
) -> (Arc<Server>, Stoppable, SocketAddr) {
    let (peer, at) = (fingerprint(&files[0]), at.to_string());
    let file = files[1].to_str().unwrap();
    let necessary = ["--listen", &at, "--peer", &peer, "--identity", file];
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let args: ServeArgs = parse(&[&necessary[..], &more].concat());
    // The old server may take a moment to release its port.
    let endpoint = soon(async {
        loop {
            match serve::open(&args, QUIET).await {
                Ok(endpoint) => return endpoint,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    })
    .await;
    let at = endpoint.local_addr().unwrap();
    let report = Report::new("forward", "serve", QUIET, None);
    let server = Arc::new(Server::new(args, report.reporter.clone()));
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn({
        let server = server.clone();
        async move { serve::serve(&server, &endpoint, pin!(asked(stopped))).await }
    });
    let stoppable = Stoppable {
        task,
        stop: Some(stop),
    };
    (server, stoppable, at)
}

/// A listener for a target.
pub(super) async fn target() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    (listener, at)
}

/// A target that echoes what it receives.
pub(super) async fn echo() -> String {
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
