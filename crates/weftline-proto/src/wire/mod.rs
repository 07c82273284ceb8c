//! The wire format, version 1: see `docs/protocol.md`, whose example the tests check.
//!
//! All integers are big endian. Numbers that can grow without bound (transmission numbers, ESIs,
//! timestamps) travel as their low 32 bits; the receiver completes them from the value it expects.
//! Lengths and counts are variable-length integers as in RFC 9000, section 16.

mod datagram;
mod feedback;
mod field_code;
mod frame;
mod params;
mod reader;
mod riders;

pub use crate::limits::{FRAGMENT_COST, MIN_FRAGMENT, MIN_SYMBOL_SIZE};
pub use datagram::{CloseClass, Coded, Datagram, Piece};
pub(crate) use datagram::{close_overhead, pad_source, put_close};
pub use feedback::{FeedbackView, FeedbackWriter, LOSS_UNITS, Run};
pub use field_code::{CodingVector, FieldCode};
pub(crate) use field_code::{field, pack, packed_len, symbol_room};
pub use frame::{Frame, FrameWriter, Frames};
pub use params::{Hello, Measuring};
pub use reader::{Malformed, varint_len};
pub use riders::{Riders, RidersHeader};

/// The version of the wire format that this crate speaks.
pub const VERSION: u8 = 1;

/// Bytes of the header with which every numbered datagram begins.
const NUMBERED_HEADER: usize = 15;

/// Bytes of the seed of a coding vector.
const SEED_BYTES: usize = 4;

/// Bytes of a source datagram before the symbol.
pub const SOURCE_HEADER: usize = NUMBERED_HEADER;

/// Bytes by which a repair datagram may exceed the longest source symbol that it covers:
/// its header and the coded length of the symbol.
pub const REPAIR_OVERHEAD: usize = REPAIR_HEADER + 2;

/// Bytes of a repair datagram before the coded symbol.
pub const REPAIR_HEADER: usize = NUMBERED_HEADER + 4;

/// Bytes of a repair datagram that names its field, before the coded symbol, with the seed of its
/// coding vector.
pub const FIELD_REPAIR_HEADER: usize = NUMBERED_HEADER + 2 + 1 + SEED_BYTES;

/// Bytes of a piece before its part of the datagram.
pub const PIECE_HEADER: usize = 7;

/// Whether `datagram` looks like a HELLO: the only kind that may open a session.
pub fn is_hello(datagram: &[u8]) -> bool {
    datagram.first() == Some(&datagram::KIND_HELLO)
}

/// Whether `datagram` is a repair symbol in a datagram of its own. A carrier that puts several datagrams into one
/// packet puts it into another packet than those before it: it would be lost with what it repairs.
pub fn is_repair(datagram: &[u8]) -> bool {
    let kind = datagram.first();
    kind.is_some_and(|kind| [datagram::KIND_REPAIR, datagram::KIND_FIELD_REPAIR].contains(kind))
}

/// Whether `datagram` looks like a piece of a longer datagram.
pub(crate) fn is_piece(datagram: &[u8]) -> bool {
    datagram.first() == Some(&datagram::KIND_PIECE)
}

/// Completes a number from its low 32 bits: the value nearest to `expected`.
pub(crate) fn complete(low: u32, expected: u64) -> u64 {
    let distance = low.wrapping_sub(expected as u32) as i32;
    // There is no nearer value below zero.
    expected
        .checked_add_signed(i64::from(distance))
        .unwrap_or(u64::from(low))
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn a_truncated_number_completes_to_the_nearest_value() {
        for expected in [0u64, 5, 0xffff_fffe, 0x1_0000_0003, 0x7_8000_0000] {
            for distance in [-70_000i64, -3, 0, 1, 2, 70_000] {
                let Some(full) = expected.checked_add_signed(distance) else {
                    continue;
                };
                assert_eq!(complete(full as u32, expected), full);
            }
        }
    }
}
