//! `weftline tun serve`: the server end.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::forward;
use weftline_apps::tun::{Event, IpNet, LEAST_MTU, MOST_MTU, MTU, Server, ServerOptions, Snapshot};
use weftline_apps::{Allow, Protocol};

use super::lane::insecure;
use super::system::{self, Setup};
use super::{PRESET, THERE};
use crate::book;
use crate::forward::options::ConnectionOptions;
use crate::listen::{ListenOptions, Lists, turned_away};
use crate::offer::{Offer, One};
use crate::options::{AgainOptions, LimitOptions, SessionOptions, stats};
use crate::supervise::StayOptions;
use crate::ui::progress::Reporter;
use crate::ui::{Exit, Failure, OutputOptions, failure};

const EXAMPLES: &str = "\
Pools: --pool NETWORK, one of IPv4 (/8 to /30), one of IPv6 (/32 to /126), or both
  The first address of a pool is this host's own. A client keeps its address: it depends on the
  client's fingerprint and on the name of its device. A client can send only from its own address.

Examples:
  weftline tun serve --pool 10.77.0.0/24 --peer FINGERPRINT
  weftline tun serve --pool 10.77.0.0/24 --pool fd77::/64 --push-route 10.0.0.0/8
  weftline tun serve --pool 10.77.0.0/24 --masquerade eth0 --push-dns 9.9.9.9
  weftline tun serve --pool 10.77.0.0/24 --allow '10.77.0.1:*' --peer FINGERPRINT

It prints the command for the client. Clients are hosts named with --peer or listed in
~/.config/weftline/allowed-tun (one fingerprint a line; text after it is a comment; a changed list
counts at once), and this host itself. They reach this host, and what it forwards packets to.";

/// Give clients of `weftline tun` addresses, and pass their packets on
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, mut_arg("preset", |arg| arg.default_value(PRESET)))]
pub(crate) struct ServeArgs {
    /// Network whose addresses clients get; may be repeated for the other IP version
    #[arg(long, value_name = "NETWORK", required = true)]
    pool: Vec<IpNet>,
    /// Where it listens, and which clients it lets in
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
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
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    stats: Option<Duration>,
    /// Targets of TCP connections that clients may end at both hosts (-T of `weftline tun`), as of
    /// `weftline forward serve`: separated by commas; may be repeated [default: none]
    #[arg(
        long,
        value_name = "HOST:PORT",
        value_delimiter = ',',
        help_heading = "TCP"
    )]
    allow: Vec<Allow>,
    #[command(flatten, next_help_heading = "TCP")]
    connections: ConnectionOptions,
    /// What clients may take.
    #[command(flatten)]
    limits: LimitOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    pub(crate) session: SessionOptions,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
}

fn mtu() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(i64::from(LEAST_MTU)..=i64::from(MOST_MTU))
}

/// Runs the command.
pub(super) async fn run(args: ServeArgs, output: OutputOptions) -> Result<Exit> {
    let (session, stay) = (args.session.clone(), args.stay.clone());
    let command = One {
        command: "tun",
        there: THERE,
        stats: args.stats,
        limits: args.limits,
        session: &session,
        stay: &stay,
    };
    command.run(output, |reporter| args.offer(reporter)).await
}

impl ServeArgs {
    /// The service that the options describe.
    ///
    /// # Errors
    /// The options contradict each other.
    pub(crate) fn offer(mut self, reporter: Reporter) -> Result<Offer<Snapshot>> {
        let mut config = self.session.endpoint()?;
        self.again.complete(&mut config);
        let mut options = ServerOptions::new(self.pool);
        options.mtu = self.mtu;
        options.routes = self.push_route;
        options.dns = self.push_dns;
        options.tunnels = self.tunnels;
        options.timeout = self.session.timeout;
        if !self.allow.is_empty() && self.session.insecure_udp {
            return Err(insecure().into());
        }
        let mut lane = forward::ServerOptions::default();
        lane.bounds = self.connections.bounds()?;
        lane.bounds.apply_beside_messages(&mut config);
        lane.allow = self.allow.into();
        self.listen.renewed.rules = vec![("allow", lane.allow.clone())];
        let lists = self.listen.lists(Protocol::Tun);
        let told = reporter.clone();
        options.lane = forward::Server::new(lane, move |event| {
            crate::forward::serve::tell(&event, &told, lists);
        });
        let server = Server::new(options, move |event| tell(&event, &reporter, lists));
        let server = server.map_err(|error| Failure::usage(error.to_string()))?;
        let lease = server.lease();
        let setup = Setup {
            name: self.name,
            addresses: lease.addresses.clone(),
            mtu: lease.mtu,
            masquerade: self.masquerade,
            ..Setup::default()
        };
        let seen = server.clone();
        Ok(Offer {
            service: Protocol::Tun,
            listen: self.listen,
            config,
            client: "tun SERVER",
            risk: "can send packets through this host",
            start: Box::new(move || {
                setup.prepare()?;
                Ok(server.on(setup.up()?))
            }),
            look: Box::new(move || seen.snapshot()),
            stopped: Box::new(|| {}),
        })
    }
}

fn tell(event: &Event<'_>, reporter: &Reporter, lists: Lists) {
    match event {
        Event::Joined {
            peer,
            remote,
            addresses,
        } => {
            let addresses: Vec<String> = addresses.iter().map(|a| a.addr().to_string()).collect();
            reporter.peer(format!(
                "{} at {remote} has {}",
                book::client(peer),
                addresses.join(" and ")
            ));
        }
        Event::Left {
            peer,
            remote,
            error,
        } => {
            let failure = failure::session(error, THERE);
            reporter.peer(format!("{} at {remote}: {failure}", book::client(peer)));
        }
        Event::TurnedAway(refusal) => turned_away(refusal, lists),
        _ => {}
    }
}
