//! `weftline forward`: the client end.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use weftline::{CloseReason, Connection, Endpoint, Fingerprint, Identity, Stream};

use super::agree::{Agreed, agree};
use super::counts::Snapshot;
use super::near::{Entry, Near, Room};
use super::options::{Bounds, MOST_RULES, local, within};
use crate::address::Address;
use crate::exit::{self, Exit, Failure, close};
use crate::home;
use crate::options::{OutputOptions, SessionOptions};
use crate::relay::target::Target;
use crate::report::Report;
use crate::send;
use crate::session::{farewell, stop};

/// First and longest time between attempts to connect.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// At the end, how long data in flight may take to be acknowledged, and connections to be reset.
const SETTLE: Duration = Duration::from_secs(1);

/// Options of the client end.
#[derive(Args, Clone, Debug)]
pub(super) struct ConnectArgs {
    /// Address of `weftline forward serve`: HOST or HOST:PORT (UDP, default port 9338)
    #[arg(long, value_name = "ADDR", required = true)]
    via: Option<Address>,
    /// Fingerprint of the server, as `weftline forward serve` prints it
    #[arg(long, value_name = "FINGERPRINT", required = true)]
    peer: Option<Fingerprint>,
    /// Address that local programs connect to: PORT (of 127.0.0.1), IPv4:PORT or [IPv6]:PORT; may
    /// be repeated, each with its own --to
    #[arg(long, value_name = "LISTEN", value_parser = local)]
    listen: Vec<SocketAddr>,
    /// Target that the server connects to for --listen: HOST:PORT, as the server resolves it
    #[arg(long, value_name = "TARGET")]
    to: Vec<Target>,
    /// Address of a SOCKS 5 proxy for local programs, which name the target; may be repeated
    #[arg(long, value_name = "LISTEN", value_parser = local)]
    socks: Vec<SocketAddr>,
    /// Address on the server that programs there connect to; may be repeated, each with its own
    /// --remote-to
    #[arg(long, value_name = "LISTEN", value_parser = local)]
    remote_listen: Vec<SocketAddr>,
    /// Target that this host connects to for --remote-listen: HOST:PORT, as this host resolves it
    #[arg(long, value_name = "TARGET")]
    remote_to: Vec<Target>,
    /// How long a new connection waits while there is no session
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait)]
    wait: Duration,
    #[command(flatten)]
    pub(super) bounds: Bounds,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
}

