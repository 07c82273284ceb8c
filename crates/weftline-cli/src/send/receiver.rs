//! Who the receiver is, and the session with it.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};
use weftline::{ConnectError, Connection, EndpointConfig, Fingerprint, Identity, Port};
use weftline_apps::pairing::{BadCode, Code, Name, PairingError, pair};
use weftline_apps::{Address, DEFAULT_PORT, Protocol, SessionError, connect, printable};

use super::{SendArgs, THERE};
use crate::book::{self, Book};
use crate::home;
use crate::nearby;
use crate::places::To;
use crate::ui::{Exit, Failure, OutputOptions, exit, failure, output};

/// A receiver whose operator is being asked is tried again for this long, later each time.
const WAIT: Duration = Duration::from_secs(120);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Where the receiver is, and the code that it shows, if there is one.
pub(super) struct Receiver {
    address: Address,
    code: Option<Code>,
}

impl Receiver {
    /// The one that the options name; if they name only its code, the one nearby that shows one.
    ///
    /// # Errors
    /// No receiver nearby shows a code, or several do.
    pub(super) async fn of(args: &SendArgs) -> Result<Self, Failure> {
        let (address, code) = match &args.places.to {
            To::Address(address) => {
                // Beside --peer, --code or --insecure-udp, ADDR is always an address.
                let is_bare = args.peer.is_none() && args.code.is_none();
                let named = match is_bare && !args.session.insecure_udp {
                    true => by_name(address).map_err(|e| exit::wrap(&e))?,
                    false => None,
                };
                (named.unwrap_or_else(|| address.clone()), args.code)
            }
            To::Code(code) => (nearby::find(*code).await?, Some(*code)),
        };
        Ok(Receiver { address, code })
    }
}

/// Connects to the receiver: by its fingerprint, by its code, or as it is known.
pub(super) async fn open(
    args: &SendArgs,
    Receiver { address, code }: &Receiver,
    config: &EndpointConfig,
    output: OutputOptions,
) -> Result<(Port, Connection)> {
    if args.session.insecure_udp {
        output::insecure();
        let connected = connect(address, None, Protocol::Files, config).await;
        return Ok(connected.map_err(|error| failure::session(&error, THERE))?);
    }
    let (identity, _) = home::identity(args.session.identity.as_deref())?;
    let (peer, name) = match (&args.peer, code) {
        (Some(peer), _) => (peer.fingerprint()?, None),
        (None, Some(code)) => match without_code(address, &identity, config, output).await? {
            Some(connected) => return Ok(connected),
            None => (meet(address, code, &identity, config, output).await?, None),
        },
        (None, None) => {
            let (peer, name) = known(address)?.ok_or_else(|| stranger(address))?;
            (peer, Some(name))
        }
    };
    let patient = output::is_watched(output);
    let connected = again(address, (peer, identity), config, patient).await;
    let connected = connected.map_err(|error| refused(&error, name.as_ref()))?;
    if args.peer.is_some() {
        remember(address, peer, output);
    }
    Ok(connected)
}

/// Remembers the address of a receiver that a person named with `--peer`, and that has proved there who it is. One
/// that has an address already keeps it: a host that moves about would have a name for each.
fn remember(address: &Address, peer: Fingerprint, output: OutputOptions) {
    let has_one = |book: &Book| (book.all()).any(|one| one.peer == peer && one.address.is_some());
    // Most often there is nothing to write.
    if Book::read().is_ok_and(|book| has_one(&book)) {
        return;
    }
    let remembered = Book::edit(|book| match has_one(book) {
        true => Ok(None),
        false => Ok(Some(book.remember(
            peer,
            Name::like(address.host()),
            Some(address),
        ))),
    });
    match remembered {
        Ok(Some(name)) if !output.quiet => output::line(&format!(
            "{address} is remembered as {name}: it needs no --peer from now on"
        )),
        Ok(_) => {}
        // The transfer needs none of it.
        Err(error) => tracing::info!(%error, "the receiver is not remembered"),
    }
}

/// The peer that has this address in the file of known peers, if there is one.
///
/// # Errors
/// The file cannot be read.
fn known(address: &Address) -> Result<Option<(Fingerprint, Name)>> {
    let book = Book::read()?;
    let known = book.at(address);
    Ok(known.map(|known| (known.peer, known.name.clone())))
}

