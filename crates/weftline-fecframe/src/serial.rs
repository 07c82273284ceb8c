//! Numbers that wrap on the wire and do not inside.
//!
//! RFC 8681 says that an ESI wraps to 0 after 2^32 - 1, and no more. Inside, ESIs
//! have 64 bits and never wrap; a number from the wire is taken as the nearest
//! one to a reference, and refused as ambiguous when it is exactly half the range
//! away.

/// Where the first number ever heard of is put: high enough that nothing before
/// it is below 0, and a multiple of every range, so that the low bits of a number
/// are what the wire has.
pub(crate) const BASE: u64 = 1 << 40;

/// The number nearest to `reference` whose low `bits` bits are `wire`; `None` if
/// two are equally near.
pub(crate) fn unwrap(reference: u64, wire: u32, bits: u32) -> Option<u64> {
    debug_assert!((1..=32).contains(&bits));
    let range = 1_u64 << bits;
    let ahead = u64::from(wire).wrapping_sub(reference) & (range - 1);
    let half = range / 2;
    match ahead.cmp(&half) {
        core::cmp::Ordering::Less => reference.checked_add(ahead),
        core::cmp::Ordering::Equal => None,
        core::cmp::Ordering::Greater => reference.checked_sub(range - ahead),
    }
}

/// The first number heard of.
pub(crate) fn first(wire: u32) -> u64 {
    BASE + u64::from(wire)
}

/// What the wire has of a number.
pub(crate) fn wire(number: u64, bits: u32) -> u32 {
    (number & ((1 << bits) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_number_is_taken_across_the_wrap_both_ways() {
        let newest = first(u32::MAX);
        assert_eq!(unwrap(newest, 0, 32), Some(newest + 1));
        assert_eq!(unwrap(newest + 1, u32::MAX, 32), Some(newest));
        assert_eq!(unwrap(newest, u32::MAX - 70, 32), Some(newest - 70));
        let reference = BASE + (5 << 24) + 3;
        assert_eq!(unwrap(reference, 0xFF_FFFF, 24), Some(reference - 4));
        for bits in [16, 24, 28, 30, 32] {
            for step in [-9_i64, -1, 0, 1, 400] {
                let number = reference.wrapping_add_signed(step);
                assert_eq!(unwrap(reference, wire(number, bits), bits), Some(number));
            }
        }
    }

    #[test]
    fn exactly_half_the_range_away_is_ambiguous() {
        let reference = first(17);
        assert_eq!(unwrap(reference, 17 + (1 << 31), 32), None);
        assert!(unwrap(reference, 16 + (1 << 31), 32).is_some());
        assert!(unwrap(reference, 18 + (1 << 31), 32).is_some());
    }
}
