//! Blocks are recovered from every sufficient set of symbols.

use crate::dense::Dense;
use proptest::prelude::*;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{
    BlockDecoder, BlockEncoder, DecoderConfig, DecoderStats, Outcome, PushError, RepairError,
    WindowDecoder,
};

/// A packet that arrives at a decoder.
#[derive(Clone, Debug)]
enum Arrival {
    Source(usize),
    NonZero(u32),
    Uniform(u32),
    Sparse(u32, u8),
    Fading(u32, u16),
    /// A seed may make a vector with few elements other than 0.
    Explicit(u64),
}

fn arrival() -> impl Strategy<Value = Arrival> {
    prop_oneof![
        6 => any::<usize>().prop_map(Arrival::Source),
        1 => any::<u32>().prop_map(Arrival::NonZero),
        3 => any::<u32>().prop_map(Arrival::Uniform),
        2 => (any::<u32>(), 0..=15_u8).prop_map(|(key, dt)| Arrival::Sparse(key, dt)),
        2 => (any::<u32>(), 0..9_u16).prop_map(|(key, dense)| Arrival::Fading(key, dense)),
        2 => any::<u64>().prop_map(Arrival::Explicit),
    ]
}

fn field(bits: u32) -> Arithmetic {
    Arithmetic::with_bits(bits).unwrap()
}

fn encoder(payloads: &[Vec<u8>], field: Arithmetic) -> BlockEncoder {
    let mut block = BlockEncoder::with_field(payloads.len(), 100, field);
    for payload in payloads {
        block.push(payload).unwrap();
    }
    block
}

pub(crate) fn payloads(symbols: usize) -> Vec<Vec<u8>> {
    (0..symbols)
        .map(|i| (0..40 + i % 7).map(|j| (i * 37 + j * 11) as u8).collect())
        .collect()
}

/// The decoder knows the whole block, and these are its symbols.
pub(crate) fn has_all(decoder: &BlockDecoder, payloads: &[Vec<u8>]) -> bool {
    let symbols = decoder.symbols().unwrap();
    symbols.eq(payloads.iter().map(Vec::as_slice))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_decoder_of_any_field_knows_what_dense_elimination_knows(
        bits in 1..=8_u32,
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 1..24),
        arrivals in proptest::collection::vec(arrival(), 0..60),
    ) {
        let (field, k) = (field(bits), payloads.len());
        let (block, dense) = (encoder(&payloads, field), Dense::new(field));
        let mut decoder = BlockDecoder::with_field(k, 50, field);
        let mut received: Vec<Vec<u8>> = Vec::new();
        let mut sources = vec![false; k];
        let mut rank = 0;
        let mut counts = DecoderStats::default();
        for arrival in arrivals {
            let is_source = matches!(arrival, Arrival::Source(_));
            let mut vector = vec![0; k];
            let mut seeded = vec![0; k];
            let outcome = if let Arrival::Source(index) = arrival {
                let index = index % k;
                vector[index] = 1;
                sources[index] = true;
                decoder.source(index, &payloads[index])
            } else {
                let coefficients = match arrival {
                    Arrival::NonZero(key) => Coefficients::NonZero { key },
                    Arrival::Uniform(key) => Coefficients::Uniform { key },
                    Arrival::Sparse(key, density_threshold) => {
                        Coefficients::Sparse { key, density_threshold }
                    }
                    Arrival::Fading(key, dense) => Coefficients::Fading { key, dense },
                    Arrival::Explicit(seed) => {
                        for shift in 0..3 {
                            let bits = (seed >> (20 * shift)) as usize;
                            seeded[bits % k] = (bits >> 10) as u8 & (field.order() - 1) as u8;
                        }
                        Coefficients::Explicit(&seeded)
                    }
                    Arrival::Source(_) => unreachable!(),
                };
                coefficients.fill(field, &mut vector).unwrap();
                let mut repair = Vec::new();
                block.repair(coefficients, &mut repair).unwrap();
                decoder.repair(coefficients, &repair)
            };
            received.push(vector);
            let before = std::mem::replace(&mut rank, dense.rank(received.clone()));
            let expected = if rank > before { Outcome::Innovative } else { Outcome::Redundant };
            prop_assert_eq!(outcome, Ok(expected));
            *match (is_source, expected) {
                (true, Outcome::Innovative) => &mut counts.sources,
                (true, Outcome::Redundant) => &mut counts.redundant_sources,
                (false, Outcome::Innovative) => &mut counts.repairs,
                (false, Outcome::Redundant) => &mut counts.redundant_repairs,
            } += 1;
            prop_assert_eq!(decoder.deficit(), k - rank);
            prop_assert_eq!(decoder.is_complete(), rank == k);
            for (index, payload) in payloads.iter().enumerate() {
                let known = rank == k || sources[index];
                prop_assert_eq!(decoder.symbol(index), known.then_some(payload.as_slice()));
            }
            prop_assert_eq!(decoder.unknowns(), decoder.missing().count());
        }
        let known: Vec<usize> = std::iter::from_fn(|| decoder.next_known()).collect();
        let mut unique = known.clone();
        unique.sort_unstable();
        unique.dedup();
        prop_assert_eq!(unique.len(), known.len());
        prop_assert_eq!(known.len(), k - decoder.unknowns());
        // A source symbol may be redundant before it is known.
        counts.recovered = decoder.stats().recovered;
        prop_assert_eq!(decoder.stats(), &counts);
    }
}

