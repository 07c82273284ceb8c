//! Messages of a session.

use std::time::Duration;

use weftline_proto::{MessageId, SendMessageError};

use crate::guard::{Out, given, guard, look, put};
use crate::raw;
use crate::session::{Session, time};
use crate::status::{Failure, Status};

/// The deadline of a message that is delivered however long it takes.
pub const NO_DEADLINE: u64 = u64::MAX;

/// A message that was received.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The peer's number for it.
    pub id: u64,
    /// Its deadline had passed when it was complete.
    pub late: bool,
}

/// A deadline counted from now, unless there is none.
fn deadline(deadline_ns: u64) -> Option<Duration> {
    (deadline_ns != NO_DEADLINE).then(|| Duration::from_nanos(deadline_ns))
}

fn put_sent(
    message: Out<'_, u64>,
    sent: Result<MessageId, SendMessageError>,
) -> Result<(), Failure> {
    let sent = sent.map_err(|error| {
        let status = match error {
            SendMessageError::Full => Status::Blocked,
            SendMessageError::Closed(_) => Status::Closed,
            _ => Status::Argument,
        };
        Failure::new(status, error)
    })?;
    put(message, sent.0);
    Ok(())
}

/// Sends a message, a copy of `length` bytes. The peer gets it whole, in no particular order. With a
/// deadline, in nanoseconds from now, the message is worth nothing to the peer later, and the session
/// spends nothing more on it then; `WEFTLINE_EVENT_KIND_MESSAGE_DELIVERED` or `WEFTLINE_EVENT_KIND_MESSAGE_EXPIRED` follows. With
/// `WEFTLINE_NO_DEADLINE` it is delivered however long it takes. `message`, unless NULL, gets its number.
/// Returns `WEFTLINE_STATUS_BLOCKED` while there is no room; `WEFTLINE_EVENT_KIND_MESSAGE_WRITABLE` follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_send_message(
    session: Option<&mut Session>,
    now_ns: u64,
    data: *const u8,
    length: usize,
    deadline_ns: u64,
    message: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (data, message) = unsafe { (raw::bytes(data, length)?, raw::place(message)) };
        let session = &mut given(session)?.session;
        let sent = session.send_message(time(now_ns), data.to_vec(), deadline(deadline_ns));
        put_sent(message, sent)
    })
}

/// Sends a message as `weftline_session_send_message` does, but in a source symbol of its own: the message is
/// never cut, and no other shares its fate. Use it for packets of others, which must not be lost
/// together. `weftline_session_message_alone_max` is the longest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_send_message_alone(
    session: Option<&mut Session>,
    now_ns: u64,
    data: *const u8,
    length: usize,
    deadline_ns: u64,
    message: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (data, message) = unsafe { (raw::bytes(data, length)?, raw::place(message)) };
        let session = &mut given(session)?.session;
        let sent = session.send_message_alone(time(now_ns), data.to_vec(), deadline(deadline_ns));
        put_sent(message, sent)
    })
}

/// The longest message for `weftline_session_send_message_alone`, in bytes. It can grow when the peer's limits
/// become known, and it follows `weftline_session_set_largest_datagram`.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_message_alone_max(session: Option<&Session>) -> usize {
    look(session, |end| end.session.message_alone_max())
}

/// From now on the session accepts at most `bytes` bytes of messages that were not sent, instead of
/// `WEFTLINE_CONFIG_OPTION_SEND_BUFFER`. Streams keep their buffers. Messages that wait are not dropped.
#[unsafe(no_mangle)]
pub extern "C" fn weftline_session_set_message_buffer(
    session: Option<&mut Session>,
    bytes: usize,
) -> Status {
    guard(|| {
        given(session)?.session.set_message_buffer(bytes);
        Ok(())
    })
}

/// Writes the next message that arrived and its length; `message`, unless NULL, gets the rest. Returns
/// `WEFTLINE_STATUS_MISSING` when there is none now, `WEFTLINE_STATUS_CLOSED` when there will be none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weftline_session_receive_message(
    session: Option<&mut Session>,
    buffer: *mut u8,
    capacity: usize,
    length: *mut usize,
    message: *mut Message,
) -> Status {
    guard(|| {
        // SAFETY: the caller's pointers are valid or NULL, as the crate's documentation asks.
        let (place, length, message) = unsafe {
            (
                raw::buffer(buffer, capacity)?,
                raw::place(length),
                raw::place(message),
            )
        };
        let (end, length) = (given(session)?, given(length)?);
        let next = end.message.take().or_else(|| end.session.recv_message());
        let Some(next) = next else {
            return Err(match end.session.close_reason() {
                Some(reason) => {
                    Failure::new(Status::Closed, format!("the session is over: {reason}"))
                }
                None => Failure::new(Status::Missing, "no message is here"),
            });
        };
        if let Err(failure) = raw::copy_out(&next.data, place, Some(length)) {
            end.message = Some(next);
            return Err(failure);
        }
        put(
            message,
            Message {
                id: next.id.0,
                late: next.late,
            },
        );
        Ok(())
    })
}
