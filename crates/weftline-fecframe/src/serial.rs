//! Numbers that wrap on the wire but not in memory.
//!
//! RFC 8681 says only that an ESI wraps to 0 after 2^32 - 1. In memory, ESIs have 64
//! bits and never wrap; [`weftline_codec::expand_esi`] takes a number from the wire as
//! the nearest one to a reference.

/// The base of the first number received: high enough that earlier numbers are not
/// below 0, and a multiple of every range, so that the low bits of a number are those
/// on the wire.
const BASE: u64 = 1 << 40;

/// The first number received.
pub(crate) fn first(wire: u32) -> u64 {
    BASE + u64::from(wire)
}

/// The low bits of a number, as sent on the wire.
pub(crate) fn wire(number: u64, bits: u32) -> u32 {
    (number & ((1 << bits) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_codec::expand_esi;

    #[test]
    fn a_number_near_the_first_survives_the_wire_and_the_wrap() {
        let newest = first(u32::MAX);
        assert_eq!(expand_esi(0, 32, newest), Some(newest + 1));
        assert_eq!(expand_esi(u32::MAX, 32, newest + 1), Some(newest));
        assert_eq!(expand_esi(u32::MAX - 70, 32, newest), Some(newest - 70));
        let reference = BASE + (5 << 24) + 3;
        for bits in [16, 24, 28, 30, 32] {
            for step in [-9_i64, -1, 0, 1, 400] {
                let number = reference.wrapping_add_signed(step);
                assert_eq!(
                    expand_esi(wire(number, bits), bits, reference),
                    Some(number)
                );
            }
        }
    }
}
