//! The options of scheme `rateless`.

use core::time::Duration;

use crate::check::{ConfigError, within};
use crate::feedback::Feedback;
use crate::settings::{Settings, TextError};
use crate::wire::{packed_len, symbol_room};

/// Options of scheme `rateless`: start from [`Rateless::udp_rc`] or [`Rateless::rlc_block`].
///
/// Every coefficient is drawn from all elements of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Rateless {
    /// Most source symbols of a block, 1 to 1024. A block has fewer if the peer allows fewer, or if
    /// the application has no more: it ends at once at the end of a message or stream, else after a
    /// pause of an eighth of a round trip.
    pub k: u16,
    /// Bits of an element of the field: q of GF(2^q), 1 to 8.
    pub bits: u8,
    /// Whether the source symbols themselves are sent first. If not, only repair symbols are sent.
    pub systematic: bool,
    /// How repair symbols carry their coding vectors.
    pub header: VectorHeader,
    /// Symbols beyond the k of a block that are sent as fast as the rate control allows; the next
    /// block begins after them. With [`Rateless::ENDLESS`] they go on until the block is
    /// acknowledged, and only one block is sent at a time (Garrido et al.).
    pub extra: u16,
    /// Further repair symbols are sent at this share, 0.001 to 1, of the rate that the block had
    /// before. New symbols go before them until the acknowledgement is due.
    pub pace: f64,
}

/// How a repair symbol carries its coding vector (Garrido et al. compare the two).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum VectorHeader {
    /// As the seed of 4 bytes from which it was drawn.
    Seed,
    /// As its coefficients, q bits for each symbol of the block.
    Explicit,
}

impl Rateless {
    /// The value of [`Rateless::extra`] that means without end.
    pub const ENDLESS: u16 = u16::MAX;

    /// UDP-RC (Chong et al.): source symbols, then combinations in GF(2), the first ten at full
    /// speed.
    pub fn udp_rc() -> Self {
        Rateless {
            k: 1024,
            bits: 1,
            systematic: true,
            header: VectorHeader::Seed,
            extra: 10,
            pace: 0.5,
        }
    }

    /// Low-overhead RLC (Garrido et al.): only combinations in GF(2^8), of 64 symbols, until the
    /// block is acknowledged.
    pub fn rlc_block() -> Self {
        Rateless {
            k: 64,
            bits: 8,
            systematic: false,
            extra: Self::ENDLESS,
            ..Self::udp_rc()
        }
    }

    /// Sets the most source symbols of a block, 1 to 1024.
    #[must_use]
    pub fn k(self, k: u16) -> Self {
        Rateless { k, ..self }
    }

    /// Sets the field, GF(2^`bits`), 1 to 8, and with a finite `extra` the number of extra symbols
    /// that this field needs.
    #[must_use]
    pub fn field(self, bits: u8) -> Self {
        let extra = match self.extra {
            Self::ENDLESS => Self::ENDLESS,
            _ => Self::usual_extra(bits),
        };
        Rateless {
            bits,
            extra,
            ..self
        }
    }

    /// Sets how repair symbols carry their coding vectors.
    #[must_use]
    pub fn header(self, header: VectorHeader) -> Self {
        Rateless { header, ..self }
    }

    /// Sets whether the source symbols themselves are sent first.
    #[must_use]
    pub fn systematic(self, systematic: bool) -> Self {
        Rateless { systematic, ..self }
    }

    /// Sets the symbols beyond k at full speed.
    #[must_use]
    pub fn extra(self, extra: u16) -> Self {
        Rateless { extra, ..self }
    }

    /// Sets the pace of further repair symbols, 0.001 to 1.
    #[must_use]
    pub fn pace(self, pace: f64) -> Self {
        Rateless { pace, ..self }
    }

    /// The fewest symbols beyond the k of a block that decode it with a probability of 99.9 %, if all
    /// symbols are repair symbols: 10 in GF(2), as in Chong et al., and 1 in GF(2^8).
    ///
    /// With m more symbols the probability of failure is about 2^(-q m) / (2^q - 1).
    pub fn usual_extra(bits: u8) -> u16 {
        let bits = u32::from(bits.clamp(1, 8));
        let is_enough = |more: &u16| ((1u32 << bits) - 1) << (bits * u32::from(*more)) >= 1 << 10;
        (0..=10).find(is_enough).unwrap_or(10)
    }

    pub(in crate::sender::scheme) fn read(
        &mut self,
        settings: &mut Settings,
    ) -> Result<(), TextError> {
        let k = settings.number("k", "source symbols in a block", 1..=1024)?;
        self.k = k.unwrap_or(self.k);
        let elements = (1..=8).map(|bits| (1u32 << bits).to_string());
        let elements = elements.collect::<Vec<_>>();
        let expected = format!("one of {}", elements.join(", "));
        let bits = settings.take("field", &expected, |value| {
            let place = elements.iter().position(|field| field == value)?;
            Some(place as u8 + 1)
        })?;
        *self = bits.map_or(*self, |bits| self.field(bits));
        let headers = [
            ("seed", VectorHeader::Seed),
            ("vector", VectorHeader::Explicit),
        ];
        self.header = settings.choice("header", &headers)?.unwrap_or(self.header);
        self.systematic = settings.switch("systematic")?.unwrap_or(self.systematic);
        let expected = "symbols beyond k, 0 to 60000, or ack";
        let extra = settings.take("extra", expected, |value| match value {
            "ack" => Some(Self::ENDLESS),
            _ => value.parse().ok().filter(|extra| *extra <= 60_000),
        })?;
        self.extra = extra.unwrap_or(self.extra);
        let pace = settings.number("pace", "share of full speed", 0.001..=1.0)?;
        self.pace = pace.unwrap_or(self.pace);
        Ok(())
    }

    pub(in crate::sender::scheme) fn check(&self) -> Result<(), ConfigError> {
        within("rateless.k", self.k, 1..=1024)?;
        within("rateless.bits", self.bits, 1..=8)?;
        within("rateless.pace", self.pace, 0.001..=1.0)
    }

    pub(in crate::sender::scheme) fn feedback(&self) -> Feedback {
        match self.extra {
            Self::ENDLESS => Feedback::Block {
                interval: Duration::from_millis(20),
            },
            _ => Feedback::EveryDatagram {
                min_interval: Duration::ZERO,
            },
        }
    }

    /// The payload bytes of a symbol: a longer header of repair symbols leaves fewer.
    pub(in crate::sender::scheme) fn symbol_room(&self, longest: usize) -> usize {
        let vector = match self.header {
            VectorHeader::Seed => None,
            VectorHeader::Explicit => Some(packed_len(self.k, self.bits)),
        };
        symbol_room(longest, self.bits, vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_more_symbols_are_enough_in_gf2_and_one_in_gf256() {
        let extra = (1..=8).map(Rateless::usual_extra).collect::<Vec<_>>();
        assert_eq!(extra, [10, 5, 3, 2, 2, 1, 1, 1]);
    }
}
