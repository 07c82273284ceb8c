//! `weftline recv`

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use weftline::{Connection, Endpoint, Fingerprint, InsecureEndpoint, Port, Stream};
use weftline_apps::protocol::accept;
use weftline_apps::transfer::{Event, Folder, Sink, Summary, TransferError, receive};
use weftline_apps::{Listen, Protocol, close, farewell, printable};

use crate::config::ConfigOptions;
use crate::home::{self, Use};
use crate::inbox::Inbox;
use crate::listen::{allowed, bind, reachable, turned_away};
use crate::monitor::{MonitorOptions, Watch};
use crate::options::{SessionOptions, StallOptions};
use crate::ui::failure;
use crate::ui::progress::Reporter;
use crate::ui::stop::{outlive_hangup, stop, stopped};
use crate::ui::summary::{self, Record, Side, show, watch};
use crate::ui::{Exit, Failure, OutputOptions, exit, output};

/// How long a sender may take to close the session once it has the final verdict.
const GOODBYE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  weftline recv                                  into a new directory, received
  weftline recv inbox --allow FINGERPRINT        from that host, into inbox
  weftline recv - --allow FINGERPRINT | tar x    to standard output

It prints the command for the sender. Senders are hosts whose fingerprint is given with --allow
or listed in ~/.config/weftline/allowed-files (one a line; text after it is a comment), and this
host itself; a changed list counts at once. Other senders are refused, and see the command that would allow them.

Without DIR, files are received into the directory `received`, or `received-2` and so on if it
exists; one whose transfer was interrupted is used again. Files appear under their names when they
are complete and verified. Until then they are kept as .NAME.SENDER.weftline-part, from which an
interrupted transfer of the same sender resumes.";

/// Receive files and directories from `weftline send` on another host
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecvArgs {
    /// Directory for the received files; `-` writes one file to standard output [default: a new
    /// directory, `received`]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// UDP port to listen on: PORT, ADDR or ADDR:PORT [default: every address of this host, port 9338]
    #[arg(long, value_name = "LISTEN")]
    pub listen: Option<Listen>,
    /// Accept files from the host with this fingerprint; may be repeated
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "insecure_udp")]
    pub allow: Vec<Fingerprint>,
    /// Accept files from anyone who can reach this port
    #[arg(long, conflicts_with = "insecure_udp")]
    pub allow_anyone: bool,
    /// Replace files that exist and differ
    #[arg(long)]
    pub overwrite: bool,
    /// Accept files and directories whose names start with a dot
    #[arg(long)]
    pub hidden: bool,
    /// Keep running and receive from further senders until stopped
    #[arg(long)]
    pub keep: bool,
    /// How long a sender may make no progress
    #[command(flatten)]
    pub stall: StallOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    pub session: SessionOptions,
    /// Where this command can be watched.
    #[command(flatten)]
    pub monitor: MonitorOptions,
    /// Options in a file.
    #[command(flatten)]
    pub config: ConfigOptions,
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(mut args: RecvArgs, output: OutputOptions) -> Result<Exit> {
    let mut stopping = std::pin::pin!(stop());
    // Polling once installs the signal handlers before the command for the sender is printed.
    tokio::select! {
        biased;
        exit = &mut stopping => return Ok(exit),
        () = std::future::ready(()) => {}
    }
    if args.keep {
        outlive_hangup();
    }
    match open(&args, output).await {
        Ok((endpoint, mut inbox, watch)) => {
            if let Some(inbox) = &inbox {
                args.directory = Some(inbox.path.clone());
            }
            let exit = tokio::select! {
                exit = serve(&args, output, &endpoint, stopping) => exit,
                never = watch.serve(|| Value::Null) => match never {},
            };
            if let Some(inbox) = inbox.as_mut().filter(|_| exit == Exit::Ok) {
                inbox.complete();
            }
            Ok(exit)
        }
        Err(error) => {
            let record = Record::failed(exit::wrap(&error));
            summary::result(&record, Side::Recv, output);
            Ok(record.exit())
        }
    }
}

