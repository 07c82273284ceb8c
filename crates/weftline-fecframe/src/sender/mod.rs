//! The sending side: ADUs in, source packets and repair packets out.

mod allowance;
mod block;
mod config;
mod window;

use crate::{CodeRate, ConfigError, EncodingId, SendError, Time};

pub use block::BlockSender;
pub use config::SenderConfig;
pub use window::WindowSender;

/// A FECFRAME sender of the scheme that its configuration names.
///
/// Pass each ADU to [`source`](Self::source) and send the resulting packet on the ADU's
/// own flow. Then call [`poll_repair`](Self::poll_repair) until it returns `None`, and
/// send its packets on the repair flow.
#[derive(Clone, Debug)]
pub enum Sender {
    /// RFC 8681.
    Window(Box<WindowSender>),
    /// RFC 6865.
    Block(Box<BlockSender>),
}

/// The numbers of an ADU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The block, with Reed-Solomon.
    pub block: Option<u32>,
    /// The ESI of the ADU's first symbol.
    pub esi: u32,
    /// The symbols it takes.
    pub symbols: u32,
}

/// The content of a repair packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The block, with Reed-Solomon.
    pub block: Option<u32>,
    /// The ESI of the first source symbol covered; 0 with Reed-Solomon.
    pub first_esi: u32,
    /// Source symbols covered.
    pub window: u16,
    /// The key of the first repair symbol, or with Reed-Solomon its ESI.
    pub key: u16,
    /// Repair symbols in the packet.
    pub symbols: u8,
}

/// Statistics of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// ADUs taken.
    pub adus: u64,
    /// Octets of these ADUs.
    pub source_octets: u64,
    /// Source symbols made from them.
    pub source_symbols: u64,
    /// Repair packets made.
    pub repair_packets: u64,
    /// Repair symbols in these packets.
    pub repair_symbols: u64,
    /// Octets of repair packets, payload IDs included.
    pub repair_octets: u64,
    /// Repair symbols that were due but not made, because repair would have taken more
    /// octets than the source data.
    pub capped: u64,
    /// Repair symbols that were due but not made, because they would have been useless:
    /// nothing to cover, all zeros, or a repetition.
    pub useless: u64,
    /// Symbols that left the window, or ADUs of blocks without repair, because their
    /// time was over.
    pub expired: u64,
}

impl Sender {
    /// A sender of the scheme that `config` names.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn new(config: SenderConfig) -> Result<Self, ConfigError> {
        Ok(match config.encoding_id {
            EncodingId::ReedSolomon => Self::Block(Box::new(BlockSender::new(config)?)),
            _ => Self::Window(Box::new(WindowSender::new(config)?)),
        })
    }

    /// Takes an ADU of a flow and writes its source packet to `packet`, replacing its
    /// content. O(ADU).
    ///
    /// # Errors
    ///
    /// See [`SendError`]; the ADU can still travel without protection, on another flow.
    pub fn source(
        &mut self,
        flow: u8,
        adu: &[u8],
        now: Time,
        packet: &mut Vec<u8>,
    ) -> Result<Sent, SendError> {
        match self {
            Self::Window(sender) => sender.source(flow, adu, now, packet),
            Self::Block(sender) => sender.source(flow, adu, now, packet),
        }
    }

    /// Writes the next repair packet that is due to `packet`, replacing its content;
    /// `None` if none is due. O(window x symbol).
    pub fn poll_repair(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Repair> {
        match self {
            Self::Window(sender) => sender.poll_repair(now, packet),
            Self::Block(sender) => sender.poll_repair(now, packet),
        }
    }

    /// A repair packet in addition to those of the code rate, for example when the flow
    /// pauses. The bandwidth cap applies to it too. `None` with Reed-Solomon.
    pub fn extra_repair(&mut self, now: Time, packet: &mut Vec<u8>) -> Option<Repair> {
        match self {
            Self::Window(sender) => sender.extra_repair(now, packet),
            Self::Block(_) => None,
        }
    }

    /// Changes the code rate from now on.
    ///
    /// # Errors
    ///
    /// [`ConfigError::CodeRate`], and with Reed-Solomon if a block gets more
    /// symbols than the field has.
    pub fn set_code_rate(&mut self, rate: CodeRate) -> Result<(), ConfigError> {
        match self {
            Self::Window(sender) => sender.set_code_rate(rate),
            Self::Block(sender) => sender.set_code_rate(rate),
        }
    }

    /// Counts of what happened so far.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        match self {
            Self::Window(sender) => sender.stats(),
            Self::Block(sender) => sender.stats(),
        }
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &SenderConfig {
        match self {
            Self::Window(sender) => sender.config(),
            Self::Block(sender) => sender.config(),
        }
    }
}
