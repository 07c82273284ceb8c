//! Blocks are recovered from what suffices to recover them.

use proptest::prelude::*;
use weftline_codec::{BlockDecoder, BlockEncoder, DecodeError, Outcome, PushError, RepairError};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_innovative_symbols_as_many_as_the_block_has_recover_it(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 1..40),
        order in any::<u64>(),
    ) {
        let block = BlockEncoder::from_slices(&payloads).unwrap();
        let repairs = block.repairs(payloads.len() as u32 + 5).unwrap();
        // Sources and repairs in any order: what comes later is "lost".
        let mut arrivals: Vec<usize> = (0..payloads.len() + repairs.len()).collect();
        arrivals.sort_by_key(|i| (*i as u64 + 1).wrapping_mul(order | 1).rotate_left(29));
        let mut decoder = BlockDecoder::new(payloads.len(), 50);
        let mut innovative = 0;
        for arrival in arrivals {
            prop_assert_eq!(decoder.deficit(), payloads.len() - innovative);
            prop_assert_eq!(decoder.is_complete(), innovative == payloads.len());
            let outcome = if arrival < payloads.len() {
                decoder.source(arrival, &payloads[arrival])
            } else {
                let key = arrival - payloads.len();
                decoder.repair(key as u32, &repairs[key])
            };
            innovative += usize::from(outcome == Ok(Outcome::Innovative));
        }
        prop_assert!(decoder.is_complete());
        prop_assert!(decoder.symbols().unwrap().eq(payloads.iter().map(Vec::as_slice)));
        let mut known: Vec<usize> = std::iter::from_fn(|| decoder.next_known()).collect();
        known.sort_unstable();
        prop_assert!(known.into_iter().eq(0..payloads.len()));
    }
}

#[test]
fn nothing_but_repairs_recovers_a_block() {
    let payloads: Vec<Vec<u8>> = (0..100).map(|i| vec![i; usize::from(i) * 3]).collect();
    let block = BlockEncoder::from_slices(&payloads).unwrap();
    let mut decoder = BlockDecoder::new(100, 300);
    // All but one in 255 repairs are innovative.
    for key in 1000..1103 {
        let mut repair = Vec::new();
        block.repair(key, &mut repair).unwrap();
        decoder.repair(key, &repair).unwrap();
    }
    assert!(decoder.is_complete());
    assert!(
        decoder
            .symbols()
            .unwrap()
            .eq(payloads.iter().map(Vec::as_slice))
    );
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
fn a_symbol_outside_of_the_block_is_refused() {
    let error = DecodeError::OutOfSpan { end: 4, limit: 3 };
    assert_eq!(BlockDecoder::new(3, 10).source(3, b"x"), Err(error));
}
