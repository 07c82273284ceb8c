//! Why an operation on a session was not done.

use crate::event::CloseReason;

/// A stream could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The peer allows no further stream now; [`crate::Event::StreamsAvailable`] follows.
    #[error("the peer allows no further stream now: try again when one is closed")]
    Blocked,
    /// The session is over.
    #[error("the session is over: {0}")]
    Closed(CloseReason),
}

/// Bytes could not be written to a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The send buffer is full; [`crate::Event::StreamWritable`] follows.
    #[error("the send buffer is full: try again when the stream is writable")]
    Blocked,
    /// The peer no longer reads the stream.
    #[error("the peer no longer reads this stream (code {0})")]
    Stopped(u64),
    /// This end finished or reset the stream.
    #[error("the stream was finished or reset by this end")]
    Finished,
    /// There is no such stream.
    #[error("there is no such stream")]
    Unknown,
    /// The session is over.
    #[error("the session is over: {0}")]
    Closed(CloseReason),
}

/// Nothing could be read from a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Nothing is there yet; [`crate::Event::StreamReadable`] follows.
    #[error("nothing to read yet: try again when the stream is readable")]
    Blocked,
    /// The peer gave the stream up.
    #[error("the peer reset this stream (code {0})")]
    Reset(u64),
    /// There is no such stream, or its end was read already.
    #[error("there is no such stream, or its end was read already")]
    Unknown,
    /// The session is over.
    #[error("the session is over: {0}")]
    Closed(CloseReason),
}

/// A message could not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendMessageError {
    /// The send buffer is full; [`crate::Event::MessageWritable`] follows.
    #[error("the send buffer is full: try again when messages are writable")]
    Full,
    /// The message is longer than the peer accepts.
    #[error("a message of {got} bytes exceeds the {limit} that the peer accepts: use a stream")]
    TooLong {
        /// Bytes given.
        got: usize,
        /// Bytes accepted.
        limit: usize,
    },
    /// The session is over.
    #[error("the session is over: {0}")]
    Closed(CloseReason),
}
