//! How a peer can break the protocol.

/// The check that a peer failed. Its text is what CLOSE tells the peer, so it is part of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Violation {
    /// A datagram of another version of the protocol.
    #[error("the peer speaks another version of the protocol")]
    Version,
    /// A symbol that does not parse into frames.
    #[error("malformed frame")]
    MalformedFrame,
    /// A frame for a stream of this end that this end has not opened.
    #[error("frame for a stream that was never opened")]
    UnopenedStream,
    /// More streams than [`Limits::streams`](crate::Limits::streams).
    #[error("more streams than allowed")]
    TooManyStreams,
    /// More stream data than [`Limits::session_data`](crate::Limits::session_data).
    #[error("more stream data than the session's credit")]
    SessionCredit,
    /// More stream data than [`Limits::stream_data`](crate::Limits::stream_data).
    #[error("more data than the stream's credit")]
    StreamCredit,
    /// Data beyond the end of a stream, or two different ends.
    #[error("stream data contradicts the stream's end")]
    StreamEnd,
    /// More gaps in streams than an honest sender makes.
    #[error("stream data in too many fragments")]
    TooManyFragments,
    /// A message longer than [`Limits::message_size`](crate::Limits::message_size).
    #[error("message longer than the limit")]
    MessageTooLong,
    /// More message data than [`Limits::session_data`](crate::Limits::session_data).
    #[error("more message data than the session's credit")]
    MessageCredit,
    /// Fragments of one message that disagree about its length or its deadline.
    #[error("message that changes its length or kind")]
    MessageChanged,
    /// Fragments of one message that overlap, or an empty one.
    #[error("message fragments that overlap")]
    MessageOverlap,
}

#[cfg(test)]
mod tests {
    use super::Violation::*;

    /// The words go out in CLOSE: they are the wire's, and do not change.
    #[test]
    fn the_words_on_the_wire_stay() {
        for (violation, words) in [
            (Version, "the peer speaks another version of the protocol"),
            (MalformedFrame, "malformed frame"),
            (UnopenedStream, "frame for a stream that was never opened"),
            (TooManyStreams, "more streams than allowed"),
            (SessionCredit, "more stream data than the session's credit"),
            (StreamCredit, "more data than the stream's credit"),
            (StreamEnd, "stream data contradicts the stream's end"),
            (TooManyFragments, "stream data in too many fragments"),
            (MessageTooLong, "message longer than the limit"),
            (MessageCredit, "more message data than the session's credit"),
            (MessageChanged, "message that changes its length or kind"),
            (MessageOverlap, "message fragments that overlap"),
        ] {
            assert_eq!(violation.to_string(), words);
        }
    }
}
