//! `weftline relay serve`: the server end.

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use weftline::{Endpoint, Fingerprint, InsecureEndpoint, Port};
use weftline_apps::relay::{Event, Server, ServerOptions, Snapshot};
use weftline_apps::{Allow, Listen, Memory, Protocol, Stopper};

use super::options::{idle, most_flows};
use super::{THERE, in_pieces};
use crate::book;
use crate::config::ConfigOptions;
use crate::home::{self, Use};
use crate::listen::{allowed, bind, reachable, turned_away};
use crate::monitor::{MonitorOptions, Watch};
use crate::options::{AgainOptions, MemoryOptions, SessionOptions};
use crate::peer::Peer;
use crate::supervise::supervise;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::stop::{outlive_hangup, stop};
use crate::ui::{Exit, Failure, OutputOptions, exit, failure, output};

const EXAMPLES: &str = "\
Allowed targets: --allow HOST:PORT
  HOST  an address (10.0.0.7, [fd00::7]), a network (10.0.0.0/8, [fd00::/8]), a name that clients
        must ask for by this name (media.example), or * for any
  PORT  a port, a range (5000-5999), or * for any

Examples:
  weftline relay serve --allow 127.0.0.1:51820 --peer FINGERPRINT
  weftline relay serve --allow 10.0.0.0/24:5000-5999,game.lan:27015 --listen 0.0.0.0:4000

It prints the command for the client. Clients are hosts whose fingerprint is given with --peer or
listed in ~/.config/weftline/allowed-relay (one a line; text after it is a comment), and this
host itself; a changed list counts at once. They reach only the targets that --allow names.";

/// Forward datagrams from `weftline relay connect` to targets that this host reaches
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// Targets that clients may reach, separated by commas; may be repeated
    #[arg(long, value_name = "HOST:PORT", required = true, value_delimiter = ',')]
    allow: Vec<Allow>,
    /// UDP port to listen on: PORT, ADDR or ADDR:PORT [default: every address of this host, port 9338]
    #[arg(long, value_name = "LISTEN")]
    listen: Option<Listen>,
    /// Serve this host: a fingerprint, or a name of `weftline peers`; may be repeated
    #[arg(long, value_name = "PEER", conflicts_with = "insecure_udp")]
    peer: Vec<Peer>,
    /// Serve anyone who can reach this port
    #[arg(long, conflicts_with = "insecure_udp")]
    peer_anyone: bool,
    /// Drop a flow that has been idle for this long
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = idle)]
    idle: Duration,
    /// Most flows of each client at once, with all relays of its fingerprint; each one needs a socket
    /// on this host
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = most_flows)]
    flows: usize,
    /// What clients may take.
    #[command(flatten)]
    memory: MemoryOptions,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = idle)]
    stats: Option<Duration>,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
    /// Where this command can be watched.
    #[command(flatten)]
    monitor: MonitorOptions,
    /// Options in a file.
    #[command(flatten)]
    config: ConfigOptions,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
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
    let report = Report::new("relay", "serve", output, args.stats);
    let (endpoint, memory, watch) = match open(&args, output).await {
        Ok(opened) => opened,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let mut options = ServerOptions::new(args.allow);
    options.idle = args.idle;
    options.flows = args.flows;
    options.memory = memory;
    options.timeout = args.session.timeout;
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

async fn open(args: &ServeArgs, output: OutputOptions) -> Result<(Port, Memory, Watch)> {
    let mut config = args.session.endpoint()?;
    args.again.complete(&mut config);
    args.monitor.complete(&mut config);
    let memory = args.memory.limits();
    let listen = args.listen;
    let endpoint: Port = if args.session.insecure_udp {
        output::insecure();
        args.config.checked()?;
        bind(listen, |addr| InsecureEndpoint::bind(addr, config.clone()))?.into()
    } else {
        let (identity, _) = home::identity(args.session.identity.as_deref())?;
        let allowed = allowed(&identity, Use::Relay, args.peer_anyone, &args.peer)?;
        Protocol::offer(&mut config);
        args.config.checked()?;
        bind(listen, |addr| {
            Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone())
        })?
        .into()
    };
    if !output.quiet {
        announce(args, &endpoint)?;
    }
    let watch = args.monitor.open("relay", "serve").await?;
    Ok((endpoint, memory, watch))
}

/// Prints the command for the client.
fn announce(args: &ServeArgs, endpoint: &Port) -> Result<()> {
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

fn tell(event: &Event<'_>, reporter: &Reporter) {
    let name = |peer: &Option<Fingerprint>| match peer {
        Some(peer) => book::shown(peer),
        None => "an unknown client".to_owned(),
    };
    match event {
        Event::Joined { peer, remote } => {
            reporter.peer(format!("connection from {} at {remote}", name(peer)));
        }
        Event::Left {
            peer,
            remote,
            error,
        } => {
            let failure = failure::session(error, THERE);
            reporter.peer(format!("{} at {remote}: {failure}", name(peer)));
        }
        Event::TurnedAway(refusal) => turned_away(refusal, "--peer", "allow it"),
        Event::InPieces(datagram) => in_pieces(datagram),
        _ => {}
    }
}
