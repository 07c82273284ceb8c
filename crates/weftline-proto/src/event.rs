//! What a session tells its driver.

use bytes::Bytes;

use crate::path::PathId;
use crate::violation::Violation;

/// Names a stream in a session; bit 0 is the role of the end that opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StreamId(pub u64);

/// Names a message; rises by one with each message this end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MessageId(pub u64);

/// Which end of the session this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Role {
    /// The end that opened the session.
    Client,
    /// The end that was asked.
    Server,
}

/// Something happened that the application may be waiting for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The peer's HELLO arrived: its limits are known.
    Connected,
    /// The peer opened a stream; take it with `accept_stream`.
    StreamOpened,
    /// More of this stream can be read (data, its end, or its reset).
    StreamReadable(StreamId),
    /// More of this stream can be written.
    StreamWritable(StreamId),
    /// The peer has everything that was written to this finished stream.
    StreamFinished(StreamId),
    /// The peer no longer reads this stream.
    StreamStopped {
        /// The stream.
        id: StreamId,
        /// The peer's application error code.
        code: u64,
    },
    /// A stream can be opened after `OpenError::Blocked`.
    StreamsAvailable,
    /// A message can be taken with `recv_message`.
    MessageReceived,
    /// There is room for messages again after `SendMessageError::Full`.
    MessageWritable,
    /// The peer has acknowledged all of this message.
    MessageDelivered(MessageId),
    /// This message's deadline passed before the peer acknowledged all of it, and nothing more is
    /// done for it: it was not sent, or at least one datagram of it was lost. It may have arrived
    /// all the same if a repair made up for that, or if the acknowledgement was lost.
    MessageExpired(MessageId),
    /// Nothing is heard of this path any more: only probes leave on it, until it is heard again.
    PathSilent(PathId),
    /// This path is heard again.
    PathHeard(PathId),
    /// The session is over. Nothing follows.
    Closed(CloseReason),
}

/// A message from the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The peer's number for it.
    pub id: MessageId,
    /// Its bytes.
    pub data: Bytes,
    /// Its deadline had passed when it was complete.
    pub late: bool,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum CloseReason {
    /// This end closed it.
    #[error("closed by this end")]
    Local,
    /// The peer's application closed it.
    #[error("closed by the peer with code {code}{}", reason_suffix(.reason))]
    Peer {
        /// The peer's application error code; 0 means that all went well.
        code: u64,
        /// The peer's words, for people, made [`printable`](crate::printable).
        reason: String,
    },
    /// Nothing arrived for the idle timeout.
    #[error("the peer vanished: nothing arrived for {seconds} s")]
    TimedOut {
        /// The idle timeout.
        seconds: u64,
    },
    /// The peer broke the protocol.
    #[error("the peer broke the protocol: {0}")]
    Violation(Violation),
    /// What carries the datagrams failed. The engine never says so; a driver may.
    #[error("the carrier failed: {0}")]
    Carrier(String),
    /// The peer found that this end broke the protocol, or speaks another version.
    #[error("the peer refused the session: {0}")]
    Refused(String),
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::CloseReason;

    #[test]
    fn a_peers_words_follow_its_code_if_there_are_any() {
        let closed = |reason: &str| {
            let reason = reason.to_owned();
            CloseReason::Peer { code: 3, reason }.to_string()
        };
        assert_eq!(closed(""), "closed by the peer with code 3");
        assert_eq!(closed("enough"), "closed by the peer with code 3: enough");
    }
}
