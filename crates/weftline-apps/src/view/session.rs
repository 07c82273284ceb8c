//! One viewer's session.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use weftline::{CloseReason, Connection, Receipt, SendError};

use super::hub::{Hub, Seat};
use super::outbox::Repeat;
use super::tokens::{Admitted, Tokens};
use super::wire::{self, Frame, Request, Track};

/// Bytes that wait in the session: what is decided later knows more.
const BUFFER: usize = 32 << 10;
/// How often the path is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// A path that was silent for this long has lost what was on its way.
const SILENCE: Duration = Duration::from_millis(500);
/// A page's decoder begins anew at most so often.
const AGAIN: Duration = Duration::from_millis(500);
/// Pictures on their way whose fate is awaited.
const MOST_FATES: usize = 2048;

/// Why a session ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It was closed, or the path is gone.
    Closed(CloseReason),
    /// The page sent what no page of this version sends.
    Invalid,
    /// The page has a newer session.
    Replaced,
}

/// Why a page gets no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoEntry {
    /// Its token admits nobody, or not this page.
    Token,
    /// All places are taken.
    Full,
}

/// A place for the page with this path, and what its token gives. A token for one page is not used up where
/// there is no place.
pub(super) fn enter(
    hub: &Arc<Hub>,
    tokens: &Tokens,
    path: &str,
) -> Result<(Seat, Admitted), NoEntry> {
    let now = std::time::Instant::now();
    if !tokens.admits(path, now) {
        return Err(NoEntry::Token);
    }
    let seat = hub.join().ok_or(NoEntry::Full)?;
    let admitted = tokens.admit(path, now).ok_or(NoEntry::Token)?;
    Ok((seat, admitted))
}

/// A picture that was sent.
struct Fate {
    frame: Arc<Frame>,
    receipt: Receipt,
}

/// Sends frames to a viewer until the session ends.
pub(super) async fn serve(
    connection: &Connection,
    seat: &Seat,
    tokens: &Tokens,
    admitted: &Admitted,
) -> Ended {
    connection.set_message_buffer(BUFFER);
    let welcome = wire::welcome(&admitted.secret, seat.hub().delay());
    let mut welcome = match connection.send_message(welcome, None).await {
        Err(SendError::Closed(reason)) => {
            tokens.give_back(admitted);
            return Ended::Closed(reason);
        }
        sent => sent.ok(),
    };
    let ended = play(connection, seat, tokens, admitted).await;
    let fate = welcome
        .as_mut()
        .map(|receipt| Pin::new(receipt).poll(&mut Context::from_waker(Waker::noop())));
    // A page that does not know its secret cannot come again.
    if !matches!(fate, Some(Poll::Ready(Ok(())))) {
        tokens.give_back(admitted);
    }
    ended
}

async fn play(connection: &Connection, seat: &Seat, tokens: &Tokens, admitted: &Admitted) -> Ended {
    let mut viewer = Viewer {
        connection,
        seat,
        fates: Vec::new(),
        silent: Duration::ZERO,
        again: None,
    };
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let blocked = match viewer.send() {
            Ok(blocked) => blocked,
            Err(reason) => return Ended::Closed(reason),
        };
        tokio::select! {
            () = seat.woken() => {}
            room = connection.message_writable(blocked.unwrap_or(0)), if blocked.is_some() => {
                if let Err(reason) = room {
                    return Ended::Closed(reason);
                }
            }
            (frame, arrived) = next_fate(&mut viewer.fates) => viewer.on_fate(&frame, arrived),
            message = connection.recv_message() => match message {
                Err(reason) => return Ended::Closed(reason),
                Ok(message) => match Request::read(&message.data) {
                    Some(request) => viewer.on_request(request),
                    None => return Ended::Invalid,
                },
            },
            _ = look.tick() => {
                viewer.look();
                if tokens.is_replaced(admitted) {
                    return Ended::Replaced;
                }
            }
        }
    }
}

/// Waits until it is known what became of one of the pictures.
async fn next_fate(fates: &mut Vec<Fate>) -> (Arc<Frame>, bool) {
    poll_fn(|context| {
        for at in 0..fates.len() {
            if let Poll::Ready(fate) = Pin::new(&mut fates[at].receipt).poll(context) {
                return Poll::Ready((fates.remove(at).frame, fate.is_ok()));
            }
        }
        Poll::Pending
    })
    .await
}

struct Viewer<'a> {
    connection: &'a Connection,
    seat: &'a Seat,
    fates: Vec<Fate>,
    /// How long nothing was heard of the page.
    silent: Duration,
    /// When its decoder began anew.
    again: Option<Instant>,
}

impl Viewer<'_> {
    /// Sends what there is room for. Returns the length of a frame that waits for room.
    fn send(&mut self) -> Result<Option<usize>, CloseReason> {
        loop {
            let now = Instant::now();
            let Some(waiting) = self.seat.outbox().take(now) else {
                return Ok(None);
            };
            let frame = waiting.frame.clone();
            let bytes = frame.message.len();
            let within = waiting.due.saturating_duration_since(now);
            match self
                .connection
                .try_send_message(frame.message.clone(), Some(within))
            {
                Ok(receipt) => {
                    self.seat.hub().count(|counts| {
                        counts.sent_frames += 1;
                        counts.sent_bytes += bytes as u64;
                    });
                    if !matches!(frame.track, Track::Sound { .. }) {
                        if self.fates.len() >= MOST_FATES {
                            self.fates.remove(0);
                        }
                        self.fates.push(Fate { frame, receipt });
                    }
                }
                Err(SendError::Closed(reason)) => return Err(reason),
                Err(SendError::TooLong { .. }) => {
                    self.seat.hub().count(|counts| counts.too_long_frames += 1);
                    self.seat.outbox().on_unsendable(&frame);
                }
                // Full.
                Err(_) => {
                    self.seat.outbox().put_back(waiting);
                    return Ok(Some(bytes));
                }
            }
        }
    }

    fn on_fate(&mut self, frame: &Frame, arrived: bool) {
        let may_repeat = {
            let mut outbox = self.seat.outbox();
            outbox.on_fate(frame, arrived);
            // While the path is silent, what is sent is lost too.
            outbox.may_repeat() && self.silent < SILENCE
        };
        if may_repeat {
            self.seat.repeat(Repeat::Lost);
        }
    }

    fn on_request(&mut self, request: Request) {
        match request {
            Request::Delay(delay) => self.seat.outbox().set_delay(delay),
            Request::Again => {
                let now = Instant::now();
                if self.again.is_none_or(|last| now - last >= AGAIN) {
                    self.again = Some(now);
                    self.seat.repeat(Repeat::All);
                }
            }
        }
    }

    /// Looks at the path: after a silence the page needs what was lost in it, and at once.
    fn look(&mut self) {
        let stats = self.connection.stats();
        self.seat.outbox().set_rtt(stats.path.min_rtt);
        let silent = self.connection.last_heard();
        let before = std::mem::replace(&mut self.silent, silent);
        if before >= SILENCE && silent < SILENCE {
            self.connection.presume_lost();
            self.seat.repeat(Repeat::Silent);
        }
    }
}
