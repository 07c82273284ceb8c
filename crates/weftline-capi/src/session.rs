//! The sans-IO session: no socket, no clock, no thread; the caller drives it.
//!
//! The drive loop: after any call that changes the session, take all events, send what
//! `poll_datagram` gives until it gives nothing, and set a timer to `timeout`.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use weftline_proto as proto;
use weftline_proto::{
    Config, Event as Happened, OpenError, Preset, RateControl, ReadError, Role, StreamId, Time,
    WriteError,
};

use crate::guard::{free, given, guard, look, make};
use crate::raw;
use crate::status::{Failure, Status};

/// One end of a session.
#[derive(Debug)]
pub struct Session {
    session: proto::Session,
    /// A datagram that did not fit the caller's buffer.
    waiting: Option<Vec<u8>>,
    datagram: Vec<u8>,
}

/// What a session may be told beside its preset. Zero in a field is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionOptions {
    /// Most payload bytes of a source symbol.
    pub symbol_size: u16,
    /// Bytes that what carries the datagrams adds to each, for rate control.
    pub datagram_overhead: u16,
    /// Bytes of the largest datagram that the path takes.
    pub largest_datagram: u32,
    /// Sends at this rate, bits per second with the overhead, instead of finding out.
    pub fixed_rate: u64,
    /// Keeps so many bytes in flight at most, instead of finding out.
    pub fixed_window: u64,
    /// Leaves the rate to what carries the datagrams: sends whenever asked.
    pub carrier_rate: bool,
}

/// What happened in a session.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Nothing more.
    None = 0,
    /// The peer's limits are known.
    Connected = 1,
    /// The peer opened a stream: accept it.
    StreamOpened = 2,
    /// There is more to read on `stream`.
    StreamReadable = 3,
    /// There is room to write to `stream`.
    StreamWritable = 4,
    /// The peer has all of `stream`.
    StreamFinished = 5,
    /// The session is over.
    Closed = 6,
    /// Something that this interface has no calls for.
    Other = 7,
}

/// An event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The stream concerned.
    pub stream: u64,
}

/// Counters of a session.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SessionStats {
    /// Datagrams sent.
    pub datagrams: u64,
    /// Source symbols sent for the first time.
    pub source_symbols: u64,
    /// Source symbols sent again.
    pub retransmissions: u64,
    /// Repair symbols sent.
    pub repair_symbols: u64,
    /// Datagrams received that passed all checks.
    pub received_datagrams: u64,
    /// Source symbols recovered by decoding.
    pub recovered_symbols: u64,
    /// Share of this end's datagrams lost recently.
    pub loss: f64,
    /// Smoothed round-trip time, nanoseconds.
    pub rtt_ns: u64,
}

/// What `weftline_session_timeout` returns when there is no timer.
pub const NO_TIMEOUT: u64 = u64::MAX;

fn time(now_ns: u64) -> Time {
    Time::from_micros(now_ns / 1000)
}

fn config(preset: &str, options: SessionOptions) -> Result<Config, Failure> {
    let preset: Preset = preset.parse().map_err(Failure::argument)?;
    let mut config = Config::preset(preset);
    if options.symbol_size != 0 {
        config.symbol_size = options.symbol_size;
    }
    if options.datagram_overhead != 0 {
        config.datagram_overhead = options.datagram_overhead;
    }
    let some = |value: u64| (value != 0).then_some(value);
    let (rate, window) = (some(options.fixed_rate), some(options.fixed_window));
    if options.carrier_rate {
        config.rate = RateControl::Carrier;
    } else if rate.is_some() || window.is_some() {
        config.rate = RateControl::Fixed { rate, window };
    }
    Ok(config)
}

