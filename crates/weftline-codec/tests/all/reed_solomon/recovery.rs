//! Any k shards recover the others.

use proptest::prelude::*;
use weftline_codec::field::Arithmetic;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

use super::support::{BOTH, codeword, recovers_all, slices_mut};

#[test]
fn every_erasure_pattern_of_small_codes_is_recovered() {
    for bits in 1..=8 {
        let field = Arithmetic::with_bits(bits).unwrap();
        let length = field.whole_groups(9);
        for construction in BOTH {
            for k in 1..=6 {
                for m in 1..=5 {
                    if k + m > construction.max_shards(field) {
                        continue;
                    }
                    let code = Code::with_field(construction, field, k, m).unwrap();
                    let shards = codeword(&code, length);
                    let mut decoder = Decoder::new(code);
                    for pattern in 0..1_u32 << (k + m) {
                        if pattern.count_ones() as usize >= k {
                            let present: Vec<usize> =
                                (0..k + m).filter(|i| pattern >> i & 1 == 1).collect();
                            recovers_all(&mut decoder, &shards, &present);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sixteen_shards_over_gf_16_survive_every_erasure_pattern() {
    let field = Arithmetic::with_bits(4).unwrap();
    for k in [3, 10, 13] {
        let code = Code::with_field(Construction::Cauchy, field, k, 16 - k).unwrap();
        let shards = codeword(&code, 8);
        let mut decoder = Decoder::new(code);
        for pattern in 0..1_u32 << 16 {
            if pattern.count_ones() as usize == k {
                let present: Vec<usize> = (0..16).filter(|i| pattern >> i & 1 == 1).collect();
                recovers_all(&mut decoder, &shards, &present);
            }
        }
    }
}

#[test]
fn the_largest_codes_recover_from_their_repairs_alone() {
    for (construction, most) in [(Construction::Rfc5510, 255), (Construction::Cauchy, 256)] {
        for k in [1, 2, 127, 128, 200, most - 1] {
            let code = Code::new(construction, k, most - k).unwrap();
            let shards = codeword(&code, 5);
            let mut decoder = Decoder::new(code);
            // The last k: as few source shards as possible.
            let present: Vec<usize> = (most - k..most).collect();
            recovers_all(&mut decoder, &shards, &present);
        }
    }
}

#[test]
fn only_wanted_shards_are_made_in_the_wanted_order() {
    for construction in BOTH {
        let code = Code::new(construction, 10, 6).unwrap();
        let shards = codeword(&code, 100);
        let mut decoder = Decoder::new(code);
        // Three sources are missing, and five repairs are available.
        let present = [15, 0, 1, 3, 5, 6, 8, 9, 14, 13, 11, 12];
        let wanted = [10, 7, 2, 7];
        let mut out = vec![vec![0xEE; 100]; wanted.len()];
        let received = present.iter().map(|&i| (i, shards[i].as_slice()));
        decoder
            .reconstruct(received, &wanted, &mut slices_mut(&mut out))
            .unwrap();
        for (index, shard) in wanted.iter().zip(&out) {
            assert_eq!(shard, &shards[*index]);
        }
    }
}

#[test]
fn empty_shards_are_accepted() {
    let code = Code::new(Construction::Rfc5510, 4, 3).unwrap();
    let shards = codeword(&code, 0);
    recovers_all(&mut Decoder::new(code), &shards, &[6, 5, 4, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_k_shards_of_a_large_code_recover_the_others(
        cauchy in any::<bool>(),
        bits in 4..=8_u32,
        sources in 0.0..1.0_f64,
        repairs in 0.0..1.0_f64,
        spare in 0..3_usize,
        length in 0..200_usize,
        seed in any::<u64>(),
    ) {
        let construction = BOTH[usize::from(cauchy)];
        let field = Arithmetic::with_bits(bits).unwrap();
        let most = construction.max_shards(field);
        let k = 1 + (sources * (most - 2) as f64) as usize;
        let m = 1 + (repairs * (most - k - 1) as f64) as usize;
        let code = Code::with_field(construction, field, k, m).unwrap();
        let shards = codeword(&code, field.whole_groups(length));
        let mut present: Vec<usize> = (0..k + m).collect();
        let mut state = seed;
        for i in (1..present.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            present.swap(i, (state >> 33) as usize % (i + 1));
        }
        present.truncate((k + spare).min(k + m));
        recovers_all(&mut Decoder::new(code), &shards, &present);
    }
}
