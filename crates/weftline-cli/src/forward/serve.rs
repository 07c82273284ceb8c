//! `weftline forward serve`: the server end.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use weftline::{Connection, Endpoint, Fingerprint, Refusal};

use super::counts::{Counts, Snapshot};
use super::far::Far;
use super::listeners::Listeners;
use super::options::Bounds;
use crate::address::{Address, reachable};
use crate::console;
use crate::exit::{self, Exit, Failure, close};
use crate::home;
use crate::options::{OutputOptions, SessionOptions};
use crate::output::{self, quoted_command};
use crate::recv;
use crate::relay::allow::Allow;
use crate::report::Report;
use crate::reporter::Reporter;
use crate::session::{farewell, stop};
use crate::transfer::path::printable;

/// Most connections of all sessions together.
const MOST_RUNNING: u32 = 100_000;
/// At the end, how long data in flight may take to be acknowledged, and connections to be reset.
const SETTLE: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Allowed targets: --allow HOST:PORT
  HOST  an address (10.0.0.7, [fd00::7]), a network (10.0.0.0/8, [fd00::/8]), a name that clients
        must ask for by this name (git.example), or * for any
  PORT  a port, a range (8000-8099), or * for any
--allow-listen takes the same form, for addresses on this host that clients may listen on.

Examples:
  weftline forward serve --allow 127.0.0.1:80,db.lan:5432 --peer abcd-...
  weftline forward serve --allow '*:443' --listen 0.0.0.0:4000
  weftline forward serve --allow-listen 127.0.0.1:2222 --peer abcd-...

It prints the command for the client. Clients are hosts whose fingerprint is given with --peer or
listed in ~/.config/weftline/allowed (one a line; text after it is a comment), and this host
itself. They reach only the targets that --allow names. `*` includes this host's own services,
and everything else that this host reaches.";

/// Connect to targets that this host reaches, for `weftline forward`
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, mut_arg("insecure_udp", |arg| arg.hide(true)))]
pub(super) struct ServeArgs {
    /// Targets that clients may reach, separated by commas; may be repeated
    #[arg(
        long,
        value_name = "HOST:PORT",
        required_unless_present = "allow_listen",
        value_delimiter = ','
    )]
    pub(super) allow: Vec<Allow>,
    /// Addresses on this host that clients may listen on [default: none]
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',')]
    pub(super) allow_listen: Vec<Allow>,
    /// UDP address to listen on [default: every address of this host, port 9338]
    #[arg(long, value_name = "ADDR")]
    listen: Option<Address>,
    /// Serve the host with this fingerprint; may be repeated
    #[arg(long, value_name = "FINGERPRINT")]
    peer: Vec<Fingerprint>,
    /// Serve anyone who can reach this port
    #[arg(long)]
    peer_anyone: bool,
    #[command(flatten)]
    pub(super) bounds: Bounds,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
}

/// Runs the command.
pub(super) async fn run(args: ServeArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers before anybody is told to start sending.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    let report = Report::new("forward", "serve", output, args.bounds.stats);
    let endpoint = match open(&args, output).await {
        Ok(endpoint) => endpoint,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let server = Arc::new(Server::new(args, report.reporter.clone()));
    let failure = tokio::select! {
        failure = serve(&server, &endpoint, stopping) => failure,
        never = report.watch(|| server.snapshot()) => match never {},
    };
    Ok(report.end(Some(&server.snapshot()), &failure))
}

pub(super) async fn open(args: &ServeArgs, output: OutputOptions) -> Result<Endpoint> {
    let config = args.bounds.endpoint(&args.session)?;
    let (identity, _) = home::identity(args.session.identity.as_deref())?;
    let allowed = recv::allowed(&identity, args.peer_anyone, &args.peer)?;
    let bind = |addr| Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone());
    let endpoint = recv::bind(args.listen.as_ref(), bind).await?;
    if !output.quiet {
        announce(args, &endpoint)?;
    }
    Ok(endpoint)
}

/// Prints the command for the client.
fn announce(args: &ServeArgs, endpoint: &Endpoint) -> Result<()> {
    let local = endpoint
        .local_addr()
        .context("cannot read the bound address")?;
    let fingerprint = endpoint.fingerprint();
    let fingerprint = fingerprint.context("this host has no fingerprint")?;
    output::line(&format!("fingerprint {fingerprint}"));
    output::line(&format!("listening on {local}; on the other host, run:"));
    let what = match args.allow.is_empty() {
        true => "--remote-listen PORT --remote-to TARGET",
        false => "--listen PORT --to TARGET",
    };
    output::line(&format!(
        "  weftline forward --via {} --peer {fingerprint} {what}",
        reachable(local)
    ));
    if args.peer_anyone {
        output::line("warning: --peer-anyone: anyone who can reach this port reaches the targets");
    }
    Ok(())
}

