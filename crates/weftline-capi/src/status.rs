//! What a function returns, and the reason in words.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

/// What came of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A handle or a place for a result is NULL.
    Null = 1,
    /// An argument makes no sense, or does not fit the handle.
    Argument = 2,
    /// The buffer is too small; the length needed was written, and nothing is lost.
    BufferTooSmall = 3,
    /// No room: discard acknowledged symbols, or wait until there is.
    Full = 4,
    /// That symbol is not known, or nothing is there now.
    Missing = 5,
    /// Repair symbols contradict each other; the decoder goes on without them.
    Inconsistent = 6,
    /// Not now: an event tells when it is worth another try.
    Blocked = 7,
    /// The stream is at its end: everything was read, or this end has finished it.
    End = 8,
    /// The peer gave the stream up.
    Reset = 9,
    /// The session is over.
    Closed = 10,
    /// A bug in Weftline. The handle is only good for freeing.
    Internal = 11,
}

/// A status and the reason in words.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) reason: String,
}

impl Failure {
    pub(crate) fn new(status: Status, reason: impl ToString) -> Self {
        Failure {
            status,
            reason: reason.to_string(),
        }
    }

    /// An argument that cannot be.
    pub(crate) fn argument(reason: impl ToString) -> Self {
        Failure::new(Status::Argument, reason)
    }

    /// A buffer that does not hold what is to be written.
    pub(crate) fn too_small(needed: usize, given: usize) -> Self {
        let reason = format!("{needed} bytes do not fit a buffer of {given}");
        Failure::new(Status::BufferTooSmall, reason)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Leaves the reason for [`weftline_last_error`].
pub(crate) fn remember(failure: &Failure) {
    let words: Vec<u8> = failure.reason.bytes().filter(|byte| *byte != 0).collect();
    // Without zeros it always is a C string; and a thread that ends needs no reason.
    if let Ok(words) = CString::new(words) {
        let _ = LAST.try_with(|last| last.replace(words));
    }
}

/// Why the last call that failed on this thread did, in words: what was expected, what came. Valid
/// until the next call that fails on this thread; empty if none has.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// What a status means, in words. Valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_status_message(status: u32) -> *const c_char {
    let words = match status {
        0 => c"done",
        1 => c"a handle or a place for a result is NULL",
        2 => c"an argument makes no sense, or does not fit the handle",
        3 => c"the buffer is too small",
        4 => c"no room",
        5 => c"not known, or nothing is there now",
        6 => c"repair symbols contradict each other",
        7 => c"not now: try again after the next event",
        8 => c"the stream is at its end",
        9 => c"the peer gave the stream up",
        10 => c"the session is over",
        11 => c"a bug in Weftline",
        _ => c"no status of Weftline",
    };
    words.as_ptr()
}

/// The version of the library, such as "0.1.0". Valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
