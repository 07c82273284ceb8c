//! Events of the two ends of a cast.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use weftline_fecframe::SendError;

/// Events of the sending end; each is reported once.
#[derive(Debug)]
#[non_exhaustive]
pub enum SenderEvent {
    /// A datagram is too long to be protected, and was dropped.
    TooLong(SendError),
    /// The system refused a packet.
    NotSent {
        /// The packet's destination.
        to: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// Symbols are much larger than datagrams, so repair packets are held back: they may not use
    /// more bytes than the flows.
    Starved {
        /// Repairs that were held back.
        held_back: u64,
        /// Repairs held back or sent.
        all: u64,
        /// A symbol size that fits the longest datagram so far.
        symbol_size: usize,
    },
}

/// Events of the receiving end; each is reported once.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReceiverEvent {
    /// No packet has been received yet.
    Silent {
        /// Time since the start.
        since: Duration,
    },
    /// Packets arrive, but the group key opens none of them.
    WrongKey,
    /// The receiver's linear system is shorter than the decoding window that follows from the
    /// sender's encoding window; the decoding window is used as the linear system.
    ShortLinearSystem {
        /// ls, as given.
        given: u32,
        /// dw so far, which is used.
        used: u32,
    },
}