pub(super) async fn serve(
    server: &Arc<Server>,
    endpoint: &Endpoint,
    mut stopping: Pin<&mut impl Future<Output = Exit>>,
) -> Failure {
    let mut sessions: JoinSet<()> = JoinSet::new();
    let mut left = None;
    loop {
        tokio::select! {
            accepted = endpoint.accept() => match accepted {
                Some(connection) => {
                    sessions.spawn(server.clone().session(connection));
                }
                None => return Failure::new(Exit::General, "the endpoint is closed"),
            },
            Some(refusal) = endpoint.refused() => tell(&refusal),
            Some(_) = sessions.join_next() => {}
            exit = &mut stopping, if left.is_none() => {
                left = Some((exit, Box::pin(server.clone().drain())));
            }
            exit = async {
                match &mut left {
                    Some((exit, drained)) => {
                        drained.await;
                        *exit
                    }
                    None => std::future::pending().await,
                }
            } => {
                endpoint.close(close::INTERRUPTED, "stopped");
                farewell(endpoint, close::INTERRUPTED, "stopped").await;
                // Connections that this resets must be reset before the process ends.
                let _ = timeout(SETTLE, server.running.acquire_many(MOST_RUNNING)).await;
                return Failure::new(exit, "stopped");
            }
        }
    }
}

fn tell(refusal: &Refusal) {
    match refusal {
        Refusal::UnknownPeer { peer, .. } => {
            let command = quoted_command(&format!("--peer {peer}"));
            console::offer(format!("refused {peer}: to allow it, run: {command}"));
        }
        refusal => console::offer(printable(&refusal.to_string())),
    }
}

/// The server end: its rules and its sessions.
pub(super) struct Server {
    pub(super) args: ServeArgs,
    pub(super) counts: Counts,
    pub(super) reporter: Reporter,
    pub(super) listeners: Listeners,
    /// Each connection holds a permit.
    pub(super) running: Semaphore,
    /// Turns true once, when nothing new may start.
    pub(super) leaving: watch::Sender<bool>,
    sessions: Mutex<BTreeMap<u64, Connection>>,
    numbers: AtomicU64,
}

impl Server {
    pub(super) fn new(args: ServeArgs, reporter: Reporter) -> Self {
        Server {
            args,
            reporter,
            counts: Counts::default(),
            listeners: Listeners::default(),
            running: Semaphore::new(MOST_RUNNING as usize),
            leaving: watch::Sender::new(false),
            sessions: Mutex::default(),
            numbers: AtomicU64::new(0),
        }
    }

    /// Serves one session to its end.
    async fn session(self: Arc<Self>, connection: Connection) {
        let from = match connection.peer() {
            Some(peer) => format!("{peer} at {}", connection.remote_addr()),
            // The QUIC carrier has always authenticated the peer; other sessions get nothing.
            None => return connection.close(close::FAILED, "unknown"),
        };
        self.reporter.note(&format!("connection from {from}"));
        self.counts.session();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, connection.clone());
        let ended = Far::new(self.clone(), connection).serve().await;
        self.lock().remove(&number);
        let ended = exit::closed(&ended);
        self.reporter.note(&format!("{from}: {ended}"));
    }

    /// Whether the server is stopping, so that nothing new may start.
    pub(super) fn is_leaving(&self) -> bool {
        *self.leaving.borrow()
    }

    /// Lets open connections finish for a while, and their data arrive. A second signal ends the
    /// wait.
    async fn drain(self: Arc<Self>) {
        self.leaving.send_replace(true);
        let open = self.snapshot().open;
        let patience = self.args.bounds.drain_timeout;
        if open > 0 {
            let seconds = patience.as_secs_f64();
            self.reporter.note(&format!(
                "stopping: waiting up to {seconds} s for {open} connections to end; stop again to reset them"
            ));
        }
        let drained = async {
            // This fails only if the semaphore is closed, which never happens.
            drop(self.running.acquire_many(MOST_RUNNING).await);
            let sessions: Vec<Connection> = self.lock().values().cloned().collect();
            let flushed = async {
                for connection in &sessions {
                    // An ended session has nothing to wait for.
                    let _ = connection.flushed().await;
                }
            };
            let _ = timeout(SETTLE, flushed).await;
        };
        tokio::select! {
            _ = timeout(patience, drained) => {}
            _ = stop() => {}
        }
    }

    /// Current counters of all sessions together.
    pub(super) fn snapshot(&self) -> Snapshot {
        let stats = self.lock().values().next().map(Connection::stats);
        self.counts.snapshot(stats)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
