//! `weftline serve`: several services on one port.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{ArgMatches, Args};
use serde_json::Value;
use toml::Table;
use weftline::{Allowed, Endpoint, EndpointConfig};
use weftline_apps::host::{Hosted, host};
use weftline_apps::{Protocol, SessionError, Stopper};

use crate::config::{Tables, matches};
use crate::listen::{Door, Key, ListenOptions, OwnKey, warn_of_outdated_list};
use crate::offer::{Offer, Start};
use crate::options::{
    AgainOptions, CongestionName, LimitOptions, LogOptions, SessionOptions, stats, timeout,
};
use crate::recv::RecvArgs;
use crate::supervise::{Opened, Reload, StayOptions, supervise};
#[cfg(target_os = "linux")]
use crate::tun;
use crate::ui::failure::There;
use crate::ui::progress::Reporter;
use crate::ui::report::{Report, Standing};
use crate::ui::{Exit, Failure, OutputOptions, peers};
use crate::{book, forward, home, relay};

const EXAMPLES: &str = "\
The file has a table for each service: [recv], [relay], [forward] and [tun]. The keys of a table are
the options of `weftline recv`, `weftline relay serve`, `weftline forward serve` and
`weftline tun serve`:

  # serve.toml
  listen = 9338
  peer = [\"studio\"]           # may use all services

  [recv]
  directory = \"inbox\"

  [relay]
  allow = [\"127.0.0.1:51820\"]
  peer = [\"laptop\"]           # may use this one

Example:
  weftline serve --config serve.toml

Clients use it like a service of its own. Each service has its own list of allowed hosts too, as
~/.config/weftline/allowed-relay; a changed list counts at once.";

/// The commands of the server end.
const THERE: There = There {
    serve: "weftline serve",
    service: None,
    allow: "weftline serve --config FILE --peer",
};

/// Serve files, UDP, TCP and IP packets on one port
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Where it listens, and which clients may use all services
    #[command(flatten)]
    listen: ListenOptions,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    stats: Option<Duration>,
    /// What the clients of all services may take.
    #[command(flatten)]
    limits: LimitOptions,
    /// Key file of this host; created on first use [default: ~/.config/weftline/identity.pem]
    #[arg(long, value_name = "FILE", help_heading = "Session")]
    identity: Option<PathBuf>,
    /// Give up when the peer is silent for this long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout, help_heading = "Session")]
    timeout: Duration,
    /// What decides the sending rate [default: engine]
    #[arg(long, value_name = "NAME", help_heading = "Session")]
    congestion: Option<CongestionName>,
    /// Plain UDP tells no service from another: it is refused
    #[arg(long, hide = true)]
    insecure_udp: bool,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
    #[command(flatten)]
    logs: LogOptions,
    /// What every command that stays has.
    #[command(flatten)]
    stay: StayOptions,
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(args: ServeArgs, tables: Tables, output: OutputOptions) -> Result<Exit> {
    let report = Report::new("serve", "", output, args.stats);
    let opening = open(args, tables, output, report.reporter.clone());
    Ok(supervise(&report, THERE, opening).await)
}

async fn open(
    args: ServeArgs,
    tables: Tables,
    output: OutputOptions,
    reporter: Reporter,
) -> Result<Opened<impl Fn() -> Standings, impl AsyncFnOnce(&Stopper) -> Result<(), SessionError>>>
{
    if args.insecure_udp {
        return Err(insecure().into());
    }
    let mut ready = Vec::new();
    for (name, table) in tables {
        ready.push(one(&name, &table, &args, output, &reporter)?);
    }
    let Some(first) = ready.first() else {
        let message = "there is no service to serve: give --config FILE with a table for each, [recv], [relay], [forward] or [tun]";
        return Err(Failure::usage(message).into());
    };
    let mut config = first.config.clone();
    let sessions = ready.iter().map(|service| {
        let name = service.service.name().to_owned();
        (name, service.config.session.clone())
    });
    config.sessions_by_protocol = sessions.collect();
    config.congestion = args.congestion.map(Into::into);
    args.again.complete(&mut config);
    args.logs.complete(&mut config);
    args.stay.monitor.complete(&mut config);
    args.limits.complete(&mut config);
    Protocol::offer(&mut config);

    let identity = args.stay.config.identity(args.identity.as_deref())?;
    let own = OwnKey::new(identity.fingerprint());
    warn_of_outdated_list();
    let mut allowed = Vec::new();
    for service in &ready {
        allowed.push(service.listen.allowed(&own, service.service)?);
    }
    let all = allowed.clone();
    let any = Allowed::from_fn(move |peer| all.iter().any(|one| one.allows(peer)));
    args.stay.config.checked(config.event_logs.as_ref())?;
    let at = |addr| Endpoint::bind(addr, identity.clone(), any.clone(), config.clone());
    let endpoint = args.listen.bind(at)?;
    let renewed = ready
        .iter()
        .map(|one| (Some(one.name), one.listen.renewed.clone()));
    let door = Door {
        renewed: renewed.collect(),
        key: Some(Key::new(&endpoint, args.identity.clone(), own)),
        port: endpoint.into(),
    };

    let (mut hosted, mut looks, mut stopped) = (Vec::new(), Vec::new(), Vec::new());
    let clients: Vec<&str> = ready.iter().map(|service| service.client).collect();
    let risks: Vec<(ListenOptions, &str)> = (ready
        .iter()
        .map(|service| (service.listen.clone(), service.risk)))
    .collect();
    for (service, allowed) in ready.into_iter().zip(allowed) {
        let (name, list) = (service.name, home::list_shown(service.service));
        let refused = move |peer| {
            peers::tell(format!(
                "refused {} for {name}: to allow it, add its fingerprint to {list}, which counts at once; or to `peer` of [{name}] in the file of --config, and send SIGHUP",
                book::shown(&peer)
            ));
        };
        hosted.push(Hosted::only_for((service.start)()?, allowed, refused));
        looks.push(service.look);
        stopped.push(service.stopped);
    }
    let watch = args.stay.monitor.open("serve", "").await?;
    if !output.quiet {
        args.listen.announce(&door.port, &clients)?;
        for (listen, risk) in risks {
            listen.warn(risk);
        }
    }
    let (port, budget) = (door.port.clone(), args.limits.budget());
    Ok(Opened {
        watch,
        budget: Some(budget.clone()),
        look: move || Standings(looks.iter().map(|look| look()).collect()),
        reload: Reload::Server(Box::new(move || door.reload())),
        run: async move |stopper: &Stopper| {
            let ended = host(&port, &hosted, &budget, stopper).await;
            stopped.into_iter().for_each(|stopped| stopped());
            ended
        },
    })
}

fn insecure() -> Failure {
    Failure::usage("serve has to authenticate its peers: omit --insecure-udp")
}

/// An [`Offer`] of any service.
struct Ready {
    /// Of its table.
    name: &'static str,
    service: Protocol,
    listen: ListenOptions,
    config: EndpointConfig,
    client: &'static str,
    risk: &'static str,
    start: Start,
    look: Look,
    stopped: Box<dyn FnOnce()>,
}

type Look = Box<dyn Fn() -> (&'static str, Box<dyn AnyStanding>)>;

/// The service that a table of this name describes.
///
/// # Errors
/// There is none of this name, or the table says what it cannot do.
fn one(
    name: &str,
    table: &Table,
    args: &ServeArgs,
    output: OutputOptions,
    reporter: &Reporter,
) -> Result<Ready> {
    let (config, reporter) = (&args.stay.config, reporter.clone());
    match name {
        "recv" => {
            let mut recv: RecvArgs = config.options(name, table)?;
            args.share(&mut recv.listen, &mut recv.session)?;
            // No sender replaces these.
            recv.session.identity.clone_from(&args.identity);
            recv.stay.config.clone_from(config);
            Ok(Ready::new("recv", recv.offer(output)?))
        }
        "relay" => {
            let mut relay: relay::serve::ServeArgs = config.options(name, table)?;
            args.share(&mut relay.listen, &mut relay.session)?;
            Ok(Ready::new("relay", relay.offer(reporter)?))
        }
        "forward" => {
            let mut forward: forward::serve::ServeArgs = config.options(name, table)?;
            args.share(&mut forward.listen, &mut forward.session)?;
            Ok(Ready::new("forward", forward.offer(reporter)?))
        }
        #[cfg(target_os = "linux")]
        "tun" => {
            let mut tun: tun::serve::ServeArgs = config.options(name, table)?;
            args.share(&mut tun.listen, &mut tun.session)?;
            Ok(Ready::new("tun", tun.offer(reporter)?))
        }
        name => Err(no_service(name).into()),
    }
}

fn no_service(name: &str) -> Failure {
    let message = format!(
        "[{name}] is no service: there are [recv], [relay], [forward] and, on Linux, [tun]"
    );
    Failure::usage(message)
}

/// What a table of this name gives.
///
/// # Errors
/// There is no service of this name, or it could not start with the table.
pub(crate) fn table(file: &Path, name: &str, table: &Table) -> Result<ArgMatches, Failure> {
    match name {
        "recv" => matches::<RecvArgs>(file, name, table),
        "relay" => matches::<relay::serve::ServeArgs>(file, name, table),
        "forward" => matches::<forward::serve::ServeArgs>(file, name, table),
        #[cfg(target_os = "linux")]
        "tun" => matches::<tun::serve::ServeArgs>(file, name, table),
        name => Err(no_service(name)),
    }
}

impl ServeArgs {
    /// Adds to a service's options what is for all services.
    ///
    /// # Errors
    /// The service is to be on plain UDP.
    fn share(
        &self,
        listen: &mut ListenOptions,
        session: &mut SessionOptions,
    ) -> Result<(), Failure> {
        if session.insecure_udp {
            return Err(insecure());
        }
        listen.peer.extend(self.listen.peer.iter().cloned());
        listen.peer_anyone |= self.listen.peer_anyone;
        listen.is_shared = true;
        session.timeout = self.timeout;
        Ok(())
    }
}

impl Ready {
    fn new<S: Standing + 'static>(name: &'static str, offer: Offer<S>) -> Self {
        let look = offer.look;
        Ready {
            name,
            service: offer.service,
            listen: offer.listen,
            config: offer.config,
            client: offer.client,
            risk: offer.risk,
            start: offer.start,
            look: Box::new(move || (name, Box::new(look()))),
            stopped: offer.stopped,
        }
    }
}

/// The counters of each service, with its name.
#[derive(Default)]
struct Standings(Vec<(&'static str, Box<dyn AnyStanding>)>);

/// A [`Standing`] of any service.
trait AnyStanding: Any {
    fn bytes(&self) -> u64;
    fn has_served(&self) -> bool;
    /// As [`Standing::line`], if `since` is of the same service.
    fn line(&self, since: &dyn Any, time: Duration) -> Option<String>;
    fn sentence(&self, time: Duration) -> String;
    fn json(&self) -> Value;
}

impl<S: Standing + 'static> AnyStanding for S {
    fn bytes(&self) -> u64 {
        Standing::bytes(self)
    }

    fn has_served(&self) -> bool {
        Standing::has_served(self)
    }

    fn line(&self, since: &dyn Any, time: Duration) -> Option<String> {
        let since = since.downcast_ref()?;
        Some(Standing::line(self, since, time))
    }

    fn sentence(&self, time: Duration) -> String {
        Standing::sentence(self, time)
    }

    fn json(&self) -> Value {
        Standing::json(self)
    }
}

impl Standing for Standings {
    fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, one)| one.bytes()).sum()
    }

    fn has_served(&self) -> bool {
        self.0.iter().any(|(_, one)| one.has_served())
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let lines = self.0.iter().zip(&since.0);
        let lines = lines.filter_map(|((name, now), (_, since))| {
            let since: &dyn Any = &**since;
            Some(format!("{name}: {}", now.line(since, time)?))
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    fn sentence(&self, time: Duration) -> String {
        let served = self.0.iter().filter(|(_, one)| one.has_served());
        let told = served.map(|(name, one)| format!("{name}: {}", one.sentence(time)));
        told.collect::<Vec<_>>().join("\n")
    }

    fn json(&self) -> Value {
        let all = self.0.iter().map(|(name, one)| (*name, one.json()));
        all.collect()
    }
}
