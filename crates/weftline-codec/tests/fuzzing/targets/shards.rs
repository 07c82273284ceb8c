//! Reed-Solomon codes with any losses.

use std::collections::BTreeSet;

use weftline_codec::reed_solomon::{Code, Construction, Decoder};

use super::input::Input;

/// Any code, any shards received, any wanted: k honest shards recover all
/// others exactly; wrong requests are refused, and nothing is written.
pub(crate) fn shards(data: &[u8]) {
    let mut input = Input::new(data);
    let field = input.field();
    let construction = match input.flag() {
        true => Construction::Cauchy,
        false => Construction::Rfc5510,
    };
    let (k, m) = (input.below(40), input.below(24));
    let made = Code::with_field(construction, field, k, m);
    let possible = k > 0 && m > 0 && k + m <= construction.max_shards(field);
    assert_eq!(made.is_ok(), possible, "{construction:?} {k} + {m}");
    let Ok(code) = made else { return };
    let size = field.whole_groups(input.below(80));
    let seed = input.byte();
    let source = |i: usize| {
        let byte = move |j: usize| {
            seed.wrapping_add((i * 31) as u8)
                .wrapping_mul((j | 1) as u8)
        };
        // Elements of small fields are packed, so all bytes are valid.
        (0..size).map(byte).collect::<Vec<u8>>()
    };
    let mut all: Vec<Vec<u8>> = (0..k).map(source).collect();
    all.resize(k + m, vec![0xEE; size]);
    let (sources, repairs) = all.split_at_mut(k);
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let mut repairs: Vec<&mut [u8]> = repairs.iter_mut().map(Vec::as_mut_slice).collect();
    assert_eq!(code.encode(&sources, &mut repairs), Ok(()));
    let mut decoder = Decoder::new(code);
    for _ in 0..4 {
        if input.is_empty() {
            break;
        }
        let mut received: Vec<(usize, &[u8])> = Vec::new();
        let mut wanted = Vec::new();
        for (index, shard) in all.iter().enumerate() {
            match input.byte() {
                0..=150 => received.push((index, shard)),
                151..=220 => wanted.push(index),
                _ => {}
            }
        }
        let turn = input.below(received.len());
        received.rotate_left(turn);
        // Sometimes a request is wrong.
        let mut shortened = false;
        match input.byte() {
            0..=15 => {
                let index = input.below(k + m + 3);
                received.push((index, all.get(index).unwrap_or(&all[0])));
            }
            16..=31 => wanted.push(input.below(k + m + 3)),
            32..=40 if size > 0 && received.len() > 1 => {
                let at = input.below(received.len());
                received[at].1 = &received[at].1[1..];
                shortened = true;
            }
            _ => {}
        }
        let mut present = BTreeSet::new();
        let distinct = received.iter().all(|(index, _)| present.insert(*index));
        let all_missing = wanted.iter().all(|index| !present.contains(index));
        let in_range = present.iter().chain(&wanted).all(|index| *index < k + m);
        let right = distinct && all_missing && in_range && !shortened && received.len() >= k;

        let mut made = vec![vec![0xAA; size]; wanted.len()];
        let mut out: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        let result = decoder.reconstruct(received.iter().copied(), &wanted, &mut out);
        assert_eq!(result.is_ok(), right, "{result:?}: {present:?}, {wanted:?}");
        if right {
            let expected = wanted.iter().map(|index| &all[*index]);
            assert!(made.iter().eq(expected));
        } else {
            assert!(made.iter().flatten().all(|byte| *byte == 0xAA));
        }
    }
}
