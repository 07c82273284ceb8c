//! Coding vectors from repair keys.
//!
//! A repair symbol carries a 32-bit repair key instead of its coefficients;
//! both ends derive them from it. This derivation is wire format: changing any
//! byte of it needs a new protocol version.
//!
//! Position `i` of the encoding window (the symbol with ESI `first + i`) has a
//! coefficient in 1..=255, never 0: a coefficient of 0 would leave a symbol
//! out of a repair that is supposed to cover it. With all arithmetic modulo
//! 2^64,
//!
//! ```text
//! z    = key + (floor(i / 4) + 1) * 0x9E3779B97F4A7C15
//! z    = (z xor (z >> 30)) * 0xBF58476D1CE4E5B9
//! z    = (z xor (z >> 27)) * 0x94D049BB133111EB
//! word = z xor (z >> 31)
//! lane = (word >> (16 * (i mod 4))) mod 2^16
//! coefficient = floor(lane * 255 / 2^16) + 1
//! ```
//!
//! which is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
//! number generators", OOPSLA 2014) started at the key, each output cut into
//! four 16-bit lanes from the lowest. A lane is scaled rather than reduced, so
//! that no value is likelier than another by more than one part in 256.
//!
//! The vector of key 0 begins (hexadecimal)
//! `cd 7b a8 e2 66 a2 9e 6f 46 80 5d 07 82 72 b8 f8`, that of key DEADBEEF
//! `eb 69 b9 4b 0a 42 6a de fc 8e bc 03 68 7c ce 74`.
//!
//! Any position can be computed by itself; that lets a decoder ask for the
//! coefficients of the few symbols it misses.

const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
const LANES: usize = 4;

/// Writes the first coefficients of the coding vector of `key`: `out[i]`
/// multiplies the symbol at position `i` of the window.
pub fn fill(key: u32, out: &mut [u8]) {
    fill_from(key, 0, out);
}

/// As [`fill`], from a later position on: `out[i]` belongs to position
/// `position + i`.
///
/// ```
/// use weftline_codec::coefficients::{fill, fill_from};
/// let (mut whole, mut part) = ([0; 40], [0; 30]);
/// fill(7, &mut whole);
/// fill_from(7, 10, &mut part);
/// assert_eq!(part, whole[10..]);
/// ```
pub fn fill_from(key: u32, position: usize, out: &mut [u8]) {
    let into_word = position % LANES;
    let lead = if into_word == 0 {
        0
    } else {
        (LANES - into_word).min(out.len())
    };
    let (lead, rest) = out.split_at_mut(lead);
    for (i, coefficient) in lead.iter_mut().enumerate() {
        *coefficient = at(key, position + i);
    }
    let mut state = state(key, (position + lead.len()) / LANES);
    for chunk in rest.chunks_mut(LANES) {
        let word = mix(state);
        state = state.wrapping_add(INCREMENT);
        for (i, coefficient) in chunk.iter_mut().enumerate() {
            *coefficient = lane(word, i);
        }
    }
}

/// The coefficient of the symbol at `position` of the window.
#[must_use]
pub fn at(key: u32, position: usize) -> u8 {
    lane(mix(state(key, position / LANES)), position % LANES)
}

/// The generator's state for the word with this index.
fn state(key: u32, word: usize) -> u64 {
    let steps = (word as u64).wrapping_add(1);
    u64::from(key).wrapping_add(steps.wrapping_mul(INCREMENT))
}

#[inline]
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[inline]
fn lane(word: u64, index: usize) -> u8 {
    let lane = (word >> (16 * index)) as u16;
    // At most 65535 * 255 / 65536 + 1 = 255.
    ((u32::from(lane) * 255) >> 16) as u8 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    /// The formula of the module's description, term by term.
    fn by_definition(key: u32, i: u64) -> u8 {
        let modulus = 1u128 << 64;
        let steps = u128::from(i / 4 + 1);
        let mut z = (u128::from(key) + steps * 0x9E37_79B9_7F4A_7C15) % modulus;
        z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) % modulus;
        z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) % modulus;
        let word = z ^ (z >> 31);
        let lane = (word / (1u128 << (16 * (i % 4)))) % (1 << 16);
        u8::try_from(lane * 255 / (1 << 16) + 1).unwrap()
    }

    #[test]
    fn vectors_are_those_of_the_wire_format() {
        let mut first = [0; 16];
        fill(0, &mut first);
        assert_eq!(first, VECTOR_OF_KEY_0);
        fill(0xDEAD_BEEF, &mut first);
        assert_eq!(first, VECTOR_OF_KEY_DEADBEEF);
    }

    #[test]
    fn splitmix64_yields_its_published_first_outputs_for_seed_1234567() {
        let words: [u64; 3] = core::array::from_fn(|word| mix(state(1_234_567, word)));
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(words, published);
    }

    #[test]
    fn every_way_to_ask_gives_what_the_definition_says() {
        let mut whole = [0; 300];
        for key in [0, 1, 2, 77, u32::MAX] {
            fill(key, &mut whole);
            for (i, &coefficient) in whole.iter().enumerate() {
                assert_eq!(coefficient, by_definition(key, i as u64));
                assert_eq!(coefficient, at(key, i));
            }
            for position in 0..20 {
                for length in 0..20 {
                    let mut part = [0; 20];
                    fill_from(key, position, &mut part[..length]);
                    assert_eq!(part[..length], whole[position..position + length]);
                }
            }
        }
    }

    #[test]
    fn coefficients_are_never_zero_and_equally_likely() {
        const DRAWS: usize = 1 << 20;
        let mut counts = [0u32; 256];
        let mut vector = [0; 64];
        for key in 0..(DRAWS / vector.len()) as u32 {
            fill(key, &mut vector);
            for coefficient in vector {
                counts[usize::from(coefficient)] += 1;
            }
        }
        assert_eq!(counts[0], 0);
        // 4112 expected of each; the standard deviation is 64.
        for (value, &count) in counts.iter().enumerate().skip(1) {
            assert!((3700..4500).contains(&count), "{value}: {count} times");
        }
    }

    #[test]
    fn vectors_of_neighbouring_keys_are_unrelated() {
        // Pairs of positions proportional in two vectors make them dependent
        // there; 1 in 255 is what chance gives.
        let (mut one, mut other) = ([0; 64], [0; 64]);
        let (mut proportional, mut pairs) = (0, 0);
        for key in 0..2000 {
            fill(key, &mut one);
            fill(key + 1, &mut other);
            for i in 1..64 {
                let left = crate::field::Gf256::mul(one[0], other[i]);
                let right = crate::field::Gf256::mul(one[i], other[0]);
                proportional += u32::from(left == right);
                pairs += 1;
            }
        }
        let share = f64::from(proportional) / f64::from(pairs);
        assert!((0.0033..0.0045).contains(&share), "{share}");
    }

    const VECTOR_OF_KEY_0: [u8; 16] = [
        205, 123, 168, 226, 102, 162, 158, 111, 70, 128, 93, 7, 130, 114, 184, 248,
    ];
    const VECTOR_OF_KEY_DEADBEEF: [u8; 16] = [
        235, 105, 185, 75, 10, 66, 106, 222, 252, 142, 188, 3, 104, 124, 206, 116,
    ];
}
