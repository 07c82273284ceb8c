//! The messages between the two ends of a relay, inside a session.
//!
//! Each datagram is a message: a head, then the datagram unchanged. Everything else goes over one
//! stream that the client opens: its [`Hello`], the server's [`Answer`], then [`Gone`] whenever
//! flows of the client have ended.

use std::io;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;

use crate::line;

/// The version of this protocol.
pub(super) const VERSION: u32 = 1;
/// Most rules in a session.
pub const MOST_RULES: usize = 64;

/// Bytes of a head without and with a number.
pub(super) const HEAD: usize = 5;
pub(super) const NUMBERED_HEAD: usize = 9;
/// Bit of the first byte: the head has a number.
const NUMBERED: u8 = 0x80;

/// The head before a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The client's rule to which the flow belongs, below [`MOST_RULES`].
    pub(super) rule: u8,
    /// The flow; the client numbers them.
    pub(super) flow: u32,
    /// The datagram's number in the flow, when the order matters.
    pub(super) number: Option<u32>,
}

impl Head {
    /// Appends the head.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let flag = if self.number.is_some() { NUMBERED } else { 0 };
        out.push(self.rule | flag);
        out.extend_from_slice(&self.flow.to_be_bytes());
        if let Some(number) = self.number {
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Removes the head from a message; the rest is the datagram. `None`: the message is too
    /// short.
    pub(super) fn take(mut message: Bytes) -> Option<(Head, Bytes)> {
        let field = |at: usize| {
            let bytes = message.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let (first, flow) = (*message.first()?, field(1)?);
        let (number, len) = match first & NUMBERED {
            0 => (None, HEAD),
            _ => (Some(field(HEAD)?), NUMBERED_HEAD),
        };
        let rule = first & !NUMBERED;
        let datagram = message.split_off(len);
        Some((Head { rule, flow, number }, datagram))
    }
}

/// The client's first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    /// [`VERSION`]
    pub(super) weftline_relay: u32,
    /// Identifies the running client, so that its flows survive its sessions.
    pub(super) instance: u64,
    /// The rules that it asks for; heads name a rule by its index here.
    pub(super) rules: Vec<Wanted>,
}

/// A rule that the client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    /// A target, as the user typed it.
    pub(super) target: String,
    /// A delivery, as it is displayed.
    pub(super) delivery: String,
}

/// The server's answer to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// [`VERSION`]
    pub(super) weftline_relay: u32,
    /// For each rule, nothing or the reason why it is refused.
    pub(super) refused: Vec<Option<String>>,
    /// Most flows that it keeps for the client.
    pub(super) flows: u32,
    /// Seconds for which it keeps an idle flow.
    pub(super) idle: u64,
}

/// Flows that the client has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gone {
    /// Their numbers.
    pub(super) gone: Vec<u32>,
}

/// Reads one of these messages; [`crate::line::write`] writes them.
pub(super) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    line::read(stream, "the relay").await
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::line::{LONGEST, write};

    #[test]
    fn heads_round_trip_and_short_ones_are_refused() {
        for number in [None, Some(0), Some(u32::MAX)] {
            let head = Head {
                rule: 63,
                flow: 0x0102_0304,
                number,
            };
            let mut out = Vec::new();
            head.put(&mut out);
            let len = out.len();
            assert_eq!(
                len,
                if number.is_some() {
                    NUMBERED_HEAD
                } else {
                    HEAD
                }
            );
            for datagram in [&b""[..], b"hello"] {
                out.truncate(len);
                out.extend_from_slice(datagram);
                let taken = Head::take(Bytes::copy_from_slice(&out));
                assert_eq!(taken, Some((head, Bytes::copy_from_slice(datagram))));
            }
            for short in 0..len {
                assert_eq!(Head::take(Bytes::copy_from_slice(&out[..short])), None);
            }
        }
    }

    #[tokio::test]
    async fn lines_round_trip_and_long_ones_are_refused_before_they_are_read() {
        let (mut here, mut there) = tokio::io::duplex(1 << 20);
        let hello = Hello {
            weftline_relay: VERSION,
            instance: u64::MAX,
            rules: vec![Wanted {
                target: "[::1]:53".into(),
                delivery: "in-order".into(),
            }],
        };
        write(&mut here, &hello).await.unwrap();
        assert_eq!(read::<Hello>(&mut there).await.unwrap(), hello);
        let long = Gone {
            gone: vec![u32::MAX; 10_000],
        };
        assert!(write(&mut here, &long).await.is_err());
        here.write_u32(LONGEST + 1).await.unwrap();
        assert!(read::<Gone>(&mut there).await.is_err());
        write(&mut here, &"nonsense").await.unwrap();
        assert!(read::<Gone>(&mut there).await.is_err());
    }
}
