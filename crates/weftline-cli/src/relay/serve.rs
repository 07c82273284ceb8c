//! `weftline relay serve`: the server end.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use weftline::{Connection, Endpoint, Fingerprint, Refusal};

use super::allow::{Allow, permit};
use super::counts::{Counts, Snapshot};
use super::far::{Far, Granted};
use super::inward::{finish, inward};
use super::options::{idle, most_flows};
use super::table::Hostile;
use super::wire::{self, Answer, Gone, Hello, MOST_RULES, VERSION};
use crate::address::{Address, reachable};
use crate::console;
use crate::exit::{self, Exit, Failure, close};
use crate::home;
use crate::options::{AgainOptions, OutputOptions, SessionOptions};
use crate::output::{self, quoted_command};
use crate::recv;
use crate::report::Report;
use crate::session::{farewell, stop};
use crate::transfer::path::printable;

/// Most clients whose flows are kept.
const MOST_CLIENTS: usize = 256;
/// How long datagrams in flight may take to arrive when the relay is stopped.
const DRAIN: Duration = Duration::from_secs(1);
/// Time between two checks for idle flows.
const SWEEP: Duration = Duration::from_secs(1);
/// How long an ending session may take to report the reason.
const LAST_WORD: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Allowed targets: --allow HOST:PORT
  HOST  an address (10.0.0.7, [fd00::7]), a network (10.0.0.0/8, [fd00::/8]), a name that clients
        must ask for by this name (media.example), or * for any
  PORT  a port, a range (5000-5999), or * for any

Examples:
  weftline relay serve --allow 127.0.0.1:51820 --peer abcd-...
  weftline relay serve --allow 10.0.0.0/24:5000-5999,game.lan:27015 --listen 0.0.0.0:4000

It prints the command for the client. Clients are hosts whose fingerprint is given with --peer or
listed in ~/.config/weftline/allowed (one a line; text after it is a comment), and this host
itself. They reach only the targets that --allow names.";

/// Forward datagrams from `weftline relay connect` to targets that this host reaches
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// Targets that clients may reach, separated by commas; may be repeated
    #[arg(long, value_name = "HOST:PORT", required = true, value_delimiter = ',')]
    allow: Vec<Allow>,
    /// UDP address to listen on [default: every address of this host, port 9338]
    #[arg(long, value_name = "ADDR")]
    listen: Option<Address>,
    /// Serve the host with this fingerprint; may be repeated
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "insecure_udp")]
    peer: Vec<Fingerprint>,
    /// Serve anyone who can reach this port
    #[arg(long, conflicts_with = "insecure_udp")]
    peer_anyone: bool,
    /// Drop a flow that was idle for this long
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = idle)]
    idle: Duration,
    /// Most flows of each client at once; each one needs a socket on this host
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = most_flows)]
    flows: usize,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = idle)]
    stats: Option<Duration>,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
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
    let report = Report::new("relay", "serve", output, args.stats);
    let endpoint = match open(&args, output).await {
        Ok(endpoint) => endpoint,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let server = Arc::new(Server::new(args));
    let failure = tokio::select! {
        failure = serve(&server, &endpoint, &report, stopping) => failure,
        never = report.watch(|| server.snapshot()) => match never {},
    };
    Ok(report.end(Some(&server.snapshot()), &failure))
}

pub(super) async fn open(args: &ServeArgs, output: OutputOptions) -> Result<Endpoint> {
    let mut config = args.session.endpoint()?;
    args.again.complete(&mut config);
    let listen = args.listen.as_ref();
    let endpoint = if args.session.insecure_udp {
        output::insecure();
        recv::bind(listen, |addr| {
            Endpoint::bind_insecure_udp(addr, config.clone())
        })
        .await?
    } else {
        let (identity, _) = home::identity(args.session.identity.as_deref())?;
        let allowed = recv::allowed(&identity, args.peer_anyone, &args.peer)?;
        recv::bind(listen, |addr| {
            Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone())
        })
        .await?
    };
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
    let whose = match endpoint.fingerprint() {
        Some(fingerprint) => {
            output::line(&format!("fingerprint {fingerprint}"));
            format!("--peer {fingerprint}")
        }
        None => "--insecure-udp".to_owned(),
    };
    output::line(&format!("listening on {local}; on the other host, run:"));
    output::line(&format!(
        "  weftline relay connect {} {whose} --udp PORT=TARGET",
        reachable(local)
    ));
    if args.peer_anyone && !args.session.insecure_udp {
        output::line("warning: --peer-anyone: anyone who can reach this port reaches the targets");
    }
    Ok(())
}

