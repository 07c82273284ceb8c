//! `weftline forward serve`: the server end.

use anyhow::{Context, Result};
use clap::Args;
use weftline::Endpoint;
use weftline_apps::forward::{Event, Server, ServerOptions, Snapshot};
use weftline_apps::{Allow, Listen, Memory, Protocol, Stopper};

use super::options::BoundsOptions;
use super::{THERE, draining};
use crate::book;
use crate::config::ConfigOptions;
use crate::home::{self, Use};
use crate::listen::{allowed, bind, reachable, turned_away};
use crate::monitor::{MonitorOptions, Watch};
use crate::options::{MemoryOptions, SessionOptions};
use crate::peer::Peer;
use crate::supervise::supervise;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::stop::{outlive_hangup, stop};
use crate::ui::{Exit, Failure, OutputOptions, exit, failure, output};

const EXAMPLES: &str = "\
Allowed targets: --allow HOST:PORT
  HOST  an address (10.0.0.7, [fd00::7]), a network (10.0.0.0/8, [fd00::/8]), a name that clients
        must ask for by this name (git.example), or * for any
  PORT  a port, a range (8000-8099), or * for any
--allow-listen takes the same form, for addresses on this host that clients may listen on.

Examples:
  weftline forward serve --allow 127.0.0.1:80,db.lan:5432 --peer FINGERPRINT
  weftline forward serve --allow '*:443' --listen 0.0.0.0:4000
  weftline forward serve --allow-listen 127.0.0.1:2222 --peer FINGERPRINT

It prints the command for the client. Clients are hosts whose fingerprint is given with --peer or
listed in ~/.config/weftline/allowed-forward (one a line; text after it is a comment), and this
host itself; a changed list counts at once. They reach only the targets that --allow names. `*` includes this
host's own services, and everything else that this host reaches.";

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
    allow: Vec<Allow>,
    /// Addresses on this host that clients may listen on [default: none]
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',')]
    allow_listen: Vec<Allow>,
    /// UDP port to listen on: PORT, ADDR or ADDR:PORT [default: every address of this host, port 9338]
    #[arg(long, value_name = "LISTEN")]
    listen: Option<Listen>,
    /// Serve this host: a fingerprint, or a name of `weftline peers`; may be repeated
    #[arg(long, value_name = "PEER")]
    peer: Vec<Peer>,
    /// Serve anyone who can reach this port
    #[arg(long)]
    peer_anyone: bool,
    #[command(flatten)]
    bounds: BoundsOptions,
    /// What clients may take.
    #[command(flatten)]
    memory: MemoryOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
    /// Where this command can be watched.
    #[command(flatten)]
    monitor: MonitorOptions,
    /// Options in a file.
    #[command(flatten)]
    config: ConfigOptions,
}

/// Runs the command.
pub(super) async fn run(args: ServeArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers before the command for the client is printed.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    outlive_hangup();
    let report = Report::new("forward", "serve", output, args.bounds.stats);
    let (endpoint, memory, watch) = match open(&args, output).await {
        Ok(opened) => opened,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let mut options = ServerOptions::default();
    options.bounds = args.bounds.bounds()?;
    options.memory = memory;
    options.allow = args.allow;
    options.allow_listen = args.allow_listen;
    let reporter = report.reporter.clone();
    let server = Server::new(options, move |event| tell(&event, &reporter));
    let stopper = Stopper::new();
    let running = server.run(&endpoint, &stopper);
    let ended = supervise(&report, watch, stopping, &stopper, running, || {
        server.snapshot()
    })
    .await;
    let failure = match ended {
        Ok(exit) => Failure::new(exit, "stopped"),
        Err(error) => failure::session(&error, THERE),
    };
    Ok(report.end(Some(&server.snapshot()), &failure))
}

async fn open(args: &ServeArgs, output: OutputOptions) -> Result<(Endpoint, Memory, Watch)> {
    let mut config = args.bounds.endpoint(&args.session)?;
    args.monitor.complete(&mut config);
    Protocol::offer(&mut config);
    let memory = args.memory.limits();
    let (identity, _) = home::identity(args.session.identity.as_deref())?;
    let allowed = allowed(&identity, Use::Forward, args.peer_anyone, &args.peer)?;
    args.config.checked()?;
    let at = |addr| Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone());
    let endpoint = bind(args.listen, at)?;
    if !output.quiet {
        announce(args, &endpoint)?;
    }
    let watch = args.monitor.open("forward", "serve").await?;
    Ok((endpoint, memory, watch))
}

/// Prints the command for the client.
fn announce(args: &ServeArgs, endpoint: &Endpoint) -> Result<()> {
    let local = endpoint
        .local_addr()
        .context("cannot read the bound address")?;
    let fingerprint = endpoint.fingerprint();
    output::line(&format!("fingerprint {fingerprint}"));
    output::line(&format!("listening on {local}; on the other host, run:"));
    let what = match args.allow.is_empty() {
        true => "-R PORT:HOST:HOSTPORT",
        false => "-L PORT:HOST:HOSTPORT",
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

fn tell(event: &Event<'_>, reporter: &Reporter) {
    match event {
        Event::Joined { peer, remote } => {
            reporter.peer(format!("connection from {} at {remote}", book::shown(peer)));
        }
        Event::Left {
            peer,
            remote,
            error,
        } => {
            let failure = failure::session(error, THERE);
            reporter.peer(format!("{} at {remote}: {failure}", book::shown(peer)));
        }
        Event::NoConnection {
            client: Some(client),
            reason,
        } => reporter.peer(format!("no connection for {client}: {reason}")),
        Event::Draining { open, patience } => draining(*open, *patience, reporter),
        Event::TurnedAway(refusal) => turned_away(refusal, "--peer", "allow it"),
        _ => {}
    }
}
