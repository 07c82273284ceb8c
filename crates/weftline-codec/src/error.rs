//! What can be wrong with what a caller, or a peer, gives the codec.

use core::error::Error;
use core::fmt;
use core::ops::Range;

use crate::coefficients::CoefficientsError;
use crate::esi::Esi;
use crate::symbol::LENGTH_BYTES;

/// Why a source symbol was not taken into the encoding window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// The window holds as many symbols as it may; discard some first.
    Full {
        /// Symbols the window may hold.
        capacity: usize,
    },
    /// The payload is longer than a symbol may be.
    TooLong {
        /// Bytes given.
        got: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The payload in a buffer given lies beyond its end or too close to its
    /// beginning.
    PayloadRange {
        /// Where the payload starts; [`LENGTH_BYTES`] at
        /// least.
        start: usize,
        /// Where it ends.
        end: usize,
        /// Bytes in the buffer.
        buffer: usize,
    },
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { capacity } => write!(
                f,
                "the encoding window is full with {capacity} symbols; discard acknowledged ones first \
                 or use an encoder that evicts"
            ),
            Self::TooLong { got, limit } => write!(
                f,
                "a source symbol of {got} bytes exceeds the symbol size of {limit} bytes"
            ),
            Self::PayloadRange { start, end, buffer } => {
                write_payload_range(f, *start, *end, *buffer)
            }
        }
    }
}

impl Error for PushError {}

/// Why a repair symbol could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairError {
    /// The window covers no symbol.
    EmptyWindow,
    /// The window covers symbols that are not held, or not yet.
    NotHeld {
        /// The window asked for.
        window: Range<Esi>,
        /// The symbols held.
        held: Range<Esi>,
    },
    /// There is no such coding vector.
    Coefficients(CoefficientsError),
}

impl From<CoefficientsError> for RepairError {
    fn from(error: CoefficientsError) -> Self {
        Self::Coefficients(error)
    }
}

impl fmt::Display for RepairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyWindow => f.write_str("a repair symbol must cover at least one symbol"),
            Self::NotHeld { window, held } => write!(
                f,
                "a repair over symbols {window:?} needs them all, but the encoder holds {held:?}"
            ),
            Self::Coefficients(error) => error.fmt(f),
        }
    }
}

impl Error for RepairError {}

/// Why a decoder refused what it was given. Unless a variant says otherwise,
/// the decoder is as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// A symbol lies too far above the oldest one held.
    OutOfSpan {
        /// One past the highest ESI given.
        end: Esi,
        /// The highest end allowed now: the floor plus the configured span.
        limit: Esi,
    },
    /// A source symbol is longer than a symbol may be.
    SymbolTooLong {
        /// Bytes given.
        got: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// A repair symbol's window covers no symbol.
    WindowEmpty,
    /// A repair symbol's window covers too many symbols.
    WindowTooLong {
        /// Symbols in the window.
        got: u64,
        /// Symbols allowed.
        limit: usize,
    },
    /// Too many symbols would be missing at once.
    TooManyUnknowns {
        /// Missing symbols there would be.
        got: u64,
        /// Missing symbols allowed.
        limit: usize,
    },
    /// A repair symbol is shorter or longer than its window allows.
    RepairLength {
        /// Bytes given.
        got: usize,
        /// The least bytes possible: the length field, or what the longest
        /// known symbol of the window needs.
        min: usize,
        /// The most bytes possible.
        max: usize,
    },
    /// A repair symbol needs symbols from below the floor, which are forgotten.
    NotHeld {
        /// The first symbol of its window.
        start: Esi,
        /// The floor.
        first: Esi,
    },
    /// A repair symbol makes a symbol out to be what no symbol can be: it, or
    /// one before it, was not made from the symbols it claims to cover. That
    /// symbol stays missing and the equation for it is dropped; all else the
    /// repair symbol tells has been used.
    Inconsistent {
        /// The symbol that came out impossible; the lowest if several did.
        esi: Esi,
    },
    /// The payload in a buffer given lies beyond its end or too close to its
    /// beginning.
    PayloadRange {
        /// Where the payload starts; [`LENGTH_BYTES`] at
        /// least.
        start: usize,
        /// Where it ends.
        end: usize,
        /// Bytes in the buffer.
        buffer: usize,
    },
    /// A repair symbol has no such coding vector.
    Coefficients(CoefficientsError),
    /// A repair symbol is no whole number of groups of bytes; see
    /// [`Arithmetic::group`](crate::field::Arithmetic::group).
    RepairGroups {
        /// Bytes given.
        got: usize,
        /// Bytes of a group.
        group: usize,
    },
}

impl From<CoefficientsError> for DecodeError {
    fn from(error: CoefficientsError) -> Self {
        Self::Coefficients(error)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfSpan { end, limit } => write!(
                f,
                "symbols up to {end} exceed the span, which ends at {limit}; \
                 skip or forget older symbols, or raise max_span"
            ),
            Self::SymbolTooLong { got, limit } => write!(
                f,
                "a source symbol of {got} bytes exceeds the symbol size of {limit} bytes"
            ),
            Self::WindowEmpty => f.write_str("a repair symbol must cover at least one symbol"),
            Self::WindowTooLong { got, limit } => write!(
                f,
                "a repair over {got} symbols exceeds the longest window of {limit}"
            ),
            Self::TooManyUnknowns { got, limit } => write!(
                f,
                "{got} symbols would be missing, but at most {limit} may be; \
                 skip or forget older symbols, or raise max_unknowns"
            ),
            Self::RepairLength { got, min, max } => write!(
                f,
                "a repair symbol of {got} bytes cannot be: its window needs {min} to {max}"
            ),
            Self::NotHeld { start, first } => write!(
                f,
                "a repair from symbol {start} on needs symbols below {first}, which are forgotten"
            ),
            Self::Inconsistent { esi } => write!(
                f,
                "repair symbols contradict each other: symbol {esi} came out impossible"
            ),
            Self::PayloadRange { start, end, buffer } => {
                write_payload_range(f, *start, *end, *buffer)
            }
            Self::Coefficients(error) => error.fmt(f),
            Self::RepairGroups { got, group } => write!(
                f,
                "a repair symbol of {got} bytes is no whole number of groups of {group}"
            ),
        }
    }
}

impl Error for DecodeError {}

fn write_payload_range(
    f: &mut fmt::Formatter<'_>,
    start: usize,
    end: usize,
    buffer: usize,
) -> fmt::Result {
    write!(
        f,
        "a payload at {start}..{end} of a buffer of {buffer} bytes: it must lie within, \
         behind {LENGTH_BYTES} bytes at least"
    )
}
