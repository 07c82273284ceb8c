//! Serving peers: the address, the allowed peers, and the message about a refused one.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use clap::Args;
use weftline::{
    Allowed, BindError, Endpoint, EndpointConfig, Fingerprint, InsecureEndpoint, Port, Refusal,
};
use weftline_apps::{Allow, Listen, Protocol, Rules, printable};

use crate::book;
use crate::config::{ConfigOptions, OptionsNow};
use crate::home;
use crate::listed::Listed;
use crate::options::SessionOptions;
use crate::peer::Peer;
use crate::ui::output::{self, quoted, quoted_command};
use crate::ui::terminal;
use weftline_apps::lock;

/// Where a server listens, and which peers it serves.
#[derive(Args, Clone, Debug)]
pub(crate) struct ListenOptions {
    /// UDP port to listen on: PORT or :PORT at every address of this host, or ADDR or ADDR:PORT at one
    /// [default: every address, port 9338]
    #[arg(long, value_name = "LISTEN")]
    listen: Option<Listen>,
    /// Let this host in: a fingerprint, or a name of `weftline peers`; may be repeated
    #[arg(long, value_name = "PEER", conflicts_with = "insecure_udp")]
    pub(crate) peer: Vec<Peer>,
    /// Let anyone in who can reach this port
    #[arg(long, conflicts_with = "insecure_udp")]
    pub(crate) peer_anyone: bool,
    /// The port is shared by the services of `weftline serve`.
    #[arg(skip)]
    pub(crate) is_shared: bool,
    /// The options that SIGHUP reads again, as they are now.
    #[arg(skip)]
    pub(crate) renewed: Renewed,
}

impl ListenOptions {
    /// Opens the port of a server, unless it was only to be checked.
    ///
    /// # Errors
    /// The key or the list of peers cannot be used, or the port cannot be bound.
    pub(crate) fn open(
        &self,
        service: Protocol,
        session: &SessionOptions,
        check: &ConfigOptions,
        config: EndpointConfig,
    ) -> Result<Door> {
        if session.insecure_udp {
            return Ok(self.door(self.insecure(check, config)?.into(), None));
        }
        let Secured { endpoint, own, .. } = self.secured(service, session, check, config)?;
        let key = Key::new(&endpoint, session.identity.clone(), own);
        Ok(self.door(endpoint.into(), Some(key)))
    }

    /// The port of a command of one service; it has no key on plain UDP.
    pub(crate) fn door(&self, port: Port, key: Option<Key>) -> Door {
        let renewed = vec![(None, self.renewed.clone())];
        Door { port, key, renewed }
    }

