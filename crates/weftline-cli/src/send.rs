//! `weftline send`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::Args;
use tokio::task::JoinSet;
use weftline::{Allowed, Connection, Endpoint, EndpointConfig, Fingerprint, Identity};

use crate::address::{Address, any_like};
use crate::exit::{self, Exit, Failure, close};
use crate::home;
use crate::options::{OutputOptions, SessionOptions};
use crate::output;
use crate::reporter::Reporter;
use crate::session::{Record, Side, farewell, stop, stopped, watch};
use crate::transfer::{Listing, collect, send};

/// Head start of an address over the next one.
const STAGGER: Duration = Duration::from_millis(300);

const EXAMPLES: &str = "\
Examples:
  weftline send movie.mkv host.example --peer abcd-efgh-...
  weftline send photos notes.txt 192.0.2.7:9338 --peer abcd-efgh-...
  tar c src | weftline send - --name src.tar host.example --peer abcd-efgh-...

The receiver runs `weftline recv`, which prints its fingerprint for --peer. It needs this host's
fingerprint too: `weftline key` prints it. To resume an interrupted transfer, run both commands
again. Symbolic links are not sent.";

/// Send files and directories to `weftline recv` on another host
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SendArgs {
    /// Files and directories to send; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Address of `weftline recv`: HOST or HOST:PORT (UDP, default port 9338)
    #[arg(value_name = "ADDR")]
    pub address: Address,
    /// Fingerprint of the receiver, as `weftline recv` prints it
    #[arg(
        long,
        value_name = "FINGERPRINT",
        required_unless_present = "insecure_udp",
        conflicts_with = "insecure_udp"
    )]
    pub peer: Option<Fingerprint>,
    /// File name for standard input at the receiver [default: stdin]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    pub session: SessionOptions,
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub async fn run(args: SendArgs, output: OutputOptions) -> Result<Exit> {
    let record = match prepare(&args, output).await {
        Ok((listing, endpoint, connection)) => {
            transfer(&listing, &endpoint, &connection, output).await
        }
        Err(error) => Record::failed(exit::wrap(&error)),
    };
    output::result(&record, Side::Send, output);
    Ok(record.exit())
}

async fn prepare(
    args: &SendArgs,
    output: OutputOptions,
) -> Result<(Listing, Endpoint, Connection)> {
    if args.name.is_some() && !args.files.iter().any(|f| f.as_os_str() == "-") {
        let message = "--name is for standard input only: give `-` as a file, or omit --name";
        return Err(Failure::new(Exit::Usage, message).into());
    }
    let listing = {
        let name = args.name.clone().unwrap_or_else(|| "stdin".to_owned());
        let files = args.files.clone();
        tokio::task::spawn_blocking(move || collect(&files, &name)).await??
    };
    let notes = Reporter::lines(output);
    listing.skipped.iter().for_each(|text| notes.note(text));
    for failed in &listing.failed {
        notes.warn(&format!("cannot send {}: {}", failed.path, failed.reason));
    }
    let config = args.session.endpoint()?;
    let identity = match args.peer {
        Some(_) => Some(home::identity(args.session.identity.as_deref())?.0),
        None => {
            output::insecure();
            None
        }
    };
    let addresses = args.address.resolve().await?;
    let peer = args.peer.zip(identity);
    let connecting = connect(addresses, peer, &config, "weftline recv --allow");
    let (endpoint, connection) = tokio::select! {
        connected = connecting => connected?,
        exit = stop() => {
            let message = "stopped before the connection was made";
            return Err(Failure::new(exit, message).into());
        }
    };
    Ok((listing, endpoint, connection))
}

/// Connects to the first of `addresses` that answers. The next one is tried when the earlier ones
/// have not answered for a while, because an unreachable address reports no error. `allow` is the
/// command that makes the peer accept this host.
pub(crate) async fn connect(
    addresses: Vec<SocketAddr>,
    identities: Option<(Fingerprint, Identity)>,
    config: &EndpointConfig,
    allow: &'static str,
) -> Result<(Endpoint, Connection)> {
    let mut attempts: JoinSet<Result<_>> = JoinSet::new();
    for (place, addr) in (0..).zip(addresses) {
        let (identities, config) = (identities.clone(), config.clone());
        attempts.spawn(async move {
            tokio::time::sleep(STAGGER * place).await;
            let local = any_like(addr);
            let (endpoint, connected) = match identities {
                Some((peer, identity)) => {
                    let endpoint = Endpoint::bind(local, identity, Allowed::nobody(), config)?;
                    let connected = endpoint.connect(addr, &peer).await;
                    (endpoint, connected)
                }
                None => {
                    let endpoint = Endpoint::bind_insecure_udp(local, config)?;
                    let connected = endpoint.connect_insecure(addr).await;
                    (endpoint, connected)
                }
            };
            match connected {
                Ok(connection) => Ok((endpoint, connection)),
                Err(error) => Err(exit::connecting(&error, allow).into()),
            }
        });
    }
    let mut failure = anyhow!("the host has no address");
    while let Some(attempt) = attempts.join_next().await {
        match attempt? {
            Ok(connected) => return Ok(connected),
            // A peer with another identity, or one that refuses this host, is the result to
            // report.
            Err(error) if Exit::of(&error) == Exit::Refused => return Err(error),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn transfer(
    listing: &Listing,
    endpoint: &Endpoint,
    connection: &Connection,
    output: OutputOptions,
) -> Record {
    let started = Instant::now();
    let reporter = Reporter::stderr(output);
    reporter.expect(listing.bytes());
    let sending = async {
        let stream = connection
            .open_stream()
            .await
            .map_err(|reason| exit::closed(&reason))?;
        match send(stream, listing, tokio::io::stdin(), &reporter).await {
            Ok(summary) => Ok(summary),
            Err(error) => Err(exit::transferring(
                &error,
                connection.close_reason().as_ref(),
            )),
        }
    };
    let result = tokio::select! {
        result = sending => result,
        exit = stop() => Err(stopped(exit)),
        never = watch(Side::Send, connection, &reporter) => match never {},
    };
    reporter.finish();
    let mut record = Record {
        stats: Some(connection.stats()),
        peer: connection.peer().map(|p| p.to_string()),
        elapsed: started.elapsed(),
        ..Record::default()
    };
    let (code, reason) = match result {
        Ok(summary) => {
            record.failure = exit::judging(&summary);
            record.summary = Some(summary);
            (close::DONE, String::new())
        }
        Err(failure) => {
            let code = if matches!(failure.exit, Exit::Interrupted | Exit::Terminated) {
                close::INTERRUPTED
            } else {
                close::FAILED
            };
            let reason = failure.message.clone();
            record.failure = Some(failure);
            (code, reason)
        }
    };
    farewell(endpoint, code, &reason).await;
    record
}
