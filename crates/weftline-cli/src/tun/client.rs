//! `weftline tun HOST`: the client end.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::tun::{Client, ClientOptions, Event, IpNet, Lease, Snapshot};
use weftline_apps::{Address, Stopper};

use super::THERE;
use super::network::{Host, NetworkOptions, Opening};
use super::system;
use crate::config::ConfigOptions;
use crate::home;
use crate::monitor::{MonitorOptions, Watch};
use crate::options::{AgainOptions, PathOptions, SessionOptions, stats};
use crate::peer::Peer;
use crate::supervise::{retrying, supervise};
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::stop::stop;
use crate::ui::{Exit, Failure, OutputOptions, exit, failure, output};

/// Options of the client end.
#[derive(Args, Clone, Debug)]
pub(super) struct ClientArgs {
    /// Address of `weftline tun serve`: HOST or HOST:PORT (UDP, default port 9338)
    #[arg(value_name = "ADDR", required = true)]
    address: Option<Address>,
    /// The server: the fingerprint that `weftline tun serve` prints, or a name of `weftline peers`
    #[arg(
        long,
        value_name = "PEER",
        required_unless_present = "insecure_udp",
        conflicts_with = "insecure_udp"
    )]
    peer: Option<Peer>,
    /// Name of the network device. The addresses that the server grants depend on it and on this
    /// host's fingerprint; a later tunnel of the same name replaces an earlier one
    #[arg(long, value_name = "NAME", default_value = "wl0", value_parser = system::device_name)]
    name: String,
    /// What goes into the tunnel
    #[command(flatten)]
    network: NetworkOptions,
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
    /// The paths of the session
    #[command(flatten)]
    paths: PathOptions,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
}

/// Runs the command.
pub(super) async fn run(args: ClientArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    let report = Report::new("tun", "client", output, args.stats);
    let remains = args.network.remains(&args.name);
    let (client, opening, watch) = match open(args, &report.reporter).await {
        Ok(opened) => opened,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let stopper = Stopper::new();
    let running = client.run(&stopper);
    let ended = supervise(&report, watch, stopping, &stopper, running, || {
        client.snapshot()
    })
    .await;
    let failure = match ended {
        Ok(exit) => Failure::new(exit, "stopped"),
        Err(error) => failure::session(&error, THERE),
    };
    // Stopped meanwhile, it is taken down before the program ends.
    drop(opening.lock().await);
    if let Some(remains) = remains {
        report.reporter.warn(&remains);
    }
    Ok(report.end(Some(&client.snapshot()), &failure))
}

async fn open(args: ClientArgs, reporter: &Reporter) -> Result<(Client<Host>, Opening, Watch)> {
    let mut endpoint = args.session.endpoint()?;
    args.monitor.complete(&mut endpoint);
    args.again.complete(&mut endpoint);
    args.paths.complete(&mut endpoint)?;
    let Some(address) = args.address else {
        return Err(Failure::new(Exit::Usage, "ADDR is needed").into());
    };
    let identity = match &args.peer {
        Some(peer) => Some((
            peer.fingerprint()?,
            home::identity(args.session.identity.as_deref())?.0,
        )),
        None => {
            output::insecure();
            None
        }
    };
    args.config.checked()?;
    let network = args.network.prepare(&args.name, &address, &mut endpoint);
    let host = network.await?;
    let opening = host.opening();
    let mut options = ClientOptions::new(address, identity, args.name.clone());
    options.timeout = args.session.timeout;
    options.endpoint = endpoint;
    let (name, reporter) = (args.name, reporter.clone());
    let client = Client::new(options, host, move |event| tell(&event, &name, &reporter));
    let watch = args.monitor.open("tun", "client").await?;
    Ok((client, opening, watch))
}

fn tell(event: &Event<'_>, name: &str, reporter: &Reporter) {
    match event {
        Event::Connected { remote, lease } => {
            reporter.note(&format!("connected to {remote}\n{}", granted(name, lease)));
        }
        Event::Retrying { error, wait } => {
            let failure = failure::session(error, THERE);
            reporter.warn(&retrying(&failure, *wait));
        }
        Event::Path(event) => reporter.note(&event.to_string()),
        _ => {}
    }
}

/// What the server grants and suggests, for people.
fn granted(name: &str, lease: &Lease) -> String {
    let list = |all: Vec<String>| all.join(", ");
    let nets = |all: &[IpNet]| list(all.iter().map(IpNet::to_string).collect());
    let addresses = nets(&lease.addresses);
    let server = list(lease.server.iter().map(ToString::to_string).collect());
    let mut text = format!(
        "  {name}: {addresses}, MTU {}; the server is {server}",
        lease.mtu
    );
    if !lease.routes.is_empty() {
        text += &format!("\n  the server suggests routes: {}", nets(&lease.routes));
    }
    if !lease.dns.is_empty() {
        let dns = list(lease.dns.iter().map(ToString::to_string).collect());
        text += &format!("\n  the server suggests DNS servers: {dns}");
    }
    text
}
