//! A session with one sender.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use weftline::{CloseReason, Connection, Fingerprint, Stream};
use weftline_apps::transfer::{Event, Folder, Sink, Summary, TransferError, receive};
use weftline_apps::{close, printable};

use super::{RecvArgs, is_stdout};
use crate::ui::progress::Reporter;
use crate::ui::summary::{Record, Side, show, watch};
use crate::ui::{OutputOptions, failure};
use crate::{book, home};

/// How long a sender may take to close the session once it has the final verdict.
const GOODBYE: Duration = Duration::from_secs(2);

/// Tells a sender that the receiver is serving another one.
async fn refuse_busy(connection: Connection) {
    connection.close(close::BUSY, "busy with another sender");
    let _ = tokio::time::timeout(GOODBYE, connection.closed()).await;
}

/// Receives from one sender; `None` if the peer offered nothing, or had to be turned away.
pub(super) async fn session(
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
    let reporter = Reporter::stderr(output);
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
    if connection.close_reason() == Some(CloseReason::Local) {
        return;
    }
    let text = format!("{} offered nothing: {why}", name(connection));
    Reporter::lines(output).peer(printable(&text));
    connection.close(close::FAILED, "you offered nothing");
}

/// The peer, for people.
fn name(connection: &Connection) -> String {
    let addr = connection.remote_addr();
    match connection.peer() {
        Some(peer) => format!("{} at {addr}", book::shown(&peer)),
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
