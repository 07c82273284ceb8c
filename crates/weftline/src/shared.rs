//! A connection, shared by its driver and by the handles of the application.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
#[cfg(feature = "event-log")]
use weftline_proto::LogEntry;
use weftline_proto::{CloseReason, Config, Event, MessageId, Role, Session, StreamId, Time};

use crate::carrier::Carrier;
#[cfg(feature = "quic")]
use crate::carrier::quic::Bond;
use crate::driver::Done;
use crate::error::Undelivered;
use crate::lanes::{Carried, Lane, Paths};
use crate::lock::lock;

/// One connection: the engine's session, its carriers, and which tasks wait for what.
///
/// The rule that keeps it alive: a change of the session under the lock is followed by draining its
/// events before unlocking, and by waking the driver afterwards if it has something to do.
/// [`Shared::with`] does both.
pub(crate) struct Shared {
    /// The lane that the session began with: it knows who the peer is, even when it has ended.
    pub(crate) first: Arc<Lane>,
    /// There are other lanes, or only another one.
    pub(crate) further: AtomicBool,
    /// What is done when the last driver has ended.
    pub(crate) done: OnceLock<Weak<Done>>,
    /// What further connections prove that they belong to this session with.
    #[cfg(feature = "quic")]
    pub(crate) bond: OnceLock<Bond>,
    /// Packets of the carriers that are over, and the lanes of the others.
    pub(crate) carried: Mutex<Carried>,
    state: Mutex<State>,
    start: Instant,
    pub(crate) path_changed: Notify,
    pub(crate) connected: Notify,
    pub(crate) stream_opened: Notify,
    pub(crate) streams_available: Notify,
    pub(crate) message_received: Notify,
    pub(crate) message_writable: Notify,
    /// A datagram came in: everything may be acknowledged.
    pub(crate) heard: Notify,
    pub(crate) closed: Notify,
}

pub(crate) struct State {
    pub(crate) session: Session,
    pub(crate) paths: Paths,
    pub(crate) connected: bool,
    /// The code and reason that this end closed with.
    pub(crate) closing: Option<(u64, String)>,
    readers: HashMap<StreamId, Waker>,
    writers: HashMap<StreamId, Writer>,
    /// Of messages whose receipt the application holds.
    receipts: HashMap<MessageId, Pending>,
    /// The carrier ended before the engine did.
    lost: Option<CloseReason>,
}

/// The writing half of a stream that the application holds.
#[derive(Default)]
pub(crate) struct Writer {
    /// Of the task that waits for room.
    pub(crate) waker: Option<Waker>,
    /// Wakes the tasks that wait for the stream's fate.
    pub(crate) fate: Option<Arc<Notify>>,
    pub(crate) acknowledged: bool,
    pub(crate) stopped: Option<u64>,
}

impl Writer {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        if self.acknowledged || self.stopped.is_some() {
            self.wake_fate();
        }
    }

    fn wake_fate(&self) {
        if let Some(fate) = &self.fate {
            fate.notify_waiters();
        }
    }
}

/// What is known of a message whose receipt the application holds.
enum Pending {
    Waiting(Option<Waker>),
    Known(Result<(), Undelivered>),
}

impl Shared {
    pub(crate) fn new(carrier: Carrier, role: Role, config: Config, seed: u64) -> Self {
        let request = carrier.request();
        let first = Lane::first(carrier);
        Shared {
            further: AtomicBool::new(false),
            done: OnceLock::new(),
            #[cfg(feature = "quic")]
            bond: OnceLock::new(),
            carried: Mutex::default(),
            state: Mutex::new(State {
                session: Session::new(role, config, seed, Time::ZERO)
                    .expect("the endpoint has checked the configuration"),
                paths: Paths::new(first.clone(), request),
                connected: false,
                closing: None,
                readers: HashMap::new(),
                writers: HashMap::new(),
                receipts: HashMap::new(),
                lost: None,
            }),
            first,
            start: Instant::now(),
            path_changed: Notify::new(),
            connected: Notify::new(),
            stream_opened: Notify::new(),
            streams_available: Notify::new(),
            message_received: Notify::new(),
            message_writable: Notify::new(),
            heard: Notify::new(),
            closed: Notify::new(),
        }
    }

