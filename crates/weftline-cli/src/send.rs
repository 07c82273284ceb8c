//! `weftline send`

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use weftline::{Connection, Fingerprint, Port};
use weftline_apps::transfer::{Listing, collect, send};
use weftline_apps::{Protocol, close, connect, farewell};

use crate::home;
use crate::options::{PathOptions, SessionOptions, StallOptions};
use crate::places::Places;
use crate::ui::failure::{self, There};
use crate::ui::progress::Reporter;
use crate::ui::stop::{stop, stopped};
use crate::ui::summary::{self, Record, Side, show, watch};
use crate::ui::{Exit, Failure, OutputOptions, exit, output};

/// The commands of the receiving end.
const THERE: There = There {
    serve: "weftline recv",
    allow: "weftline recv --allow",
};

const EXAMPLES: &str = "\
Examples:
  weftline send movie.mkv host.example --peer FINGERPRINT
  weftline send photos notes.txt 192.0.2.7:9338 --peer FINGERPRINT
  tar c src | weftline send - --name src.tar host.example --peer FINGERPRINT

The receiver runs `weftline recv`, which prints its fingerprint for --peer. It needs this host's
fingerprint too: `weftline key` prints it. To resume an interrupted transfer, run both commands
again. Symbolic links are not sent.";

/// Send files and directories to `weftline recv` on another host
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SendArgs {
    /// What is sent, and where to
    #[command(flatten)]
    pub places: Places,
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
    /// How long the receiver may make no progress
    #[command(flatten)]
    pub stall: StallOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    pub session: SessionOptions,
    /// The paths of the session
    #[command(flatten)]
    pub paths: PathOptions,
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(args: SendArgs, output: OutputOptions) -> Result<Exit> {
    let record = match prepare(&args, output).await {
        Ok((listing, endpoint, connection)) => {
            let patience = args.stall.stall_timeout;
            transfer(&listing, &endpoint, &connection, patience, output).await
        }
        Err(error) => Record::failed(exit::wrap(&error)),
    };
    summary::result(&record, Side::Send, output);
    Ok(record.exit())
}

async fn prepare(args: &SendArgs, output: OutputOptions) -> Result<(Listing, Port, Connection)> {
    if args.name.is_some() && !args.places.files.iter().any(|f| f.as_os_str() == "-") {
        let message = "--name is for standard input only: give `-` as a file, or omit --name";
        return Err(Failure::new(Exit::Usage, message).into());
    }
    let listing = {
        let name = args.name.clone().unwrap_or_else(|| "stdin".to_owned());
        let files = args.places.files.clone();
        tokio::task::spawn_blocking(move || collect(&files, &name)).await??
    };
    let notes = Reporter::lines(output);
    listing.skipped.iter().for_each(|text| notes.note(text));
    for failed in &listing.failed {
        notes.warn(&format!("cannot send {}: {}", failed.path, failed.reason));
    }
    let mut config = args.session.endpoint()?;
    args.paths.complete(&mut config)?;
    let identity = match args.peer {
        Some(_) => Some(home::identity(args.session.identity.as_deref())?.0),
        None => {
            output::insecure();
            None
        }
    };
    let peer = args.peer.zip(identity);
    let (endpoint, connection) = tokio::select! {
        connected = connect(&args.places.address, peer, Protocol::Files, &config) => {
            connected.map_err(|error| failure::session(&error, THERE))?
        }
        exit = stop() => {
            let message = "stopped before the connection was made";
            return Err(Failure::new(exit, message).into());
        }
    };
    Ok((listing, endpoint, connection))
}

async fn transfer(
    listing: &Listing,
    endpoint: &Port,
    connection: &Connection,
    patience: Duration,
    output: OutputOptions,
) -> Record {
    let started = Instant::now();
    let reporter = Reporter::stderr(output);
    reporter.expect(listing.bytes());
    let sending = async {
        let stream = connection
            .open_stream()
            .await
            .map_err(|reason| failure::closed(&reason))?;
        let shown = show(Side::Send, &reporter);
        let sent = send(stream, listing, tokio::io::stdin(), patience, &shown).await;
        sent.map_err(|error| failure::transferring(&error, connection.close_reason().as_ref()))
    };
    let result = tokio::select! {
        result = sending => result,
        exit = stop() => Err(stopped(exit)),
        never = watch(Side::Send, connection, &reporter) => match never {},
    };
    reporter.finish();
    let mut record = Record {
        stats: Some(connection.stats()),
        paths: connection.paths(),
        peer: connection.peer().map(|p| p.to_string()),
        elapsed: started.elapsed(),
        ..Record::default()
    };
    let (code, reason) = match result {
        Ok(summary) => {
            record.failure = failure::judging(&summary);
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
