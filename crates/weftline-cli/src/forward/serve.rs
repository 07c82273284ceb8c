//! `weftline forward serve`: the server end.

use anyhow::Result;
use clap::Args;
use weftline_apps::forward::{Event, Server, ServerOptions, Snapshot};
use weftline_apps::{Allow, Protocol};

#[cfg(target_os = "linux")]
use super::handover;
use super::options::BoundsOptions;
use super::{THERE, draining};
use crate::book;
use crate::listen::{ListenOptions, Lists, not_reached, turned_away};
use crate::offer::{Offer, One};
use crate::options::{LimitOptions, SessionOptions};
use crate::supervise::StayOptions;
use crate::ui::progress::Reporter;
use crate::ui::{Exit, OutputOptions, failure};

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
host itself; a changed list counts at once. They reach only the targets that --allow names. `*`
includes this host's own services, and everything else that this host reaches.";

/// Connect to targets that this host reaches, for `weftline forward`
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, mut_arg("insecure_udp", |arg| arg.hide(true)))]
pub(crate) struct ServeArgs {
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
    /// Where it listens, and which clients it lets in
    #[command(flatten)]
    pub(crate) listen: ListenOptions,
    #[command(flatten)]
    bounds: BoundsOptions,
    /// When it stops, give open connections to systemd, which gives them to the next start: no connection ends. The
    /// unit needs FileDescriptorStoreMax=
    #[cfg(target_os = "linux")]
    #[arg(long)]
    hand_over: bool,
    /// What clients may take.
    #[command(flatten)]
    limits: LimitOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    pub(crate) session: SessionOptions,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
}

/// Runs the command.
pub(super) async fn run(args: ServeArgs, output: OutputOptions) -> Result<Exit> {
    let (session, stay) = (args.session.clone(), args.stay.clone());
    let command = One {
        command: "forward",
        there: THERE,
        stats: args.bounds.stats,
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
        let config = self.bounds.endpoint(&self.session)?;
        let client = match self.allow.is_empty() {
            true => "forward SERVER -R PORT:HOST:HOSTPORT",
            false => "forward SERVER -L PORT:HOST:HOSTPORT",
        };
        let mut options = ServerOptions::default();
        options.bounds = self.bounds.bounds()?;
        options.allow = self.allow.into();
        options.allow_listen = self.allow_listen.into();
        self.listen.renewed.rules = vec![
            ("allow", options.allow.clone()),
            ("allow_listen", options.allow_listen.clone()),
        ];
        let lists = self.listen.lists(Protocol::Forward);
        #[cfg(target_os = "linux")]
        {
            options.leaves_connections = self.hand_over && handover::is_possible();
            if self.hand_over && !options.leaves_connections {
                reporter.warn("--hand-over is for services of systemd: connections may finish within --drain-timeout, and then end");
            }
        }
        let (told, warned) = (reporter.clone(), reporter.clone());
        let server = Server::new(options, move |event| tell(&event, &told, lists));
        let (seen, ended) = (server.clone(), server.clone());
        Ok(Offer {
            service: Protocol::Forward,
            listen: self.listen,
            config,
            client,
            risk: "reaches the targets",
            start: Box::new(move || {
                #[cfg(target_os = "linux")]
                if self.hand_over {
                    match handover::take_over() {
                        Ok(left) => server.adopt(left),
                        // Their clients learn that they are over.
                        Err(error) => warned.warn(&format!(
                            "connections of the last start are lost: {error:#}"
                        )),
                    }
                }
                Ok(server)
            }),
            look: Box::new(move || seen.snapshot()),
            stopped: Box::new(move || handed_over(&ended, &reporter)),
        })
    }
}

/// Gives the connections that a stopped server leaves to its next start.
#[cfg_attr(
    not(target_os = "linux"),
    expect(unused_variables, reason = "it leaves none")
)]
fn handed_over(server: &Server, reporter: &Reporter) {
    #[cfg(target_os = "linux")]
    match handover::hand_over(server.left()) {
        Ok(0) => {}
        Ok(count) => reporter.note(&format!("{count} connections wait for the next start")),
        Err(error) => reporter.warn(&format!(
            "open connections are reset: {error:#} (--hand-over is for services of systemd)"
        )),
    }
}

/// Tells people what has happened.
pub(crate) fn tell(event: &Event<'_>, reporter: &Reporter, lists: Lists) {
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
        Event::Refused {
            peer,
            remote,
            target,
            reason,
        } => reporter.peer(not_reached(&book::shown(peer), *remote, target, reason)),
        Event::TurnedAway(refusal) => turned_away(refusal, lists),
        _ => {}
    }
}
