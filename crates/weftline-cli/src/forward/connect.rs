//! `weftline forward`: the client end.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::forward::{Client, ClientOptions, Entry, Event, OpenError, Snapshot};
#[cfg(target_os = "linux")]
use weftline_apps::tun::IpNet;
use weftline_apps::{Address, SessionError, Stopper};

#[cfg(target_os = "linux")]
use super::capture::Capture;
use super::options::BoundsOptions;
use super::rule::Rule;
use super::{THERE, draining};
use crate::listen::local;
use crate::options::{PathOptions, SessionOptions, wait};
use crate::peer::Peer;
use crate::supervise::{Opened, Reload, StayOptions, retrying, supervise};
#[cfg(target_os = "linux")]
use crate::system::network;
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::{Exit, Failure, OutputOptions, failure};

/// The options that say what is forwarded.
const RULES: &str = match cfg!(target_os = "linux") {
    true => "-L, -R, -D or -T",
    false => "-L, -R or -D",
};

/// Options of the client end.
#[derive(Args, Clone, Debug)]
pub(super) struct ConnectArgs {
    /// Address of `weftline forward serve`: HOST or HOST:PORT (UDP, default port 9338)
    #[arg(value_name = "ADDR", required = true)]
    address: Option<Address>,
    /// The server: the fingerprint that `weftline forward serve` prints, or a name of `weftline peers`
    #[arg(long, value_name = "PEER", required = true)]
    peer: Option<Peer>,
    /// Connections to PORT on this host go to HOST:HOSTPORT, as the server reaches it; may be repeated.
    /// BIND is an address of this host [default: 127.0.0.1]
    #[arg(short = 'L', long = "local", value_name = "[BIND:]PORT:HOST:HOSTPORT")]
    local: Vec<Rule>,
    /// Connections to PORT on the server go to HOST:HOSTPORT, as this host reaches it; may be repeated.
    /// BIND is an address of the server [default: 127.0.0.1]
    #[arg(short = 'R', long = "remote", value_name = "[BIND:]PORT:HOST:HOSTPORT")]
    remote: Vec<Rule>,
    /// A SOCKS 5 proxy for programs of this host, which name the target; may be repeated
    #[arg(short = 'D', long = "socks", value_name = "[BIND:]PORT", value_parser = local)]
    socks: Vec<SocketAddr>,
    /// Connections of this host's programs to addresses in NETWORK go to the server, which connects to the
    /// same addresses; the programs need no settings. May be repeated. Needs root, or CAP_NET_ADMIN
    #[cfg(target_os = "linux")]
    #[arg(short = 'T', long = "transparent", value_name = "NETWORK", value_parser = network, conflicts_with = "remote")]
    transparent: Vec<IpNet>,
    /// How long a new connection waits while there is no session
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait)]
    wait: Duration,
    #[command(flatten)]
    bounds: BoundsOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
    /// The paths of the session
    #[command(flatten)]
    paths: PathOptions,
}

/// Runs the command.
pub(super) async fn run(args: ConnectArgs, output: OutputOptions) -> Result<Exit> {
    let report = Report::new("forward", "connect", output, args.bounds.stats);
    let opening = open(args, report.reporter.clone());
    Ok(supervise(&report, THERE, opening).await)
}

async fn open(
    args: ConnectArgs,
    reporter: Reporter,
) -> Result<Opened<impl Fn() -> Snapshot, impl AsyncFnOnce(&Stopper) -> Result<(), SessionError>>> {
    let mut endpoint = args.bounds.endpoint(&args.session)?;
    args.stay.monitor.complete(&mut endpoint);
    args.paths.complete(&mut endpoint)?;
    let (Some(address), Some(peer)) = (args.address, args.peer) else {
        return Err(Failure::usage("ADDR and --peer FINGERPRINT are needed").into());
    };
    let local = args
        .local
        .into_iter()
        .map(|rule| (rule.at, Entry::To(rule.to)));
    let socks = args.socks.into_iter().map(|at| (at, Entry::Socks));
    let listen = local.chain(socks);
    #[cfg(target_os = "linux")]
    let listen = listen.chain(Capture::listeners(&args.transparent));
    let listen: Vec<_> = listen.collect();
    if listen.is_empty() && args.remote.is_empty() {
        return Err(Failure::usage(format!("nothing to forward: give {RULES}")).into());
    }
    let check = &args.stay.config;
    let identity = check.identity(args.session.identity.as_deref())?;
    let mut options = ClientOptions::new(address, (peer.fingerprint()?, identity));
    options.listen = listen;
    let remote = args.remote.into_iter().map(|rule| (rule.at, rule.to));
    options.remote = remote.collect();
    options.wait = args.wait;
    options.timeout = args.session.timeout;
    options.bounds = args.bounds.bounds()?;
    check.checked(endpoint.event_logs.as_ref())?;
    options.endpoint = endpoint;
    let client = Client::open(options, move |event| tell(&event, &reporter)).await;
    let client = client.map_err(not_open)?;
    #[cfg(target_os = "linux")]
    let capture = Capture::open(&args.transparent, client.entries())?;
    Ok(Opened {
        watch: args.stay.monitor.open("forward", "connect").await?,
        budget: None,
        look: client.counts(),
        reload: Reload::Client,
        run: async move |stopper: &Stopper| {
            #[cfg(target_os = "linux")]
            let _capture = capture;
            client.run(stopper).await
        },
    })
}

/// Why there are no local listeners.
pub(crate) fn not_open(error: OpenError) -> Failure {
    match &error {
        OpenError::Listen { .. } => {
            Failure::new(Exit::General, format!("{error}; choose another port"))
        }
        error => Failure::usage(error.to_string()),
    }
}

/// Tells people what has happened.
pub(crate) fn tell(event: &Event<'_>, reporter: &Reporter) {
    match event {
        Event::Connected {
            remote,
            entries,
            reverse,
        } => {
            let mut text = format!("connected to {remote}");
            for (at, entry) in *entries {
                text += &match entry {
                    Entry::To(target) => format!("\n  {at} -> {target}"),
                    Entry::Socks => format!("\n  {at} -> the target that SOCKS names"),
                    #[cfg(target_os = "linux")]
                    Entry::Redirected => {
                        format!("\n  {at} -> where redirected connections were to go")
                    }
                };
            }
            for (at, target) in *reverse {
                text += &format!("\n  on the server {at} -> {target}");
            }
            reporter.note(&text);
        }
        Event::UnknownTarget { reason } => reporter.warn(reason),
        Event::NoLongerListens { at } => {
            reporter.warn(&format!("the server no longer listens on {at}"));
        }
        Event::Retrying { error, wait } => {
            let failure = failure::session(error, THERE);
            reporter.warn(&retrying(&failure, *wait));
        }
        Event::Path(event) => reporter.note(&event.to_string()),
        Event::NoConnection { reason, .. } => reporter.warn(&format!("no connection: {reason}")),
        Event::Draining { open, patience } => draining(*open, *patience, reporter),
        _ => {}
    }
}