pub(super) async fn serve(
    server: &Arc<Server>,
    endpoint: &Endpoint,
    report: &Report,
    mut stopping: Pin<&mut impl Future<Output = Exit>>,
) -> Failure {
    let mut sessions: JoinSet<()> = JoinSet::new();
    let mut sweep = interval(SWEEP);
    loop {
        tokio::select! {
            accepted = endpoint.accept() => match accepted {
                Some(connection) => {
                    let (server, reporter) = (server.clone(), report.reporter.clone());
                    sessions.spawn(async move {
                        let from = match connection.peer() {
                            Some(peer) => peer.to_string(),
                            None => "an unknown client".to_owned(),
                        };
                        let at = connection.remote_addr();
                        reporter.note(&format!("connection from {from} at {at}"));
                        let ended = server.session(&connection).await;
                        connection.close(close::FAILED, &ended.message);
                        reporter.note(&format!("{from} at {at}: {ended}"));
                    });
                }
                None => return Failure::new(Exit::General, "the endpoint is closed"),
            },
            Some(refusal) = endpoint.refused() => tell(&server.args, &refusal),
            Some(_) = sessions.join_next() => {}
            _ = sweep.tick() => server.sweep(),
            exit = &mut stopping => {
                let connections = server.detach();
                let flushed = async {
                    for connection in &connections {
                        // An ended session has nothing to wait for.
                        let _ = connection.flushed().await;
                    }
                };
                let _ = timeout(DRAIN, flushed).await;
                // Close before the sessions are dropped; they would close with their own code.
                endpoint.close(close::INTERRUPTED, "stopped");
                sessions.shutdown().await;
                farewell(endpoint, close::INTERRUPTED, "stopped").await;
                return Failure::new(exit, "stopped");
            }
        }
    }
}

fn tell(args: &ServeArgs, refusal: &Refusal) {
    match refusal {
        Refusal::UnknownPeer { peer, .. } => {
            let command = quoted_command(&format!("--peer {peer}"));
            console::offer(format!("refused {peer}: to allow it, run: {command}"));
        }
        refusal if args.session.insecure_udp => console::offer(refusal.to_string()),
        refusal => console::offer(printable(&refusal.to_string())),
    }
}

/// The server end: its rules and its clients.
pub(super) struct Server {
    args: ServeArgs,
    clients: Mutex<Clients>,
}

/// A running client: its host's key and its own number.
type Client = (Option<Fingerprint>, u64);

#[derive(Default)]
struct Clients {
    all: HashMap<Client, Arc<Far>>,
    /// Counts of the clients that have left.
    left: Counts,
}

impl Server {
    pub(super) fn new(args: ServeArgs) -> Self {
        Server {
            args,
            clients: Mutex::default(),
        }
    }

