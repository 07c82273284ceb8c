//! `weftline tun serve`: the server end.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use weftline::{Endpoint, Fingerprint, InsecureEndpoint, Port};
use weftline_apps::tun::{Event, IpNet, LEAST_MTU, MOST_MTU, MTU, Server, ServerOptions, Snapshot};
use weftline_apps::{Listen, Protocol, Stopper};

use super::system::{self, Setup, Up};
use super::{PRESET, THERE};
use crate::book;
use crate::config::ConfigOptions;
use crate::home::{self, Use};
use crate::listen::{allowed, bind, reachable, turned_away};
use crate::monitor::{MonitorOptions, Watch};
use crate::options::{AgainOptions, MemoryOptions, SessionOptions, stats};
use crate::peer::Peer;
use crate::supervise::supervise;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::stop::{outlive_hangup, stop};
use crate::ui::{Exit, Failure, OutputOptions, exit, failure, output};

const EXAMPLES: &str = "\
Pools: --pool NETWORK, one of IPv4 (/8 to /30), one of IPv6 (/32 to /126), or both
  The first address of a pool is this host's own. A client keeps its address: it depends on the
  client's fingerprint and on the name of its device. A client can send only from its own address.

Examples:
  weftline tun serve --pool 10.77.0.0/24 --peer FINGERPRINT
  weftline tun serve --pool 10.77.0.0/24 --pool fd77::/64 --push-route 10.0.0.0/8
  weftline tun serve --pool 10.77.0.0/24 --masquerade eth0 --push-dns 9.9.9.9

It prints the command for the client. Clients are hosts named with --peer or listed in
~/.config/weftline/allowed-tun (one fingerprint a line; text after it is a comment; a changed list
counts at once), and this host itself. They reach this host, and what it forwards packets to.";

/// Give clients of `weftline tun` addresses, and pass their packets on
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, mut_arg("preset", |arg| arg.default_value(PRESET)))]
pub(super) struct ServeArgs {
    /// Network whose addresses clients get; may be repeated for the other IP version
    #[arg(long, value_name = "NETWORK", required = true)]
    pool: Vec<IpNet>,
    /// UDP port to listen on: PORT, ADDR or ADDR:PORT [default: every address of this host, port 9338]
    #[arg(long, value_name = "LISTEN")]
    listen: Option<Listen>,
    /// Serve this host: a fingerprint, or a name of `weftline peers`; may be repeated
    #[arg(long, value_name = "PEER", conflicts_with = "insecure_udp")]
    peer: Vec<Peer>,
    /// Serve anyone who can reach this port
    #[arg(long, conflicts_with = "insecure_udp")]
    peer_anyone: bool,
    /// Name of the network device
    #[arg(long, value_name = "NAME", default_value = "wl0", value_parser = system::device_name)]
    name: String,
    /// Pass the clients' packets on through this interface, with the address of this host; without a value
    /// through that of the default route
    #[arg(long, value_name = "INTERFACE", num_args = 0..=1, value_parser = system::interface)]
    masquerade: Option<Option<String>>,
    /// MTU of the tunnel at both ends, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MTU, value_parser = mtu())]
    mtu: u16,
    /// Route into the tunnel that clients are told of; may be repeated
    #[arg(long, value_name = "NETWORK")]
    push_route: Vec<IpNet>,
    /// DNS server that clients are told of; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    push_dns: Vec<IpAddr>,
    /// Most tunnels of each client at once
    #[arg(long, value_name = "NUMBER", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=1000))]
    tunnels: u32,
    /// What clients may take.
    #[command(flatten)]
    memory: MemoryOptions,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
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

fn mtu() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(i64::from(LEAST_MTU)..=i64::from(MOST_MTU))
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
    let report = Report::new("tun", "serve", output, args.stats);
    let opened = open(&args, output, &report.reporter).await;
    let (endpoint, device, server, watch) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let stopper = Stopper::new();
    let running = server.run(&endpoint, device, &stopper);
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

async fn open(
    args: &ServeArgs,
    output: OutputOptions,
    reporter: &Reporter,
) -> Result<(Port, Up, Arc<Server>, Watch)> {
    let mut options = ServerOptions::new(args.pool.clone());
    options.mtu = args.mtu;
    options.routes = args.push_route.clone();
    options.dns = args.push_dns.clone();
    options.tunnels = args.tunnels;
    options.memory = args.memory.limits();
    options.timeout = args.session.timeout;
    let reporter = reporter.clone();
    let server = Server::new(options, move |event| tell(&event, &reporter));
    let server = server.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;

    let mut config = args.session.endpoint()?;
    args.again.complete(&mut config);
    args.monitor.complete(&mut config);
    let listen = args.listen;
    let endpoint: Port = if args.session.insecure_udp {
        output::insecure();
        args.config.checked()?;
        bind(listen, |addr| InsecureEndpoint::bind(addr, config.clone()))?.into()
    } else {
        let (identity, _) = home::identity(args.session.identity.as_deref())?;
        let allowed = allowed(&identity, Use::Tun, args.peer_anyone, &args.peer)?;
        Protocol::offer(&mut config);
        args.config.checked()?;
        bind(listen, |addr| {
            Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone())
        })?
        .into()
    };
    let lease = server.lease();
    let setup = Setup {
        name: args.name.clone(),
        addresses: lease.addresses.clone(),
        mtu: lease.mtu,
        masquerade: args.masquerade.clone(),
        ..Setup::default()
    };
    setup.prepare()?;
    let device = setup.up()?;
    if !output.quiet {
        announce(args, &endpoint)?;
    }
    let watch = args.monitor.open("tun", "serve").await?;
    Ok((endpoint, device, server, watch))
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
    output::line(&format!("  weftline tun {} {whose}", reachable(local)));
    if args.peer_anyone && !args.session.insecure_udp {
        output::line(
            "warning: --peer-anyone: anyone who can reach this port can send packets through this host",
        );
    }
    Ok(())
}

fn tell(event: &Event<'_>, reporter: &Reporter) {
    let name = |peer: &Option<Fingerprint>| match peer {
        Some(peer) => book::shown(peer),
        None => "an unknown client".to_owned(),
    };
    match event {
        Event::Joined {
            peer,
            remote,
            addresses,
        } => {
            let addresses: Vec<String> = addresses.iter().map(|a| a.addr().to_string()).collect();
            reporter.peer(format!(
                "{} at {remote} has {}",
                name(peer),
                addresses.join(" and ")
            ));
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
        _ => {}
    }
}