/// The address of the peer whose name ADDR is, unless the book has ADDR as an address. A name with a dot may be the
/// address of another host: peers choose their names themselves.
///
/// # Errors
/// The file cannot be read.
fn by_name(address: &Address) -> Result<Option<Address>> {
    let host = address.host();
    let Some(name) = host.parse::<Name>().ok().filter(|_| !host.contains('.')) else {
        return Ok(None);
    };
    let book = Book::read()?;
    let is_name = address.port() == DEFAULT_PORT && book.at(address).is_none();
    let named = book.named(&name).filter(|_| is_name);
    Ok(named.and_then(|known| known.address.clone()))
}

fn stranger(address: &Address) -> Failure {
    let message = match address.host().parse::<Code>() {
        // More likely a slip than the name of a host.
        Err(slip @ BadCode::Word(_)) => slip.to_string(),
        _ => format!(
            "nobody is known at {address}, and no peer with an address is called that: run `weftline recv` there and give the code that it shows (--code), or name the receiver with --peer"
        ),
    };
    Failure::usage(message)
}

/// The session with a receiver that is known at this address: it needs no code. So an old code that is given
/// again is no wrong try of the one that is open now, and strangers do not keep this host out. `None`: nobody is
/// known there, or the receiver refuses this host or has another key, so that a code is needed.
async fn without_code(
    address: &Address,
    identity: &Identity,
    config: &EndpointConfig,
    output: OutputOptions,
) -> Result<Option<(Port, Connection)>> {
    let Some((peer, name)) = known(address)? else {
        return Ok(None);
    };
    let identity = Some((peer, identity.clone()));
    match connect(address, identity, Protocol::Files, config).await {
        Ok(connected) => {
            if !output.quiet {
                output::line(&format!(
                    "the code is not needed: {address} is known as {name}"
                ));
            }
            Ok(Some(connected))
        }
        Err(SessionError::Connect(
            ConnectError::Refused { .. } | ConnectError::PeerMismatch { .. },
        )) => Ok(None),
        Err(error) => Err(refused(&error, Some(&name)).into()),
    }
}

/// Pairs with the receiver, and remembers it.
async fn meet(
    address: &Address,
    code: &Code,
    identity: &Identity,
    config: &EndpointConfig,
    output: OutputOptions,
) -> Result<Fingerprint> {
    let paired = pair(address, code, identity, home::own_name(), config).await;
    let paired = paired.map_err(|error| not_paired(&error))?;
    let host = Name::like(address.host());
    let name = paired.name.or(host);
    let remembered = Book::edit(|book| Ok(book.remember(paired.peer, name, Some(address))));
    match remembered {
        Ok(_) if output.quiet => {}
        Ok(_) => output::line(&format!(
            "paired with {}: {address} needs no code from now on",
            book::shown(&paired.peer)
        )),
        Err(error) => output::line(&format!(
            "warning: paired with {}, for this run only: {error:#}",
            paired.peer
        )),
    }
    Ok(paired.peer)
}

fn not_paired(error: &PairingError) -> Failure {
    match error {
        PairingError::WrongCode => Failure::new(
            Exit::Refused,
            "wrong code: use the one that `weftline recv` shows now",
        ),
        PairingError::Impostor => Failure::new(Exit::Refused, error.to_string()),
        PairingError::Session(error) => failure::session(error, THERE),
        error => Failure::new(Exit::Lost, error.to_string()),
    }
}

/// Connects; while the receiver refuses this host, a `patient` sender waits for its operator.
async fn again(
    address: &Address,
    identity: (Fingerprint, Identity),
    config: &EndpointConfig,
    patient: bool,
) -> Result<(Port, Connection), SessionError> {
    let ours = identity.1.fingerprint();
    let (end, mut pause) = (Instant::now() + WAIT, FIRST_PAUSE);
    loop {
        let connected = connect(address, Some(identity.clone()), Protocol::Files, config).await;
        let is_refused = matches!(
            connected,
            Err(SessionError::Connect(ConnectError::Refused { .. }))
        );
        if !is_refused || !patient || Instant::now() + pause >= end {
            return connected;
        }
        if pause == FIRST_PAUSE {
            let seconds = WAIT.as_secs();
            output::line(&format!(
                "{address} does not know this host: waiting up to {seconds} s for its operator to allow {ours}"
            ));
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The failure to report when no session was made; `name`: the receiver was found by its address.
fn refused(error: &SessionError, name: Option<&Name>) -> Failure {
    let failure = failure::session(error, THERE);
    match (error, name) {
        (SessionError::Connect(ConnectError::PeerMismatch { .. }), Some(name)) => Failure::new(
            failure.exit,
            printable(&format!(
                "{failure}. The expected one is {name} in `weftline peers`; if the receiver has a new key, pair again with the code of `weftline recv` (--code)"
            )),
        ),
        _ => failure,
    }
}
