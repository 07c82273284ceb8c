//! `weftline recv`

mod guests;
mod questions;
mod session;
mod totals;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::interval;
use weftline::{CloseReason, Connection, Port, Refusal};
use weftline_apps::host::{Service, Work};
use weftline_apps::protocol::accept;
use weftline_apps::{Budget, OverLimit, Place, Protocol, close, farewell};

use crate::inbox::Inbox;
use crate::listen::{self, Door, Key, ListenOptions, Lists, Secured, turned_away};
use crate::monitor::Watch;
use crate::offer::Offer;
use crate::options::{LimitOptions, SessionOptions, StallOptions};
use crate::supervise::StayOptions;
use crate::ui::report::Report;
use crate::ui::stop::{Hangups, stop, stop_or_hangup, stopped};
use crate::ui::summary::{self, Record, Side};
use crate::ui::{Exit, Failure, OutputOptions, exit, output};
use guests::Guests;
use session::session;
use totals::{Counts, Totals};

const EXAMPLES: &str = "\
Examples:
  weftline recv                       into a new directory, received; shows a code for the sender
  weftline recv inbox --peer studio   into inbox, from the host with this name or fingerprint
  weftline recv - | tar x             one file to standard output

It prints the command for the sender. On a terminal this has a code, which is good for one sender:
both hosts then know each other, and need no code again. Three wrong codes end it, and the next one
comes later. Without a terminal there is no code, unless --code asks for it. While there is one,
this host's private networks are told by multicast DNS that a receiver is here, so that a sender
there needs no address; nothing of the code or of this host's names is told.

Senders are hosts that were paired by a code, named with --peer or listed in
~/.config/weftline/allowed-files (one fingerprint a line; text after it is a comment; a changed list
counts at once), and this host itself. On a terminal you are asked about others. Elsewhere they are
refused, and see the command that would allow them.

Without DIR, files are received into the directory `received`, or `received-2` and so on if it
exists; one whose transfer was interrupted is used again. Files appear under their names when they
are complete and verified. Until then they are kept as .NAME.SENDER.weftline-part, from which an
interrupted transfer of the same sender resumes. At the end, what was received is listed with sizes:
20 entries for people, and up to 16 MiB of them with --json.

With --keep, SIGHUP takes a changed key, and what `peer` in the file of --config says; open sessions
go on. Without, it stops a
receiver that was started on a terminal; one whose standard error leads elsewhere goes on.";

/// Receive files and directories from `weftline send` on another host
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecvArgs {
    /// Directory for the received files; `-` writes one file to standard output [default: a new
    /// directory, `received`]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Where it listens, and which senders it lets in
    #[command(flatten)]
    pub listen: ListenOptions,
    /// Show a code for the sender, also where there is no terminal; with --json as a line of its own
    #[arg(long, conflicts_with = "insecure_udp")]
    pub code: bool,
    /// Do not tell this host's private networks that a receiver shows a code: its sender then needs an
    /// address
    #[arg(long)]
    pub no_announce: bool,
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
    /// What senders may take.
    #[command(flatten)]
    pub limits: LimitOptions,
    /// How the session is protected and paced, and the identity of this host
    #[command(flatten)]
    pub session: SessionOptions,
    /// What every command that stays has.
    #[command(flatten)]
    pub stay: StayOptions,
    /// What was received so far.
    #[arg(skip)]
    totals: Totals,
}

/// Runs the command.
///
/// # Errors
/// Anything that prevents the start. Later errors are printed, and returned as the exit code.
pub(crate) async fn run(mut args: RecvArgs, output: OutputOptions) -> Result<Exit> {
    let started = Instant::now();
    let stopping: Pin<Box<dyn Future<Output = Exit>>> = match args.keep {
        true => Box::pin(stop()),
        false => Box::pin(stop_or_hangup()),
    };
    let mut hangups = args.keep.then(Hangups::caught);
    match open(&args, output).await {
        Ok((door, guests, mut inbox, watch)) => {
            let hung_up = async {
                match &mut hangups {
                    Some(hangups) => hangups.each(|| reload(&door, guests.as_deref())).await,
                    None => std::future::pending().await,
                }
            };
            if let Some(inbox) = &inbox {
                args.directory = Some(inbox.path.clone());
            }
            let budget = args.limits.budget();
            let look = || args.totals.now();
            let ways = (&door.port, guests.as_ref());
            let exit = tokio::select! {
                exit = serve(&args, output, ways, &budget, started, stopping) => exit,
                never = watch.serve(look, Some(&budget)) => match never {},
                never = hung_up => match never {},
            };
            if let Some(inbox) = inbox.as_mut().filter(|_| exit == Exit::Ok) {
                inbox.complete();
            }
            Ok(exit)
        }
        Err(error) if Exit::of(&error) == Exit::Ok => {
            output::line(&exit::text(&error));
            summary::result(&Record::default(), Side::Recv, output);
            Ok(Exit::Ok)
        }
        Err(error) => {
            let record = Record::failed(exit::wrap(&error), started);
            summary::result(&record, Side::Recv, output);
            Ok(record.exit())
        }
    }
}