    /// Serves one session to its end.
    async fn session(&self, connection: &Connection) -> Failure {
        let failed = |error: std::io::Error| match connection.close_reason() {
            Some(reason) => exit::closed(&reason),
            None => Failure::new(Exit::General, error.to_string()),
        };
        let opening = async {
            // The relay does not serve recordings.
            let confirmed = connection.confirmed().await;
            confirmed.map_err(|reason| exit::closed(&reason))?;
            let stream = connection.accept_stream().await;
            let mut stream = stream.map_err(|reason| exit::closed(&reason))?;
            let hello: Hello = wire::read(&mut stream).await.map_err(failed)?;
            Ok::<_, Failure>((stream, hello))
        };
        let (mut stream, hello) = match timeout(self.args.session.timeout, opening).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(failure)) => return failure,
            Err(_) => return Failure::new(Exit::Lost, "the client sent no request"),
        };
        if hello.weftline_relay != VERSION || hello.rules.len() > MOST_RULES {
            let message = "the client runs another version of the relay";
            return Failure::new(Exit::General, message);
        }
        let (rules, refused) = self.grant(&hello).await;
        let key = (connection.peer(), hello.instance);
        let Some(far) = self.far(key) else {
            return Failure::new(Exit::General, "too many clients: try again later");
        };
        let (old, number) = far.attach(connection.clone(), hello.fragment, rules);
        if let Some(old) = old {
            old.close(close::DONE, "replaced by a newer session");
        }
        let answer = Answer {
            weftline_relay: VERSION,
            refused,
            flows: u32::try_from(self.args.flows).unwrap_or(u32::MAX),
            idle: self.args.idle.as_secs().max(1),
        };
        let ended = match wire::write(&mut stream, &answer).await {
            Ok(()) => carry(&far, connection, stream).await,
            Err(error) => failed(error),
        };
        far.detach(number);
        ended
    }

    /// The client's rules that are granted, and why the others are refused.
    async fn grant(&self, hello: &Hello) -> (Vec<Granted>, Vec<Option<String>>) {
        let (mut rules, mut refused) = (Vec::new(), Vec::new());
        for wanted in &hello.rules {
            let granted = match (wanted.target.parse(), wanted.delivery.parse()) {
                (Ok(target), Ok(delivery)) => match permit(&self.args.allow, &target).await {
                    Ok(target) => Ok(Granted { target, delivery }),
                    Err(refused) => Err(refused.to_string()),
                },
                (Err(error), _) => Err(error.to_string()),
                (_, Err(error)) => Err(error.to_string()),
            };
            refused.push(granted.as_ref().err().cloned());
            rules.push(granted.unwrap_or(Granted {
                target: Vec::new(),
                delivery: Default::default(),
            }));
        }
        (rules, refused)
    }

    /// The client's flows; `None` if there are too many clients.
    fn far(&self, key: Client) -> Option<Arc<Far>> {
        let mut clients = self.lock();
        if !clients.all.contains_key(&key) && clients.all.len() >= MOST_CLIENTS {
            return None;
        }
        let new = || Far::new(self.args.flows, self.args.idle);
        Some(clients.all.entry(key).or_insert_with(new).clone())
    }

    fn sweep(&self) {
        let Clients { all, left } = &mut *self.lock();
        all.retain(|_, far| {
            // A session that is about to attach holds it too.
            let over = far.sweep() && Arc::strong_count(far) == 1;
            if over {
                left.merge(&far.snapshot().counts);
            }
            !over
        });
    }

    /// Stops reading from targets; returns the sessions.
    fn detach(&self) -> Vec<Connection> {
        let clients = self.lock();
        clients.all.values().filter_map(|far| far.stop()).collect()
    }

    /// Current counters of all clients together.
    pub(super) fn snapshot(&self) -> Snapshot {
        let clients = self.lock();
        let mut all = Snapshot {
            counts: clients.left,
            ..Snapshot::default()
        };
        for one in clients.all.values().map(|far| far.snapshot()) {
            all.counts.merge(&one.counts);
            all.open += one.open;
            all.session = all.session.or(one.session);
            all.longest = all.longest.or(one.longest);
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries datagrams until the session ends; returns the reason.
async fn carry(far: &Arc<Far>, connection: &Connection, mut stream: weftline::Stream) -> Failure {
    let inward = async {
        let inward = inward(connection, |message| far.inward(message), || far.hand_on());
        match inward.await {
            Ok(reason) => exit::closed(&reason),
            Err(Hostile) => {
                let message = "the peer sends more datagrams out of order than its credit allows";
                Failure::new(Exit::General, message)
            }
        }
    };
    let control = async {
        loop {
            match wire::read::<Gone>(&mut stream).await {
                Ok(gone) => far.end(&gone.gone),
                // When the session ends, this stream ends first; the session reports the reason a
                // moment later.
                Err(error) => match timeout(LAST_WORD, connection.closed()).await {
                    Ok(reason) => return exit::closed(&reason),
                    Err(_) => return Failure::new(Exit::General, error.to_string()),
                },
            }
        }
    };
    let ended = tokio::select! {
        ended = inward => ended,
        ended = control => ended,
    };
    finish(|| far.hand_on()).await;
    ended
}