    /// Changes the state as the application may, then wakes the tasks that the engine's events concern,
    /// and the driver, unless nothing waits to be sent.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut State, Time) -> R) -> R {
        let (result, wake) = self.with_as_driver(|state, now| {
            let result = change(state, now);
            (result, state.session.wants_to_send())
        });
        if wake {
            self.wake_drivers();
        }
        result
    }

    /// As [`Shared::with`], whatever the change: the driver looks at everything again.
    pub(crate) fn with_all<R>(&self, change: impl FnOnce(&mut State, Time) -> R) -> R {
        let result = self.with_as_driver(change);
        self.wake_drivers();
        result
    }

    /// As [`Shared::with`], for the driver itself.
    pub(crate) fn with_as_driver<R>(&self, change: impl FnOnce(&mut State, Time) -> R) -> R {
        self.change(change).0
    }

    /// As [`Shared::with_as_driver`]; the number of the engine's events.
    pub(crate) fn events(&self, change: impl FnOnce(&mut State, Time)) -> u32 {
        self.change(change).1
    }

    fn change<R>(&self, change: impl FnOnce(&mut State, Time) -> R) -> (R, u32) {
        let mut state = lock(&self.state);
        // Read under the lock: the engine's time must not go backwards.
        let now = self.now();
        let result = change(&mut state, now);
        state.session.time_log(now);
        let mut events = 0;
        while let Some(event) = state.session.poll_event() {
            self.dispatch(&mut state, event);
            events += 1;
        }
        (result, events)
    }

    #[cfg(feature = "event-log")]
    pub(crate) fn start_log(&self, capacity: usize) {
        lock(&self.state).session.start_log(capacity);
    }

    #[cfg(feature = "event-log")]
    pub(crate) fn stop_log(&self) {
        lock(&self.state).session.stop_log();
    }

    /// All entries of the event log that wait, in exchange for an empty queue.
    #[cfg(feature = "event-log")]
    pub(crate) fn take_log(&self, empty: &mut std::collections::VecDeque<LogEntry>) {
        lock(&self.state).session.take_log(empty);
    }

    /// Looks at the state without changing it.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&lock(&self.state))
    }

    /// Tries something each time `notify` fires, until it is ready.
    pub(crate) async fn wait<R>(
        &self,
        notify: &Notify,
        mut attempt: impl FnMut(&mut State, Time) -> Poll<R>,
    ) -> R {
        loop {
            // Listening starts before the attempt, so that nothing is missed between them.
            let mut notified = pin!(notify.notified());
            notified.as_mut().enable();
            if let Poll::Ready(result) = self.with(&mut attempt) {
                return result;
            }
            notified.await;
        }
    }

    /// Starts an orderly close, unless the connection is over.
    pub(crate) fn close(&self, code: u64, reason: &str) {
        self.with(|state, now| {
            if state.over().is_none() {
                state.closing = Some((code, reason.to_owned()));
                state.session.close(now, code, reason);
            }
        });
    }

    /// The carrier ended: so does the connection, unless it did before.
    pub(crate) fn lose(&self, reason: CloseReason) {
        self.with_all(|state, _| {
            state.lost.get_or_insert(reason);
            self.wake_all(state);
        });
    }

    /// Waits for the end of the connection.
    pub(crate) fn over(&self) -> impl Future<Output = CloseReason> {
        self.wait(&self.closed, |state, _| match state.over() {
            Some(reason) => Poll::Ready(reason.clone()),
            None => Poll::Pending,
        })
    }

    /// Waits until both ends know each other's limits.
    pub(crate) async fn ready(&self) -> Result<(), CloseReason> {
        self.wait(&self.connected, |state, _| match state.over() {
            Some(reason) => Poll::Ready(Err(reason.clone())),
            None if state.connected => Poll::Ready(Ok(())),
            None => Poll::Pending,
        })
        .await
    }

    /// The instant that the engine calls `time`.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        self.start + time.since(Time::ZERO)
    }

    pub(crate) fn now(&self) -> Time {
        let micros = self.start.elapsed().as_micros();
        Time::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// How long ago the connection began.
    pub(crate) fn age(&self) -> Duration {
        self.start.elapsed()
    }

    fn dispatch(&self, state: &mut State, event: Event) {
        match event {
            Event::Connected => {
                state.connected = true;
                self.connected.notify_waiters();
            }
            Event::StreamOpened => self.stream_opened.notify_waiters(),
            Event::StreamReadable(id) => {
                if let Some(waker) = state.readers.remove(&id) {
                    waker.wake();
                }
            }
            Event::StreamWritable(id) => state.writer(id, |_| ()),
            Event::StreamFinished(id) => {
                state.writer(id, |writer| writer.acknowledged = true);
            }
            Event::StreamStopped { id, code } => {
                state.writer(id, |writer| writer.stopped = Some(code));
            }
            Event::StreamsAvailable => self.streams_available.notify_waiters(),
            Event::MessageReceived => self.message_received.notify_waiters(),
            Event::MessageWritable => self.message_writable.notify_waiters(),
            Event::MessageDelivered(id) => state.settle(id, Ok(())),
            Event::MessageExpired(id) => state.settle(id, Err(Undelivered::Expired)),
            Event::PathSilent(path) => self.on_silence(state, path, true),
            Event::PathHeard(path) => self.on_silence(state, path, false),
            Event::Closed(_) => self.wake_all(state),
            _ => {}
        }
    }

    fn wake_all(&self, state: &mut State) {
        for (_, waker) in state.readers.drain() {
            waker.wake();
        }
        for writer in state.writers.values_mut() {
            writer.wake();
            writer.wake_fate();
        }
        for pending in state.receipts.values_mut() {
            if let Pending::Waiting(waker) = pending
                && let Some(waker) = waker.take()
            {
                waker.wake();
            }
        }
        for notify in [
            &self.connected,
            &self.stream_opened,
            &self.streams_available,
            &self.message_received,
            &self.message_writable,
            &self.heard,
            &self.path_changed,
            &self.closed,
        ] {
            notify.notify_waiters();
        }
    }
}

