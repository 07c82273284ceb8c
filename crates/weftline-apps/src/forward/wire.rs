//! What the two ends of a forwarding say to each other inside a session.
//!
//! Each connection is a stream. The end that opens it says what it is for, a [`Request`]; the
//! other end answers with a [`Reply`]. Then the connection's own bytes follow, both ways.
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

use crate::printable::printable;

/// The version of all this.
pub(super) const VERSION: u8 = 1;
/// Bytes of the longest text: the longest name in the DNS, a port, and room to spare.
pub(super) const LONGEST: usize = 300;

/// What a stream is for. Texts are addresses as people type them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Would this target be allowed? Without a target: is anybody there?
    Ask(String),
    /// Connect to this target.
    Connect(String),
    /// Listen at this address, and name connections by this number, until the stream ends.
    Listen(u16, String),
    /// Somebody has connected to the listener of this number.
    Accepted(u16),
}

/// How a request fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Status {
    /// It is done; what follows is the connection's.
    Done = 0,
    /// It is not allowed there.
    NotAllowed = 1,
    /// The target's name is not known there.
    UnknownName = 2,
    /// The target refuses connections.
    Refused = 3,
    /// No way leads to the target.
    Unreachable = 4,
    /// The target does not answer, or the other end does not.
    TimedOut = 5,
    /// There are too many connections.
    TooMany = 6,
    /// That end is about to stop.
    Leaving = 7,
    /// The request's version is not known there.
    Version = 8,
    /// Anything else.
    Other = 9,
}

/// The answer to a request: the address that is listened at, or why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(super) struct Reply {
    /// What kind of answer it is.
    pub(super) status: Status,
    /// For people.
    pub(super) text: String,
}

/// Words that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// Another version's.
    #[error("the other end speaks version {0} of forwarding, this one version {VERSION}")]
    Version(u8),
    /// Nobody's.
    #[error("the other end does not speak the forwarding's protocol: is it `weftline forward`?")]
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
    /// As it is sent. A text that is too long is cut: the other end refuses what is left of it.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (kind, rule, text) = match self {
            Request::Ask(target) => (0, 0, target.as_str()),
            Request::Connect(target) => (1, 0, target.as_str()),
            Request::Listen(rule, address) => (2, *rule, address.as_str()),
            Request::Accepted(rule) => (3, *rule, ""),
        };
        let mut out = vec![VERSION, kind];
        out.extend_from_slice(&rule.to_be_bytes());
        put(&mut out, text);
        out
    }

    /// Reads one.
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
            _ => Err(WireError::Malformed),
        }
    }
}

impl Reply {
    /// An answer; the text is made fit to be shown, and cut.
    pub(super) fn new(status: Status, text: impl Into<String>) -> Self {
        let text = printable(&text.into());
        Reply { status, text }
    }

    /// As it is sent.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.status as u8];
        put(&mut out, &self.text);
        out
    }

    /// Reads one.
    ///
    /// # Errors
    /// See [`WireError`].
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Self, WireError> {
        version(stream).await?;
        let status = Status::from_byte(stream.read_u8().await?);
        Ok(Reply::new(status, text(stream).await?))
    }

    /// Reads one that says that all is well; returns its text.
    ///
    /// # Errors
    /// The reply, if it says something else, or what stands for the reply that did not come.
    pub(super) async fn expect(stream: &mut (impl AsyncRead + Unpin)) -> Result<String, Reply> {
        Reply::read(stream).await?.good()
    }

    /// Its text, if it says that all is well.
    ///
    /// # Errors
    /// Itself, if it does not.
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
    async fn requests_round_trip_and_nothing_shorter_is_one() {
        for request in [
            Request::Ask(String::new()),
            Request::Connect("[::1]:80".into()),
            Request::Listen(65_535, "127.0.0.1:0".into()),
            Request::Accepted(7),
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
    async fn what_is_no_request_is_refused_before_its_text_is_read() {
        let read = async |bytes: &[u8]| Request::read(&mut &bytes[..]).await.unwrap_err();
        assert!(matches!(read(&[2, 1]).await, WireError::Version(2)));
        assert!(matches!(
            read(&[1, 4, 0, 0, 0, 0]).await,
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
    async fn replies_round_trip_and_only_one_of_them_is_good() {
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
