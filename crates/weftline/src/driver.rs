//! The work that moves datagrams between the engine's session and its carrier, or one of them: each has
//! a driver of its own.
//!
//! What has arrived is given to the engine, a bounded batch under one lock. The engine is asked for
//! datagrams when the carrier has room, and for no more than leave at once, so that it decides at
//! the last moment what is worth sending; in between, its timers run. One task does both, so that an
//! arrival that lets something out wakes nobody else.

use std::collections::VecDeque;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;
use weftline_proto::{CloseReason, PathId, Session, Time};

use crate::carrier::{PROTOCOL_ERROR, TIMED_OUT, udp};
use crate::lanes::Lane;
use crate::shared::{Shared, State};

/// Datagrams that arrived and are handled under one lock.
const BATCH: usize = 64;

/// With more datagrams than these at a time, data comes in bulk: an application answers none of them.
const FEW: usize = 4;

/// Datagrams sent between two looks at what has arrived, should there always be something to send
/// and room for it.
const BURST: usize = 32;

/// With this many datagrams at a time or more, it pays to let the system cut them from one buffer.
const LARGE: usize = 8;

/// Bytes of datagrams that share an allocation.
const MEMORY: usize = 64 << 10;

/// A timer that stays due after it was served must not spin the driver.
const MIN_SLEEP: Duration = Duration::from_micros(100);

/// What is done when the last driver of a connection has ended, even if the runtime drops it half-way.
pub(crate) struct Done(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done();
        }
    }
}

/// Runs a connection until it is over and its last datagram has left; then calls `done`.
pub(crate) fn spawn(shared: Arc<Shared>, done: impl FnOnce() + Send + Sync + 'static) {
    let done = Arc::new(Done(Some(Box::new(done))));
    shared.done.set(Arc::downgrade(&done)).ok();
    let first = shared.first.clone();
    spawn_lane(shared, first, done);
}

/// Runs one path of a connection until either is over.
pub(crate) fn spawn_lane(shared: Arc<Shared>, lane: Arc<Lane>, done: Arc<Done>) {
    let span = tracing::info_span!(
        "connection",
        peer = lane.carrier.peer().map(tracing::field::display),
        addr = %lane.carrier.remote_addr(),
    );
    let work = lane.clone();
    shared.count_lane(lane.clone());
    let run = async move {
        let (lane, _done) = (work, done);
        tracing::debug!("connection started");
        drive(&shared, &lane).await;
        let (code, reason) = match lane.over() {
            Some(parted) => parted.clone(),
            None => farewell(&shared),
        };
        // The others see it too.
        shared.wake_drivers();
        lane.carrier.close(code, &reason).await;
        shared.uncount_lane(&lane);
    };
    lane.carrier.spawn(run.instrument(span));
}

async fn drive(shared: &Shared, lane: &Lane) {
    let mut inbox = Vec::new();
    let mut outbox = Outbox::default();
    let mut burst = 0;
    if lane.carrier.max_datagram().is_none() {
        let discover =
            |session: &mut Session, now| session.discover_largest_datagram(now, udp::DATAGRAMS);
        if let Err(error) = shared.with_as_driver(|state, now| discover(&mut state.session, now)) {
            shared.lose_lane(lane, CloseReason::Carrier(error.to_string()));
        }
    }
    loop {
        // A carrier that always has room would otherwise keep this task from ever yielding.
        tokio::task::consume_budget().await;
        match next(shared, lane, &mut outbox) {
            Step::Send => {
                burst += outbox.datagrams.len();
                if let Err(reason) = send(shared, lane, &mut outbox.datagrams, &mut inbox).await {
                    shared.lose_lane(lane, reason);
                }
                outbox.datagrams.clear();
                if burst >= BURST {
                    burst = 0;
                    at_once(pin!(receive(shared, lane, &mut inbox))).await;
                }
            }
            Step::Wait(deadline) => wait(shared, lane, deadline, &mut inbox).await,
            Step::Lose(reason) => shared.lose_lane(lane, reason),
            Step::Over => return,
        }
    }
}

/// Datagrams that leave together.
#[derive(Default)]
struct Outbox {
    datagrams: VecDeque<Bytes>,
    /// The newest one.
    datagram: Vec<u8>,
    /// Memory for the following ones.
    memory: BytesMut,
    /// The last batch was a large one.
    in_batches: bool,
}

impl Outbox {
    /// Takes what the session has to send now and the carrier has room for; false: nothing. `prefix` goes
    /// before each datagram.
    fn fill(
        &mut self,
        session: &mut Session,
        path: PathId,
        now: Time,
        prefix: &[u8],
        (largest, room): (usize, usize),
    ) -> bool {
        let mut bytes = 0_usize;
        session.set_in_batches(self.in_batches);
        while self.datagrams.len() < BURST
            && (bytes == 0 || bytes.saturating_add(largest) <= room)
            && session.poll_transmit_on(now, path, &mut self.datagram)
        {
            let length = prefix.len() + self.datagram.len();
            if self.memory.capacity() < length {
                self.memory.reserve(MEMORY.max(length));
            }
            self.memory.extend_from_slice(prefix);
            self.memory.extend_from_slice(&self.datagram);
            self.datagrams.push_back(self.memory.split().freeze());
            bytes += length;
        }
        self.in_batches = self.datagrams.len() >= LARGE;
        bytes > 0
    }
}

