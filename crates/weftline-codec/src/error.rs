//! The errors of encoders, decoders and relays.

use core::error::Error;
use core::fmt;
use core::ops::Range;

use crate::coefficients::CoefficientsError;
use crate::esi::Esi;
use crate::symbol::LENGTH_BYTES;

/// Why an encoder refused a source symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// The window is full; discard some symbols first, or use an encoder that
    /// evicts.
    Full {
        /// Symbols the window may hold.
        capacity: usize,
    },
    /// The payload exceeds the symbol size.
    TooLong {
        /// Bytes given.
        got: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// The payload range exceeds the buffer or starts too close to its
    /// beginning.
    PayloadRange {
        /// Where the payload starts; it must be [`LENGTH_BYTES`] or more.
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
    /// The window covers symbols that are not held.
    NotHeld {
        /// The window asked for.
        window: Range<Esi>,
        /// The symbols held.
        held: Range<Esi>,
    },
    /// The coding vector is not valid.
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
                "a repair symbol over {window:?} needs all of these symbols, but the encoder holds {held:?}"
            ),
            Self::Coefficients(error) => error.fmt(f),
        }
    }
}

impl Error for RepairError {}

/// Why a decoder or a relay refused a symbol. Unless a variant says otherwise,
/// the call had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// A symbol lies too far above the floor. After an outage,
    /// [`skip_to`](crate::WindowDecoder::skip_to) it.
    OutOfSpan {
        /// One past the highest ESI given.
        end: Esi,
        /// The highest end allowed now: the floor plus the configured span.
        limit: Esi,
    },
    /// A source symbol exceeds the symbol size.
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
    /// Too many symbols would be missing at once. After an outage,
    /// [`skip_to`](crate::WindowDecoder::skip_to) the newest.
    TooManyUnknowns {
        /// Symbols that would be missing.
        got: u64,
        /// Missing symbols allowed.
        limit: usize,
    },
    /// A repair symbol is shorter or longer than its window allows.
    RepairLength {
        /// Bytes given.
        got: usize,
        /// The fewest bytes possible: the length field, or the needs of the
        /// longest known symbol of the window.
        min: usize,
        /// The most bytes possible.
        max: usize,
    },
    /// A repair symbol needs forgotten symbols, from below the floor.
    NotHeld {
        /// The first symbol of its window.
        start: Esi,
        /// The floor.
        first: Esi,
    },
    /// A repair symbol determines a symbol that cannot exist: this repair
    /// symbol, or one before it, was not made from the symbols it claims to
    /// cover. The symbol stays missing and its equation is dropped; the other
    /// information of the repair symbol is used.
    Inconsistent {
        /// The impossible symbol; the lowest if there are several.
        esi: Esi,
    },
    /// The payload range exceeds the buffer or starts too close to its
    /// beginning.
    PayloadRange {
        /// Where the payload starts; it must be [`LENGTH_BYTES`] or more.
        start: usize,
        /// Where it ends.
        end: usize,
        /// Bytes in the buffer.
        buffer: usize,
    },
    /// The coding vector of a repair symbol is not valid.
    Coefficients(CoefficientsError),
    /// A repair symbol is not a whole number of groups of bytes; see
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
                "a repair symbol over {got} symbols exceeds the longest window of {limit}"
            ),
            Self::TooManyUnknowns { got, limit } => write!(
                f,
                "{got} symbols would be missing, but at most {limit} may be; \
                 skip or forget older symbols, or raise max_unknowns"
            ),
            Self::RepairLength { got, min, max } => write!(
                f,
                "a repair symbol of {got} bytes is not possible: its window needs {min} to {max} bytes"
            ),
            Self::NotHeld { start, first } => write!(
                f,
                "a repair symbol from symbol {start} on needs symbols below {first}, which are forgotten"
            ),
            Self::Inconsistent { esi } => write!(
                f,
                "repair symbols contradict each other: they determine an impossible symbol {esi}"
            ),
            Self::PayloadRange { start, end, buffer } => {
                write_payload_range(f, *start, *end, *buffer)
            }
            Self::Coefficients(error) => error.fmt(f),
            Self::RepairGroups { got, group } => write!(
                f,
                "a repair symbol of {got} bytes is not a whole number of groups of {group} bytes"
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
        "the payload range {start}..{end} is not possible in a buffer of {buffer} bytes: \
         it must lie in the buffer and start at {LENGTH_BYTES} or later"
    )
}
