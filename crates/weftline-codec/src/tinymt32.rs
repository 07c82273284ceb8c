//! The pseudo-random number generator of RFC 8682, for checking test vectors or
//! for other uses. Coding vectors come from
//! [`Coefficients::Rfc8681`](crate::coefficients::Coefficients::Rfc8681).

const MAT1: u32 = 0x8F70_11EE;
const MAT2: u32 = 0xFC78_FF1F;
const TMAT: u32 = 0x3793_FDFF;

/// TinyMT32 with the parameters of RFC 8682, section 2.1. Not for cryptography.
#[derive(Clone, Debug)]
pub struct TinyMt32 {
    state: [u32; 4],
}

impl TinyMt32 {
    /// The parameters mat1, mat2 and tmat.
    pub const PARAMETERS: [u32; 3] = [MAT1, MAT2, TMAT];

    /// The generator in its state after seeding. Every seed is valid.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut state = [seed, MAT1, MAT2, TMAT];
        for i in 1..8 {
            let previous = state[(i - 1) % 4];
            let mixed = (previous ^ (previous >> 30)).wrapping_mul(1_812_433_253);
            state[i % 4] ^= mixed.wrapping_add(i as u32);
        }
        let mut generator = Self { state };
        for _ in 0..8 {
            generator.step();
        }
        generator
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.next()
    }

    /// The next 32 bits, always inlined.
    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        self.step();
        let sum = self.state[0].wrapping_add(self.state[2] >> 8);
        self.state[3] ^ sum ^ (TMAT & all_ones_if_odd(sum))
    }

    #[inline]
    fn step(&mut self) {
        let [w0, w1, w2, w3] = self.state;
        let x = (w0 & 0x7FFF_FFFF) ^ w1 ^ w2;
        let x = x ^ (x << 1);
        let y = w3 ^ (w3 >> 1) ^ x;
        let odd = all_ones_if_odd(y);
        self.state = [w1, w2 ^ (MAT1 & odd), x ^ (y << 10) ^ (MAT2 & odd), y];
    }
}

#[inline]
fn all_ones_if_odd(x: u32) -> u32 {
    (x & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use serde_json::Value;

    #[test]
    fn numbers_are_those_of_the_vectors() {
        let vectors: Value =
            serde_json::from_str(include_str!("../tests/vectors/rfc8681.json")).unwrap();
        let sequences = vectors["tinymt32"]["sequences"].as_array().unwrap();
        assert!(!sequences.is_empty());
        for sequence in sequences {
            let list = |key: &str| -> Vec<u64> {
                let numbers = sequence[key].as_array().unwrap();
                numbers.iter().map(|n| n.as_u64().unwrap()).collect()
            };
            let seed = sequence["seed"].as_u64().unwrap() as u32;
            let mut generator = TinyMt32::new(seed);
            let numbers: Vec<u64> = (0..50).map(|_| generator.next().into()).collect();
            assert_eq!(numbers, list("u32"));
            // What RFC 8681 makes of them: the low bits.
            let low = |bits: u64| -> Vec<u64> { numbers.iter().map(|n| n & bits).collect() };
            assert_eq!(low(0xF), list("rand16"));
            assert_eq!(low(0xFF), list("rand256"));
            if !cfg!(miri) {
                let last = (50..10_000).map(|_| generator.next()).last();
                assert_eq!(last.map(u64::from), sequence["u32_number_10000"].as_u64());
            }
        }
    }
}
