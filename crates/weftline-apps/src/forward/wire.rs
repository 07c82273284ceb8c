//! The messages between the two ends of `forward`, inside a session.
//!
//! Each connection is a stream. The end that opens it sends a [`Request`]; the peer answers with a
//! [`Reply`]. Then the connection's own bytes follow, in both directions.
//!
//! | bytes | request | reply |
//! | --- | --- | --- |
//! | 1 | version | version |
//! | 1 | kind | status |
//! | 2 | number of the reverse rule, else 0 | |
//! | 2 | length of the text, at most [`LONGEST`] | the same |
//! | | text, UTF-8 | text, UTF-8 |

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::printable;

/// The version of this protocol.
pub(super) const VERSION: u8 = 1;
/// Bytes of the longest text: the longest name in the DNS, a port, and room to spare.
pub(super) const LONGEST: usize = 300;

/// The purpose of a stream. Texts are addresses as people type them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Is this target allowed? Without a target: does the peer answer?
    Ask(String),
    /// Connect to this target.
    Connect(String),
    /// Listen at this address, and label its connections with this number, until the stream ends.
    Listen(u16, String),
    /// A program has connected to the listener of this number.
    Accepted(u16),
    /// The server stops: may connections leave the session? Its next start knows them by this key.
    Move(String),
    /// Go on with the connection of this token, which left another session.
    Resume(String),
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Status {
    /// Success; the connection's bytes follow.
    Done = 0,
    /// The server does not allow it.
    NotAllowed = 1,
    /// The target's name cannot be resolved there.
    UnknownName = 2,
    /// The target refuses connections.
    Refused = 3,
    /// There is no route to the target.
    Unreachable = 4,
    /// The target or the peer does not answer.
    TimedOut = 5,
    /// There are too many connections.
    TooMany = 6,
    /// That end is stopping.
    Leaving = 7,
    /// That end does not know the request's version.
    Version = 8,
    /// Anything else.
    Other = 9,
}

/// The answer to a request: the listener's address, or why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(super) struct Reply {
    /// What kind of answer it is.
    pub(super) status: Status,
    /// For people.
    pub(super) text: String,
}

/// A message that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// It is of another version.
    #[error("the peer speaks version {0} of forwarding, this program speaks {VERSION}")]
    Version(u8),
    /// It is of another protocol.
    #[error("the peer does not speak the forwarding protocol: is it `weftline forward`?")]
    Malformed,
    /// The stream failed or ended.
    #[error("{0}")]
    Stream(#[from] io::Error),
}

impl Status {
    fn from_byte(byte: u8) -> Status {
        use Status::*;
        let all = [
            Done,
            NotAllowed,
            UnknownName,
            Refused,
            Unreachable,
            TimedOut,
            TooMany,
            Leaving,
            Version,
        ];
        all.get(usize::from(byte)).copied().unwrap_or(Other)
    }
}

impl Request {
    /// Encodes it. A text that is too long is truncated: the peer refuses the rest.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (kind, rule, text) = match self {
            Request::Ask(target) => (0, 0, target.as_str()),
            Request::Connect(target) => (1, 0, target.as_str()),
            Request::Listen(rule, address) => (2, *rule, address.as_str()),
            Request::Accepted(rule) => (3, *rule, ""),
            Request::Move(key) => (4, 0, key.as_str()),
            Request::Resume(token) => (5, 0, token.as_str()),
        };
        let mut out = vec![VERSION, kind];
        out.extend_from_slice(&rule.to_be_bytes());
        put(&mut out, text);
        out
    }

    /// Reads a request.
    ///
    /// # Errors
    /// See [`WireError`].
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Self, WireError> {
        version(stream).await?;
        let kind = stream.read_u8().await?;
        let rule = stream.read_u16().await?;
        let text = text(stream).await?;
        match kind {
            0 => Ok(Request::Ask(text)),
            1 => Ok(Request::Connect(text)),
            2 => Ok(Request::Listen(rule, text)),
            3 => Ok(Request::Accepted(rule)),
            4 => Ok(Request::Move(text)),
            5 => Ok(Request::Resume(text)),
            _ => Err(WireError::Malformed),
        }
    }
}

