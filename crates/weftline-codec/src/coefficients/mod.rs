//! Coding vectors: the coefficients that multiply the symbols of a window.
//!
//! A repair symbol usually carries a key of a few bytes instead of its
//! coefficients, and both ends derive the coefficients from the key.
//! [`Coefficients`] lists the derivations. They are wire format: changing any
//! byte of them needs a new protocol version.
//!
//! # From a 32-bit key
//!
//! Position `i` of the encoding window (the symbol with ESI `first + i`) gets a
//! *lane* of 16 bits. With all arithmetic modulo 2^64,
//!
//! ```text
//! z    = key + (floor(i / 4) + 1) * 0x9E3779B97F4A7C15
//! z    = (z xor (z >> 30)) * 0xBF58476D1CE4E5B9
//! z    = (z xor (z >> 27)) * 0x94D049BB133111EB
//! word = z xor (z >> 31)
//! lane = (word >> (16 * (i mod 4))) mod 2^16
//! ```
//!
//! which is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
//! number generators", OOPSLA 2014) started at the key. Each output is cut into
//! four lanes, the lowest first. The coefficient in GF(2^q) is then
//!
//! | kind | coefficient |
//! | --- | --- |
//! | [`NonZero`](Coefficients::NonZero) | floor(lane * (2^q - 1) / 2^16) + 1 |
//! | [`Uniform`](Coefficients::Uniform) | floor(lane / 2^(16 - q)) |
//! | [`Sparse`](Coefficients::Sparse) | 0 if lane mod 16 exceeds the density threshold, else as for `NonZero` |
//!
//! Lanes are scaled rather than reduced, so the probabilities of the values of
//! `NonZero` differ by at most one part in 256.
//!
//! Over GF(2^8) the `NonZero` vector of key 0 begins (hexadecimal) `cd 7b a8 e2
//! 66 a2 9e 6f 46 80 5d 07 82 72 b8 f8`, that of key DEADBEEF `eb 69 b9 4b 0a
//! 42 6a de fc 8e bc 03 68 7c ce 74`. The free functions of this module compute
//! these vectors, or single positions of them.
//!
//! # Vectors that thin out
//!
//! [`Fading`](Coefficients::Fading) vectors depend on the *age* of symbols: the
//! newest symbol of the window, at position `length - 1`, is of age 0. From
//! there on, ages are cut into groups: first `dense` groups of 1 age each, then
//! `max(1, ceil(dense / 2))` groups of 2, as many of 4, and so on up to as many
//! of 128, and then groups of
//! 256. In the n-th group (from 0), of `size` ages from `a` on, one symbol is
//! included, and lane `n` says which and with what coefficient:
//!
//! ```text
//! age         = a + lane mod size
//! coefficient = floor(lane * (2^q - 1) / 2^16) + 1
//! ```
//!
//! In the oldest group this symbol may lie beyond the window; then the group
//! includes none. With a `dense` of 4 and key 0, over GF(2^8), a window of 40
//! symbols has coefficients other than 0 at these positions (hexadecimal): 14:
//! `80`, 16: `46`, 27: `6f`, 29: `9e`, 32: `a2`, 35: `66`, 36: `e2`, 37: `a8`,
//! 38: `7b`, 39: `cd`.

mod error;
mod fading;
mod lanes;
mod rfc8681;

use crate::field::Arithmetic;
use lanes::{LANES, Lanes, scaled};

pub use error::CoefficientsError;
pub use rfc8681::MAX_DENSITY_THRESHOLD;

