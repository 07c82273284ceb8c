//! The numbers of source symbols, and their short forms on a wire.

/// Encoding symbol id: the number of a source symbol in its flow, from 0.
///
/// Sixty-four bits never wrap in practice. A wire usually carries only the low
/// bits; [`expand_esi`] gives the whole number back.
pub type Esi = u64;

/// The whole ESI whose low `bits` bits are those of `short`: of all these, the one
/// nearest to `expected`, which is typically
/// [`end`](crate::WindowDecoder::end), one past the highest ESI heard of. `None`
/// if two ESIs are equally near, that is, exactly half the range of `bits` away,
/// or if the nearest does not fit an [`Esi`], being below 0 or above 2^64 - 1.
///
/// So a field of 16 bits tells symbols apart that arrive up to 32,767 symbols
/// late or early, one of 32 bits 2,147,483,647: the serial arithmetic of
/// RFC 1982, which wraps as the ESIs of RFC 8681 do. After an outage in which
/// more symbols were sent than that, the result is wrong and nothing can tell,
/// so choose the field to fit the longest outage.
///
/// A receiver that has heard of nothing yet has nothing to be near to. It takes
/// the first number as it is, plus some multiple of the range if symbols from
/// before the first one may still arrive: `(1 << 32) + u64::from(short)`.
///
/// ```
/// use weftline_codec::expand_esi;
///
/// assert_eq!(expand_esi(3, 16, 65_534), Some(65_539));
/// assert_eq!(expand_esi(65_530, 16, 65_539), Some(65_530));
/// assert_eq!(expand_esi(0, 16, 32_768), None);
/// ```
///
/// # Panics
///
/// When `bits` is not 1 to 32.
#[must_use]
pub fn expand_esi(short: u32, bits: u32, expected: Esi) -> Option<Esi> {
    assert!(
        (1..=32).contains(&bits),
        "a short ESI has 1 to 32 bits, not {bits}"
    );
    let range = 1_u64 << bits;
    let ahead = u64::from(short).wrapping_sub(expected) & (range - 1);
    match ahead.cmp(&(range / 2)) {
        core::cmp::Ordering::Less => expected.checked_add(ahead),
        core::cmp::Ordering::Equal => None,
        core::cmp::Ordering::Greater => expected.checked_sub(range - ahead),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorten(esi: Esi, bits: u32) -> u32 {
        (esi & ((1 << bits) - 1)) as u32
    }

    #[test]
    fn an_esi_within_half_the_range_survives_its_short_form() {
        for bits in [1, 2, 8, 16, 24, 31, 32] {
            let half = 1_i64 << (bits - 1);
            for expected in [0, 1, 5, 0xFFFE, 0xFFFF_FFFE, 0x1_0000_0003, Esi::MAX - 2] {
                for distance in [1 - half, -3, -1, 0, 1, 2, 70_000, half - 1] {
                    let Some(esi) = expected.checked_add_signed(distance) else {
                        continue;
                    };
                    if distance.abs() < half {
                        assert_eq!(expand_esi(shorten(esi, bits), bits, expected), Some(esi));
                    }
                }
            }
        }
    }

    #[test]
    fn half_the_range_away_is_ambiguous() {
        for bits in [1, 16, 32] {
            let expected = 7 << 40;
            let half = 1 << (bits - 1);
            assert_eq!(
                expand_esi(shorten(expected + half, bits), bits, expected),
                None
            );
        }
    }

    #[test]
    fn no_esi_lies_beyond_the_first_or_the_last() {
        assert_eq!(expand_esi(0xFFFF, 16, 0), None);
        assert_eq!(expand_esi(0xFFFF, 16, 1), None);
        assert_eq!(expand_esi(0, 16, Esi::MAX), None);
        assert_eq!(expand_esi(0xFFFF, 16, Esi::MAX), Some(Esi::MAX));
    }

    #[test]
    fn bits_above_the_field_do_not_count() {
        assert_eq!(expand_esi(0xAB_0007, 16, 5), Some(7));
    }

    #[test]
    #[should_panic(expected = "1 to 32 bits, not 33")]
    fn a_field_of_more_than_32_bits_is_refused() {
        let _ = expand_esi(0, 33, 0);
    }
}
