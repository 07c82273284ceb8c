//! The messages between server and page (`docs/reference/view-protocol.md`). Numbers are big-endian.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use super::tokens::Secret;

/// First bytes of messages to the page.
const VIDEO: u8 = 1;
const SOUND: u8 = 2;
const WELCOME: u8 = 3;
/// A flag of pictures.
const KEY: u8 = 1;

/// First bytes of messages from the page.
const DELAY: u8 = 1;
const AGAIN: u8 = 2;

/// Version of the protocol; a page refuses another one.
const VERSION: u8 = 1;

/// Delays that a viewer may choose.
pub(super) const SHORTEST_DELAY: Duration = Duration::from_millis(50);
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// A picture or a packet of sound, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) track: Track,
    /// Counts the frames of the track.
    pub(super) number: u32,
    /// When it is to be shown, in microseconds on the server's clock.
    pub(super) show: u64,
    /// When it came in, in microseconds on the server's clock.
    pub(super) came: u64,
    /// When it came in, in microseconds since 1970.
    pub(super) wall: u64,
    /// Header and data.
    pub(super) message: Bytes,
}

/// What a [`Frame`] is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Track {
    /// A picture that needs no other one.
    Key {
        /// The name of the codec.
        codec: Arc<str>,
    },
    /// A picture that needs those before it, back to the key frame with this number.
    Delta {
        /// The key frame's number.
        key: u32,
    },
    /// Opus.
    Sound {
        /// 1 or 2.
        channels: u8,
    },
}

impl Frame {
    /// A frame with this data; [`message`](Self::message) is made of it.
    pub(super) fn new(
        track: Track,
        number: u32,
        show: u64,
        came: u64,
        wall: u64,
        data: &[u8],
    ) -> Self {
        let mut message = BytesMut::with_capacity(data.len() + 64);
        let (kind, flags) = match &track {
            Track::Key { .. } => (VIDEO, KEY),
            Track::Delta { .. } => (VIDEO, 0),
            Track::Sound { .. } => (SOUND, 0),
        };
        message.put_u8(kind);
        message.put_u8(flags);
        message.put_u32(number);
        message.put_u64(show);
        message.put_u64(came);
        message.put_u64(wall);
        match &track {
            Track::Key { codec } => {
                // Names are made here, of a few characters.
                message.put_u8(u8::try_from(codec.len()).unwrap_or(0));
                message.put_slice(codec.as_bytes());
            }
            Track::Delta { key } => message.put_u32(*key),
            Track::Sound { channels } => message.put_u8(*channels),
        }
        message.put_slice(data);
        Frame {
            track,
            number,
            show,
            came,
            wall,
            message: message.freeze(),
        }
    }
}

/// The first message to a page: the secret by which it may come again, and the delay that is suggested.
pub(super) fn welcome(secret: &Secret, delay: Duration) -> Bytes {
    let mut message = BytesMut::with_capacity(64);
    message.put_u8(WELCOME);
    message.put_u8(VERSION);
    message.put_u16(delay.as_millis().try_into().unwrap_or(u16::MAX));
    message.put_slice(secret.as_text().as_bytes());
    message.freeze()
}

/// What a page asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Frames are worth something for this long after the path's own delay.
    Delay(Duration),
    /// Begin with the last key frame once more: the decoder has failed.
    Again,
}

impl Request {
    /// Reads a message from a page; `None`: no page of this version sends it.
    pub(super) fn read(message: &[u8]) -> Option<Request> {
        match *message {
            [DELAY, high, low] => {
                let delay = Duration::from_millis(u16::from_be_bytes([high, low]).into());
                let accepted = SHORTEST_DELAY..=LONGEST_DELAY;
                accepted.contains(&delay).then_some(Request::Delay(delay))
            }
            [AGAIN] => Some(Request::Again),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_document() {
        let head = |kind, flags| {
            let numbers = [
                [0, 0, 0, 7].as_slice(),
                &[0; 7],
                &[8],
                &[0; 7],
                &[9],
                &[0; 7],
                &[10],
            ];
            [&[kind, flags], numbers.concat().as_slice()].concat()
        };
        let bytes = |track| Frame::new(track, 7, 8, 9, 10, b"data").message;
        let codec = Track::Key {
            codec: "avc1".into(),
        };
        assert_eq!(bytes(codec), [&head(1, 1)[..], b"\x04avc1data"].concat());
        let delta = bytes(Track::Delta { key: 5 });
        assert_eq!(delta, [&head(1, 0)[..], b"\0\0\0\x05data"].concat());
        let sound = bytes(Track::Sound { channels: 2 });
        assert_eq!(sound, [&head(2, 0)[..], b"\x02data"].concat());
    }

    #[test]
    fn a_page_asks_for_what_there_is_or_for_nothing() {
        let millis = Duration::from_millis;
        for (message, request) in [
            (&[1, 0, 50][..], Some(Request::Delay(millis(50)))),
            (&[1, 0x27, 0x10], Some(Request::Delay(millis(10_000)))),
            (&[2], Some(Request::Again)),
            (&[1, 0, 49], None),
            (&[1, 0x27, 0x11], None),
            (&[1, 0], None),
            (&[1, 0, 50, 0], None),
            (&[2, 0], None),
            (&[3], None),
            (&[], None),
        ] {
            assert_eq!(Request::read(message), request, "{message:?}");
        }
    }
}