    /// As [`open`](Self::open), of a server that is to know its peers.
    pub(crate) fn secured(
        &self,
        service: Protocol,
        session: &SessionOptions,
        check: &ConfigOptions,
        mut config: EndpointConfig,
    ) -> Result<Secured> {
        let identity = check.identity(session.identity.as_deref())?;
        let own = OwnKey::new(identity.fingerprint());
        warn_of_outdated_list();
        let allowed = self.allowed(&own, service)?;
        Protocol::offer(&mut config);
        check.checked(config.event_logs.as_ref())?;
        let at = |addr| Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone());
        Ok(Secured {
            endpoint: self.bind(at)?,
            allowed,
            own,
        })
    }

    /// As [`open`](Self::open), of a server on plain UDP.
    pub(crate) fn insecure(
        &self,
        check: &ConfigOptions,
        config: EndpointConfig,
    ) -> Result<InsecureEndpoint> {
        output::insecure();
        check.checked(config.event_logs.as_ref())?;
        self.bind(|addr| InsecureEndpoint::bind(addr, config.clone()))
    }

    /// The peers that a server with this key serves: anyone, or the peers named in the options,
    /// the peers in the program's list for this use, as it is at that moment, and this host itself.
    pub(crate) fn allowed(&self, own: &OwnKey, service: Protocol) -> Result<Allowed> {
        if self.peer_anyone {
            return Ok(Allowed::anyone());
        }
        self.renewed.name(fingerprints(&self.peer)?);
        let (named, own) = (self.renewed.clone(), own.clone());
        let listed = Listed::open(service)?;
        Ok(Allowed::from_fn(move |peer| {
            // A holder of this host's own key is as trusted as this host.
            named.names(peer) || listed.has(peer) || own.is(peer)
        }))
    }

    /// The lists that count for this service.
    pub(crate) fn lists(&self, service: Protocol) -> Lists {
        match self.is_shared {
            true => Lists::OfServices,
            false => Lists::Of(service),
        }
    }

    /// Binds the address asked for, or the default.
    pub(crate) fn bind<P>(&self, bind: impl Fn(SocketAddr) -> Result<P, BindError>) -> Result<P> {
        let mut result = Err(anyhow::anyhow!("no address to listen on"));
        for addr in self.listen.unwrap_or_default().for_peers() {
            result = bind(addr).map_err(not_open);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// Prints the commands for clients, which have `SERVER` for the server's address and identity.
    ///
    /// # Errors
    /// The system does not tell the port's address.
    pub(crate) fn announce(&self, port: &Port, clients: &[&str]) -> Result<()> {
        let server = heading(port)?;
        for client in clients {
            let command = client.replace("SERVER", &server);
            output::line(&format!("  weftline {command}"));
        }
        Ok(())
    }

    /// Warns of `--peer-anyone`: `risk` says what anyone may do then.
    pub(crate) fn warn(&self, risk: &str) {
        if self.peer_anyone {
            output::line(&format!(
                "warning: --peer-anyone: anyone who can reach this port {risk}"
            ));
        }
    }
}

/// Why the port is not open. Only what its address causes is mended by another one.
fn not_open(error: BindError) -> anyhow::Error {
    let remedy = match &error {
        BindError::Socket { source, .. } if source.kind() == ErrorKind::AddrInUse => {
            "this port is in use; choose another one with --listen PORT, or offer several services on one port with `weftline serve`"
        }
        BindError::Socket { .. } => {
            "cannot listen on this address; choose another one with --listen ADDR"
        }
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(remedy)
}

/// What a hangup finds where nothing else has changed.
const LISTS: &str = "going on; lists of peers count as soon as they are changed";

/// An endpoint that knows its peers.
pub(crate) struct Secured {
    pub(crate) endpoint: Endpoint,
    /// Who may connect.
    pub(crate) allowed: Allowed,
    pub(crate) own: OwnKey,
}

/// The fingerprint of this host's key, which may change while the server runs.
#[derive(Clone)]
pub(crate) struct OwnKey(Arc<Mutex<Fingerprint>>);

impl OwnKey {
    pub(crate) fn new(fingerprint: Fingerprint) -> Self {
        OwnKey(Arc::new(Mutex::new(fingerprint)))
    }

    fn is(&self, peer: &Fingerprint) -> bool {
        *lock(&self.0) == *peer
    }
}

/// What the options of a service say that may change in their file while the server runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renewed {
    /// The peers that `peer` names.
    peers: Arc<Mutex<BTreeSet<Fingerprint>>>,
    /// Options with rules for what peers may reach, by clap's names.
    pub(crate) rules: Vec<(&'static str, Rules)>,
}

impl Renewed {
    fn names(&self, peer: &Fingerprint) -> bool {
        lock(&self.peers).contains(peer)
    }

    /// From now on these peers count. Returns whether they differ from those before.
    fn name(&self, peers: BTreeSet<Fingerprint>) -> bool {
        let mut now = lock(&self.peers);
        let changed = *now != peers;
        *now = peers;
        changed
    }
}

/// Who these peers are.
///
/// # Errors
/// Nobody has a name of these.
fn fingerprints<'a>(peers: impl IntoIterator<Item = &'a Peer>) -> Result<BTreeSet<Fingerprint>> {
    peers.into_iter().map(Peer::fingerprint).collect()
}

/// The port of a server, and where its key is.
pub(crate) struct Door {
    pub(crate) port: Port,
    /// `None` on plain UDP.
    pub(crate) key: Option<Key>,
    /// What is read again of each service.
    pub(crate) renewed: Vec<(Table, Renewed)>,
}

/// The key of an endpoint, and where it is from.
pub(crate) struct Key {
    endpoint: Endpoint,
    /// `None`: the default one.
    file: Option<PathBuf>,
    own: OwnKey,
}

/// A table of the file of `weftline serve`; `None`: the command is of one service.
pub(crate) type Table = Option<&'static str>;

impl Door {
    /// Takes the key that is in its file now, and the peers and the rules that the file of `--config` has
    /// now. Returns a sentence about that.
    ///
    /// # Errors
    /// Why it goes on with the old key, or with peers and rules as they were.
    pub(crate) fn reload(&self) -> Result<String, String> {
        let (mut told, mut failed) = (Vec::new(), Vec::new());
        match self.key.as_ref().map_or(Ok(None), Key::replace) {
            Ok(None) => {}
            Ok(Some(new)) => told.push(format!(
                "new sessions have another key from now on: fingerprint {new}"
            )),
            Err(error) => failed.push(format!("going on with the old key: {error:#}")),
        }
        match self.renew() {
            Ok(new) => told.extend(
                new.iter()
                    .map(|new| format!("the file of --config {new} from now on")),
            ),
            Err(error) => failed.push(format!(
                "going on with what the file said before: {error:#}"
            )),
        }
        match (told.is_empty(), failed.is_empty()) {
            (true, true) => Ok(LISTS.to_owned()),
            (_, true) => Ok(told.join("; ")),
            _ => {
                failed.append(&mut told);
                Err(failed.join("; "))
            }
        }
    }

    /// Takes the peers and the rules that the command line and its file have now. Returns what the file does
    /// that it did not before.
    fn renew(&self) -> Result<Vec<&'static str>> {
        let given = OptionsNow::read()?;
        let services = self.renewed.iter().map(|(table, service)| {
            let peers = given.of::<Peer>(*table, "peer")?;
            let rules = service.rules.iter();
            let rules = rules.map(|(option, _)| given.of::<Allow>(*table, option));
            let rules: Vec<_> = rules.collect::<Result<_, _>>()?;
            Ok((service, fingerprints(&peers)?, rules))
        });
        // All or none: only now nothing can fail.
        let services: Vec<_> = services.collect::<Result<_>>()?;
        let (mut names, mut allows) = (false, false);
        for (service, peers, rules) in services {
            names |= service.name(peers);
            for ((_, now), new) in service.rules.iter().zip(rules) {
                allows |= now.replace(new);
            }
        }
        let names = names.then_some("names other peers");
        let allows = allows.then_some("allows other targets");
        Ok(names.into_iter().chain(allows).collect())
    }
}

