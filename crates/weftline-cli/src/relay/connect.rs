//! `weftline relay connect`: the client end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use weftline::{CloseReason, Connection, Endpoint, Fingerprint, Identity, Stream};

use super::counts::Snapshot;
use super::delivery::Delivery;
use super::inward::{finish, inward};
use super::near::Near;
use super::options::{idle, most_flows};
use super::rule::Rule;
use super::table::{Hostile, longest, wireguard_mtu};
use super::wire::{self, Answer, Gone, Hello, MOST_RULES, VERSION, Wanted};
use crate::address::Address;
use crate::exit::{self, Exit, Failure, close};
use crate::home;
use crate::options::{AgainOptions, OutputOptions, SessionOptions};
use crate::output;
use crate::report::Report;
use crate::send;
use crate::session::{farewell, stop};

/// First and longest time between attempts to connect.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);
/// How long datagrams in flight may take to arrive when the relay is stopped.
const DRAIN: Duration = Duration::from_secs(1);
/// Time between two checks for idle flows.
const SWEEP: Duration = Duration::from_secs(1);

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
  weftline relay connect vpn.example --peer abcd-... --udp 51820=127.0.0.1:51820
  weftline relay connect host --peer abcd-... --udp 27015=game.lan:27015,deadline=80ms
  weftline relay connect host --peer abcd-... --udp 5004=10.0.0.7:5004,deadline=200ms \\
      --udp 5005=10.0.0.7:5005,in-order

WireGuard: run the first example on the same host, and set `Endpoint = 127.0.0.1:51820` for that
peer and `MTU = 1280` for the interface: longer datagrams are dropped. This program prints the MTU
that fits the path, once known: 1328 on most paths, 1056 on all. With --fragment longer datagrams
pass too, in pieces. The server runs
  weftline relay serve --allow 127.0.0.1:51820 --peer FINGERPRINT-OF-THIS-HOST";

/// Forward UDP from this host to targets that the server reaches
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ConnectArgs {
    /// Address of `weftline relay serve`: HOST or HOST:PORT (UDP, default port 9338)
    #[arg(value_name = "ADDR")]
    address: Address,
    /// Fingerprint of the server, as `weftline relay serve` prints it
    #[arg(
        long,
        value_name = "FINGERPRINT",
        required_unless_present = "insecure_udp",
        conflicts_with = "insecure_udp"
    )]
    peer: Option<Fingerprint>,
    /// Port, target and delivery to forward; may be repeated
    #[arg(long = "udp", value_name = "LISTEN=TARGET[,DELIVERY]", required = true)]
    rules: Vec<Rule>,
    /// Fragment datagrams that do not fit a packet, in both directions, instead of dropping them
    #[arg(long)]
    fragment: bool,
    /// Drop a flow that was idle for this long
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = idle)]
    idle: Duration,
    /// Most flows at once; a further flow replaces the one that was idle for longest
    #[arg(long, value_name = "NUMBER", default_value = "500", value_parser = most_flows)]
    flows: usize,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = idle)]
    stats: Option<Duration>,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    session: SessionOptions,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
}

/// Runs the command.
pub(super) async fn run(args: ConnectArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    let report = Report::new("relay", "connect", output, args.stats);
    let client = match Client::open(args) {
        Ok(client) => client,
        Err(error) => return Ok(report.end(Some(&Snapshot::default()), &exit::wrap(&error))),
    };
    let mut listeners = JoinSet::new();
    for rule in 0..client.near.rules().len() {
        listeners.spawn(client.near.clone().listen(rule as u8));
    }
    let failure = tokio::select! {
        failure = client.serve(&report, stopping) => failure,
        never = report.watch(|| client.near.snapshot()) => match never {},
    };
    listeners.shutdown().await;
    Ok(report.end(Some(&client.near.snapshot()), &failure))
}

/// The client end.
pub(super) struct Client {
    args: ConnectArgs,
    pub(super) near: Arc<Near>,
    hello: Hello,
    identities: Option<(Fingerprint, Identity)>,
}

impl Client {
    pub(super) fn open(args: ConnectArgs) -> Result<Self> {
        if args.rules.len() > MOST_RULES {
            let message =
                format!("more than {MOST_RULES} rules: start a second relay for the rest");
            return Err(Failure::new(Exit::Usage, message).into());
        }
        args.session.endpoint()?;
        let identities = match args.peer {
            Some(peer) => Some((peer, home::identity(args.session.identity.as_deref())?.0)),
            None => {
                output::insecure();
                None
            }
        };
        let near = Near::open(args.rules.clone(), args.flows).map_err(|(addr, error)| {
            let message = format!("cannot listen on {addr}: {error}; choose another port in --udp");
            Failure::new(Exit::General, message)
        })?;
        let rules = args.rules.iter().map(|rule| Wanted {
            target: rule.target.to_string(),
            delivery: rule.delivery.to_string(),
        });
        let hello = Hello {
            weftline_relay: VERSION,
            // As random as the standard library's hash keys: the number only distinguishes two
            // runs.
            instance: std::hash::BuildHasher::hash_one(
                &std::collections::hash_map::RandomState::new(),
                std::process::id(),
            ),
            fragment: args.fragment,
            rules: rules.collect(),
        };
        Ok(Client {
            args,
            near: Arc::new(near),
            hello,
            identities,
        })
    }

