//! The configuration and the limits of a receiver.

use core::time::Duration;

use crate::payload_id::MAX_NSS;
use crate::{ConfigError, EncodingId, FlowSet, Fssi, adui};

/// The configuration of a [`Receiver`](super::Receiver); start from [`new`](Self::new).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// The scheme.
    pub encoding_id: EncodingId,
    /// The symbol size and the other parameters of the sender.
    pub fssi: Fssi,
    /// The flows that share the instance; a recovered ADU of another flow is rejected.
    pub flows: FlowSet,
    /// The order in which ADUs are handed over.
    pub order: Order,
    /// Whether late ADUs are handed over too, marked as late and out of order.
    pub deliver_late: bool,
    /// How long a symbol is in time, counted from its own arrival or that of a later
    /// one. If `None`, only the decoding window decides. A Reed-Solomon receiver counts
    /// from a block's first packet.
    pub max_latency: Option<Duration>,
    /// dw: the number of newest symbols that are in time. If `None`, it follows from
    /// the longest window seen and the window size ratio (RFC 8681, appendix C); while
    /// these are unknown, it is half of [`Limits::max_linear_system`].
    pub decoding_window: Option<u32>,
    /// ls: the number of newest symbols that equations may contain. If `None`, twice
    /// the decoding window and at least 40 (RFC 8681, appendix D). A window that is
    /// longer, the decoding window or the sender's, is used instead: a repair symbol
    /// whose window does not fit would be useless.
    pub linear_system: Option<u32>,
    /// What happens to equations when a symbol leaves the linear system.
    pub elimination: Elimination,
    /// Whether the sender puts every ADU in one symbol. A recovered ADU is then
    /// recognised even if the ADU before it is lost.
    pub one_symbol_adus: bool,
    /// The limits on memory and work.
    pub limits: Limits,
}

/// The order in which ADUs are handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In the order in which the sender took them, across all flows. A missing ADU
    /// delays the next ones until its time is over.
    #[default]
    InOrder,
    /// Each as soon as it is received or decoded.
    AsDecoded,
}

/// What happens to equations when a symbol leaves the linear system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elimination {
    /// Every equation that follows from those received and contains only remaining
    /// symbols is kept: no information is lost.
    #[default]
    Keeping,
    /// A received equation is dropped as soon as an unknown symbol it contains
    /// leaves, as simpler decoders do. For studies: slower, and recovers less.
    Discarding,
}

/// The limits of a receiver. Whatever arrives, its memory is at most that of the
/// codec's decoder with a span and unknowns of `max_linear_system` (see
/// [`weftline_codec::DecoderConfig`]), plus twice as many waiting ADUs, plus about 60
/// octets for each symbol. With Reed-Solomon it is `max_blocks` times all symbols of a
/// block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// NSS, the symbols that a repair packet may cover, 1 to 4095; with Reed-Solomon k.
    pub max_window: u16,
    /// Symbols that equations may contain, for every length of the sender's window.
    pub max_linear_system: u32,
    /// Octets of an ADU.
    pub max_adu: usize,
    /// Repair symbols in a packet.
    pub max_symbols_per_packet: usize,
    /// Symbols, or blocks, by which a packet may be ahead of the newest one. One forged
    /// packet can pull the receiver this far away from the flow. If `None`, the linear
    /// system and at least 512 symbols, or [`max_blocks`](Self::max_blocks).
    pub max_jump: Option<u32>,
    /// The number of packets out of that range, near each other and with none in range
    /// between them, after which the receiver follows them because the sender has
    /// restarted. Repair packets with earlier numbers count only after a source packet.
    pub resync_after: u32,
    /// Reed-Solomon blocks held at once.
    pub max_blocks: u16,
}

impl Default for Limits {
    /// Windows of 1024 symbols, a linear system of 2048, ADUs of any length, 16
    /// symbols in a repair packet, 8 packets to follow, 16 blocks.
    fn default() -> Self {
        Self {
            max_window: 1024,
            max_linear_system: 2048,
            max_adu: adui::MAX_ADU,
            max_symbols_per_packet: 16,
            max_jump: None,
            resync_after: 8,
            max_blocks: 16,
        }
    }
}

impl ReceiverConfig {
    /// One flow with the identifier 0; in order, without late ADUs; window sizes
    /// derived from those of the sender.
    #[must_use]
    pub fn new(encoding_id: EncodingId, fssi: Fssi) -> Self {
        Self {
            encoding_id,
            fssi,
            flows: FlowSet::from_iter([0]),
            order: Order::default(),
            deliver_late: false,
            max_latency: None,
            decoding_window: None,
            linear_system: None,
            elimination: Elimination::default(),
            one_symbol_adus: false,
            limits: Limits::default(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let matches = match self.fssi {
            Fssi::Rlc { .. } => self.encoding_id.window_field().is_some(),
            Fssi::ReedSolomon { .. } => self.encoding_id == EncodingId::ReedSolomon,
        };
        if !matches {
            return Err(ConfigError::Fssi {
                id: self.encoding_id,
                fssi: self.fssi,
            });
        }
        if self.fssi.symbol_size() == 0 {
            return Err(ConfigError::NoSymbolSize);
        }
        if self.flows.is_empty() {
            return Err(ConfigError::NoFlow);
        }
        let range = |what, got: u64, min, max| {
            let inside = (min..=max).contains(&got);
            let error = ConfigError::Range {
                what,
                got,
                min,
                max,
            };
            inside.then_some(()).ok_or(error)
        };
        let limits = &self.limits;
        let most = u64::from(limits.max_linear_system);
        range(
            "the longest window",
            limits.max_window.into(),
            1,
            MAX_NSS.into(),
        )?;
        range(
            "the largest linear system",
            most,
            limits.max_window.into(),
            1 << 20,
        )?;
        range(
            "the longest jump",
            limits.max_jump.unwrap_or(1).into(),
            1,
            1 << 30,
        )?;
        range("the number of blocks", limits.max_blocks.into(), 1, 1 << 12)?;
        let symbols = limits.max_symbols_per_packet as u64;
        range(
            "the number of repair symbols in a packet",
            symbols,
            1,
            1 << 16,
        )?;
        if let Some(window) = self.decoding_window {
            range("the decoding window", window.into(), 1, most)?;
        }
        if let Some(system) = self.linear_system {
            let least = self.decoding_window.unwrap_or(1);
            range("the linear system", system.into(), least.into(), most)?;
        }
        Ok(())
    }
}