impl Reply {
    /// An answer; the text is made printable and truncated.
    pub(super) fn new(status: Status, text: impl Into<String>) -> Self {
        let text = printable(&text.into());
        Reply { status, text }
    }

    /// Encodes it.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.status as u8];
        put(&mut out, &self.text);
        out
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// See [`WireError`].
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Self, WireError> {
        version(stream).await?;
        let status = Status::from_byte(stream.read_u8().await?);
        Ok(Reply::new(status, text(stream).await?))
    }

    /// Reads an answer that reports success; returns its text.
    ///
    /// # Errors
    /// The answer, if it reports a failure, or the reason why no answer arrived.
    pub(super) async fn expect(stream: &mut (impl AsyncRead + Unpin)) -> Result<String, Reply> {
        Reply::read(stream).await?.good()
    }

    /// The text, if the answer reports success.
    ///
    /// # Errors
    /// The answer, if it reports a failure.
    pub(super) fn good(self) -> Result<String, Reply> {
        match self.status {
            Status::Done => Ok(self.text),
            _ => Err(self),
        }
    }
}

impl From<WireError> for Reply {
    fn from(error: WireError) -> Self {
        let status = match error {
            WireError::Version(_) => Status::Version,
            WireError::Malformed | WireError::Stream(_) => Status::Other,
        };
        Reply::new(status, error.to_string())
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    let end = (0..=LONGEST.min(text.len())).rfind(|&end| text.is_char_boundary(end));
    let text = &text[..end.unwrap_or(0)];
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

async fn version(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), WireError> {
    match stream.read_u8().await? {
        VERSION => Ok(()),
        other => Err(WireError::Version(other)),
    }
}

async fn text(stream: &mut (impl AsyncRead + Unpin)) -> Result<String, WireError> {
    let len = usize::from(stream.read_u16().await?);
    if len > LONGEST {
        return Err(WireError::Malformed);
    }
    let mut text = vec![0; len];
    stream.read_exact(&mut text).await?;
    String::from_utf8(text).map_err(|_| WireError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_round_trip_and_shorter_ones_are_refused() {
        for request in [
            Request::Ask(String::new()),
            Request::Connect("[::1]:80".into()),
            Request::Listen(65_535, "127.0.0.1:0".into()),
            Request::Accepted(7),
            Request::Move("key".into()),
            Request::Resume("key:4".into()),
        ] {
            let bytes = request.bytes();
            assert_eq!(Request::read(&mut &bytes[..]).await.unwrap(), request);
            for short in 0..bytes.len() {
                let read = Request::read(&mut &bytes[..short]).await;
                assert!(
                    matches!(read, Err(WireError::Stream(_))),
                    "{short}: {read:?}"
                );
            }
        }
    }

    #[tokio::test]
    async fn invalid_requests_are_refused_before_their_text_is_read() {
        let read = async |bytes: &[u8]| Request::read(&mut &bytes[..]).await.unwrap_err();
        assert!(matches!(read(&[2, 1]).await, WireError::Version(2)));
        assert!(matches!(
            read(&[1, 6, 0, 0, 0, 0]).await,
            WireError::Malformed
        ));
        assert!(matches!(
            read(&[1, 1, 0, 0, 0xff, 0xff]).await,
            WireError::Malformed
        ));
        assert!(matches!(
            read(&[1, 1, 0, 0, 0, 1, 0xff]).await,
            WireError::Malformed
        ));
    }

    #[tokio::test]
    async fn replies_round_trip_and_only_one_reports_success() {
        for byte in 0..=Status::Other as u8 {
            let reply = Reply::new(Status::from_byte(byte), "why");
            assert_eq!(reply.status as u8, byte);
            let got = Reply::expect(&mut &reply.bytes()[..]).await;
            match byte {
                0 => assert_eq!(got, Ok("why".to_owned())),
                _ => assert_eq!(got, Err(reply)),
            }
        }
        assert_eq!(Status::from_byte(200), Status::Other);
        let long = Reply::new(Status::Refused, "ä".repeat(1000));
        let got = Reply::expect(&mut &long.bytes()[..]).await.unwrap_err();
        assert!(got.status == Status::Refused && got.text.len() <= LONGEST);
    }
}