/// A session that begins at `now_ns`, with a preset ("auto", "streaming", "arq", ...) and options, or NULL
/// for the defaults. One end is the client, the other is not. Equal seeds and calls give equal
/// datagrams. Times are nanoseconds from any zero and never go backwards. NULL if that cannot be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_new(
    client: bool,
    preset: *const c_char,
    options: Option<&SessionOptions>,
    seed: u64,
    now_ns: u64,
) -> Option<Box<Session>> {
    make(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let preset = unsafe { raw::text(preset) }?;
        let options = options.copied().unwrap_or_default();
        let role = if client { Role::Client } else { Role::Server };
        let config = config(preset, options)?;
        let mut session = proto::Session::new(role, config, seed, time(now_ns));
        if options.largest_datagram != 0 {
            session.set_largest_datagram(options.largest_datagram as usize);
        }
        Ok(Session {
            session,
            waiting: None,
            datagram: Vec::new(),
        })
    })
}

/// Frees a session.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_free(session: Option<Box<Session>>) {
    free(session);
}

/// Hands over a datagram that arrived. Whatever it holds, nothing worse happens than that it is
/// dropped, or the end of the session for a peer that breaks the protocol.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_handle_datagram(
    session: Option<&mut Session>,
    now_ns: u64,
    datagram: *const u8,
    length: usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let datagram = unsafe { raw::bytes(datagram, length) }?;
        let session = &mut given(session)?.session;
        session.handle_datagram(time(now_ns), datagram);
        Ok(())
    })
}

/// Writes the next datagram to send; `WEFTLINE_STATUS_MISSING` when there is none now. What to send
/// is decided at this moment, so ask only when it can be sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_poll_datagram(
    session: Option<&mut Session>,
    now_ns: u64,
    buffer: *mut u8,
    capacity: usize,
    length: Option<&mut MaybeUninit<usize>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let place = unsafe { raw::buffer(buffer, capacity) }?;
        let end = given(session)?;
        match end.waiting.take() {
            Some(waiting) => end.datagram = waiting,
            None => {
                if !end.session.poll_transmit(time(now_ns), &mut end.datagram) {
                    return Err(Failure::new(Status::Missing, "nothing to send now"));
                }
            }
        }
        raw::copy_out(&end.datagram, place, length).inspect_err(|_| {
            end.waiting = Some(std::mem::take(&mut end.datagram));
        })
    })
}

/// When `weftline_session_handle_timeout` is due, in nanoseconds; `WEFTLINE_NO_TIMEOUT` when the session is
/// over and can be freed.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_timeout(session: Option<&Session>) -> u64 {
    let timeout = look(session, |end| end.session.poll_timeout());
    timeout.map_or(NO_TIMEOUT, |at| at.as_micros().saturating_mul(1000))
}

/// The time that `weftline_session_timeout` named has come.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_handle_timeout(
    session: Option<&mut Session>,
    now_ns: u64,
) -> Status {
    guard(|| {
        given(session)?.session.handle_timeout(time(now_ns));
        Ok(())
    })
}

/// The next event; its kind is `WEFTLINE_EVENT_KIND_NONE` when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_poll_event(
    session: Option<&mut Session>,
    event: Option<&mut MaybeUninit<Event>>,
) -> Status {
    guard(|| {
        let (end, place) = (given(session)?, given(event)?);
        let (kind, stream) = match end.session.poll_event() {
            None => (EventKind::None, 0),
            Some(Happened::Connected) => (EventKind::Connected, 0),
            Some(Happened::StreamOpened) => (EventKind::StreamOpened, 0),
            Some(Happened::StreamReadable(id)) => (EventKind::StreamReadable, id.0),
            Some(Happened::StreamWritable(id)) => (EventKind::StreamWritable, id.0),
            Some(Happened::StreamFinished(id)) => (EventKind::StreamFinished, id.0),
            Some(Happened::Closed(_)) => (EventKind::Closed, 0),
            Some(_) => (EventKind::Other, 0),
        };
        place.write(Event { kind, stream });
        Ok(())
    })
}

/// Opens a stream, which both ends can write to and read from.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_open_stream(
    session: Option<&mut Session>,
    stream: Option<&mut MaybeUninit<u64>>,
) -> Status {
    guard(|| {
        let (end, stream) = (given(session)?, given(stream)?);
        let opened = end.session.open_stream().map_err(|error| {
            let status = match error {
                OpenError::Blocked => Status::Blocked,
                _ => Status::Closed,
            };
            Failure::new(status, error)
        })?;
        stream.write(opened.0);
        Ok(())
    })
}