/// How to derive the coding vector of a repair symbol.
///
/// A `u32` converts to the key of a [`NonZero`](Self::NonZero) vector, so
/// functions that take `impl Into<Coefficients>` take a plain number.
///
/// Give each repair over a window a different key, so that the repairs are
/// independent. To a receiver that misses symbols, a dense random repair is
/// redundant with a probability of at most about 1 / (2^q - 1). Sparse repairs
/// are cheaper to make and redundant more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Coefficients<'a> {
    /// Every symbol of the window has a random coefficient other than 0. In
    /// GF(2) this is the plain sum for every key, so use
    /// [`Uniform`](Self::Uniform) there.
    NonZero {
        /// Determines the vector.
        key: u32,
    },
    /// Every symbol has a random coefficient, 0 included; in GF(2^q) a share of
    /// 1 / 2^q of the symbols is left out.
    Uniform {
        /// Determines the vector.
        key: u32,
    },
    /// Each symbol is included with a probability of `(density_threshold + 1) /
    /// 16`, with a random coefficient other than 0. If all are left out, the
    /// repair is all zeros: useless, but valid.
    Sparse {
        /// Determines the vector.
        key: u32,
        /// 0 to [`MAX_DENSITY_THRESHOLD`].
        density_threshold: u8,
    },
    /// All of the `dense` newest symbols of the window, and fewer of the older
    /// ones: of symbols twice as old, half as many. Each included symbol has a
    /// random coefficient other than 0. A window of 256 symbols with a `dense`
    /// of 32 has 80 terms. Symbols that are left out cost the encoder nothing.
    ///
    /// For windows that slide while repairs are made: a missing symbol was in
    /// several dense repairs when it was new, so later repairs hardly need it.
    /// Set `dense` to at least three times the number of source symbols between
    /// two repairs. Compared with [`NonZero`](Self::NonZero) vectors, the mean
    /// delay of streams was then at most 1.3 % longer, and up to 4 % more of
    /// the few unrecovered symbols were lost; with half of that `dense` the
    /// delay can double. The example `fading` measures this. Do not use it for
    /// blocks, nor in GF(2), where every key sums the newest symbols.
    Fading {
        /// Determines the vector.
        key: u32,
        /// How many of the newest symbols are all included.
        dense: u16,
    },
    /// The coding vectors of RFC 8681, section 3.6, in GF(2) and GF(2^8).
    Rfc8681 {
        /// Determines the vector.
        repair_key: u16,
        /// DT, 0 to [`MAX_DENSITY_THRESHOLD`].
        density_threshold: u8,
    },
    /// These elements, one to a byte, for the symbols of the window in order.
    Explicit(&'a [u8]),
}

impl Coefficients<'_> {
    /// Writes the coding vector over `field`: `out[i]` multiplies the symbol at
    /// position `i` of a window of `out.len()` symbols. O(`out.len()`); about
    /// one multiplication per position.
    ///
    /// # Errors
    ///
    /// See [`CoefficientsError`]; `out` is then unchanged.
    pub fn fill(self, field: Arithmetic, out: &mut [u8]) -> Result<(), CoefficientsError> {
        self.check(field, out.len())?;
        match self {
            Self::NonZero { key } => each_lane(key, out, |lane| scaled(lane, field.bits())),
            Self::Explicit(vector) => out.copy_from_slice(vector),
            _ => {
                out.fill(0);
                self.each_term(field, out.len(), |position, element| {
                    out[position] = element
                });
            }
        }
        Ok(())
    }

    /// Calls `term` with the positions and coefficients of a vector for a
    /// window of `length` symbols. [`check`](Self::check) must have accepted
    /// it. Each position comes at most once; those with a coefficient other
    /// than 0 always come.
    #[inline]
    pub(crate) fn each_term(
        self,
        field: Arithmetic,
        length: usize,
        mut term: impl FnMut(usize, u8),
    ) {
        let bits = field.bits();
        match self {
            Self::NonZero { key } => {
                lanes::each(key, length, |i, lane| term(i, scaled(lane, bits)));
            }
            Self::Uniform { key } => {
                lanes::each(key, length, |i, lane| term(i, (lane >> (16 - bits)) as u8));
            }
            Self::Sparse {
                key,
                density_threshold,
            } => lanes::each(key, length, |i, lane| {
                let keep = u8::from(lane as u8 & 0xF <= density_threshold);
                // A mask, because a branch could not be predicted.
                term(i, scaled(lane, bits) & keep.wrapping_neg());
            }),
            Self::Fading { key, dense } => fading::each_term(key, dense, bits, length, term),
            Self::Rfc8681 {
                repair_key,
                density_threshold,
            } => rfc8681::each_term(field, repair_key, density_threshold, length, term),
            Self::Explicit(vector) => {
                let elements = vector.iter().enumerate();
                elements.for_each(|(position, element)| term(position, *element));
            }
        }
    }

    /// Whether this vector exists for every field and window.
    #[inline(always)]
    pub(crate) fn are_for_any_window(self) -> bool {
        matches!(
            self,
            Self::NonZero { .. } | Self::Uniform { .. } | Self::Fading { .. }
        )
    }

    /// Checks that this vector exists for a window of `length` symbols.
    pub(crate) fn check(self, field: Arithmetic, length: usize) -> Result<(), CoefficientsError> {
        match self {
            Self::NonZero { .. } | Self::Uniform { .. } | Self::Fading { .. } => Ok(()),
            Self::Sparse {
                density_threshold, ..
            } => check_threshold(density_threshold),
            Self::Rfc8681 {
                density_threshold, ..
            } => {
                check_threshold(density_threshold)?;
                match field.bits() {
                    1 | 8 => Ok(()),
                    bits => Err(CoefficientsError::Field { bits }),
                }
            }
            Self::Explicit(vector) => {
                if vector.len() != length {
                    return Err(CoefficientsError::Length {
                        got: vector.len(),
                        expected: length,
                    });
                }
                let order = field.order();
                match vector.iter().position(|c| usize::from(*c) >= order) {
                    None => Ok(()),
                    Some(position) => Err(CoefficientsError::NotAnElement {
                        position,
                        got: vector[position],
                        bits: field.bits(),
                    }),
                }
            }
        }
    }
}

