//! The sent data: pseudo-random numbers that follow from the seed and the symbol.

/// The next of a sequence of 64-bit numbers (SplitMix64, Steele et al. 2014).
pub(super) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Fills `adu` with the ADU of a symbol.
pub(super) fn fill(seed: u64, symbol: u64, adu: &mut [u8]) {
    let mut state = seed ^ symbol.rotate_left(32);
    for octets in adu.chunks_mut(8) {
        let number = next(&mut state).to_le_bytes();
        octets.copy_from_slice(&number[..octets.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adus_differ_by_seed_and_symbol_and_are_repeatable() {
        let adu = |seed, symbol| {
            let mut adu = [0; 13];
            fill(seed, symbol, &mut adu);
            adu
        };
        assert_eq!(adu(1, 2), adu(1, 2));
        assert!(adu(1, 2) != adu(1, 3) && adu(1, 2) != adu(2, 2));
        assert_ne!(adu(1, 2)[..5], adu(1, 2)[8..]);
    }
}