impl State {
    /// Why the connection is over, if it is.
    pub(crate) fn over(&self) -> Option<&CloseReason> {
        self.session.close_reason().or(self.lost.as_ref())
    }

    /// The carrier ended, or nothing is left to be sent after a close.
    pub(crate) fn is_drained(&self) -> bool {
        self.lost.is_some() || self.session.is_drained()
    }

    /// The application holds this stream's writing half from now on.
    pub(crate) fn add_writer(&mut self, id: StreamId) {
        self.writers.insert(id, Writer::default());
    }

    pub(crate) fn writer_mut(&mut self, id: StreamId) -> Option<&mut Writer> {
        self.writers.get_mut(&id)
    }

    pub(crate) fn remove_writer(&mut self, id: StreamId) {
        self.writers.remove(&id);
    }

    /// Remembers the task to wake when the stream becomes readable.
    pub(crate) fn set_reader(&mut self, id: StreamId, waker: &Waker) {
        self.readers.insert(id, waker.clone());
    }

    pub(crate) fn remove_reader(&mut self, id: StreamId) {
        self.readers.remove(&id);
    }

    /// The application holds this message's receipt from now on.
    pub(crate) fn add_receipt(&mut self, id: MessageId) {
        self.receipts.insert(id, Pending::Waiting(None));
    }

    pub(crate) fn remove_receipt(&mut self, id: MessageId) {
        self.receipts.remove(&id);
    }

    /// What became of a message, or who wants to know.
    pub(crate) fn poll_receipt(
        &mut self,
        id: MessageId,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Undelivered>> {
        let over = self.over().cloned();
        match (self.receipts.get_mut(&id), over) {
            (Some(Pending::Known(fate)), _) => Poll::Ready(fate.clone()),
            (_, Some(reason)) => Poll::Ready(Err(Undelivered::Closed(reason))),
            (Some(Pending::Waiting(waker)), None) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
            // A receipt removes its entry only when it is dropped.
            (None, None) => Poll::Pending,
        }
    }

    /// The engine told what became of a message.
    fn settle(&mut self, id: MessageId, fate: Result<(), Undelivered>) {
        if let Some(pending) = self.receipts.get_mut(&id)
            && let Pending::Waiting(Some(waker)) = std::mem::replace(pending, Pending::Known(fate))
        {
            waker.wake();
        }
    }

    /// Updates a writing half that is still held and wakes the tasks that wait for it.
    fn writer(&mut self, id: StreamId, update: impl FnOnce(&mut Writer)) {
        if let Some(writer) = self.writers.get_mut(&id) {
            update(writer);
            writer.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::carrier::udp::Udp;
    use crate::{EndpointConfig, carrier::socket};

    /// A connection without a driver.
    fn shared() -> Shared {
        let local = (Ipv4Addr::LOCALHOST, 0).into();
        let socket = socket::bind(local, &EndpointConfig::default()).expect("a socket");
        let (udp, _) = Udp::new(socket, &EndpointConfig::default()).expect("an endpoint");
        let link = udp.connect(local).expect("a link");
        Shared::new(Carrier::Udp(link), Role::Client, Config::default(), 1)
    }

    /// The driver was woken since the last time.
    fn woken(shared: &Shared) -> bool {
        pin!(shared.first.changed.notified()).as_mut().enable()
    }

    #[tokio::test]
    async fn the_driver_is_woken_only_by_what_is_to_be_sent() {
        let shared = shared();
        let took = shared.with(|state, _| state.session.recv_message());
        assert!(took.is_none() && !woken(&shared));
        let sent = shared.with(|state, now| state.session.send_message(now, "hello", None));
        assert!(sent.is_ok() && woken(&shared) && !woken(&shared));
        shared.lose(CloseReason::Local);
        assert!(woken(&shared));
    }
}