impl Key {
    /// The key of an endpoint, which is in this file, or in the default one.
    pub(crate) fn new(endpoint: &Endpoint, file: Option<PathBuf>, own: OwnKey) -> Self {
        let endpoint = endpoint.clone();
        Key {
            endpoint,
            file,
            own,
        }
    }

    /// Takes the key that is in the file now, if it is another one.
    fn replace(&self) -> Result<Option<Fingerprint>> {
        let path = home::identity_file(self.file.as_deref())?;
        ensure!(path.exists(), "{} is missing", path.display());
        let (identity, _) = home::identity(self.file.as_deref())?;
        let new = identity.fingerprint();
        if new == self.endpoint.fingerprint() {
            return Ok(None);
        }
        self.endpoint.set_identity(identity)?;
        *lock(&self.own.0) = new;
        Ok(Some(new))
    }
}

/// Says that there is a list of an earlier version, if there is.
pub(crate) fn warn_of_outdated_list() {
    if let Some(warning) = home::outdated_list() {
        output::line(&warning);
    }
}

/// An address for local programs, `[BIND:]PORT`: a port alone is one of 127.0.0.1, and `:PORT` is that port of every
/// address.
///
/// # Errors
/// The text is no such address; the message says what would be one.
pub(crate) fn local(text: &str) -> Result<SocketAddr, String> {
    Listen::read_for_programs(text).map_err(|error| error.to_string())
}

