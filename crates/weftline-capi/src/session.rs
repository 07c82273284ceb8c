//! A session: made, driven and freed. It has no socket, no clock and no thread.

use std::ffi::c_int;

use weftline_proto as proto;
use weftline_proto::{Message, Role, Time};

use crate::config::Config;
use crate::guard::{free, given, guard, look, make};
use crate::raw;
use crate::status::{Failure, Status};

/// One end of a session.
#[derive(Debug)]
pub struct Session {
    pub(crate) session: proto::Session,
    pub(crate) datagram: Vec<u8>,
    /// `datagram` was made, but did not fit the caller's buffer.
    pub(crate) waiting: bool,
    /// A message that did not fit the caller's buffer.
    pub(crate) message: Option<Message>,
    /// The words of the close reason, once asked for.
    pub(crate) closed: Option<std::ffi::CString>,
}

/// What `weftline_session_timeout` returns when the session is over.
pub const NO_TIMEOUT: u64 = u64::MAX;

/// The shortest datagram that `weftline_session_set_largest_datagram` accepts, in bytes.
pub const MIN_DATAGRAM: usize = 256;
const _: () = assert!(MIN_DATAGRAM == proto::MIN_DATAGRAM);

pub(crate) fn time(now_ns: u64) -> Time {
    Time::from_micros(now_ns / 1000)
}

/// The time of a timer, as C sees it.
pub(crate) fn timer(at: Option<Time>) -> u64 {
    at.map_or(NO_TIMEOUT, |at| at.as_micros().saturating_mul(1000))
}

/// Makes a session that begins at `now_ns`. `config` may be NULL for the defaults; the session keeps
/// a copy of it. One end of a session is the client (`client` is not 0) and the other is not. Equal seeds and equal calls
/// give equal datagrams; the seed is not a secret. All times are nanoseconds from a zero that the
/// caller chooses, and never go backwards. Returns NULL if the configuration makes no sense.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_new(
    client: c_int,
    config: Option<&Config>,
    seed: u64,
    now_ns: u64,
) -> Option<Box<Session>> {
    make(|| {
        let config = config.cloned().unwrap_or_default();
        let role = if client != 0 {
            Role::Client
        } else {
            Role::Server
        };
        let session = proto::Session::new(role, config.0, seed, time(now_ns));
        Ok(Session {
            session: session.map_err(Failure::argument)?,
            datagram: Vec::new(),
            waiting: false,
            message: None,
            closed: None,
        })
    })
}

/// Frees a session. The peer is told nothing; see `weftline_session_close`.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_free(session: Option<Box<Session>>) {
    free(session);
}

/// Gives the session a datagram that arrived. The datagram may hold anything: the session drops an
/// invalid one, and ends if the peer breaks the protocol.
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

/// Tells the session that the time of `weftline_session_timeout` has come. An earlier call is harmless.
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

/// When `weftline_session_handle_timeout` is due, in nanoseconds. `WEFTLINE_NO_TIMEOUT` when the session is
/// over and can be freed. The time is right only after the session has no datagram left to send.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_timeout(session: Option<&Session>) -> u64 {
    timer(look(session, |end| end.session.poll_timeout()))
}

/// Writes the next datagram to send. Returns `WEFTLINE_STATUS_MISSING` when there is none now. The session
/// decides at this moment what to send, so ask only when the datagram can be sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_poll_datagram(
    session: Option<&mut Session>,
    now_ns: u64,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (place, length) = unsafe { (raw::buffer(buffer, capacity)?, raw::place(length)) };
        let (end, length) = (given(session)?, given(length)?);
        let now = time(now_ns);
        if !end.waiting && !end.session.poll_transmit(now, &mut end.datagram) {
            return Err(Failure::new(Status::Missing, "nothing to send now"));
        }
        end.waiting = true;
        raw::copy_out(&end.datagram, place, Some(length))?;
        end.waiting = false;
        Ok(())
    })
}

/// The path now takes datagrams of at most `bytes` bytes, `WEFTLINE_MIN_DATAGRAM` or more. New symbols
/// are made to fit, so this can follow path MTU discovery in both directions. Without this call the
/// session sends datagrams as long as its configuration allows.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_set_largest_datagram(
    session: Option<&mut Session>,
    bytes: usize,
) -> Status {
    guard(|| {
        let end = given(session)?;
        let fits = end.session.set_largest_datagram(bytes);
        fits.map_err(Failure::argument)
    })
}

/// How many congestion marks (ECN, RFC 3168) the peer has received since the session began, as the
/// carrier knows. More of them slow the session down, unless its rate is fixed or the carrier's.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_set_congestion_marks(
    session: Option<&mut Session>,
    count: u64,
) -> Status {
    guard(|| {
        given(session)?.session.set_congestion_marks(count);
        Ok(())
    })
}

/// Whether the peer has everything that was written, finished or sent.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_all_acknowledged(session: Option<&Session>) -> bool {
    look(session, |end| end.session.all_acknowledged())
}