async fn open(args: &RecvArgs, output: OutputOptions) -> Result<(Port, Option<Inbox>, Watch)> {
    let to_stdout = is_stdout(args);
    if to_stdout && args.keep {
        return Err(Failure::new(
            Exit::Usage,
            "--keep needs a directory: only one file can go to standard output",
        )
        .into());
    }
    if to_stdout && output.json {
        let message = "--json and `-` would both write to standard output: use only one of them";
        return Err(Failure::new(Exit::Usage, message).into());
    }
    let mut config = args.session.endpoint()?;
    args.monitor.complete(&mut config);
    let endpoint: Port = if args.session.insecure_udp {
        output::insecure();
        bind(args.listen, |addr| {
            InsecureEndpoint::bind(addr, config.clone())
        })?
        .into()
    } else {
        let (identity, _) = home::identity(args.session.identity.as_deref())?;
        let allowed = allowed(&identity, Use::Files, args.allow_anyone, &args.allow)?;
        Protocol::offer(&mut config);
        bind(args.listen, |addr| {
            Endpoint::bind(addr, identity.clone(), allowed.clone(), config.clone())
        })?
        .into()
    };
    let watch = args.monitor.open("recv", "").await?;
    // Only now: what could not start makes no directory.
    let inbox = match to_stdout {
        true => None,
        false => Some(Inbox::open(args.directory.as_deref())?),
    };
    if !output.quiet {
        if let Some(inbox) = &inbox {
            output::line(&format!("receiving into {}", inbox.path.display()));
        }
        announce(args, &endpoint)?;
    }
    Ok((endpoint, inbox, watch))
}

/// Prints the command that sends files to this host.
fn announce(args: &RecvArgs, endpoint: &Port) -> Result<()> {
    let local = endpoint
        .local_addr()
        .context("cannot read the bound address")?;
    let whose = match endpoint.fingerprint() {
        Some(fingerprint) => {
            output::line(&format!("fingerprint {fingerprint}"));
            format!("--peer {fingerprint}")
        }
        None => "--insecure-udp".to_owned(),
    };
    output::line(&format!("listening on {local}; on the other host, run:"));
    output::line(&format!(
        "  weftline send FILE... {} {whose}",
        reachable(local)
    ));
    if args.allow_anyone && !args.session.insecure_udp {
        output::line("warning: --allow-anyone: anyone who can reach this port can send files here");
    }
    Ok(())
}

async fn serve(
    args: &RecvArgs,
    output: OutputOptions,
    endpoint: &Port,
    mut stopping: Pin<&mut impl Future<Output = Exit>>,
) -> Exit {
    let mut sessions: JoinSet<Option<Record>> = JoinSet::new();
    let most = if args.keep { Semaphore::MAX_PERMITS } else { 1 };
    let places = Arc::new(Semaphore::new(most));
    let mut results: JoinSet<()> = JoinSet::new();
    let mut exit = Exit::Ok;
    loop {
        tokio::select! {
            accepted = accept(endpoint, &[Protocol::Files]) => match accepted {
                Some((_, connection)) => {
                    sessions.spawn(session(connection, args.clone(), output, places.clone()));
                }
                None => break,
            },
            Some(refusal) = endpoint.refused() => {
                turned_away(&refusal, "--allow", "allow it");
            }
            Some(done) = sessions.join_next() => {
                // A peer that offered nothing is not a sender.
                if let Ok(None) = done {
                    continue;
                }
                // A session that panicked has reported that itself; the others go on.
                if let Ok(Some(record)) = done {
                    exit = record.exit();
                    // A blocked terminal must not keep further senders waiting.
                    results.spawn_blocking(move || summary::result(&record, Side::Recv, output));
                }
                if !args.keep {
                    break;
                }
            }
            exit = &mut stopping => {
                let failure = if places.available_permits() == most {
                    Failure::new(exit, "stopped")
                } else {
                    stopped(exit)
                };
                // Close before the sessions are dropped; they would close with their own code.
                endpoint.close(close::INTERRUPTED, "stopped");
                sessions.shutdown().await;
                farewell(endpoint, close::INTERRUPTED, "stopped").await;
                while results.join_next().await.is_some() {}
                summary::result(&Record::failed(failure), Side::Recv, output);
                return exit;
            }
        }
    }
    farewell(endpoint, close::DONE, "").await;
    while results.join_next().await.is_some() {}
    exit
}

/// Tells a sender that the receiver is serving another one.
async fn refuse_busy(connection: Connection) {
    connection.close(close::BUSY, "busy with another sender");
    let _ = tokio::time::timeout(GOODBYE, connection.closed()).await;
}

