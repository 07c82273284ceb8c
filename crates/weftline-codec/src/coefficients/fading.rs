//! Fading coding vectors, as the [parent module](super) specifies them.

use super::lanes::{LANES, Lanes, scaled};

/// A group has at most 2 to this power symbols.
const MAX_LEVEL: u32 = 8;

/// Calls `term` with the position and the coefficient of every symbol that is
/// included in a window of `length`, the newest first. Symbols that are left
/// out cost nothing.
#[inline]
pub(super) fn each_term(
    key: u32,
    dense: u16,
    bits: u32,
    length: usize,
    mut term: impl FnMut(usize, u8),
) {
    let mut lanes = Lanes::new(key);
    let dense = usize::from(dense);
    let mut age = 0;
    while age + LANES <= dense.min(length) {
        for lane in lanes.next() {
            age += 1;
            term(length - age, scaled(lane, bits));
        }
    }
    let groups = dense.div_ceil(2).max(1);
    let (mut level, mut until) = (0, dense);
    while age < length {
        for lane in lanes.next() {
            if age >= until && level < MAX_LEVEL {
                level += 1;
                until = age + (groups << level);
            }
            let size = 1 << level;
            let chosen = age + usize::from(lane) % size;
            age += size;
            // The oldest group may extend beyond the window.
            if chosen < length {
                term(length - 1 - chosen, scaled(lane, bits));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coefficients::Coefficients;
    use crate::field::Arithmetic;
    use alloc::vec;
    use alloc::vec::Vec;

    fn vector(key: u32, dense: u16, bits: u32, length: usize) -> Vec<u8> {
        let field = Arithmetic::with_bits(bits).unwrap();
        // Old content must be overwritten.
        let mut out = vec![0xEE; length];
        let filled = Coefficients::Fading { key, dense }.fill(field, &mut out);
        assert_eq!(filled, Ok(()));
        out
    }

    /// The groups of the module's description: first age and size of each.
    fn groups(dense: u16, length: usize) -> Vec<(usize, usize)> {
        let g = usize::from(dense).div_ceil(2).max(1);
        let sizes = (1..8).flat_map(|n| core::iter::repeat_n(1 << n, g));
        let sizes = core::iter::repeat_n(1, usize::from(dense))
            .chain(sizes)
            .chain(core::iter::repeat(256));
        let starts = sizes.scan(0, |age, size| {
            *age += size;
            Some((*age - size, size))
        });
        starts.take_while(|(age, _)| *age < length).collect()
    }

    #[test]
    fn each_group_has_the_one_symbol_that_its_lane_names() {
        for (key, dense) in [(0, 0), (1, 1), (2, 2), (0xDEAD_BEEF, 5), (7, 32), (8, 999)] {
            let lengths = [1, 2, 3, 7, 33, 64, 255, 1024, 5000];
            for length in &lengths[..if cfg!(miri) { 7 } else { 9 }] {
                let length = *length;
                let lanes: Vec<u16> = vector_of_lanes(key, length);
                for bits in [1, 4, 8] {
                    let mut expected = vec![0; length];
                    for (n, (age, size)) in groups(dense, length).into_iter().enumerate() {
                        let chosen = age + usize::from(lanes[n]) % size;
                        if chosen < length {
                            let nonzero = (1_u32 << bits) - 1;
                            let element = u32::from(lanes[n]) * nonzero / 65_536 + 1;
                            expected[length - 1 - chosen] = element as u8;
                        }
                    }
                    assert_eq!(vector(key, dense, bits, length), expected);
                }
            }
        }
    }

    fn vector_of_lanes(key: u32, count: usize) -> Vec<u16> {
        (0..count)
            .map(|n| Lanes::from_word(key, n / LANES).next()[n % LANES])
            .collect()
    }

    #[test]
    fn older_symbols_are_included_as_often_as_their_group_is_small() {
        const KEYS: u32 = if cfg!(miri) { 240 } else { 4000 };
        let mut counts = [0_u32; 300];
        for key in 0..KEYS {
            for (count, element) in counts.iter_mut().zip(vector(key, 16, 8, 300)) {
                *count += u32::from(element != 0);
            }
        }
        for (age, size) in groups(16, 300) {
            for (age, count) in (age..age + size).zip(counts.iter().rev().skip(age)) {
                let expected = KEYS / size as u32;
                // At least five standard deviations.
                let tolerance = 10 * expected.isqrt() * u32::from(size > 1);
                assert!(
                    count.abs_diff(expected) <= tolerance / 2,
                    "{count} at {age}"
                );
            }
        }
    }

    #[test]
    fn vectors_are_those_of_the_wire_format() {
        let places = |vector: Vec<u8>| -> Vec<(usize, u8)> {
            let places = vector.into_iter().enumerate();
            places.filter(|(_, element)| *element != 0).collect()
        };
        assert_eq!(places(vector(0, 4, 8, 40)), GOLDEN_OF_KEY_0);
        assert_eq!(
            places(vector(0xDEAD_BEEF, 4, 8, 40)),
            GOLDEN_OF_KEY_DEADBEEF
        );
    }

    const GOLDEN_OF_KEY_0: [(usize, u8); 10] = [
        (14, 0x80),
        (16, 0x46),
        (27, 0x6F),
        (29, 0x9E),
        (32, 0xA2),
        (35, 0x66),
        (36, 0xE2),
        (37, 0xA8),
        (38, 0x7B),
        (39, 0xCD),
    ];
    const GOLDEN_OF_KEY_DEADBEEF: [(usize, u8); 10] = [
        (11, 0x8E),
        (18, 0xFC),
        (27, 0xDE),
        (30, 0x6A),
        (32, 0x42),
        (35, 0x0A),
        (36, 0x4B),
        (37, 0xB9),
        (38, 0x69),
        (39, 0xEB),
    ];
}
