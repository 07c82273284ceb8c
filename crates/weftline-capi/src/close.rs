//! The end of a session.

use std::ffi::{CString, c_char};

use weftline_proto as proto;

use crate::guard::{given, guard};
use crate::raw;
use crate::session::{Session, time};
use crate::status::{Failure, Status};
use crate::stream::code;

/// Who ended a session, and how.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseClass {
    /// This end closed it.
    Local = 1,
    /// The peer's application closed it with a code.
    Peer = 2,
    /// Nothing arrived for the idle timeout.
    TimedOut = 3,
    /// The peer broke the protocol.
    Protocol = 4,
    /// The peer says that this end broke the protocol, or speaks another version.
    Refused = 5,
    /// A reason that this version of the header does not know.
    Other = 255,
}

/// Why a session is over.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CloseReason {
    /// Who ended it, and how.
    pub by: CloseClass,
    /// The application error code of the peer, which is 0 if all went well; 0 for other classes.
    pub code: u64,
    /// The peer's words if its application closed the session, else a description. UTF-8, never NULL, and
    /// valid until the session is freed.
    pub text: *const c_char,
}

/// Ends the session at once, for the peer too. `code` 0 says that all went well; `WEFTLINE_MAX_CODE` is the
/// largest. `text` is for people and may be NULL; the peer gets its first 256 bytes. Continue to drive
/// the session until it has no timeout, so that the peer learns of it. To be sure that the peer has
/// everything, wait for `weftline_session_all_acknowledged` first. A session that is over stays as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_close(
    session: Option<&mut Session>,
    now_ns: u64,
    code: u64,
    text: *const c_char,
) -> Status {
    guard(|| {
        let (end, code) = (given(session)?, self::code(code)?);
        let text = match text.is_null() {
            true => "",
            // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
            false => unsafe { raw::text(text) }?,
        };
        end.session.close(time(now_ns), code, text);
        Ok(())
    })
}

/// Why the session is over. Returns `WEFTLINE_STATUS_MISSING` while it is not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_close_reason(
    session: Option<&mut Session>,
    reason: *mut CloseReason,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let reason = unsafe { raw::place(reason) };
        let (end, place) = (given(session)?, given(reason)?);
        let reason = end.session.close_reason();
        let reason = reason.ok_or_else(|| Failure::new(Status::Missing, "the session goes on"))?;
        let (by, code, text) = match reason {
            proto::CloseReason::Local => (CloseClass::Local, 0, reason.to_string()),
            proto::CloseReason::Peer { code, reason } => (CloseClass::Peer, *code, reason.clone()),
            proto::CloseReason::TimedOut { .. } => (CloseClass::TimedOut, 0, reason.to_string()),
            proto::CloseReason::Violation(_) => (CloseClass::Protocol, 0, reason.to_string()),
            proto::CloseReason::Refused(_) => (CloseClass::Refused, 0, reason.to_string()),
            _ => (CloseClass::Other, 0, reason.to_string()),
        };
        // The reason of a session never changes, so the first text stays where it is.
        let text = end.closed.get_or_insert_with(|| {
            let words: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
            CString::new(words).unwrap_or_default()
        });
        let text = text.as_ptr();
        place.write(CloseReason { by, code, text });
        Ok(())
    })
}