/// Receives from one sender; `None` if the peer offered nothing, or had to be turned away.
async fn session(
    connection: Connection,
    args: RecvArgs,
    output: OutputOptions,
    places: Arc<Semaphore>,
) -> Option<Record> {
    let started = Instant::now();
    let stream = match first_stream(&connection, args.session.timeout).await {
        Ok(stream) => stream,
        Err(why) => {
            offered_nothing(&connection, &why, output);
            return None;
        }
    };
    let Ok(_place) = places.try_acquire() else {
        refuse_busy(connection).await;
        return None;
    };
    let peer = connection.peer().map(|p| p.to_string());
    // Several progress bars at once would overwrite each other.
    let reporter = if args.keep {
        Reporter::lines(output)
    } else {
        Reporter::stderr(output)
    };
    reporter.peer(format!("connection from {}", name(&connection)));
    let offered = AtomicBool::new(false);
    let result = tokio::select! {
        result = transfer(stream, &args, &reporter, connection.peer(), &offered) => result,
        never = watch(Side::Recv, &connection, &reporter) => match never {},
    };
    reporter.finish();
    let mut record = Record {
        stats: Some(connection.stats()),
        paths: connection.paths(),
        folder: args.directory.filter(|path| path != Path::new("-")),
        peer,
        elapsed: started.elapsed(),
        ..Record::default()
    };
    match result {
        Ok(summary) => {
            record.failure = failure::judging(&summary);
            record.summary = Some(summary);
            // The sender closes once it has the last frame; if this end closed first, the frame
            // could be lost.
            let _ = tokio::time::timeout(GOODBYE, connection.closed()).await;
        }
        Err(
            error @ (TransferError::Stream(_)
            | TransferError::Ended
            | TransferError::Wire(_)
            | TransferError::Protocol(_)),
        ) if !offered.load(Ordering::Relaxed) => {
            offered_nothing(&connection, &error.to_string(), output);
            return None;
        }
        Err(error) => {
            let failure = failure::transferring(&error, connection.close_reason().as_ref());
            // If the peer sent the reason on the stream, let it arrive before the close does.
            let _ = tokio::time::timeout(GOODBYE, connection.flushed()).await;
            connection.close(close::FAILED, &failure.message);
            record.failure = Some(failure);
        }
    }
    Some(record)
}

/// The stream on which the peer offers its files.
async fn first_stream(connection: &Connection, patience: Duration) -> Result<Stream, String> {
    let opened = tokio::time::timeout(patience, connection.accept_stream()).await;
    match opened {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(reason)) => Err(failure::closed(&reason).message),
        Err(_) => Err("it said nothing".to_owned()),
    }
}

/// Lets a peer go that is no sender. On plain UDP anybody can be one, with one datagram.
fn offered_nothing(connection: &Connection, why: &str, output: OutputOptions) {
    let text = format!("{} offered nothing: {why}", name(connection));
    Reporter::lines(output).peer(printable(&text));
    connection.close(close::FAILED, "you offered nothing");
}

/// The peer, for people.
fn name(connection: &Connection) -> String {
    let addr = connection.remote_addr();
    match connection.peer() {
        Some(peer) => format!("{peer} at {addr}"),
        None => format!("an unknown sender at {addr}"),
    }
}

async fn transfer(
    stream: Stream,
    args: &RecvArgs,
    reporter: &Reporter,
    sender: Option<Fingerprint>,
    offered: &AtomicBool,
) -> Result<Summary, TransferError> {
    let sink = match &args.directory {
        Some(root) if !is_stdout(args) => {
            let mut folder = Folder::new(root);
            folder.overwrite = args.overwrite;
            folder.hidden = args.hidden;
            folder.keep_out = home::folder().ok();
            folder.sender = sender;
            Sink::Directory(folder)
        }
        _ => Sink::Writer(Box::new(tokio::io::stdout())),
    };
    let show = show(Side::Recv, reporter);
    let on_event = |event: Event<'_>| {
        if let Event::Expected { .. } = event {
            offered.store(true, Ordering::Relaxed);
        }
        show(event);
    };
    receive(stream, sink, args.stall.stall_timeout, &on_event).await
}

fn is_stdout(args: &RecvArgs) -> bool {
    args.directory.as_deref() == Some(Path::new("-"))
}
