//! Streams of a session.

use weftline_proto::{OpenError, ReadError, StreamId, WriteError};

use crate::guard::{given, guard};
use crate::raw;
use crate::session::Session;
use crate::status::{Failure, Status};

/// The largest application error code, 2^62 - 1 (codes are variable-length integers of RFC 9000, section 16).
pub const MAX_CODE: u64 = 0x3fff_ffff_ffff_ffff;

/// An application error code that the wire format can carry.
pub(crate) fn code(code: u64) -> Result<u64, Failure> {
    if code <= MAX_CODE {
        Ok(code)
    } else {
        let reason = format!("an error code of {code} is too large: use 0 to {MAX_CODE}");
        Err(Failure::argument(reason))
    }
}

fn write_error(error: WriteError) -> Failure {
    let status = match error {
        WriteError::Stopped(code) => return Failure::reset(code, error),
        WriteError::Blocked => Status::Blocked,
        WriteError::Finished => Status::End,
        WriteError::Closed(_) => Status::Closed,
        _ => Status::Argument,
    };
    Failure::new(status, error)
}

/// Opens a stream, which both ends can write to and read from. Returns `WEFTLINE_STATUS_BLOCKED` while the
/// peer allows no more; `WEFTLINE_EVENT_KIND_STREAMS_AVAILABLE` follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_open_stream(
    session: Option<&mut Session>,
    stream: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let stream = unsafe { raw::place(stream) };
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

/// Accepts a stream that the peer has opened. Returns `WEFTLINE_STATUS_MISSING` when there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_accept_stream(
    session: Option<&mut Session>,
    stream: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let stream = unsafe { raw::place(stream) };
        let (end, stream) = (given(session)?, given(stream)?);
        let accepted = end.session.accept_stream();
        let missing = || Failure::new(Status::Missing, "the peer has opened no stream");
        stream.write(accepted.ok_or_else(missing)?.0);
        Ok(())
    })
}

/// Writes bytes to a stream. `written` is how many the session has accepted, at least one unless
/// `length` is 0. Returns `WEFTLINE_STATUS_BLOCKED` while there is no room;
/// `WEFTLINE_EVENT_KIND_STREAM_WRITABLE` follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_write(
    session: Option<&mut Session>,
    stream: u64,
    data: *const u8,
    length: usize,
    written: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (data, written) = unsafe { (raw::bytes(data, length)?, raw::place(written)) };
        let (end, written) = (given(session)?, given(written)?);
        let accepted = end.session.write(StreamId(stream), data);
        written.write(accepted.map_err(write_error)?);
        Ok(())
    })
}

/// Ends a stream after what was written. `WEFTLINE_EVENT_KIND_STREAM_FINISHED` follows when the peer has all
/// of it.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_finish(session: Option<&mut Session>, stream: u64) -> Status {
    guard(|| {
        let finished = given(session)?.session.finish(StreamId(stream));
        finished.map_err(write_error)
    })
}

/// Gives up writing to a stream. What was not sent is dropped, and the peer's `weftline_session_read` returns
/// `WEFTLINE_STATUS_RESET` with `code`, `WEFTLINE_MAX_CODE` at most. Nothing happens for a stream that does not
/// exist or is over.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_reset_stream(
    session: Option<&mut Session>,
    stream: u64,
    code: u64,
) -> Status {
    guard(|| {
        let (end, code) = (given(session)?, self::code(code)?);
        end.session.reset(StreamId(stream), code);
        Ok(())
    })
}

/// Reads no more of a stream. What arrives is dropped, and the peer gets
/// `WEFTLINE_EVENT_KIND_STREAM_STOPPED` with `code`, `WEFTLINE_MAX_CODE` at most. Nothing happens for a stream that
/// does not exist or is over.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_stop_stream(
    session: Option<&mut Session>,
    stream: u64,
    code: u64,
) -> Status {
    guard(|| {
        let (end, code) = (given(session)?, self::code(code)?);
        end.session.stop(StreamId(stream), code);
        Ok(())
    })
}

/// Reads bytes of a stream in order. `read` is how many. Returns `WEFTLINE_STATUS_BLOCKED` while there are
/// none; `WEFTLINE_EVENT_KIND_STREAM_READABLE` follows. Returns `WEFTLINE_STATUS_END` when the peer has finished
/// the stream and everything was read, and `WEFTLINE_STATUS_RESET` when the peer has reset it: do not read
/// the stream again then. What arrived before the session ended can still be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_read(
    session: Option<&mut Session>,
    stream: u64,
    buffer: *mut u8,
    capacity: usize,
    read: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (mut place, read) = unsafe { (raw::buffer(buffer, capacity)?, raw::place(read)) };
        let (end, read) = (given(session)?, given(read)?);
        if place.is_empty() {
            return Err(Failure::argument("a buffer of 0 bytes has no room to read"));
        }
        let got = end.session.read(StreamId(stream), place.initialised());
        let got = got.map_err(|error| {
            let status = match error {
                ReadError::Reset(code) => return Failure::reset(code, error),
                ReadError::Blocked => Status::Blocked,
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
