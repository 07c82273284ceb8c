//! The measured transports, behind the same few operations.

mod kcp;
mod quinn;
mod socket;
mod tcp;
mod udp;
mod weftline;

use std::net::SocketAddr;
use std::pin::Pin;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use weftline_proto::Settings;

use super::LoadError;

/// The names of the transports.
pub const NAMES: [&str; 5] = ["weftline", "tcp", "quinn", "kcp", "udp"];

/// A pending operation.
pub(crate) type Task<'a, T> = Pin<Box<dyn Future<Output = Result<T, LoadError>> + Send + 'a>>;

/// A transport with its settings.
pub(crate) trait Transport: Send + Sync {
    /// Listens; when it returns, a peer can connect.
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>>;

    /// Prepares for a later connection that needs an earlier one, if the settings ask for it.
    fn meet(&self, _to: SocketAddr) -> Task<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Connects to a peer that listens.
    fn connect(&self, to: SocketAddr) -> Task<'_, Link>;

    /// Whether its links carry messages that may be lost or reordered, instead of an ordered
    /// stream of bytes.
    fn is_messages(&self) -> bool {
        false
    }

    /// Waits until the last packets have left.
    fn idle(&self) -> Task<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Accepts peers.
pub(crate) trait Listener: Send {
    /// The next peer.
    fn accept(&mut self) -> Task<'_, Link>;
}

/// A connection to a peer.
pub(crate) enum Link {
    /// Ordered bytes.
    Bytes(Box<dyn ByteStream>),
    /// Messages.
    Messages(Box<dyn Messages>),
}

/// A reliable, ordered stream of bytes, both ways.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {
    /// Ends the connection once the peer has received all written data. Dropping ends it at once.
    fn close(self: Box<Self>) -> Task<'static, ()>;

    /// Symbols sent, if the transport counts them.
    fn symbols(&self) -> Option<Symbols> {
        None
    }
}

/// Packets with data that a coding transport sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Symbols {
    /// Source symbols, first transmissions.
    pub(crate) source: u64,
    /// Source symbols, retransmissions.
    pub(crate) resent: u64,
    /// Repair symbols.
    pub(crate) repair: u64,
}

/// Messages, both ways.
pub(crate) trait Messages: Send {
    /// Sends a message; waits while there is no room for it.
    fn send<'a>(&'a mut self, message: &'a [u8]) -> Task<'a, ()>;

    /// Waits for a message and returns its length; a message longer than the buffer is truncated.
    fn recv<'a>(&'a mut self, message: &'a mut [u8]) -> Task<'a, usize>;

    /// Tells the peer with an empty message that this end has all the data it wants.
    fn farewell(&mut self) -> Task<'_, ()>;

    /// Ends the connection once the peer has received all sent data, if the transport supports
    /// this.
    fn close(self: Box<Self>) -> Task<'static, ()>;
}

/// The transport of this name, with its settings.
pub(crate) fn by_name(
    name: &str,
    settings: &mut Settings,
) -> Result<Box<dyn Transport>, LoadError> {
    if matches!(name, "weftline" | "quinn") {
        // The cryptographic library collects entropy at its first random number: some 0.1 s, once
        // in a process, which must not be part of a transfer's time.
        drop(::weftline::Identity::generate());
    }
    Ok(match name {
        "weftline" => Box::new(weftline::Weftline::take(settings)?),
        "tcp" => Box::new(tcp::Tcp::take(settings)?),
        "quinn" => Box::new(quinn::Quinn::take(settings)?),
        "kcp" => Box::new(kcp::Kcp::take(settings)?),
        "udp" => Box::new(udp::Udp),
        _ => {
            return Err(LoadError::UnknownTransport {
                name: name.to_owned(),
                known: NAMES.join(", "),
            });
        }
    })
}

/// Peers whose handshake is not complete: one that stops half-way delays no other.
#[derive(Default)]
struct Hall(JoinSet<Result<Link, LoadError>>);

impl Hall {
    /// Starts a peer's handshake.
    fn enter(&mut self, greeting: impl Future<Output = Result<Link, LoadError>> + Send + 'static) {
        self.0.spawn(greeting);
    }

    /// The next peer whose handshake is complete; waits without limit if there is none. Failed
    /// peers are dropped: the peer reports the reason.
    async fn next(&mut self) -> Link {
        loop {
            match self.0.join_next().await {
                Some(Ok(Ok(link))) => return link,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}
