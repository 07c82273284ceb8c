//! What the two ends of a cast tell while they run.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use weftline_fecframe::SendError;

/// What the sending end tells while it runs; each once.
#[derive(Debug)]
#[non_exhaustive]
pub enum SenderEvent {
    /// A datagram is too long to be protected, and was dropped.
    TooLong(SendError),
    /// The system did not take a packet.
    NotSent {
        /// Where it was to go.
        to: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// Symbols are much larger than datagrams, so that repair is held back: it may not be more bytes
    /// than the flows are.
    Starved {
        /// Repairs that were held back.
        held_back: u64,
        /// Those, and what was sent.
        all: u64,
        /// A symbol size that fits the longest datagram so far.
        symbol_size: usize,
    },
}

/// What the receiving end tells while it runs; each once.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiverEvent {
    /// Nothing has come yet.
    Silent {
        /// Time since the beginning.
        since: Duration,
    },
    /// Packets come, and none of them opens with the group key.
    WrongKey,
}
