//! What a driver must do next: events, datagrams and the timer, in the order that is safe.

use weftline_proto::{Event as Happened, MessageId, Output as Next};

use crate::guard::{given, guard};
use crate::raw;
use crate::session::{Session, time, timer};
use crate::status::Status;

/// What happened in a session.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// There is no event now.
    None = 0,
    /// The peer's limits are known.
    Connected = 1,
    /// The peer opened a stream: accept it.
    StreamOpened = 2,
    /// There is more to read on `stream`: data, its end or its reset.
    StreamReadable = 3,
    /// There is room to write to `stream`.
    StreamWritable = 4,
    /// The peer has everything that was written to `stream`, which is finished.
    StreamFinished = 5,
    /// The session is over; `weftline_session_close_reason` says why. No event follows.
    Closed = 6,
    /// The peer reads no more of `stream`; `code` is its application error code.
    StreamStopped = 7,
    /// A stream can be opened again.
    StreamsAvailable = 8,
    /// A message can be received.
    MessageReceived = 9,
    /// There is room to send messages again.
    MessageWritable = 10,
    /// The deadline of `message` passed before the peer acknowledged all of it; nothing more is done for it.
    MessageExpired = 11,
    /// The peer has `message`.
    MessageDelivered = 12,
    /// An event that this version of the header does not know. Ignore it.
    Other = 255,
}

/// An event. A field that `kind` does not mention is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The stream concerned.
    pub stream: u64,
    /// The message concerned, as `weftline_session_send_message` numbered it.
    pub message: u64,
    /// The peer's application error code.
    pub code: u64,
}

impl Event {
    const NONE: Event = Event {
        kind: EventKind::None,
        stream: 0,
        message: 0,
        code: 0,
    };

    fn of(happened: Happened) -> Event {
        let plain = |kind| Event {
            kind,
            ..Event::NONE
        };
        let stream = |kind, stream| Event {
            stream,
            ..plain(kind)
        };
        let message = |kind, id: MessageId| Event {
            message: id.0,
            ..plain(kind)
        };
        match happened {
            Happened::Connected => plain(EventKind::Connected),
            Happened::StreamOpened => plain(EventKind::StreamOpened),
            Happened::StreamReadable(id) => stream(EventKind::StreamReadable, id.0),
            Happened::StreamWritable(id) => stream(EventKind::StreamWritable, id.0),
            Happened::StreamFinished(id) => stream(EventKind::StreamFinished, id.0),
            Happened::StreamStopped { id, code } => Event {
                code,
                ..stream(EventKind::StreamStopped, id.0)
            },
            Happened::StreamsAvailable => plain(EventKind::StreamsAvailable),
            Happened::MessageReceived => plain(EventKind::MessageReceived),
            Happened::MessageWritable => plain(EventKind::MessageWritable),
            Happened::MessageExpired(id) => message(EventKind::MessageExpired, id),
            Happened::MessageDelivered(id) => message(EventKind::MessageDelivered, id),
            Happened::Closed(_) => plain(EventKind::Closed),
            _ => plain(EventKind::Other),
        }
    }
}

/// Which field of a `WeftlineOutput` says what to do.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// The buffer holds a datagram of `length` bytes: send it.
    Transmit = 1,
    /// `event` happened: tell the application.
    Event = 2,
    /// Nothing more to do now: wait for a datagram, or until `timeout_ns`.
    Timeout = 3,
}

/// What a driver must do next. A field that `kind` does not mention is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// What to do.
    pub kind: OutputKind,
    /// Bytes of the datagram in the buffer.
    pub length: usize,
    /// What happened.
    pub event: Event,
    /// When `weftline_session_handle_timeout` is due, in nanoseconds; `WEFTLINE_NO_TIMEOUT` when the session
    /// is over and can be freed.
    pub timeout_ns: u64,
}

/// What to do next. After any call that changes the session, call this until the kind of its output is
/// `WEFTLINE_OUTPUT_KIND_TIMEOUT`. It is `weftline_session_poll_event`, `weftline_session_poll_datagram` and
/// `weftline_session_timeout` in the only order that is safe. If the buffer is too small for a datagram, the
/// output says so: its kind is `WEFTLINE_OUTPUT_KIND_TRANSMIT` and its length is the length needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_poll_output(
    session: Option<&mut Session>,
    now_ns: u64,
    buffer: *mut u8,
    capacity: usize,
    output: *mut Output,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (place, output) = unsafe { (raw::buffer(buffer, capacity)?, raw::place(output)) };
        let (end, output) = (given(session)?, given(output)?);
        let next = match end.waiting {
            true => Next::Transmit,
            false => end.session.poll_output(time(now_ns), &mut end.datagram),
        };
        let mut made = Output {
            kind: OutputKind::Timeout,
            length: 0,
            event: Event::NONE,
            timeout_ns: 0,
        };
        match next {
            Next::Transmit => {
                made.kind = OutputKind::Transmit;
                made.length = end.datagram.len();
            }
            Next::Event(event) => {
                made.kind = OutputKind::Event;
                made.event = Event::of(event);
            }
            Next::Timeout(at) => made.timeout_ns = timer(at),
        }
        output.write(made);
        if made.kind == OutputKind::Transmit {
            end.waiting = true;
            raw::copy(&end.datagram, place)?;
            end.waiting = false;
        }
        Ok(())
    })
}

/// Writes the next event. Its kind is `WEFTLINE_EVENT_KIND_NONE` when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_poll_event(
    session: Option<&mut Session>,
    event: *mut Event,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let event = unsafe { raw::place(event) };
        let (end, place) = (given(session)?, given(event)?);
        let event = end.session.poll_event();
        place.write(event.map_or(Event::NONE, Event::of));
        Ok(())
    })
}
