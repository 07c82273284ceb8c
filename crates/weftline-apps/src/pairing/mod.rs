//! Pairing: two ends learn each other's fingerprints by a short code, which one person reads to another.
//!
//! The receiver shows a [`Code`] and is a [`Host`] for it. The sender calls [`pair`] with it. Both then
//! know the fingerprint of the end that has the code too, and connect by it from then on. The connection
//! that carries the exchange carries nothing else.
//!
//! `docs/reference/pairing.md` has the messages, and what they prove.

mod code;
mod codes;
mod exchange;
mod fuzzing;
mod host;
mod name;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::{Connection, ExportError, Fingerprint, Stream};

use crate::SessionError;
use exchange::{Binding, Failed};
use wire::{HEADER, Message};

pub use code::{BadCode, Code};
pub use codes::TRIES;
pub use fuzzing::fuzz_entry;
pub use host::Host;
pub use name::{BadName, Name};
pub use sender::pair;

/// The name of the application protocol; the number rises with incompatible changes.
pub const PROTOCOL: &str = "pairing/1";

/// How long an exchange may take: several round trips of a bad path.
const EXCHANGE: Duration = Duration::from_secs(10);

const LABEL: &[u8] = b"weftline pairing 1";

/// The other end has the code, and this is who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Paired {
    /// Its fingerprint.
    pub peer: Fingerprint,
    /// What it calls itself, if it says so.
    pub name: Option<Name>,
    /// Where it is.
    pub addr: SocketAddr,
}

/// Two ends were not paired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairingError {
    /// The sender has another code than the receiver shows, or one that is no longer open.
    #[error("wrong code")]
    WrongCode,
    /// The receiver has not proved that it has the code.
    #[error(
        "the host that answers does not have the code, and may be impersonating the receiver: nothing was sent"
    )]
    Impostor,
    /// The receiver waits for no code.
    #[error(
        "{0} waits for no code now: start the receiver there and use the code that it shows; after three wrong codes it shows the next one some time later"
    )]
    NoCode(SocketAddr),
    /// No connection, or it ended.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The other end said nothing for too long.
    #[error("the other end does not answer")]
    Silent,
    /// The other end does not keep to the protocol.
    #[error("the other end does not keep to the pairing protocol: update it")]
    Protocol,
}

impl From<Failed> for PairingError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::WrongCode => PairingError::WrongCode,
            Failed::Impostor => PairingError::Impostor,
            Failed::Malformed => PairingError::Protocol,
        }
    }
}

/// Keying material of the TLS session under `connection`.
fn exported(connection: &Connection) -> Result<[u8; 32], PairingError> {
    let mut bytes = [0; 32];
    let exported = connection.export_keying_material(&mut bytes, LABEL, b"");
    exported.map_err(|error: ExportError| SessionError::Failed(error.to_string()))?;
    Ok(bytes)
}

/// What binds an exchange to `connection`, on which this end is the sender or the receiver.
fn binding(
    connection: &Connection,
    ours: Fingerprint,
    is_sender: bool,
) -> Result<(Binding, Fingerprint), PairingError> {
    let insecure = || SessionError::Failed(ExportError::Insecure.to_string());
    let peer = connection.peer().ok_or_else(insecure)?;
    let (sender, receiver) = match is_sender {
        true => (ours, peer),
        false => (peer, ours),
    };
    let exported = exported(connection)?;
    let binding = Binding {
        sender,
        receiver,
        exported,
    };
    Ok((binding, peer))
}

async fn read(stream: &mut Stream) -> Result<Message, PairingError> {
    let lost = |error: std::io::Error| SessionError::Failed(error.to_string());
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await.map_err(lost)?;
    let length = Message::body_len(header).map_err(Failed::from)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.map_err(lost)?;
    Ok(Message::read(header, &body).map_err(Failed::from)?)
}

async fn write(stream: &mut Stream, message: &Message) -> Result<(), PairingError> {
    let written = stream.write_all(&message.to_bytes()).await;
    Ok(written.map_err(|error| SessionError::Failed(error.to_string()))?)
}

/// As [`write`], for the last message: a stream that is dropped before its end is reset, and then a peer that
/// reads late does not get what has arrived.
async fn write_last(stream: &mut Stream, message: &Message) -> Result<(), PairingError> {
    write(stream, message).await?;
    let finished = stream.finish();
    Ok(finished.map_err(|error| SessionError::Failed(error.to_string()))?)
}