/// Takes a stream that the peer has opened; `WEFTLINE_STATUS_MISSING` when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_accept_stream(
    session: Option<&mut Session>,
    stream: Option<&mut MaybeUninit<u64>>,
) -> Status {
    guard(|| {
        let (end, stream) = (given(session)?, given(stream)?);
        let accepted = end.session.accept_stream();
        stream.write(
            accepted
                .ok_or_else(|| Failure::new(Status::Missing, "the peer has opened no stream"))?
                .0,
        );
        Ok(())
    })
}

fn write_error(error: WriteError) -> Failure {
    let status = match error {
        WriteError::Blocked => Status::Blocked,
        WriteError::Stopped(_) => Status::Reset,
        WriteError::Finished => Status::End,
        WriteError::Closed(_) => Status::Closed,
        _ => Status::Argument,
    };
    Failure::new(status, error)
}

/// Writes bytes to a stream and tells how many were taken, at least one unless there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_write(
    session: Option<&mut Session>,
    stream: u64,
    data: *const u8,
    length: usize,
    written: Option<&mut MaybeUninit<usize>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let data = unsafe { raw::bytes(data, length) }?;
        let (end, written) = (given(session)?, given(written)?);
        let taken = end.session.write(StreamId(stream), data);
        written.write(taken.map_err(write_error)?);
        Ok(())
    })
}

/// Ends a stream after what was written.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_finish(session: Option<&mut Session>, stream: u64) -> Status {
    guard(|| {
        let finished = given(session)?.session.finish(StreamId(stream));
        finished.map_err(write_error)
    })
}

/// Reads in-order bytes of a stream and tells how many; `WEFTLINE_STATUS_END` when the peer has finished
/// it and all was read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_read(
    session: Option<&mut Session>,
    stream: u64,
    buffer: *mut u8,
    capacity: usize,
    read: Option<&mut MaybeUninit<usize>>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let place = unsafe { raw::buffer(buffer, capacity) }?;
        let (end, read) = (given(session)?, given(read)?);
        if place.is_empty() {
            return Err(Failure::argument("a buffer without room to read into"));
        }
        let got = end.session.read(StreamId(stream), raw::initialised(place));
        let got = got.map_err(|error| {
            let status = match error {
                ReadError::Blocked => Status::Blocked,
                ReadError::Reset(_) => Status::Reset,
                ReadError::Closed(_) => Status::Closed,
                _ => Status::Argument,
            };
            Failure::new(status, error)
        })?;
        if got == 0 {
            return Err(Failure::new(Status::End, "the stream is at its end"));
        }
        read.write(got);
        Ok(())
    })
}

/// Whether the peer has everything that was written and finished.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_all_acknowledged(session: Option<&Session>) -> bool {
    look(session, |end| end.session.all_acknowledged())
}

/// Ends the session at once, for the peer too: `code` 0 says that all went well.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_close(
    session: Option<&mut Session>,
    now_ns: u64,
    code: u64,
) -> Status {
    guard(|| {
        given(session)?.session.close(time(now_ns), code, "");
        Ok(())
    })
}

/// A snapshot of the counters.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_stats(
    session: Option<&Session>,
    stats: Option<&mut MaybeUninit<SessionStats>>,
) -> Status {
    guard(|| {
        let (end, place) = (given(session)?, given(stats)?);
        let now = end.session.stats();
        place.write(SessionStats {
            datagrams: now.sent.datagrams,
            source_symbols: now.sent.source_symbols,
            retransmissions: now.sent.retransmissions,
            repair_symbols: now.sent.repair_symbols,
            received_datagrams: now.received.datagrams,
            recovered_symbols: now.received.recovered_symbols,
            loss: now.path.loss,
            rtt_ns: u64::try_from(now.path.rtt.as_nanos()).unwrap_or(u64::MAX),
        });
        Ok(())
    })
}
