//! `weftline relay connect`: the client end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::relay::{
    Client, ClientOptions, Event, OpenError, Rule, Snapshot, wireguard_mtu,
};
use weftline_apps::{Address, SessionError, Stopper};

use super::options::{idle, most_flows};
use super::{THERE, in_pieces};
use crate::options::{AgainOptions, PathOptions, SessionOptions, stats};
use crate::peer::Peer;
use crate::supervise::{Opened, Reload, StayOptions, retrying, supervise};
use crate::ui::progress::Reporter;
use crate::ui::report::Report;
use crate::ui::{Exit, Failure, OutputOptions, failure};

const EXAMPLES: &str = "\
Rules: --udp LISTEN=TARGET[,DELIVERY]
  LISTEN    where local programs send to: PORT (of 127.0.0.1), IPv4:PORT or [IPv6]:PORT
  TARGET    where the server sends it: HOST:PORT, as the server resolves it
  DELIVERY  unordered        each datagram as soon as it arrives; none is given up (default)
            in-order         in the order of sending; those behind a lost one wait for it
            deadline=80ms    as soon as it arrives, but never later than 80 ms after it was sent

Each local program that sends to LISTEN is a separate flow. The server opens a UDP port for each
flow towards TARGET, and answers come back to that program.

Examples:
  weftline relay connect vpn.example --peer FINGERPRINT --udp 51820=127.0.0.1:51820
  weftline relay connect host --peer FINGERPRINT --udp 27015=game.lan:27015,deadline=80ms
  weftline relay connect host --peer FINGERPRINT --udp 5004=10.0.0.7:5004,deadline=200ms \\
      --udp 5005=10.0.0.7:5005,in-order

WireGuard: run the first example on the same host, and set `Endpoint = 127.0.0.1:51820` for that
peer and `MTU = 1280` for the interface: longer datagrams travel in pieces, and each piece may be
lost. This program prints the MTU that fits the path, once known: 1328 on most paths, 1056 on all.
The server runs
  weftline relay serve --allow 127.0.0.1:51820 --peer FINGERPRINT-OF-THIS-HOST";

/// Forward UDP from this host to targets that the server reaches
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ConnectArgs {
    /// Address of `weftline relay serve`: HOST or HOST:PORT (UDP, default port 9338)
    #[arg(value_name = "ADDR")]
    address: Address,
    /// The server: the fingerprint that `weftline relay serve` prints, or a name of `weftline peers`
    #[arg(
        long,
        value_name = "PEER",
        required_unless_present = "insecure_udp",
        conflicts_with = "insecure_udp"
    )]
    peer: Option<Peer>,
    /// Port, target and delivery to forward; may be repeated
    #[arg(long = "udp", value_name = "LISTEN=TARGET[,DELIVERY]", required = true)]
    rules: Vec<Rule>,
    /// Drop a flow that has been idle for this long
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = idle)]
    idle: Duration,
    /// Most flows at once; a further flow replaces the one that has been idle for longest
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = most_flows)]
    flows: usize,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    stats: Option<Duration>,
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
pub(super) async fn run(args: ConnectArgs, output: OutputOptions) -> Result<Exit> {
    let report = Report::new("relay", "connect", output, args.stats);
    let opening = open(args, report.reporter.clone());
    Ok(supervise(&report, THERE, opening).await)
}

async fn open(
    args: ConnectArgs,
    reporter: Reporter,
) -> Result<Opened<impl Fn() -> Snapshot, impl AsyncFnOnce(&Stopper) -> Result<(), SessionError>>> {
    let mut endpoint = args.session.endpoint()?;
    args.stay.monitor.complete(&mut endpoint);
    args.again.complete(&mut endpoint);
    args.paths.complete(&mut endpoint)?;
    let check = &args.stay.config;
    let ends = args.session.ends(args.peer.as_ref(), check)?;
    let mut options = ClientOptions::new(args.address, ends, args.rules);
    options.idle = args.idle;
    options.flows = args.flows;
    options.timeout = args.session.timeout;
    check.checked(endpoint.event_logs.as_ref())?;
    options.endpoint = endpoint;
    let client = Client::open(options, move |event| tell(&event, &reporter));
    let client = Arc::new(client.map_err(|error| cannot_open(&error))?);
    let seen = client.clone();
    Ok(Opened {
        watch: args.stay.monitor.open("relay", "connect").await?,
        budget: None,
        look: move || seen.snapshot(),
        reload: Reload::Client,
        run: async move |stopper: &Stopper| client.run(stopper).await,
    })
}

fn cannot_open(error: &OpenError) -> Failure {
    match error {
        OpenError::TooManyRules { most, .. } => {
            let message = format!("more than {most} rules: start a second relay for the rest");
            Failure::usage(message)
        }
        OpenError::Listen { .. } => Failure::new(
            Exit::General,
            format!("{error}; choose another port in --udp"),
        ),
        error => Failure::new(Exit::General, error.to_string()),
    }
}

fn tell(event: &Event<'_>, reporter: &Reporter) {
    match event {
        Event::Connected { remote, routes } => {
            let mut text = format!("connected to {remote}");
            for route in *routes {
                let longest = route.longest;
                text += &format!(
                    "\n  {} -> {}, {}, datagrams of up to {longest} bytes in one piece (WireGuard: MTU = {})",
                    route.at,
                    route.rule.target,
                    route.rule.delivery,
                    wireguard_mtu(longest)
                );
            }
            reporter.note(&text);
        }
        Event::PathChanged { longest } => reporter.note(&format!(
            "the path now carries datagrams of up to {longest} bytes in one piece (WireGuard: MTU = {})",
            wireguard_mtu(*longest)
        )),
        Event::Retrying { error, wait } => {
            let failure = failure::session(error, THERE);
            reporter.warn(&retrying(&failure, *wait));
        }
        Event::Path(event) => reporter.note(&event.to_string()),
        Event::InPieces(datagram) => in_pieces(datagram),
        _ => {}
    }
}
