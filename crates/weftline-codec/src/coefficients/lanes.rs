//! The random lanes of 16 bits from which coding vectors are made. The [parent
//! module](super) specifies them.

const INCREMENT: u64 = 0x9E37_79B9_7F4A_7C15;
/// Lanes cut from one output of the generator.
pub(super) const LANES: usize = 4;

/// The lanes of a key, from the start of an output of the generator on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    state: u64,
}

impl Lanes {
    /// The lanes from number `LANES * word` on.
    #[inline]
    pub(super) fn from_word(key: u32, word: usize) -> Self {
        let steps = (word as u64).wrapping_add(1);
        let state = u64::from(key).wrapping_add(steps.wrapping_mul(INCREMENT));
        Self { state }
    }

    #[inline]
    pub(super) fn new(key: u32) -> Self {
        Self::from_word(key, 0)
    }

    /// The next [`LANES`] lanes.
    #[inline]
    pub(super) fn next(&mut self) -> [u16; LANES] {
        let word = mix(self.state);
        self.state = self.state.wrapping_add(INCREMENT);
        core::array::from_fn(|i| (word >> (16 * i)) as u16)
    }
}

/// Calls `lane` with the first `length` lanes of a key and their positions.
#[inline]
pub(super) fn each(key: u32, length: usize, mut lane: impl FnMut(usize, u16)) {
    let mut lanes = Lanes::new(key);
    let whole = length - length % LANES;
    for position in (0..whole).step_by(LANES) {
        for (i, value) in lanes.next().into_iter().enumerate() {
            lane(position + i, value);
        }
    }
    for (position, value) in (whole..length).zip(lanes.next()) {
        lane(position, value);
    }
}

/// The element of GF(2^`bits`), other than 0, that a lane stands for.
#[inline]
pub(super) fn scaled(lane: u16, bits: u32) -> u8 {
    let nonzero = (1_u32 << bits) - 1;
    // At most (2^16 - 1) * (2^q - 1) / 2^16 + 1 = 2^q - 1.
    ((u32::from(lane) * nonzero) >> 16) as u8 + 1
}

#[inline]
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_yields_its_published_first_outputs_for_seed_1234567() {
        let words: [u64; 3] = core::array::from_fn(|word| {
            let lanes = Lanes::from_word(1_234_567, word).next();
            let parts = lanes.iter().rev();
            parts.fold(0, |word, lane| word << 16 | u64::from(*lane))
        });
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(words, published);
    }
}