impl From<u32> for Coefficients<'_> {
    /// The key of a [`NonZero`](Coefficients::NonZero) vector.
    fn from(key: u32) -> Self {
        Self::NonZero { key }
    }
}

impl<'a> From<&'a [u8]> for Coefficients<'a> {
    /// An [`Explicit`](Coefficients::Explicit) vector.
    fn from(vector: &'a [u8]) -> Self {
        Self::Explicit(vector)
    }
}

fn check_threshold(density_threshold: u8) -> Result<(), CoefficientsError> {
    if density_threshold <= MAX_DENSITY_THRESHOLD {
        Ok(())
    } else {
        Err(CoefficientsError::DensityThreshold {
            got: density_threshold,
        })
    }
}

/// Fills `out` with the coefficients of the lanes from position 0 on.
#[inline]
fn each_lane(key: u32, out: &mut [u8], coefficient: impl Fn(u16) -> u8) {
    let mut lanes = Lanes::new(key);
    let (chunks, rest) = out.as_chunks_mut::<LANES>();
    for chunk in chunks {
        *chunk = lanes.next().map(&coefficient);
    }
    for (out, lane) in rest.iter_mut().zip(lanes.next()) {
        *out = coefficient(lane);
    }
}

/// Writes the first coefficients of the [`NonZero`](Coefficients::NonZero)
/// coding vector of `key` over GF(2^8): `out[i]` multiplies the symbol at
/// position `i` of the window.
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
    let mut lanes = Lanes::from_word(key, (position + lead.len()) / LANES);
    for chunk in rest.chunks_mut(LANES) {
        for (coefficient, lane) in chunk.iter_mut().zip(lanes.next()) {
            *coefficient = scaled(lane, 8);
        }
    }
}