#[test]
fn repairs_alone_recover_a_block() {
    let payloads: Vec<Vec<u8>> = (0..100).map(|i| vec![i; usize::from(i) * 3]).collect();
    let block = BlockEncoder::from_slices(&payloads).unwrap();
    let mut decoder = BlockDecoder::new(100, 300);
    // One in 255 repairs is redundant.
    for key in 1000..1103 {
        let mut repair = Vec::new();
        block.repair(key, &mut repair).unwrap();
        decoder.repair(key, &repair).unwrap();
    }
    assert!(decoder.is_complete());
    assert!(has_all(&decoder, &payloads));
}

#[test]
fn a_window_decoder_takes_the_same_symbols() {
    let payloads = payloads(20);
    let block = BlockEncoder::from_slices(&payloads).unwrap();
    let mut window = WindowDecoder::new(DecoderConfig::new(20, 100, 20, 20));
    for (index, payload) in payloads.iter().enumerate().skip(3) {
        window.source(index as u64, payload).unwrap();
    }
    for (key, repair) in block.repairs(3).unwrap().iter().enumerate() {
        window.repair(0..20, key as u32, repair).unwrap();
    }
    assert_eq!(window.unknowns(), 0);
    assert_eq!(window.symbol(1), Some(payloads[1].as_slice()));
}

#[test]
fn a_cleared_encoder_makes_the_next_block() {
    let mut block = BlockEncoder::new(2, 10);
    assert_eq!(
        block.repair(0, &mut Vec::new()),
        Err(RepairError::EmptyWindow)
    );
    for round in 0..3_u8 {
        assert_eq!(block.push(&[round; 4]), Ok(0));
        assert_eq!(block.push(&[round; 9]), Ok(1));
        assert_eq!(block.push(b"full"), Err(PushError::Full { capacity: 2 }));
        assert_eq!(block.symbol(0), Some(&[round; 4][..]));
        let mut decoder = BlockDecoder::new(2, 10);
        decoder.source(0, &[round; 4]).unwrap();
        decoder.repair(0, &block.repairs(1).unwrap()[0]).unwrap();
        assert_eq!(decoder.symbol(1), Some(&[round; 9][..]));
        block.clear();
        assert!(block.is_empty());
    }
}

#[test]
fn a_decoder_that_is_reset_decodes_blocks_of_other_sizes() {
    let mut decoder = BlockDecoder::new(3, 100);
    // An unfinished block.
    decoder.repair(0, &[1; 20]).unwrap();
    for symbols in [5, 1, 30, 2] {
        decoder.reset(symbols);
        assert_eq!((decoder.len(), decoder.rank()), (symbols, 0));
        let payloads = payloads(symbols);
        let block = BlockEncoder::from_slices(&payloads).unwrap();
        let mut key = 0;
        while !decoder.is_complete() {
            let mut repair = Vec::new();
            block.repair(key, &mut repair).unwrap();
            decoder.repair(key, &repair).unwrap();
            key += 1;
        }
        assert!(
            decoder
                .symbols()
                .unwrap()
                .eq(payloads.iter().map(Vec::as_slice))
        );
        assert_eq!(decoder.next_known(), Some(0));
    }
}
