//! The number of symbols that recover a block agrees with the theory of random
//! matrices.
//!
//! The numbers are exact if the coding vectors are uniform over all non-zero
//! vectors: a block of K symbols in GF(Q) is recovered from N symbols with the
//! probability
//!
//! ```text
//! sum over t = 0..N-K of (-1)^t C(N, t) prod over i < K of (Q^(N-t) - Q^i),
//! divided by (Q^K - 1)^N
//! ```
//!
//! and from `(1 - Q^-K) * sum over i < K of 1 / (1 - Q^(i-K))` symbols on
//! average (after Garrido et al., "Providing reliable services over wireless
//! networks using a low overhead random linear coding scheme", with the factor
//! its equation 1 lacks). The systematic code in GF(2) is UDP-RC (Chong et al.):
//! with m symbols missing, m + x uniform repairs recover it with the probability
//! `prod over i < m of (1 - 2^(i-m-x))`.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{BlockDecoder, BlockEncoder};

/// A block with symbols of one byte, and its sender.
struct Sender {
    block: BlockEncoder,
    field: Arithmetic,
    symbols: usize,
    key: u32,
    repair: Vec<u8>,
    vector: Vec<u8>,
}

impl Sender {
    fn new(bits: u32, symbols: usize) -> Self {
        let field = Arithmetic::with_bits(bits).unwrap();
        let mut block = BlockEncoder::with_field(symbols, 1, field);
        for index in 0..symbols {
            block.push(&[index as u8]).unwrap();
        }
        Self {
            block,
            field,
            symbols,
            key: 0,
            repair: Vec::new(),
            vector: vec![0; symbols],
        }
    }

    fn receiver(&self) -> BlockDecoder {
        BlockDecoder::with_field(self.symbols, 1, self.field)
    }

    /// Gives the receiver another uniform repair symbol; not all zeros if
    /// asked.
    fn repair(&mut self, receiver: &mut BlockDecoder, none_of_zeros: bool) {
        loop {
            self.key += 1;
            let coefficients = Coefficients::Uniform { key: self.key };
            coefficients.fill(self.field, &mut self.vector).unwrap();
            if none_of_zeros && self.vector.iter().all(|c| *c == 0) {
                continue;
            }
            self.repair.clear();
            self.block.repair(coefficients, &mut self.repair).unwrap();
            receiver.repair(coefficients, &self.repair).unwrap();
            return;
        }
    }

    fn check(&self, receiver: &BlockDecoder) {
        let payloads = receiver.symbols().unwrap();
        assert!(payloads.eq((0..self.symbols).map(|index| [index as u8])));
    }
}

#[test]
fn a_block_is_recovered_from_repairs_alone_as_often_as_matrices_are_invertible() {
    for (bits, symbols, received, expected, trials) in [
        (1, 4, 6, 0.849_540_740_740_740_7, 20_000),
        (1, 8, 10, 0.778_321_801_145_585_4, 20_000),
        (2, 4, 5, 0.922_765_963_051_208_7, 20_000),
        (4, 16, 17, 0.995_834_354_559_576_7, 10_000),
        (8, 64, 64, 0.996_078_491_211_847, 1_500),
        (1, 64, 70, 0.984_456_198_745_208_3, 1_500),
    ] {
        let mut sender = Sender::new(bits, symbols);
        let mut receiver = sender.receiver();
        let mut recovered = 0;
        for _ in 0..trials {
            receiver.clear();
            for _ in 0..received {
                sender.repair(&mut receiver, true);
            }
            if receiver.is_complete() {
                recovered += 1;
                sender.check(&receiver);
            }
        }
        let share = f64::from(recovered) / f64::from(trials);
        let deviation = (expected * (1.0 - expected) / f64::from(trials)).sqrt();
        assert!(
            (share - expected).abs() < 4.0 * deviation,
            "q {bits}, {received} of {symbols}: {share}, not {expected} +- {deviation}"
        );
    }
}

#[test]
fn the_mean_number_of_repairs_that_recover_a_block_agrees_with_theory() {
    for (bits, symbols, expected, trials) in [
        (1, 8, 9.565_272_933_373_247, 10_000),
        (1, 64, 65.606_695_152_415_28, 1_000),
        (2, 16, 16.421_097_682_132_476, 5_000),
        (4, 16, 16.070_848_711_813_73, 5_000),
        (8, 16, 16.003_936_887_487_74, 5_000),
    ] {
        let mut sender = Sender::new(bits, symbols);
        let mut receiver = sender.receiver();
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..trials {
            receiver.clear();
            let mut count = 0.0;
            while !receiver.is_complete() {
                sender.repair(&mut receiver, true);
                count += 1.0;
            }
            sum += count;
            squares += count * count;
        }
        let trials = f64::from(trials);
        let mean = sum / trials;
        let deviation = ((squares / trials - mean * mean) / trials).sqrt();
        assert!(
            (mean - expected).abs() < 4.0 * deviation,
            "q {bits}, {symbols} symbols: {mean}, not {expected} +- {deviation}"
        );
    }
}

#[test]
fn a_systematic_rateless_code_in_gf2_needs_the_excess_of_udp_rc() {
    const LOSS: f64 = 0.1;
    let mut state = 1_u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // Expected shares from 200,000 trials of another program.
    for (symbols, excess, expected, trials) in [
        (100, 10, 0.998_94, 4_000),
        (100, 0, 0.290_80, 4_000),
        (200, 5, 0.969_30, 2_000),
        (10, 10, 0.999_58, 20_000),
    ] {
        let mut sender = Sender::new(1, symbols);
        let mut receiver = sender.receiver();
        let mut recovered = 0;
        for _ in 0..trials {
            receiver.clear();
            for index in 0..symbols {
                if random() >= LOSS {
                    receiver.source(index, &[index as u8]).unwrap();
                }
            }
            for _ in 0..receiver.unknowns() + excess {
                sender.repair(&mut receiver, false);
            }
            if receiver.is_complete() {
                recovered += 1;
                sender.check(&receiver);
            }
        }
        let trials = f64::from(trials);
        let share = f64::from(recovered) / trials;
        // The tolerance covers both programs.
        let variance = expected * (1.0 - expected) * (1.0 / trials + 1.0 / 200_000.0);
        assert!(
            (share - expected).abs() < 4.0 * variance.sqrt(),
            "{symbols} symbols and {excess} more: {share}, not {expected}"
        );
    }
}

#[test]
fn a_receiver_never_needs_to_know_how_many_repairs_will_come() {
    let mut sender = Sender::new(8, 20);
    let mut receiver = sender.receiver();
    let mut sent = 0;
    // Only one packet in a hundred arrives.
    while !receiver.is_complete() {
        sent += 1;
        if sent % 100 == 0 {
            sender.repair(&mut receiver, false);
        } else {
            sender.key += 1;
        }
    }
    assert!((2_000..=2_300).contains(&sent), "{sent}");
    sender.check(&receiver);
}
