//! The two tasks that move datagrams between a session and its carrier.
//!
//! Receiving: whatever has arrived is given to the session, a bounded batch under one lock.
//! Sending: one datagram at a time is taken from the session when the carrier has room, so that
//! the session decides at the last moment what is worth sending; in between, its timers run.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;
use weftline_proto::{CloseReason, Time};

use crate::carrier::{PROTOCOL_ERROR, TIMED_OUT};
use crate::shared::{Shared, State};

/// Datagrams handled under one lock.
const BATCH: usize = 64;

/// A timer that stays due after it was served must not spin the driver.
const MIN_SLEEP: Duration = Duration::from_micros(100);

/// Runs the session until it is over and its last datagram has left; then calls `done`.
pub(crate) fn spawn(shared: Arc<Shared>, done: impl FnOnce() + Send + 'static) {
    let span = tracing::info_span!(
        "session",
        peer = shared.carrier.peer().map(tracing::field::display),
        addr = %shared.carrier.remote_addr(),
    );
    let receiver = tokio::spawn(receive(shared.clone()).instrument(span.clone()));
    let receiver = AbortOnDrop(receiver.abort_handle());
    let run = async move {
        let _done = OnDrop(Some(done));
        tracing::debug!("session started");
        transmit(&shared).await;
        let (code, reason) = farewell(&shared);
        shared.carrier.close(code, &reason).await;
        drop(receiver);
    };
    tokio::spawn(run.instrument(span));
}

async fn receive(shared: Arc<Shared>) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        if let Err(reason) = shared.carrier.recv(&mut batch, BATCH).await {
            shared.lose(reason);
            return;
        }
        shared.with(|state, now| {
            for datagram in batch.drain(..) {
                state.session.handle_datagram(now, &datagram);
            }
        });
        shared.heard.notify_waiters();
    }
}

async fn transmit(shared: &Shared) {
    let mut datagram = Vec::new();
    loop {
        // A carrier that always has room would otherwise keep this task from ever yielding.
        tokio::task::consume_budget().await;
        match next(shared, &mut datagram) {
            Step::Send => {
                if let Err(reason) = send(shared, &datagram).await {
                    shared.lose(reason);
                }
            }
            Step::Wait(deadline) => wait(shared, deadline).await,
            Step::Over => return,
        }
    }
}

enum Step {
    Send,
    Wait(Option<Instant>),
    Over,
}

fn next(shared: &Shared, datagram: &mut Vec<u8>) -> Step {
    shared.with_as_driver(|state, now| {
        serve_timers(state, now);
        if state.is_drained() {
            Step::Over
        } else if state.session.poll_transmit(now, datagram) {
            Step::Send
        } else if state.is_drained() {
            Step::Over
        } else {
            Step::Wait(deadline(shared, state, now))
        }
    })
}

/// Waits until the carrier has taken the datagram, and lets the session's timers run meanwhile.
async fn send(shared: &Shared, datagram: &[u8]) -> Result<(), CloseReason> {
    let mut sending = pin!(shared.carrier.send(datagram));
    // Nearly always there is room at once, and nothing else needs to be looked at.
    let first = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await;
    if let Poll::Ready(result) = first {
        return result;
    }
    loop {
        let (over, deadline) = shared.with_as_driver(|state, now| {
            serve_timers(state, now);
            (state.is_drained(), deadline(shared, state, now))
        });
        if over {
            return Ok(());
        }
        tokio::select! {
            biased;
            result = &mut sending => return result,
            () = wait(shared, deadline) => {}
        }
    }
}

fn serve_timers(state: &mut State, now: Time) {
    if state.session.poll_timeout().is_some_and(|due| due <= now) {
        state.session.handle_timeout(now);
    }
}

fn deadline(shared: &Shared, state: &State, now: Time) -> Option<Instant> {
    let due = state.session.poll_timeout()?;
    Some(shared.instant(due.max(now + MIN_SLEEP)))
}

async fn wait(shared: &Shared, deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::select! {
            () = shared.changed.notified() => {}
            () = sleep_until(deadline) => {}
        },
        None => shared.changed.notified().await,
    }
}

/// The code and reason for the carrier's own close.
fn farewell(shared: &Shared) -> (u64, String) {
    shared.look(|state| {
        match state.over() {
            Some(reason) => tracing::info!(%reason, "session closed"),
            None => tracing::info!("session dropped"),
        }
        match (&state.closing, state.over()) {
            (Some(closing), _) => closing.clone(),
            (None, Some(CloseReason::Protocol(what))) => (PROTOCOL_ERROR, (*what).to_owned()),
            // Should the peer still be there, it must not take this for a good end.
            (None, Some(CloseReason::TimedOut { .. })) => (
                TIMED_OUT,
                "nothing was heard for the idle timeout".to_owned(),
            ),
            _ => (0, String::new()),
        }
    })
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Calls its function even when the runtime drops the task half-way.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}
