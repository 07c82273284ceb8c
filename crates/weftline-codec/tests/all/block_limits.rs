//! Any input to a block decoder costs no more than documented, and is refused
//! where it is detectably wrong.

use proptest::prelude::*;
use weftline_codec::coefficients::{Coefficients, CoefficientsError};
use weftline_codec::field::Arithmetic;
use weftline_codec::{BlockDecoder, BlockEncoder, DecodeError, Outcome};

use crate::blocks::{has_all, payloads};

fn field(bits: u32) -> Arithmetic {
    Arithmetic::with_bits(bits).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_input_makes_a_decoder_panic_or_exceed_its_memory(
        bits in 1..=8_u32,
        k in 0..12_usize,
        inputs in proptest::collection::vec(
            (0..14_usize, proptest::collection::vec(any::<u8>(), 0..30), any::<u32>(), 0..6),
            0..80,
        ),
    ) {
        let mut decoder = BlockDecoder::with_field(k, 20, field(bits));
        let limit = 2 * k * (20 + 512) + 12 * k * k + 1024;
        for (index, bytes, key, kind) in inputs {
            let known: Vec<bool> = (0..k).map(|i| decoder.symbol(i).is_some()).collect();
            let outcome = match kind {
                0 | 1 => decoder.source(index, &bytes),
                2 => decoder.repair(Coefficients::Uniform { key }, &bytes),
                3 => decoder.repair(key, &bytes),
                4 => decoder.repair(&key.to_le_bytes()[..], &bytes),
                _ => {
                    let vector: Vec<u8> = bytes.iter().cycle().take(k).copied().collect();
                    decoder.repair(Coefficients::Explicit(&vector), &bytes)
                }
            };
            if !matches!(outcome, Ok(_) | Err(DecodeError::Inconsistent { .. })) {
                let now = (0..k).map(|i| decoder.symbol(i).is_some());
                prop_assert!(now.eq(known), "refused, but not without effect");
            }
            prop_assert!(decoder.memory() <= limit, "{} > {limit}", decoder.memory());
            prop_assert!(decoder.rank() <= decoder.unknowns());
            if key % 16 == 0 {
                decoder.clear();
            }
        }
    }
}

#[test]
fn payloads_are_used_in_place_and_their_buffers_come_back() {
    let payloads = payloads(8);
    let packet = |index: usize| {
        let mut packet = vec![0xEE; 12];
        packet.extend_from_slice(&payloads[index]);
        packet.extend_from_slice(b"tag");
        packet
    };
    let place = |index: usize| 12..12 + payloads[index].len();
    let mut block = BlockEncoder::new(8, 100);
    for index in 0..8 {
        assert_eq!(block.push_owned(packet(index), place(index)), Ok(index));
    }
    let repairs = block.repairs(2).unwrap();
    let mut decoder = BlockDecoder::new(8, 100);
    let mut addresses = Vec::new();
    for (index, payload) in payloads.iter().enumerate().skip(2) {
        let packet = packet(index);
        addresses.push(packet.as_ptr());
        let outcome = decoder.source_owned(index, packet, place(index));
        assert_eq!(outcome, Ok(Outcome::Innovative));
        assert_eq!(decoder.symbol(index), Some(payload.as_slice()));
    }
    assert_eq!(decoder.reclaim(), None);
    for (key, repair) in repairs.iter().enumerate() {
        decoder.repair(key as u32, repair).unwrap();
    }
    let all = payloads.iter().map(Vec::as_slice);
    assert!(decoder.symbols().unwrap().eq(all));
    // A useless buffer comes back at once, and so does one with an impossible
    // range.
    assert_eq!(
        decoder.source_owned(3, packet(3), place(3)),
        Ok(Outcome::Redundant)
    );
    assert_eq!(decoder.reclaim(), Some(packet(3)));
    for payload in [1..5, 12..99] {
        let (start, end) = (payload.start, payload.end);
        let buffer = packet(0).len();
        assert_eq!(
            decoder.source_owned(0, packet(0), payload),
            Err(DecodeError::PayloadRange { start, end, buffer })
        );
        assert_eq!(decoder.reclaim(), Some(packet(0)));
    }
    decoder.clear();
    // A much too large buffer is not kept.
    let mut large = packet(0);
    large.reserve(5000);
    decoder.source_owned(0, large, place(0)).unwrap();
    assert!(
        decoder
            .reclaim()
            .is_some_and(|buffer| buffer.capacity() > 5000)
    );
    assert_eq!(decoder.symbol(0), Some(payloads[0].as_slice()));
    let mut returned: Vec<_> = std::iter::from_fn(|| decoder.reclaim())
        .map(|buffer| buffer.as_ptr())
        .collect();
    returned.sort_unstable();
    addresses.sort_unstable();
    assert_eq!(returned, addresses);
}

