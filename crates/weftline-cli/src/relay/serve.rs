//! `weftline relay serve`: the server end.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::relay::{Event, Server, ServerOptions, Snapshot};
use weftline_apps::{Allow, Protocol};

use super::options::{idle, most_flows};
use super::{THERE, in_pieces};
use crate::book;
use crate::listen::{ListenOptions, Lists, not_reached, turned_away};
use crate::offer::{Offer, One};
use crate::options::{AgainOptions, LimitOptions, SessionOptions, stats};
use crate::supervise::StayOptions;
use crate::ui::progress::Reporter;
use crate::ui::{Exit, OutputOptions, failure};

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
pub(crate) struct ServeArgs {
    /// Targets that clients may reach, separated by commas; may be repeated
    #[arg(long, value_name = "HOST:PORT", required = true, value_delimiter = ',')]
    allow: Vec<Allow>,
    /// Where it listens, and which clients it lets in
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    /// Drop a flow that has been idle for this long
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = idle)]
    idle: Duration,
    /// Most flows of each client at once, with all relays of its fingerprint; each one needs a socket
    /// on this host
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = most_flows)]
    flows: usize,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    stats: Option<Duration>,
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

/// Runs the command.
pub(super) async fn run(args: ServeArgs, output: OutputOptions) -> Result<Exit> {
    let (session, stay) = (args.session.clone(), args.stay.clone());
    let command = One {
        command: "relay",
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
        let mut options = ServerOptions::new(self.allow);
        self.listen.renewed.rules = vec![("allow", options.allow.clone())];
        options.idle = self.idle;
        options.flows = self.flows;
        options.timeout = self.session.timeout;
        let lists = self.listen.lists(Protocol::Relay);
        let server = Server::new(options, move |event| tell(&event, &reporter, lists));
        let seen = server.clone();
        Ok(Offer {
            service: Protocol::Relay,
            listen: self.listen,
            config,
            client: "relay connect SERVER --udp PORT=TARGET",
            risk: "reaches the targets",
            start: Box::new(|| Ok(server)),
            look: Box::new(move || seen.snapshot()),
            stopped: Box::new(|| {}),
        })
    }
}

fn tell(event: &Event<'_>, reporter: &Reporter, lists: Lists) {
    match event {
        Event::Joined { peer, remote } => {
            reporter.peer(format!(
                "connection from {} at {remote}",
                book::client(peer)
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
        Event::Refused {
            peer,
            remote,
            target,
            reason,
        } => reporter.peer(not_reached(&book::client(peer), *remote, target, reason)),
        Event::TurnedAway(refusal) => turned_away(refusal, lists),
        Event::InPieces(datagram) => in_pieces(datagram),
        _ => {}
    }
}
