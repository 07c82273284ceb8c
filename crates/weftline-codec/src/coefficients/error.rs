//! Why a coding vector is not valid.

use core::error::Error;
use core::fmt;

use super::rfc8681::MAX_DENSITY_THRESHOLD;

/// Why a coding vector is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoefficientsError {
    /// An explicit vector does not have one element for each symbol of the
    /// window.
    Length {
        /// Elements given.
        got: usize,
        /// Symbols in the window.
        expected: usize,
    },
    /// An explicit vector has a value that is not an element of the field.
    NotAnElement {
        /// The position in the vector, from 0.
        position: usize,
        /// The value at that position.
        got: u8,
        /// The field is GF(2^bits).
        bits: u32,
    },
    /// A density threshold exceeds [`MAX_DENSITY_THRESHOLD`].
    DensityThreshold {
        /// The threshold given.
        got: u8,
    },
    /// RFC 8681 defines vectors over GF(2) and GF(2^8) only.
    Field {
        /// The field in use is GF(2^bits).
        bits: u32,
    },
}

impl fmt::Display for CoefficientsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { got, expected } => write!(
                f,
                "a coding vector of {got} elements does not fit a window of {expected} symbols"
            ),
            Self::NotAnElement {
                position,
                got,
                bits,
            } => write!(
                f,
                "the coding vector has {got} at position {position}, which is not an element of GF(2^{bits})"
            ),
            Self::DensityThreshold { got } => write!(
                f,
                "a density threshold of {got} is not possible: it must be 0 to {MAX_DENSITY_THRESHOLD}"
            ),
            Self::Field { bits } => write!(
                f,
                "RFC 8681 defines coding vectors over GF(2) and GF(2^8), not over GF(2^{bits})"
            ),
        }
    }
}

impl Error for CoefficientsError {}