impl RecvArgs {
    /// Receiving as one of the services of a port; it shows no codes.
    ///
    /// # Errors
    /// The options contradict each other.
    pub(crate) fn offer(mut self, output: OutputOptions) -> Result<Offer<Counts>> {
        if is_stdout(&self) {
            let message = "`-` is for one file: name a directory";
            return Err(Failure::usage(message).into());
        }
        if self.code {
            let message = "only `weftline recv` shows codes: pair with it first";
            return Err(Failure::usage(message).into());
        }
        self.stay.config.writes(self.directory.as_deref())?;
        self.keep = true;
        let (listen, totals) = (self.listen.clone(), self.totals.clone());
        Ok(Offer {
            service: Protocol::Files,
            config: self.session.endpoint()?,
            listen,
            client: "send FILE... SERVER",
            risk: "can send files here",
            start: Box::new(move || {
                let inbox = Inbox::open(self.directory.as_deref())?;
                self.directory = Some(inbox.path.clone());
                Ok(Arc::new(Files {
                    args: self,
                    output,
                    _inbox: inbox,
                }))
            }),
            look: Box::new(move || totals.now()),
            stopped: Box::new(|| {}),
        })
    }
}

/// A receiver of files.
struct Files {
    args: RecvArgs,
    output: OutputOptions,
    /// Held, so that no other receiver uses it.
    _inbox: Inbox,
}

impl Service for Files {
    fn protocol(&self) -> Protocol {
        Protocol::Files
    }

    fn serve(self: Arc<Self>, connection: Connection, place: Result<Place, OverLimit>) -> Work<()> {
        Box::pin(async move {
            // Files are not received from recordings.
            if connection.confirmed().await.is_err() {
                return;
            }
            let (args, output) = (self.args.clone(), self.output);
            let places = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
            let session = session(connection.clone(), place, args, output, places);
            if let Some(mut record) = session.await {
                // The port is closed as a whole.
                if connection.close_reason() == Some(CloseReason::Local) {
                    record.failure = Some(stopped(Exit::Terminated));
                }
                self.args.totals.add(&record);
                let told = move || summary::one_of_many(&record, output);
                let _ = tokio::task::spawn_blocking(told).await;
            }
        })
    }

    fn turned_away(&self, refusal: &Refusal) {
        turned_away(refusal, Lists::OfServices);
    }
}

/// What a started receiver has; without encryption there are no guests, because nobody is known.
type Opened = (Door, Option<Arc<Guests>>, Option<Inbox>, Watch);

async fn open(args: &RecvArgs, output: OutputOptions) -> Result<Opened> {
    let to_stdout = is_stdout(args);
    if to_stdout && args.keep {
        return Err(Failure::usage(
            "--keep needs a directory: only one file can go to standard output",
        )
        .into());
    }
    if to_stdout && output.json {
        let message = "--json and `-` would both write to standard output: use only one of them";
        return Err(Failure::usage(message).into());
    }
    let mut config = args.session.endpoint()?;
    args.stay.monitor.complete(&mut config);
    args.limits.complete(&mut config);
    let check = &args.stay.config;
    if !to_stdout {
        check.writes(args.directory.as_deref())?;
    }
    let (door, guests) = if args.session.insecure_udp {
        let endpoint = args.listen.insecure(check, config)?;
        (args.listen.door(endpoint.into(), None), None)
    } else {
        let secured = (args.listen).secured(Protocol::Files, &args.session, check, config);
        let Secured {
            endpoint,
            allowed,
            own,
        } = secured?;
        let guests = Guests::new(args, output, endpoint.clone(), allowed)?;
        let key = Key::new(&endpoint, args.session.identity.clone(), own);
        let door = args.listen.door(endpoint.into(), Some(key));
        (door, Some(Arc::new(guests)))
    };
    let watch = args.stay.monitor.open("recv", "").await?;
    // Only now: what could not start makes no directory.
    let inbox = match to_stdout {
        true => None,
        false => Some(Inbox::open(args.directory.as_deref())?),
    };
    if let Some(inbox) = inbox.as_ref().filter(|_| !output.quiet) {
        output::line(&format!("receiving into {}", inbox.path.display()));
    }
    announce(args, output, &door.port, guests.as_deref())?;
    Ok((door, guests, inbox, watch))
}