#[test]
fn few_buffers_wait_for_a_caller_who_does_not_reclaim_them() {
    let mut decoder = BlockDecoder::new(8, 100);
    for _ in 0..10 {
        for index in 0..8 {
            let taken = decoder.source_owned(index, vec![7; 50], 2..50);
            assert!(taken.is_ok());
        }
    }
    let waiting = std::iter::from_fn(|| decoder.reclaim()).count();
    assert!((1..=16).contains(&waiting), "{waiting}");
}

#[test]
fn impossible_input_is_refused_with_the_reason() {
    let mut decoder = BlockDecoder::with_field(3, 10, field(3));
    assert_eq!(
        decoder.source(3, b"x"),
        Err(DecodeError::OutOfSpan { end: 4, limit: 3 })
    );
    assert_eq!(
        decoder.source(usize::MAX, b"x"),
        Err(DecodeError::OutOfSpan {
            end: (usize::MAX as u64).saturating_add(1),
            limit: 3
        })
    );
    assert_eq!(
        decoder.source(0, &[0; 11]),
        Err(DecodeError::SymbolTooLong { got: 11, limit: 10 })
    );
    let group = field(3).group();
    let max = field(3).whole_groups(12);
    let length = |got, min| DecodeError::RepairLength { got, min, max };
    let data = vec![0; max + group];
    assert_eq!(decoder.repair(0, &data[..1]), Err(length(1, 2)));
    assert_eq!(decoder.repair(0, &data), Err(length(max + group, 2)));
    assert_eq!(
        decoder.repair(0, &data[..4]),
        Err(DecodeError::RepairGroups { got: 4, group })
    );
    assert_eq!(
        decoder.repair(&[1, 8, 1][..], &data[..group]),
        Err(DecodeError::Coefficients(CoefficientsError::NotAnElement {
            position: 1,
            got: 8,
            bits: 3
        }))
    );
    assert_eq!(
        decoder.repair(&[1, 1][..], &data[..group]),
        Err(DecodeError::Coefficients(CoefficientsError::Length {
            got: 2,
            expected: 3
        }))
    );
    let mut decoder = BlockDecoder::new(3, 10);
    decoder.source(0, &[7; 9]).unwrap();
    // This repair contains a longer symbol and is refused; one without it is
    // not.
    assert_eq!(
        decoder.repair(&[1, 1, 0][..], &[0; 3]),
        Err(DecodeError::RepairLength {
            got: 3,
            min: 11,
            max: 12
        })
    );
    assert_eq!(
        decoder.repair(&[0, 1, 1][..], &[0; 3]),
        Ok(Outcome::Innovative)
    );
    assert_eq!(decoder.rank(), 1);
    assert_eq!(
        BlockDecoder::new(0, 10).repair(0, &[0; 4]),
        Err(DecodeError::WindowEmpty)
    );
    assert!(BlockDecoder::new(0, 10).is_complete());
}

#[test]
fn one_forged_repair_corrupts_no_symbol() {
    let payloads = payloads(30);
    let block = BlockEncoder::from_slices(&payloads).unwrap();
    let mut decoder = BlockDecoder::new(30, 100);
    for (index, payload) in payloads.iter().enumerate().skip(4) {
        decoder.source(index, payload).unwrap();
    }
    decoder.repair(0, &[0xA5; 48]).unwrap();
    let repairs = block.repairs(8).unwrap();
    for key in 1..3 {
        decoder.repair(key, &repairs[key as usize]).unwrap();
    }
    assert_eq!(
        decoder.repair(3, &repairs[3]),
        Err(DecodeError::Inconsistent { esi: 0 })
    );
    assert_eq!((decoder.unknowns(), decoder.rank()), (4, 0));
    assert_eq!(decoder.stats().inconsistent, 4);
    for key in 4..8 {
        decoder.repair(key, &repairs[key as usize]).unwrap();
    }
    assert!(has_all(&decoder, &payloads));
}

#[test]
fn a_late_source_symbol_removes_repairs_that_are_too_short_for_it() {
    let payloads = payloads(6);
    let block = BlockEncoder::from_slices(&payloads).unwrap();
    let repairs = block.repairs(3).unwrap();
    let mut decoder = BlockDecoder::new(6, 100);
    decoder.repair(77, &[3; 20]).unwrap();
    decoder.repair(0, &repairs[0]).unwrap();
    assert_eq!(decoder.rank(), 2);
    assert_eq!(decoder.source(0, &payloads[0]), Ok(Outcome::Innovative));
    assert_eq!((decoder.rank(), decoder.stats().inconsistent), (1, 1));
    for (index, payload) in payloads.iter().enumerate().take(3).skip(1) {
        decoder.source(index, payload).unwrap();
    }
    for key in 1..3 {
        decoder.repair(key, &repairs[key as usize]).unwrap();
    }
    assert!(has_all(&decoder, &payloads));
}
