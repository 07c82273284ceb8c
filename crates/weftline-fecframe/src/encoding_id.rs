//! The FEC scheme of an instance.

use weftline_codec::field::{Arithmetic, Field, Gf2, Gf256};

/// FEC Encoding IDs of the schemes in this crate. RFC 8681 describes 10 before 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EncodingId {
    /// 8: Reed-Solomon codes over GF(2^m) for arbitrary flows (RFC 6865).
    ReedSolomon,
    /// 9: sliding window random linear codes over GF(2) (RFC 8681, section 5).
    RlcGf2,
    /// 10: sliding window random linear codes over GF(2^8) (RFC 8681, section 4).
    RlcGf256,
}

impl EncodingId {
    /// The number that SDP carries.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::ReedSolomon => 8,
            Self::RlcGf2 => 9,
            Self::RlcGf256 => 10,
        }
    }

    /// The scheme of a number, if it is one of these.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            8 => Some(Self::ReedSolomon),
            9 => Some(Self::RlcGf2),
            10 => Some(Self::RlcGf256),
            _ => None,
        }
    }

    /// Octets of the Explicit Source FEC Payload ID, the trailer of every source
    /// packet.
    #[must_use]
    pub fn tag_length(self) -> usize {
        match self {
            Self::ReedSolomon => crate::payload_id::BLOCK_ID_BYTES,
            Self::RlcGf2 | Self::RlcGf256 => crate::payload_id::SOURCE_ID_BYTES,
        }
    }

    /// The field of a sliding window scheme; `None` for Reed-Solomon, where it
    /// depends on the FSSI.
    #[must_use]
    pub fn window_field(self) -> Option<Arithmetic> {
        match self {
            Self::ReedSolomon => None,
            Self::RlcGf2 => Some(Gf2::arithmetic()),
            Self::RlcGf256 => Some(Gf256::arithmetic()),
        }
    }
}