/// Takes the key that is in its file now, for sessions and for codes. Returns a sentence about that.
fn reload(door: &Door, guests: Option<&Guests>) -> Result<String, String> {
    let before = door.port.fingerprint();
    let told = door.reload();
    if let Some(guests) = guests
        && door.port.fingerprint() != before
    {
        guests.on_new_key();
    }
    told
}

/// Prints the command that sends files to this host.
fn announce(
    args: &RecvArgs,
    output: OutputOptions,
    endpoint: &Port,
    guests: Option<&Guests>,
) -> Result<()> {
    let code = guests.and_then(|guests| Some((guests, guests.code()?)));
    if output.quiet {
        // Somebody has asked for the code.
        return code.map_or(Ok(()), |(guests, code)| guests.show(code));
    }
    let server = listen::heading(endpoint)?;
    match code {
        Some((guests, code)) => {
            guests.show(code)?;
            output::line("the code is good for one sender; a sender that is known here needs none");
        }
        None => output::line(&format!("  weftline send FILE... {server}")),
    }
    args.listen.warn("can send files here");
    Ok(())
}

async fn serve(
    args: &RecvArgs,
    output: OutputOptions,
    (endpoint, guests): (&Port, Option<&Arc<Guests>>),
    budget: &Arc<Budget>,
    started: Instant,
    mut stopping: impl Future<Output = Exit> + Unpin,
) -> Exit {
    let mut sessions: JoinSet<Option<Record>> = JoinSet::new();
    let keep = args.keep;
    let most = if keep { Semaphore::MAX_PERMITS } else { 1 };
    let places = Arc::new(Semaphore::new(most));
    let mut results: JoinSet<()> = JoinSet::new();
    let mut exit = Exit::Ok;
    let mut watching = pin!(watch(endpoint, guests, &places));
    let mut check = interval(Budget::CHECK);
    loop {
        tokio::select! {
            accepted = accept(endpoint, &[Protocol::Files]) => match accepted {
                Some((_, connection)) => {
                    let (place, args) = (budget.enter(&connection), args.clone());
                    sessions.spawn(session(connection, place, args, output, places.clone()));
                }
                None => break,
            },
            never = &mut watching => match never {},
            _ = check.tick() => budget.check(),
            Some(done) = sessions.join_next() => {
                // A peer that offered nothing is not a sender.
                if let Ok(None) = done {
                    if let Some(guests) = guests {
                        guests.look();
                    }
                    continue;
                }
                // A session that panicked has reported that itself; the others go on.
                if let Ok(Some(record)) = done {
                    args.totals.add(&record);
                    exit = record.exit();
                    // A blocked terminal must not keep further senders waiting.
                    results.spawn_blocking(move || match keep {
                        true => summary::one_of_many(&record, output),
                        false => summary::result(&record, Side::Recv, output),
                    });
                }
                if !keep {
                    break;
                }
            }
            exit = &mut stopping => {
                let is_idle = places.available_permits() == most;
                // Close before the sessions are dropped; they would close with their own code.
                endpoint.close(close::INTERRUPTED, "stopped");
                sessions.shutdown().await;
                farewell(endpoint, close::INTERRUPTED, "stopped").await;
                while results.join_next().await.is_some() {}
                if keep && is_idle {
                    let report = Report::of(started, "recv", output);
                    return report.end(Some(&args.totals.now()), &Failure::new(exit, "stopped"));
                }
                let failure = match is_idle {
                    true => Failure::new(exit, "stopped"),
                    false => stopped(exit),
                };
                summary::result(&Record::failed(failure, started), Side::Recv, output);
                return exit;
            }
        }
    }
    if let Some(guests) = guests {
        guests.finish().await;
    }
    farewell(endpoint, close::DONE, "").await;
    while results.join_next().await.is_some() {}
    exit
}

/// Lets peers in, or says that they were refused.
async fn watch(endpoint: &Port, guests: Option<&Arc<Guests>>, places: &Semaphore) -> Infallible {
    match guests {
        Some(guests) => guests.watch(|| places.available_permits() > 0).await,
        None => loop {
            match endpoint.refused().await {
                Some(refusal) => turned_away(&refusal, Lists::Of(Protocol::Files)),
                None => std::future::pending().await,
            }
        },
    }
}

fn is_stdout(args: &RecvArgs) -> bool {
    args.directory.as_deref() == Some(Path::new("-"))
}
