//! A session with one sender.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use weftline::{CloseReason, Connection, Stream};
use weftline_apps::transfer::{Event, Folder, Sink, Summary, TransferError, receive};
use weftline_apps::{OverLimit, Place, close, lock, printable};

use super::{RecvArgs, is_stdout};
use crate::ui::progress::Reporter;
use crate::ui::summary::{Record, Side, SoFar, show, watch};
use crate::ui::{Exit, Failure, OutputOptions, failure};
use crate::{book, home};

/// How long a sender may take to close the session once it has the final verdict.
const GOODBYE: Duration = Duration::from_secs(2);

/// Tells a sender that the receiver is serving another one.
async fn refuse_busy(connection: &Connection) {
    connection.close(close::BUSY, "busy with another sender");
    let _ = tokio::time::timeout(GOODBYE, connection.closed()).await;
}

/// Receives from one sender; `None` if the peer offered nothing, or had to be turned away.
pub(super) async fn session(
    connection: Connection,
    place: Result<Place, OverLimit>,
    args: RecvArgs,
    output: OutputOptions,
    places: Arc<Semaphore>,
) -> Option<Record> {
    let place = match place {
        Ok(place) => place,
        Err(over) => {
            too_much(&connection, &over, output);
            return None;
        }
    };
    let sender = Sender {
        connection: &connection,
        started: Instant::now(),
        offered: AtomicBool::new(false),
        so_far: Mutex::default(),
    };
    tokio::select! {
        record = sender.receive(args.clone(), output, places) => record,
        over = place.over() => {
            too_much(&connection, &over, output);
            let offered = sender.offered.load(Ordering::Relaxed);
            offered.then(|| Record {
                failure: Some(Failure::new(Exit::General, over.to_string())),
                so_far: Some(*lock(&sender.so_far)),
                ..sender.record(&args)
            })
        }
    }
}

/// A peer that may be a sender.
struct Sender<'a> {
    connection: &'a Connection,
    started: Instant,
    /// It has said what it sends.
    offered: AtomicBool,
    so_far: Mutex<SoFar>,
}

impl Sender<'_> {
    /// As [`session`], of a peer that has a place.
    async fn receive(
        &self,
        args: RecvArgs,
        output: OutputOptions,
        places: Arc<Semaphore>,
    ) -> Option<Record> {
        let connection = self.connection;
        let stream = match first_stream(connection, args.session.timeout).await {
            Ok(stream) => stream,
            Err(why) => {
                offered_nothing(connection, &why, output);
                return None;
            }
        };
        let Ok(_place) = places.try_acquire() else {
            refuse_busy(connection).await;
            return None;
        };
        let reporter = Reporter::stderr(output);
        reporter.peer(format!("connection from {}", name(connection)));
        let result = tokio::select! {
            result = self.transfer(stream, &args, &reporter) => result,
            never = watch(Side::Recv, connection, &reporter) => match never {},
        };
        reporter.finish();
        let mut record = self.record(&args);
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
            ) if !self.offered.load(Ordering::Relaxed) => {
                offered_nothing(connection, &error.to_string(), output);
                return None;
            }
            Err(error) => {
                let failure = failure::transferring(&error, connection.close_reason().as_ref());
                // If the peer sent the reason on the stream, let it arrive before the close does.
                let _ = tokio::time::timeout(GOODBYE, connection.flushed()).await;
                // How to go on is the sender's own message.
                connection.close(close::FAILED, &failure::alone(&failure).message);
                record.failure = Some(failure);
                record.so_far = Some(*lock(&self.so_far));
            }
        }
        Some(record)
    }

    /// What is known of the session now.
    fn record(&self, args: &RecvArgs) -> Record {
        Record {
            stats: Some(self.connection.stats()),
            paths: self.connection.paths(),
            folder: args.directory.clone().filter(|path| path != Path::new("-")),
            peer: self.connection.peer().map(|peer| peer.to_string()),
            elapsed: self.started.elapsed(),
            ..Record::default()
        }
    }

    async fn transfer(
        &self,
        stream: Stream,
        args: &RecvArgs,
        reporter: &Reporter,
    ) -> Result<Summary, TransferError> {
        let sink = match &args.directory {
            Some(root) if !is_stdout(args) => {
                let mut folder = Folder::new(root);
                folder.overwrite = args.overwrite;
                folder.hidden = args.hidden;
                folder.keep_out = kept(args);
                folder.sender = self.connection.peer();
                Sink::Directory(folder)
            }
            _ => Sink::Writer(Box::new(tokio::io::stdout())),
        };
        let show = show(Side::Recv, self.connection.peer().is_some(), reporter);
        let on_event = |event: Event<'_>| {
            if let Event::Expected { .. } = event {
                self.offered.store(true, Ordering::Relaxed);
            }
            lock(&self.so_far).note(&event);
            show(event);
        };
        receive(stream, sink, args.stall.stall_timeout, &on_event).await
    }
}

/// What no sender replaces: the program's folder, and its files that are elsewhere.
fn kept(args: &RecvArgs) -> Vec<PathBuf> {
    let (identity, config) = (&args.session.identity, args.stay.config.file());
    let chosen = [identity.as_deref(), config].into_iter().flatten();
    let absolute = chosen.filter_map(|file| std::path::absolute(file).ok());
    home::folder().ok().into_iter().chain(absolute).collect()
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

/// Lets a peer go that has all that it may take.
fn too_much(connection: &Connection, over: &OverLimit, output: OutputOptions) {
    Reporter::lines(output).peer(format!("{} was turned away: {over}", name(connection)));
    connection.close(close::FAILED, &over.to_string());
}

/// The peer, for people.
fn name(connection: &Connection) -> String {
    let addr = connection.remote_addr();
    match connection.peer() {
        Some(peer) => format!("{} at {addr}", book::shown(&peer)),
        None => format!("an unknown sender at {addr}"),
    }
}
