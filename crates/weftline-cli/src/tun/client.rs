//! `weftline tun HOST`: the client end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::tun::{Client, ClientOptions, Event, IpNet, Lease, Snapshot};
use weftline_apps::{Address, SessionError, Stopper};

use super::THERE;
use super::lane::LaneOptions;
use super::network::NetworkOptions;
use super::system;
use crate::options::{AgainOptions, PathOptions, SessionOptions, stats};
use crate::peer::Peer;
use crate::supervise::{Opened, Reload, StayOptions, retrying, supervise};
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::{Exit, Failure, OutputOptions, failure};

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
    /// Its TCP connections that end at both hosts
    #[command(flatten)]
    lane: LaneOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
    /// The paths of the session
    #[command(flatten)]
    paths: PathOptions,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
}

/// Runs the command.
pub(super) async fn run(args: ClientArgs, output: OutputOptions) -> Result<Exit> {
    let report = Report::new("tun", "client", output, args.stats);
    let opening = open(args, report.reporter.clone());
    Ok(supervise(&report, THERE, opening).await)
}

async fn open(
    args: ClientArgs,
    reporter: Reporter,
) -> Result<Opened<impl Fn() -> Snapshot, impl AsyncFnOnce(&Stopper) -> Result<(), SessionError>>> {
    let mut endpoint = args.session.endpoint()?;
    args.stay.monitor.complete(&mut endpoint);
    args.again.complete(&mut endpoint);
    args.paths.complete(&mut endpoint)?;
    let Some(address) = args.address else {
        return Err(Failure::usage("ADDR is needed").into());
    };
    let check = &args.stay.config;
    let ends = args.session.ends(args.peer.as_ref(), check)?;
    check.checked(endpoint.event_logs.as_ref())?;
    let lane = args.lane.open(ends.is_some(), &reporter).await?;
    let remains = args.network.remains(&args.name);
    let network = args.network.prepare(&args.name, &address, &mut endpoint);
    let host = network.await?;
    let opening = host.opening();
    let mut options = ClientOptions::new(address, ends, args.name.clone());
    options.timeout = args.session.timeout;
    options.endpoint = endpoint;
    options.lane = lane.as_ref().map(|(lane, _)| lane.clone());
    let (name, told) = (args.name, reporter.clone());
    let client = Client::new(options, host, move |event| tell(&event, &name, &told));
    let client = Arc::new(client);
    let seen = client.clone();
    Ok(Opened {
        watch: args.stay.monitor.open("tun", "client").await?,
        budget: None,
        look: move || seen.snapshot(),
        reload: Reload::Client,
        run: async move |stopper: &Stopper| {
            let _lane = lane;
            let ended = client.run(stopper).await;
            // A network that was being opened meanwhile is taken down before the program ends.
            drop(opening.lock().await);
            if let Some(remains) = remains {
                reporter.warn(&remains);
            }
            ended
        },
    })
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