/// Prints what the command for the other host follows. Returns the address and the identity of this server
/// as options of that command.
///
/// # Errors
/// The system does not tell the port's address.
pub(crate) fn heading(port: &Port) -> Result<String> {
    let local = port.local_addr().context("cannot read the bound address")?;
    let whose = match port.fingerprint() {
        Some(fingerprint) => {
            output::line(&format!("fingerprint {fingerprint}"));
            format!("--peer {fingerprint}")
        }
        None => "--insecure-udp".to_owned(),
    };
    output::line(&format!("listening on {local}; on the other host, run:"));
    Ok(format!("{} {whose}", reachable(local)))
}

/// The address from which this host would talk to others, for people to type on another host.
pub(crate) fn reachable(local: SocketAddr) -> String {
    if !local.ip().is_unspecified() {
        return local.to_string();
    }
    // Connecting a UDP socket sends nothing; the system only chooses a source address. The target
    // is an address reserved for documentation.
    let outward = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    match outward() {
        Some(ip) if !ip.is_unspecified() => SocketAddr::new(ip, local.port()).to_string(),
        _ => format!("THIS-HOST:{}", local.port()),
    }
}

/// The lists of allowed peers that count at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lists {
    /// That of its one service.
    Of(Protocol),
    /// Those of the services of `weftline serve`: which of them the peer wanted is not known.
    OfServices,
}

impl Lists {
    /// What to do so that a peer is let in. A list comes first: it counts without a restart.
    fn remedy(self, peer: Fingerprint) -> String {
        let restart = restart(peer);
        let Ok(folder) = home::folder() else {
            return restart;
        };
        let list = match self {
            Lists::Of(service) => home::list_shown(service),
            Lists::OfServices => format!(
                "the list of a service in {} (allowed-files, allowed-relay, allowed-forward or allowed-tun)",
                quoted(&folder.display().to_string())
            ),
        };
        format!("add its fingerprint to {list}, which counts at once; or {restart}")
    }
}

/// The other way to let a peer in.
fn restart(peer: Fingerprint) -> String {
    // With --peer the command would let in none of the peers that its file names.
    let has_file = std::env::args().any(|word| word.starts_with("--config"));
    match has_file {
        true => "add it to `peer` in the file of --config, and send SIGHUP".to_owned(),
        false => {
            let command = quoted_command("weftline", &format!("--peer {peer}"));
            format!("start again with: {command}")
        }
    }
}

/// Reports a refused peer, and what would not have refused it.
pub(crate) fn turned_away(refusal: &Refusal, lists: Lists) {
    match refusal {
        Refusal::UnknownPeer { peer, .. } => {
            let (who, remedy) = (book::shown(peer), lists.remedy(*peer));
            terminal::offer(format!("refused {who}: to allow it, {remedy}"));
        }
        refusal => terminal::offer(refusal.to_string()),
    }
}

/// The message that a client has asked for what it must not reach. Both texts are the client's.
pub(crate) fn not_reached(client: &str, remote: SocketAddr, target: &str, reason: &str) -> String {
    let why = match reason.contains(target) {
        true => reason.to_owned(),
        false => format!("{target}: {reason}"),
    };
    let why: String = why.chars().take(LONGEST_REASON).collect();
    printable(&format!("refused {client} at {remote} a target: {why}"))
}

/// Most characters of a reason, which may quote the peer.
const LONGEST_REASON: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_target_is_named_once_and_printable() {
        let remote = "192.0.2.7:5".parse().unwrap();
        let said = |target: &str, reason: &str| not_reached("studio", remote, target, reason);
        assert_eq!(
            said("h:1", "h:1 is not allowed here"),
            "refused studio at 192.0.2.7:5 a target: h:1 is not allowed here"
        );
        let hostile = said("\u{1b}[2J", "no");
        assert!(hostile.ends_with("a target: \\u{1b}[2J: no"), "{hostile}");
        let long = said(&"x".repeat(60_000), "no");
        assert!(long.len() < 500, "{}", long.len());
    }
}