/// Waits for datagrams and gives the engine a batch of them. Dropped half-way, it loses none.
async fn receive(shared: &Shared, lane: &Lane, inbox: &mut Vec<Bytes>) {
    if let Err(reason) = lane.carrier.recv(inbox, BATCH).await {
        shared.lose_lane(lane, reason);
        return;
    }
    let marks = lane.carrier.congestion_marks();
    let few = inbox.len() <= FEW;
    let events = shared.events(|state, now| {
        state.session.set_congestion_marks_on(lane.path, marks);
        for datagram in inbox.drain(..) {
            state.session.handle_datagram_on(now, lane.path, &datagram);
        }
    });
    shared.wake_others(lane);
    shared.heard.notify_waiters();
    if few && events > 0 {
        // An application that answers at once does so before the report leaves: the answer need not
        // wait for it, and both fit one packet.
        tokio::task::yield_now().await;
    }
}

/// What the future gives without waiting.
async fn at_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

enum Step {
    Send,
    Wait(Option<Instant>),
    Lose(CloseReason),
    Over,
}

fn next(shared: &Shared, lane: &Lane, outbox: &mut Outbox) -> Step {
    let (largest, room) = (lane.carrier.max_datagram(), lane.carrier.room());
    let prefix = lane.carrier.prefix();
    let mut worked = false;
    let step = shared.with_as_driver(|state, now| {
        worked |= serve_timers(shared, state, now);
        // What is said when the connection is over needs no room.
        if let Some(largest @ 1..) = largest
            && lane.over().is_none()
            && let Err(error) = state.session.set_largest_datagram_on(lane.path, largest)
        {
            return Step::Lose(CloseReason::Carrier(error.to_string()));
        }
        let largest = state.session.largest_datagram();
        if lane.is_over(state) {
            Step::Over
        } else if outbox.fill(&mut state.session, lane.path, now, prefix, (largest, room)) {
            worked = true;
            Step::Send
        } else if lane.is_over(state) {
            Step::Over
        } else {
            Step::Wait(deadline(shared, state, now))
        }
    });
    if worked {
        shared.wake_others(lane);
    }
    step
}

/// Waits until the carrier has taken the datagrams; meanwhile receives and lets timers run.
async fn send(
    shared: &Shared,
    lane: &Lane,
    datagrams: &mut VecDeque<Bytes>,
    inbox: &mut Vec<Bytes>,
) -> Result<(), CloseReason> {
    let mut sending = pin!(lane.carrier.send(datagrams));
    // Nearly always there is room at once, and nothing else needs to be looked at.
    if let Some(result) = at_once(sending.as_mut()).await {
        return result;
    }
    loop {
        let (worked, over, deadline) = shared.with_as_driver(|state, now| {
            let worked = serve_timers(shared, state, now);
            (worked, lane.is_over(state), deadline(shared, state, now))
        });
        if worked {
            shared.wake_others(lane);
        }
        if over {
            return Ok(());
        }
        tokio::select! {
            biased;
            result = &mut sending => return result,
            () = wait(shared, lane, deadline, inbox) => {}
        }
    }
}

/// Whether one was due.
fn serve_timers(shared: &Shared, state: &mut State, now: Time) -> bool {
    let is_due = state.session.poll_timeout().is_some_and(|due| due <= now);
    if is_due {
        state.session.handle_timeout(now);
        // What expired may have been the last that was not acknowledged.
        shared.heard.notify_waiters();
    }
    is_due
}

fn deadline(shared: &Shared, state: &State, now: Time) -> Option<Instant> {
    let due = state.session.poll_timeout()?;
    Some(shared.instant(due.max(now + MIN_SLEEP)))
}

/// Waits for what may let the engine send: an arrival, a change by the application, a timer.
async fn wait(shared: &Shared, lane: &Lane, deadline: Option<Instant>, inbox: &mut Vec<Bytes>) {
    let timer = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        () = receive(shared, lane, inbox) => {}
        () = lane.changed.notified() => {}
        () = timer => {}
    }
}

/// The code and reason for the carrier's own close.
fn farewell(shared: &Shared) -> (u64, String) {
    shared.look(|state| {
        match state.over() {
            Some(reason) => tracing::info!(%reason, "connection closed"),
            None => tracing::info!("connection dropped"),
        }
        match (&state.closing, state.over()) {
            (Some(closing), _) => closing.clone(),
            (None, Some(CloseReason::Violation(what))) => (PROTOCOL_ERROR, what.to_string()),
            (None, Some(CloseReason::Carrier(what))) => (PROTOCOL_ERROR, what.clone()),
            // Should the peer still be there, it must not take this for a good end.
            (None, Some(CloseReason::TimedOut { .. })) => (
                TIMED_OUT,
                "nothing was heard for the idle timeout".to_owned(),
            ),
            _ => (0, String::new()),
        }
    })
}
