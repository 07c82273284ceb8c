//! `weftline send`

mod progress;
mod receiver;

use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use weftline::{Connection, Port};
use weftline_apps::pairing::Code;
use weftline_apps::transfer::{Event, Listing, collect, send};
use weftline_apps::{Protocol, close, farewell};

use crate::options::{PathOptions, SessionOptions, StallOptions, wait};
use crate::peer::Peer;
use crate::places::{Places, To};
use crate::supervise::retrying;
use crate::ui::failure::{self, There};
use crate::ui::progress::Reporter;
use crate::ui::stop::{stop_or_hangup, stopped};
use crate::ui::summary::{self, Record, Side, show, watch};
use crate::ui::{Exit, Failure, OutputOptions, exit};
use progress::{Place, Progress};
use receiver::Receiver;
use weftline_apps::lock;

/// The commands of the receiving end.
const THERE: There = There {
    serve: "weftline recv",
    service: Some(Protocol::Files),
    allow: "weftline recv --peer",
};

const EXAMPLES: &str = "\
Examples:
  weftline send movie.mkv 7-amber-river              to a host in this network
  weftline send movie.mkv host.example --code 7-amber-river
  weftline send photos notes.txt host.example
  weftline send movie.mkv 192.0.2.7:9000 --peer FINGERPRINT
  tar c src | weftline send - --name src.tar host.example

The receiver runs `weftline recv`, which shows a code. In place of an address, the code alone finds
a receiver on this host or in its private networks, if one alone shows a code there. With the code,
both hosts learn who the other is, and the receiver is remembered in ~/.config/weftline/peers with its address: later transfers need no
code. With --peer instead of a code, the receiver needs this host's fingerprint too: `weftline key`
prints it. A receiver whose address is not known yet is remembered then, too. On a terminal, `send`
waits up to two minutes for the receiver's operator to allow it. To resume an interrupted transfer,
run both commands again. Symbolic links are not sent. SIGHUP stops a transfer that was started on a
terminal; one whose standard error leads elsewhere goes on.";

/// Send files and directories to `weftline recv` on another host
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SendArgs {
    /// What is sent, and where to
    #[command(flatten)]
    pub places: Places,
    /// The code that `weftline recv` shows
    #[arg(long, value_name = "CODE", conflicts_with_all = ["peer", "insecure_udp"])]
    pub code: Option<Code>,
    /// The receiver: the fingerprint that `weftline recv` prints, or a name of `weftline peers`
    /// [default: the peer that has this address there]
    #[arg(long, value_name = "PEER", conflicts_with = "insecure_udp")]
    pub peer: Option<Peer>,
    /// File name for standard input at the receiver [default: stdin]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// After a session was lost, try for this long to send the rest in another one; time counts from the
    /// last progress. For receivers that run with --keep
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = wait)]
    pub retry: Duration,
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
    let started = Instant::now();
    let record = match prepare(&args, output).await {
        Ok(listing) => send_all(&args, &listing, started, output).await,
        Err(error) => Record::failed(exit::wrap(&error), started),
    };
    summary::result(&record, Side::Send, output);
    Ok(record.exit())
}

/// What is to be sent.
async fn prepare(args: &SendArgs, output: OutputOptions) -> Result<Listing> {
    let usage = |message| Err(Failure::usage(message).into());
    if let To::Code(_) = args.places.to
        && (args.peer.is_some() || args.code.is_some() || args.session.insecure_udp)
    {
        return usage(
            "a code in place of an address says who the receiver is: omit --peer, --code and --insecure-udp, or give its address",
        );
    }
    let has_stdin = args.places.files.iter().any(|f| f.as_os_str() == "-");
    if args.name.is_some() && !has_stdin {
        return usage("--name is for standard input only: give `-` as a file, or omit --name");
    }
    if !args.retry.is_zero() && has_stdin {
        return usage("--retry: standard input cannot be read again: omit one of them");
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
    Ok(listing)
}

/// First and longest pause before a lost session is replaced.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Sends it in one session, or with `--retry` in as many as it takes. The record is of the last one.
async fn send_all(
    args: &SendArgs,
    listing: &Listing,
    started: Instant,
    output: OutputOptions,
) -> Record {
    let mut stopping = pin!(stop_or_hangup());
    let (mut progress, mut pause) = (Progress::default(), FIRST_PAUSE);
    let (mut began, mut receiver) = (false, None);
    loop {
        let connected = tokio::select! {
            connected = connect(args, &mut receiver, output) => connected,
            exit = &mut stopping => Err(match began {
                true => stopped(exit),
                false => Failure::new(exit, "stopped before the connection was made"),
            }.into()),
        };
        let before = progress.last;
        let mut record = match connected {
            Ok((endpoint, connection)) => {
                began = true;
                let session = (&endpoint, &connection);
                let patience = args.stall.stall_timeout;
                transfer(
                    listing,
                    session,
                    patience,
                    &mut progress,
                    stopping.as_mut(),
                    output,
                )
                .await
            }
            Err(error) => Record::failed(exit::wrap(&error), started),
        };
        if progress.last > before {
            pause = FIRST_PAUSE;
        }
        let is_in_time = progress.last.elapsed() + pause < args.retry;
        let lost = record
            .failure
            .as_ref()
            .filter(|failure| failure.exit == Exit::Lost);
        // What never began may be a mistake in the command.
        let Some(failure) = lost.filter(|_| began && is_in_time) else {
            return record;
        };
        Reporter::lines(output).warn(&retrying(&failure::alone(failure), pause));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            exit = &mut stopping => {
                record.failure = Some(stopped(exit));
                return record;
            }
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A session with the receiver, which is looked for once.
async fn connect(
    args: &SendArgs,
    receiver: &mut Option<Receiver>,
    output: OutputOptions,
) -> Result<(Port, Connection)> {
    let mut config = args.session.endpoint()?;
    args.paths.complete(&mut config)?;
    let receiver = match receiver {
        Some(receiver) => receiver,
        None => receiver.insert(Receiver::of(args).await?),
    };
    receiver::open(args, receiver, &config, output).await
}

/// Sends it in this session.
async fn transfer(
    listing: &Listing,
    (endpoint, connection): (&Port, &Connection),
    patience: Duration,
    progress: &mut Progress,
    stopping: Pin<&mut impl Future<Output = Exit>>,
    output: OutputOptions,
) -> Record {
    let started = Instant::now();
    let place = Mutex::new(Place::default());
    let reporter = Reporter::stderr(output);
    reporter.expect(listing.bytes());
    // It lives until the farewell: to drop it resets the stream, and the peer may learn that before it
    // learns why.
    let mut sending = pin!(async {
        let stream = connection
            .open_stream()
            .await
            .map_err(|reason| failure::closed(&reason))?;
        let shown = show(Side::Send, true, &reporter);
        let on_event = |event: Event<'_>| {
            lock(&place).note(&event, reporter.bytes());
            shown(event);
        };
        let sent = send(stream, listing, tokio::io::stdin(), patience, &on_event).await;
        sent.map_err(|error| failure::transferring(&error, connection.close_reason().as_ref()))
    });
    let result = tokio::select! {
        result = &mut sending => result,
        exit = stopping => Err(stopped(exit)),
        never = watch(Side::Send, connection, &reporter) => match never {},
        never = progress.watch(|| lock(&place).reached(reporter.bytes(), connection.held())) => match never {},
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
            let reason = failure::alone(&failure).message;
            record.failure = Some(failure);
            record.so_far = Some(lock(&place).so_far);
            (code, reason)
        }
    };
    farewell(endpoint, code, &reason).await;
    record
}
