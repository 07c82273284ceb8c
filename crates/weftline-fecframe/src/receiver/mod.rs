//! The receiving side: packets in, ADUs out.

mod block;
mod config;
mod follow;
mod layout;
mod queue;
mod stats;
mod system;
mod window;

use crate::{ConfigError, EncodingId, PacketError, Time};

pub use block::BlockReceiver;
pub use config::{Elimination, Limits, Order, ReceiverConfig};
pub use stats::ReceiverStats;
pub use window::WindowReceiver;

/// A FECFRAME receiver of the scheme that its configuration names.
///
/// Pass packets as they arrive, then call [`poll_adu`](Self::poll_adu) until it returns
/// `None`. Call [`handle_timeout`](Self::handle_timeout) at the time of
/// [`poll_timeout`](Self::poll_timeout), and poll ADUs again.
///
/// FECFRAME authenticates nothing. A receiver accepts any packet: [`Limits`] bounds
/// memory and work, and no packet makes it panic. But a forged packet can corrupt what
/// is decoded with it, so authenticate packets below.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// RFC 8681.
    Window(Box<WindowReceiver>),
    /// RFC 6865.
    Block(Box<BlockReceiver>),
}

/// An ADU that is handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adu {
    /// Its flow.
    pub flow: u8,
    /// The block, with Reed-Solomon.
    pub block: Option<u32>,
    /// The ESI of its first symbol.
    pub esi: u32,
    /// Whether it was lost and decoded from repair packets.
    pub recovered: bool,
    /// Whether it was late; only if late ADUs were asked for.
    pub late: bool,
    /// When its first symbol was heard of: by its own arrival or that of a later one.
    pub heard: Time,
    /// The ADU.
    pub data: Vec<u8>,
}

/// The effect of an accepted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It added information.
    Useful,
    /// It added nothing.
    Redundant,
    /// Its symbols have left the receiver.
    TooOld,
}

impl Receiver {
    /// A receiver of the scheme that `config` names. It begins with the first packet
    /// that arrives.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn new(config: ReceiverConfig) -> Result<Self, ConfigError> {
        Ok(match config.encoding_id {
            EncodingId::ReedSolomon => Self::Block(Box::new(BlockReceiver::new(config)?)),
            _ => Self::Window(Box::new(WindowReceiver::new(config)?)),
        })
    }

    /// Takes a packet that came on a source flow: ADU and payload ID.
    ///
    /// # Errors
    ///
    /// See [`PacketError`]; only counters have changed then.
    pub fn source_packet(
        &mut self,
        flow: u8,
        packet: &[u8],
        now: Time,
    ) -> Result<Outcome, PacketError> {
        match self {
            Self::Window(receiver) => receiver.source_packet(flow, packet, now),
            Self::Block(receiver) => receiver.source_packet(flow, packet, now),
        }
    }

    /// Takes a packet that came on the repair flow.
    ///
    /// # Errors
    ///
    /// See [`PacketError`]; only counters have changed then.
    pub fn repair_packet(&mut self, packet: &[u8], now: Time) -> Result<Outcome, PacketError> {
        match self {
            Self::Window(receiver) => receiver.repair_packet(packet, now),
            Self::Block(receiver) => receiver.repair_packet(packet, now),
        }
    }

    /// The next ADU to hand over.
    pub fn poll_adu(&mut self) -> Option<Adu> {
        match self {
            Self::Window(receiver) => receiver.poll_adu(),
            Self::Block(receiver) => receiver.poll_adu(),
        }
    }

    /// The time to call [`handle_timeout`](Self::handle_timeout), if no packet arrives
    /// before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Window(receiver) => receiver.poll_timeout(),
            Self::Block(receiver) => receiver.poll_timeout(),
        }
    }

    /// Gives up overdue ADUs, so that later ones can be handed over.
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Window(receiver) => receiver.handle_timeout(now),
            Self::Block(receiver) => receiver.handle_timeout(now),
        }
    }

    /// Hands over all waiting ADUs, even if ADUs before them are missing: for the end
    /// of a flow.
    pub fn flush(&mut self) {
        match self {
            Self::Window(receiver) => receiver.flush(),
            Self::Block(receiver) => receiver.flush(),
        }
    }

    /// Counts of what happened so far.
    #[must_use]
    pub fn stats(&self) -> &ReceiverStats {
        match self {
            Self::Window(receiver) => receiver.stats(),
            Self::Block(receiver) => receiver.stats(),
        }
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &ReceiverConfig {
        match self {
            Self::Window(receiver) => receiver.config(),
            Self::Block(receiver) => receiver.config(),
        }
    }

    /// Octets of memory held now. The cost grows with the symbols held: call it for
    /// reports, not for every packet.
    #[must_use]
    pub fn memory(&self) -> usize {
        match self {
            Self::Window(receiver) => receiver.memory(),
            Self::Block(receiver) => receiver.memory(),
        }
    }
}
