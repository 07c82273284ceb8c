//! What a receiver is told, and what it may spend.

use core::time::Duration;

use crate::payload_id::MAX_NSS;
use crate::{ConfigError, EncodingId, FlowSet, Fssi, adui};

/// What a [`Receiver`](super::Receiver) is told; start from [`new`](Self::new).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// The scheme.
    pub encoding_id: EncodingId,
    /// Symbol size, and the rest of what the sender told.
    pub fssi: Fssi,
    /// The flows that share the instance; a recovered ADU of another is not
    /// believed.
    pub flows: FlowSet,
    /// When ADUs are handed over.
    pub order: Order,
    /// Whether ADUs that come too late are handed over too, marked as late, and
    /// out of order.
    pub deliver_late: bool,
    /// How long after a symbol was first heard of, by its own arrival or by that of
    /// a later one, it is still in time. Unless set, only the decoding window
    /// decides. A Reed-Solomon receiver counts from a block's first packet.
    pub max_latency: Option<Duration>,
    /// dw: the newest symbols, which are still in time. Unless set, it follows from
    /// the longest window seen and the window size ratio (RFC 8681, appendix C); as
    /// long as that tells nothing, it is half of
    /// [`Limits::max_linear_system`].
    pub decoding_window: Option<u32>,
    /// ls: the newest symbols, which equations may contain. Unless set, twice the
    /// decoding window and at least 40 (RFC 8681, appendix D).
    pub linear_system: Option<u32>,
    /// What becomes of equations when a symbol leaves the linear system.
    pub elimination: Elimination,
    /// That the sender puts every ADU in one symbol. A recovered ADU is then known to
    /// be one even if the ADU before it is lost for good.
    pub one_symbol_adus: bool,
    /// What it may spend.
    pub limits: Limits,
}

/// When ADUs are handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In the order in which the sender took them, all flows together: one that is
    /// missing holds up those behind it until its time is over.
    #[default]
    InOrder,
    /// As soon as each is received or decoded.
    AsDecoded,
}

/// What becomes of equations when a symbol leaves the linear system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elimination {
    /// Every equation that follows from those received and contains only symbols
    /// that stay is kept: nothing is lost.
    #[default]
    Keeping,
    /// A received equation is dropped as soon as an unknown symbol it contains
    /// leaves, as simpler decoders do. For studies: slower, and recovers less.
    Discarding,
}

/// What a receiver may spend: whatever comes, memory is at most that of the codec's
/// decoder with a span and as many unknowns of `max_linear_system` (see
/// [`weftline_codec::DecoderConfig`]), twice as many ADUs that wait to be handed
/// over, and some 60 octets for each symbol; or with Reed-Solomon `max_blocks` times
/// all symbols of a block.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// NSS, the symbols a repair may cover, 1 to 4095; with Reed-Solomon k.
    pub max_window: u16,
    /// Symbols that equations may contain, whatever a sender's windows suggest.
    pub max_linear_system: u32,
    /// Octets of an ADU.
    pub max_adu: usize,
    /// Repair symbols in a packet.
    pub max_symbols_per_packet: usize,
    /// Symbols, or blocks, by which a packet may be ahead of the newest one: so far a
    /// single forged one can drag the receiver away from the flow. Unless set, the
    /// linear system and at least 512 symbols, or
    /// [`max_blocks`](Self::max_blocks).
    pub max_jump: Option<u32>,
    /// Packets out of that range, near each other and with none in range between
    /// them, after which the receiver follows them: the sender has started again.
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
    /// One flow with the identifier 0; in order, without late ADUs; sizes that
    /// follow from the sender's.
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
