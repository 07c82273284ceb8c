//! The configuration of a sender.

use core::time::Duration;

use crate::payload_id::{MAX_DENSITY_THRESHOLD, MAX_NSS};
use crate::{CodeRate, ConfigError, EncodingId, FlowSet, Fssi};

/// The configuration of a [`Sender`](super::Sender); start from [`new`](Self::new).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderConfig {
    /// The scheme.
    pub encoding_id: EncodingId,
    /// The symbol size and the other parameters that a receiver must know.
    pub fssi: Fssi,
    /// The flows that share the instance.
    pub flows: FlowSet,
    /// The share of source symbols among all symbols.
    pub code_rate: CodeRate,
    /// ew_max, the most symbols that a repair packet covers, 1 to 4095; with
    /// Reed-Solomon k, the source symbols of a block.
    pub window: u16,
    /// How long an ADU may stay in the encoding window, for flows whose rate varies
    /// (see [`sizing::validity`](crate::sizing::validity)). A Reed-Solomon block that
    /// is not full after this time gets no repair.
    pub validity: Option<Duration>,
    /// DT of the sliding window schemes: a position has a coefficient other than 0
    /// with a probability of (DT + 1) / 16.
    pub density_threshold: u8,
    /// Repair symbols in a packet, 1 to 255. Reed-Solomon always has one.
    pub symbols_per_packet: u8,
    /// The first ESI, or block number.
    pub first: u32,
    /// The key of the first repair symbol; the others count up.
    pub first_key: u16,
    /// Whether to refuse ADUs that take more than one symbol, so that receivers may
    /// assume that every symbol begins an ADU.
    pub one_symbol_adus: bool,
    /// Whether repair may never take more octets than the data it protects, as RFC
    /// 6363, section 8.2, requires. Lift this cap only on networks you own.
    pub bandwidth_cap: bool,
}

impl SenderConfig {
    /// One flow with the identifier 0, numbers from 0, one repair symbol in a packet,
    /// no expiry; full density over GF(2^8), half over GF(2).
    #[must_use]
    pub fn new(encoding_id: EncodingId, fssi: Fssi, code_rate: CodeRate, window: u16) -> Self {
        Self {
            encoding_id,
            fssi,
            flows: FlowSet::from_iter([0]),
            code_rate,
            window,
            validity: None,
            density_threshold: match encoding_id {
                // Full density would leave one repair symbol per window.
                EncodingId::RlcGf2 => 7,
                _ => MAX_DENSITY_THRESHOLD,
            },
            symbols_per_packet: 1,
            first: 0,
            first_key: 0,
            one_symbol_adus: false,
            bandwidth_cap: true,
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
        range("the window", self.window.into(), 1, MAX_NSS.into())?;
        let threshold = u64::from(self.density_threshold);
        range(
            "the density threshold",
            threshold,
            0,
            MAX_DENSITY_THRESHOLD.into(),
        )?;
        let symbols = u64::from(self.symbols_per_packet);
        range("the number of repair symbols in a packet", symbols, 1, 255)?;
        check_rate(self.code_rate, self.bandwidth_cap)?;
        let full = self.density_threshold == MAX_DENSITY_THRESHOLD;
        if self.encoding_id == EncodingId::RlcGf2 && full && self.symbols_per_packet > 1 {
            return Err(ConfigError::OneSymbolOnly);
        }
        Ok(())
    }
}

/// Whether a code rate keeps repair within the bandwidth of the data it protects.
pub(super) fn check_rate(rate: CodeRate, bandwidth_cap: bool) -> Result<(), ConfigError> {
    if bandwidth_cap && rate.total() > 2 * rate.source() {
        return Err(ConfigError::CodeRate { got: rate });
    }
    Ok(())
}