    /// Keeps a session until a person stops the program or an error is permanent.
    pub(super) async fn serve(
        &self,
        report: &Report,
        mut stopping: Pin<&mut impl Future<Output = Exit>>,
    ) -> Failure {
        let mut wait = FIRST_WAIT;
        let mut served = false;
        let stopped = |exit| Failure::new(exit, "stopped");
        loop {
            let begun = tokio::select! {
                begun = self.begin(report) => begun,
                exit = &mut stopping => return stopped(exit),
            };
            let failure = match begun {
                Ok((endpoint, connection, stream, answer)) => {
                    served = true;
                    wait = FIRST_WAIT;
                    let ended = tokio::select! {
                        ended = self.carry(report, &connection, stream, &answer) => ended,
                        exit = &mut stopping => {
                            self.near.detach();
                            let _ = timeout(DRAIN, connection.flushed()).await;
                            farewell(&endpoint, close::INTERRUPTED, "stopped").await;
                            return stopped(exit);
                        }
                    };
                    self.near.detach();
                    connection.close(close::FAILED, "the session failed");
                    exit::closed(&ended)
                }
                Err(error) => exit::wrap(&error),
            };
            // An error that a person must fix is permanent, unless a session has worked before.
            if !served && !matches!(failure.exit, Exit::Lost) {
                return failure;
            }
            let seconds = wait.as_secs_f64();
            report
                .reporter
                .warn(&format!("{failure}; trying again in {seconds} s"));
            tokio::select! {
                () = sleep(wait) => {}
                exit = &mut stopping => return stopped(exit),
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Connects, and agrees with the server on the rules.
    async fn begin(&self, report: &Report) -> Result<(Endpoint, Connection, Stream, Answer)> {
        let mut config = self.args.session.endpoint()?;
        self.args.again.complete(&mut config);
        let addresses = self.args.address.resolve().await?;
        let allow = "weftline relay serve --allow TARGET --peer";
        let connecting = send::connect(addresses, self.identities.clone(), &config, allow);
        let (endpoint, connection) = connecting.await?;
        let agreeing = timeout(self.args.session.timeout, self.agree(&connection));
        match agreeing.await {
            Ok(Ok((stream, answer))) => {
                self.near.attach(
                    connection.clone(),
                    self.args.fragment,
                    answer.flows as usize,
                );
                self.announce(report, &connection)?;
                Ok((endpoint, connection, stream, answer))
            }
            Ok(Err(error)) => {
                farewell(&endpoint, close::FAILED, "").await;
                Err(error)
            }
            Err(_) => {
                let message = "the peer does not answer: is it `weftline relay serve`?";
                Err(Failure::new(Exit::Lost, message).into())
            }
        }
    }

    async fn agree(&self, connection: &Connection) -> Result<(Stream, Answer)> {
        let lost = |error: std::io::Error| match connection.close_reason() {
            Some(reason) => exit::closed(&reason),
            None => Failure::new(Exit::General, error.to_string()),
        };
        let stream = connection.open_stream().await;
        let mut stream = stream.map_err(|reason| exit::closed(&reason))?;
        wire::write(&mut stream, &self.hello).await.map_err(lost)?;
        let answer: Answer = wire::read(&mut stream).await.map_err(lost)?;
        if answer.weftline_relay != VERSION {
            let message = "the peer runs another version of the relay";
            return Err(Failure::new(Exit::General, message).into());
        }
        let refused = self.args.rules.iter().zip(&answer.refused);
        if let Some((rule, why)) = refused
            .filter_map(|(r, why)| Some((r, why.as_ref()?)))
            .next()
        {
            let target = &rule.target;
            let message = format!(
                "the server refuses {target}: {why}; on its host, run: weftline relay serve --allow {target}"
            );
            return Err(Failure::new(Exit::Refused, message).into());
        }
        Ok((stream, answer))
    }

    fn announce(&self, report: &Report, connection: &Connection) -> Result<()> {
        let mut text = format!("connected to {}", connection.remote_addr());
        for (rule, at) in self.near.rules().iter().zip(self.near.addresses()?) {
            let most = longest(connection, rule.delivery);
            text += &format!(
                "\n  {at} -> {}, {}, datagrams of up to {most} bytes (WireGuard: MTU = {})",
                rule.target,
                rule.delivery,
                wireguard_mtu(most)
            );
        }
        report.reporter.note(&text);
        Ok(())
    }

    /// Carries datagrams until the session ends.
    async fn carry(
        &self,
        report: &Report,
        connection: &Connection,
        mut stream: Stream,
        answer: &Answer,
    ) -> CloseReason {
        let idle = self.args.idle.min(Duration::from_secs(answer.idle.max(1)));
        let near = &self.near;
        let inward = async {
            let inward = inward(
                connection,
                |message| near.inward(message),
                || near.hand_on(),
            );
            match inward.await {
                Ok(reason) => reason,
                Err(Hostile) => {
                    CloseReason::Protocol("more datagrams out of order than the credit allows")
                }
            }
        };
        let sweep = async {
            let mut timer = interval(SWEEP.min(idle));
            let mut most = longest(connection, Delivery::InOrder);
            loop {
                timer.tick().await;
                let now = longest(connection, Delivery::InOrder);
                if std::mem::replace(&mut most, now) != now {
                    let mtu = wireguard_mtu(now);
                    report.reporter.note(&format!(
                        "the path now carries datagrams of up to {now} bytes (WireGuard: MTU = {mtu})"
                    ));
                }
                let gone = self.near.expire(idle);
                for gone in gone.chunks(1000) {
                    let gone = gone.to_vec();
                    if wire::write(&mut stream, &Gone { gone }).await.is_err() {
                        return connection.closed().await;
                    }
                }
            }
        };
        let reason = tokio::select! {
            reason = inward => reason,
            reason = sweep => reason,
        };
        finish(|| near.hand_on()).await;
        reason
    }
}
