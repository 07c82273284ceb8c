//! What a function returns, and the reason in words.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};

/// The result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A handle or a place for a result is NULL.
    Null = 1,
    /// An argument makes no sense, or does not fit the handle.
    Argument = 2,
    /// The buffer is too small. The call wrote the length that it needs, and nothing is lost.
    BufferTooSmall = 3,
    /// There is no room: discard symbols that the receiver has, or give up old ones.
    Full = 4,
    /// That symbol is not known, or there is nothing now.
    Missing = 5,
    /// Repair symbols contradict each other. The decoder goes on without them.
    Inconsistent = 6,
    /// Not now: an event tells when to try again.
    Blocked = 7,
    /// The stream is at its end: everything was read, or this end has finished or reset it.
    End = 8,
    /// The peer has reset or stopped the stream; `weftline_last_code` returns its code.
    Reset = 9,
    /// The session is over; `weftline_session_close_reason` says why.
    Closed = 10,
    /// A bug in Weftline. Free the handle and use it for nothing else.
    Internal = 11,
    /// The repair symbol came too late: it covers symbols that were forgotten. Drop it. This is not an
    /// error of anyone.
    Late = 12,
}

/// A status and the reason in words.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) reason: String,
    /// The peer's application error code, for [`Status::Reset`].
    code: u64,
}

impl Failure {
    pub(crate) fn new(status: Status, reason: impl ToString) -> Self {
        Failure {
            status,
            reason: reason.to_string(),
            code: 0,
        }
    }

    /// The peer has reset or stopped a stream.
    pub(crate) fn reset(code: u64, reason: impl ToString) -> Self {
        Failure {
            code,
            ..Failure::new(Status::Reset, reason)
        }
    }

    /// An argument that makes no sense.
    pub(crate) fn argument(reason: impl ToString) -> Self {
        Failure::new(Status::Argument, reason)
    }

    /// A buffer that is too small for the result.
    pub(crate) fn too_small(needed: usize, given: usize) -> Self {
        let reason = format!("{needed} bytes do not fit a buffer of {given}");
        Failure::new(Status::BufferTooSmall, reason)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static CODE: Cell<u64> = const { Cell::new(0) };
}

/// Leaves the reason for [`weftline_last_error`].
pub(crate) fn remember(failure: &Failure) {
    let words: Vec<u8> = failure.reason.bytes().filter(|byte| *byte != 0).collect();
    // Without zeros it is always a C string, and a thread that ends needs no reason.
    if let Ok(words) = CString::new(words) {
        let _ = LAST.try_with(|last| last.replace(words));
    }
    if failure.status == Status::Reset {
        let _ = CODE.try_with(|code| code.set(failure.code));
    }
}

/// Why the last call that failed on this thread has failed, in words: what was expected and what was
/// given. The text is valid until the next call that fails on this thread. It is empty if no call has
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// The application error code that the peer gave when it reset or stopped the stream of the last call
/// on this thread that returned `WEFTLINE_STATUS_RESET`. 0 if no call has.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_last_code() -> u64 {
    CODE.try_with(Cell::get).unwrap_or(0)
}

/// What a status means, in words. The text is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_status_message(status: u32) -> *const c_char {
    let words = match status {
        0 => c"done",
        1 => c"a handle or a place for a result is NULL",
        2 => c"an argument makes no sense, or does not fit the handle",
        3 => c"the buffer is too small",
        4 => c"no room",
        5 => c"not known, or there is nothing now",
        6 => c"repair symbols contradict each other",
        7 => c"not now: try again after the next event",
        8 => c"the stream is at its end",
        9 => c"the peer has reset or stopped the stream",
        10 => c"the session is over",
        11 => c"a bug in Weftline",
        12 => c"the repair symbol came too late",
        _ => c"not a status of Weftline",
    };
    words.as_ptr()
}

/// The version of the library, such as "0.1.0". The text is valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
