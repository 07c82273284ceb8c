//! The messages of pairing: one byte that says which, one with the length of the rest, the rest.

use super::name::{LONGEST, Name};

/// Bytes of a SPAKE2 message: one that says whose it is, and a point of the group.
pub(super) const POINT: usize = 33;
/// Bytes of a proof.
pub(super) const MAC: usize = 32;
/// Bytes in front of a message's body.
pub(super) const HEADER: usize = 2;
/// Bytes of the longest body.
const LONGEST_BODY: usize = MAC + LONGEST;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The sender's SPAKE2 message.
    Begin([u8; POINT]),
    /// The receiver's.
    Answer([u8; POINT]),
    /// The sender knows the code.
    Proof([u8; MAC]),
    /// So does the receiver, and has the name that it gives itself.
    Paired([u8; MAC], Option<Name>),
    /// The name that the sender gives itself.
    Named(Option<Name>),
    /// The sender does not know the code.
    Wrong,
}

/// The bytes are no message of pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Message {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let name = |name: &Option<Name>| match name {
            Some(name) => name.as_str().as_bytes().to_vec(),
            None => Vec::new(),
        };
        let (kind, body) = match self {
            Message::Begin(point) => (1, point.to_vec()),
            Message::Answer(point) => (2, point.to_vec()),
            Message::Proof(mac) => (3, mac.to_vec()),
            Message::Paired(mac, own) => (4, [&mac[..], &name(own)].concat()),
            Message::Named(own) => (5, name(own)),
            Message::Wrong => (6, Vec::new()),
        };
        // The longest body has 64 bytes.
        [&[kind, body.len() as u8], &body[..]].concat()
    }

    /// How long the body is behind this header.
    pub(super) fn body_len(header: [u8; HEADER]) -> Result<usize, Malformed> {
        let [_, length] = header.map(usize::from);
        match length <= LONGEST_BODY {
            true => Ok(length),
            false => Err(Malformed),
        }
    }

    pub(super) fn read(header: [u8; HEADER], body: &[u8]) -> Result<Self, Malformed> {
        let point = || body.try_into().map_err(|_| Malformed);
        Ok(match header[0] {
            1 => Message::Begin(point()?),
            2 => Message::Answer(point()?),
            3 => Message::Proof(body.try_into().map_err(|_| Malformed)?),
            4 => {
                let (mac, own) = body.split_first_chunk().ok_or(Malformed)?;
                Message::Paired(*mac, name(own)?)
            }
            5 => Message::Named(name(body)?),
            6 if body.is_empty() => Message::Wrong,
            _ => return Err(Malformed),
        })
    }
}

fn name(body: &[u8]) -> Result<Option<Name>, Malformed> {
    let text = std::str::from_utf8(body).map_err(|_| Malformed)?;
    match text.is_empty() {
        true => Ok(None),
        false => text.parse().map(Some).map_err(|_| Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Message, Malformed> {
        let (header, body) = bytes.split_first_chunk().ok_or(Malformed)?;
        match Message::body_len(*header)? == body.len() {
            true => Message::read(*header, body),
            false => Err(Malformed),
        }
    }

    #[test]
    fn messages_are_read_as_they_are_written() {
        let own: Option<Name> = Some("studio".parse().unwrap());
        for message in [
            Message::Begin([1; POINT]),
            Message::Answer([2; POINT]),
            Message::Proof([3; MAC]),
            Message::Paired([4; MAC], own.clone()),
            Message::Paired([4; MAC], None),
            Message::Named(own),
            Message::Named(None),
            Message::Wrong,
        ] {
            assert_eq!(read(&message.to_bytes()), Ok(message));
        }
    }

    #[test]
    fn garbage_is_refused() {
        for (header, body) in [
            ([0, 0], &[][..]),
            ([1, 2], &[1, 2]),
            ([3, 33], &[0; 33]),
            ([4, 31], &[0; 31]),
            ([5, 1], b"\x1b"),
            ([5, 1], &[0xff]),
            ([6, 1], &[0]),
            ([7, 0], &[]),
        ] {
            assert_eq!(Message::read(header, body), Err(Malformed), "{header:?}");
        }
        assert_eq!(Message::body_len([1, 65]), Err(Malformed));
        assert_eq!(Message::body_len([1, 255]), Err(Malformed));
    }
}