/// Runs the command.
pub(super) async fn run(args: ConnectArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    let report = Report::new("forward", "connect", output, args.bounds.stats);
    let client = match Client::open(args, &report).await {
        Ok(client) => client,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let near = client.near.clone();
    let failure = tokio::select! {
        failure = client.serve(&report, stopping) => failure,
        never = report.watch(|| near.snapshot()) => match never {},
    };
    Ok(report.end(Some(&near.snapshot()), &failure))
}

/// The client end.
pub(super) struct Client {
    args: ConnectArgs,
    via: Address,
    pub(super) near: Arc<Near>,
    listeners: Vec<TcpListener>,
    identities: (Fingerprint, Identity),
}

impl Client {
    pub(super) async fn open(args: ConnectArgs, report: &Report) -> Result<Self> {
        let usage = |message: String| Failure::new(Exit::Usage, message);
        args.bounds.endpoint(&args.session)?;
        let (Some(via), Some(peer)) = (args.via.clone(), args.peer) else {
            return Err(usage("--via ADDR and --peer FINGERPRINT are needed".into()).into());
        };
        for (listen, to, what) in [
            (&args.listen, &args.to, "--listen needs its own --to"),
            (
                &args.remote_listen,
                &args.remote_to,
                "--remote-listen needs its own --remote-to",
            ),
        ] {
            if listen.len() != to.len() {
                let (ours, theirs) = (listen.len(), to.len());
                return Err(usage(format!("each {what}: there are {ours} and {theirs}")).into());
            }
            if listen.len() > MOST_RULES {
                let message =
                    format!("more than {MOST_RULES}: start a second forward for the rest");
                return Err(usage(message).into());
            }
        }
        let targets = args.to.iter().cloned().map(Entry::To);
        let socks = args.socks.iter().map(|&at| (at, Entry::Socks));
        let wanted: Vec<_> = args
            .listen
            .iter()
            .copied()
            .zip(targets)
            .chain(socks)
            .collect();
        if wanted.is_empty() && args.remote_listen.is_empty() {
            let message = "nothing to forward: give --listen and --to, --socks, or --remote-listen and --remote-to";
            return Err(usage(message.into()).into());
        }
        let identities = (peer, home::identity(args.session.identity.as_deref())?.0);
        let (mut entries, mut listeners) = (Vec::new(), Vec::new());
        for (at, entry) in wanted {
            let listener = TcpListener::bind(at).await.map_err(|error| {
                let message = format!("cannot listen on {at}: {error}; choose another port");
                Failure::new(Exit::General, message)
            })?;
            entries.push((listener.local_addr()?, entry));
            listeners.push(listener);
        }
        let room = Room {
            connections: args.bounds.connections,
            wait: args.wait,
        };
        let near = Near::new(
            entries,
            args.remote_to.clone(),
            &room,
            report.reporter.clone(),
        );
        Ok(Client {
            args,
            via,
            near: Arc::new(near),
            listeners,
            identities,
        })
    }

    /// Keeps a session until a person stops the program or an error is permanent.
    pub(super) async fn serve(
        mut self,
        report: &Report,
        mut stopping: Pin<&mut impl Future<Output = Exit>>,
    ) -> Failure {
        let mut listeners = JoinSet::new();
        let entries = self.near.entries.iter().map(|(_, entry)| entry.clone());
        for (listener, entry) in std::mem::take(&mut self.listeners).into_iter().zip(entries) {
            listeners.spawn(self.near.clone().listen(listener, entry));
        }
        let mut wait = FIRST_WAIT;
        let mut served = false;
        let stopped = |exit| Failure::new(exit, "stopped");
        loop {
            let begun = tokio::select! {
                begun = self.begin(report) => begun,
                exit = &mut stopping => return stopped(exit),
            };
            let failure = match begun {
                Ok((endpoint, connection, agreed)) => {
                    served = true;
                    wait = FIRST_WAIT;
                    let mut ended = std::pin::pin!(self.carry(report, &connection, agreed));
                    let ended = tokio::select! {
                        ended = &mut ended => ended,
                        exit = &mut stopping => {
                            listeners.shutdown().await;
                            self.drain(report, &connection, ended).await;
                            farewell(&endpoint, close::INTERRUPTED, "stopped").await;
                            let _ = timeout(SETTLE, self.near.drained()).await;
                            return stopped(exit);
                        }
                    };
                    self.near.detach();
                    connection.close(close::FAILED, "the session failed");
                    exit::closed(&ended)
                }
                Err(error) => exit::wrap(&error),
            };
            // An error that a person must fix is permanent, unless a session has worked before.
            if !served && !matches!(failure.exit, Exit::Lost) {
                return failure;
            }
            let seconds = wait.as_secs_f64();
            report
                .reporter
                .warn(&format!("{failure}; trying again in {seconds} s"));
            tokio::select! {
                () = sleep(wait) => {}
                exit = &mut stopping => return stopped(exit),
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Lets open connections finish for a while, and their data arrive. A second signal ends the
    /// wait.
    async fn drain(
        &self,
        report: &Report,
        connection: &Connection,
        carried: Pin<&mut impl Future<Output = CloseReason>>,
    ) {
        let open = self.near.snapshot().open;
        if open > 0 {
            let seconds = self.args.bounds.drain_timeout.as_secs_f64();
            report.reporter.note(&format!(
                "stopping: waiting up to {seconds} s for {open} connections to end; stop again to reset them"
            ));
        }
        let drained = async {
            self.near.drained().await;
            let _ = timeout(SETTLE, connection.flushed()).await;
        };
        tokio::select! {
            _ = timeout(self.args.bounds.drain_timeout, drained) => {}
            _ = carried => {}
            _ = stop() => {}
        }
    }

    /// Connects, and agrees with the server on the rules.
    async fn begin(&self, report: &Report) -> Result<(Endpoint, Connection, Agreed)> {
        let config = self.args.bounds.endpoint(&self.args.session)?;
        let addresses = self.via.resolve().await?;
        let allow = "weftline forward serve --allow TARGET --peer";
        let identities = Some(self.identities.clone());
        let connecting = send::connect(addresses, identities, &config, allow);
        let (endpoint, connection) = connecting.await?;
        let agreeing = agree(&connection, &self.args.to, &self.args.remote_listen);
        match timeout(self.args.session.timeout, agreeing).await {
            Ok(Ok(agreed)) => {
                self.announce(report, &connection, &agreed);
                self.near.attach(connection.clone());
                Ok((endpoint, connection, agreed))
            }
            Ok(Err(failure)) => {
                farewell(&endpoint, close::FAILED, "").await;
                Err(failure.into())
            }
            Err(_) => {
                let message = "the peer does not answer: is it `weftline forward serve`?";
                Err(Failure::new(Exit::Lost, message).into())
            }
        }
    }

    fn announce(&self, report: &Report, connection: &Connection, agreed: &Agreed) {
        let mut text = format!("connected to {}", connection.remote_addr());
        for (at, entry) in &self.near.entries {
            text += &match entry {
                Entry::To(target) => format!("\n  {at} -> {target}"),
                Entry::Socks => format!("\n  {at} -> the target that SOCKS names"),
            };
        }
        for ((at, _), target) in agreed.listeners.iter().zip(&self.args.remote_to) {
            text += &format!("\n  on the server {at} -> {target}");
        }
        report.reporter.note(&text);
        for warning in &agreed.warnings {
            report.reporter.warn(warning);
        }
    }

    /// Serves the streams that the peer opens, until the session ends.
    async fn carry(&self, report: &Report, connection: &Connection, agreed: Agreed) -> CloseReason {
        let mut listeners = JoinSet::new();
        for (at, stream) in agreed.listeners {
            listeners.spawn(async move {
                over(stream).await;
                at
            });
        }
        loop {
            tokio::select! {
                opened = connection.accept_stream() => match opened {
                    Ok(stream) => {
                        tokio::spawn(self.near.clone().incoming(stream));
                    }
                    Err(reason) => return reason,
                },
                Some(Ok(at)) = listeners.join_next() => {
                    if connection.close_reason().is_none() {
                        let text = format!("the server no longer listens on {at}");
                        report.reporter.warn(&text);
                    }
                }
            }
        }
    }
}

/// Waits for the end of a stream that carries no further data.
async fn over(mut stream: Stream) {
    let _ = tokio::io::AsyncReadExt::read_u8(&mut stream).await;
}

fn wait(text: &str) -> Result<Duration, String> {
    within(text, Duration::ZERO, "give 0s to 3600s")
}