/// The coefficient of the symbol at `position` of the window.
#[must_use]
pub fn at(key: u32, position: usize) -> u8 {
    let lanes = Lanes::from_word(key, position / LANES).next();
    scaled(lanes[position % LANES], 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    /// The lane of the module's description, term by term.
    fn lane_by_definition(key: u32, i: u64) -> u64 {
        let modulus = 1u128 << 64;
        let steps = u128::from(i / 4 + 1);
        let mut z = (u128::from(key) + steps * 0x9E37_79B9_7F4A_7C15) % modulus;
        z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) % modulus;
        z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) % modulus;
        let word = z ^ (z >> 31);
        u64::try_from((word / (1u128 << (16 * (i % 4)))) % (1 << 16)).unwrap()
    }

    fn by_definition(key: u32, i: u64) -> u8 {
        u8::try_from(lane_by_definition(key, i) * 255 / (1 << 16) + 1).unwrap()
    }

    #[test]
    fn every_kind_follows_its_row_of_the_table_in_every_field() {
        let mut vector = [0; 103];
        for (bits, key) in (1..=8).zip([0, 1, 2, 0xDEAD_BEEF, 77, u32::MAX, 5, 6]) {
            let field = Arithmetic::with_bits(bits).unwrap();
            let step = if cfg!(miri) { 5 } else { 1 };
            for density_threshold in (0..=MAX_DENSITY_THRESHOLD).step_by(step) {
                let sparse = Coefficients::Sparse {
                    key,
                    density_threshold,
                };
                let kinds = [
                    Coefficients::NonZero { key },
                    Coefficients::Uniform { key },
                    sparse,
                    key.into(),
                ];
                for kind in kinds {
                    kind.fill(field, &mut vector).unwrap();
                    for (i, &element) in vector.iter().enumerate() {
                        let lane = lane_by_definition(key, i as u64);
                        let non_zero = lane * ((1 << bits) - 1) / (1 << 16) + 1;
                        let expected = match kind {
                            Coefficients::Uniform { .. } => lane / (1 << (16 - bits)),
                            _ if kind == sparse && lane % 16 > u64::from(density_threshold) => 0,
                            _ => non_zero,
                        };
                        assert_eq!(u64::from(element), expected, "{kind:?} at {i}");
                        assert!(usize::from(element) < field.order());
                    }
                }
            }
        }
    }

    #[test]
    fn a_threshold_keeps_the_share_of_positions_it_stands_for() {
        let (bits, step) = if cfg!(miri) { (10, 5) } else { (16, 1) };
        let mut vector = alloc::vec![0; 1 << bits];
        for density_threshold in (0..=MAX_DENSITY_THRESHOLD).step_by(step) {
            let sparse = Coefficients::Sparse {
                key: 9,
                density_threshold,
            };
            sparse.fill(Arithmetic::default(), &mut vector).unwrap();
            let kept = vector.iter().filter(|c| **c != 0).count();
            // 4096 of 65,536 for each step; the standard deviation is at most 128.
            let expected = (usize::from(density_threshold) + 1) << (bits - 4);
            let tolerance = 600 >> ((16 - bits) / 2);
            assert!(kept.abs_diff(expected) < tolerance, "{kept} of {expected}");
        }
    }

    #[test]
    fn invalid_vectors_are_refused_and_leave_the_buffer_unchanged() {
        let field = |bits| Arithmetic::with_bits(bits).unwrap();
        let mut out = [7; 3];
        let mut refused = |coefficients: Coefficients<'_>, bits| {
            let error = coefficients.fill(field(bits), &mut out).unwrap_err();
            assert_eq!(out, [7; 3]);
            error
        };
        for vector in [&[][..], &[1; 2], &[1; 4]] {
            let error = CoefficientsError::Length {
                got: vector.len(),
                expected: 3,
            };
            assert_eq!(refused(vector.into(), 8), error);
        }
        for bits in 1..8 {
            let error = CoefficientsError::NotAnElement {
                position: 2,
                got: 1 << bits,
                bits,
            };
            let largest = (1 << bits) - 1;
            let vector = [largest, 0, largest + 1];
            assert_eq!(refused(Coefficients::Explicit(&vector), bits), error);
        }
        for density_threshold in [16, 255] {
            let error = CoefficientsError::DensityThreshold {
                got: density_threshold,
            };
            let sparse = Coefficients::Sparse {
                key: 1,
                density_threshold,
            };
            let rfc8681 = Coefficients::Rfc8681 {
                repair_key: 1,
                density_threshold,
            };
            assert_eq!(refused(sparse, 3), error);
            assert_eq!(refused(rfc8681, 8), error);
        }
        for bits in 2..8 {
            let rfc8681 = Coefficients::Rfc8681 {
                repair_key: 1,
                density_threshold: 15,
            };
            assert_eq!(refused(rfc8681, bits), CoefficientsError::Field { bits });
        }
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
    fn all_functions_agree_with_the_definition() {
        let mut whole = [0; 300];
        let keys = [0, u32::MAX, 1, 2, 77];
        for key in &keys[..if cfg!(miri) { 2 } else { 5 }] {
            let key = *key;
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
        const DRAWS: usize = if cfg!(miri) { 1 << 12 } else { 1 << 20 };
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
            let likely = (3700..4500).contains(&count);
            assert!(likely || cfg!(miri), "{value}: {count} times");
        }
    }

    #[test]
    fn vectors_of_neighbouring_keys_are_unrelated() {
        // Pairs of positions proportional in two vectors make them dependent
        // there; 1 in 255 is what chance gives.
        let (mut one, mut other) = ([0; 64], [0; 64]);
        let (mut proportional, mut pairs) = (0, 0);
        for key in 0..if cfg!(miri) { 20 } else { 2000 } {
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
        assert!((0.0033..0.0045).contains(&share) || cfg!(miri), "{share}");
    }

    const VECTOR_OF_KEY_0: [u8; 16] = [
        205, 123, 168, 226, 102, 162, 158, 111, 70, 128, 93, 7, 130, 114, 184, 248,
    ];
    const VECTOR_OF_KEY_DEADBEEF: [u8; 16] = [
        235, 105, 185, 75, 10, 66, 106, 222, 252, 142, 188, 3, 104, 124, 206, 116,
    ];
}
