//! A relay makes exact new repair symbols from the packets it receives.

use crate::dense::Dense;
use proptest::prelude::*;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, Outcome, Recoder, RepairError, WindowEncoder};

fn field(bits: u32) -> Arithmetic {
    Arithmetic::with_bits(bits).unwrap()
}

fn payload(esi: u64, size: usize) -> Vec<u8> {
    (0..size)
        .map(|j| (esi as usize * 37 + j * 11 + 5) as u8)
        .collect()
}

/// `sum of vector[i] * coded(i)` for data that hold elements of 1, 4 or 8 bits.
fn combination(dense: &Dense, bits: u32, vector: &[u8], coded: &[Vec<u8>]) -> Vec<u8> {
    let mut sum = vec![0; coded.iter().map(Vec::len).max().unwrap_or(0)];
    let mask = (0xFF_u16 >> (8 - bits)) as u8;
    for (c, coded) in vector.iter().zip(coded) {
        for (sum, byte) in sum.iter_mut().zip(coded) {
            for shift in (0..8).step_by(bits as usize) {
                *sum ^= dense.product(*c, byte >> shift & mask) << shift;
            }
        }
    }
    sum
}

fn coded(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    length.iter().chain(payload).copied().collect()
}

#[derive(Clone, Debug)]
enum Event {
    Source(u64),
    Repair(u64, u64, u32),
    Forget(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..30_u64).prop_map(Event::Source),
        5 => (0..30_u64, 1..12_u64, any::<u32>()).prop_map(|(s, n, key)| Event::Repair(s, n, key)),
        1 => (0..30_u64).prop_map(Event::Forget),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn recoded_symbols_are_the_combinations_of_their_vectors(
        bits in prop_oneof![Just(1), Just(4), Just(8)],
        sizes in proptest::collection::vec(0..30_usize, 42),
        events in proptest::collection::vec(event(), 1..60),
        seed in any::<u32>(),
    ) {
        let (field, dense) = (field(bits), Dense::new(field(bits)));
        let payloads: Vec<Vec<u8>> = sizes.iter().zip(0..).map(|(n, esi)| payload(esi, *n)).collect();
        let symbols: Vec<Vec<u8>> = payloads.iter().map(|p| coded(p)).collect();
        let mut encoder = WindowEncoder::with_field(42, 30, field);
        for payload in &payloads {
            encoder.push(payload).unwrap();
        }
        // There is room for all, so only forgotten symbols are lost.
        let mut relay = Recoder::with_field(42, 42, 30, field);
        let mut received: Vec<Vec<u8>> = Vec::new();
        let mut floor = 0;
        for event in events {
            let mut vector = vec![0; 42];
            let before = relay.rank();
            let outcome = match event {
                Event::Source(esi) => {
                    vector[esi as usize] = 1;
                    relay.source(esi, &payloads[esi as usize])
                }
                Event::Repair(start, symbols, key) => {
                    let window = start..start + symbols;
                    let coefficients = Coefficients::Uniform { key };
                    let part = &mut vector[start as usize..window.end as usize];
                    coefficients.fill(field, part).unwrap();
                    let mut repair = Vec::new();
                    encoder.repair(window.clone(), coefficients, &mut repair).unwrap();
                    relay.repair(window, coefficients, &repair)
                }
                Event::Forget(esi) => {
                    relay.forget_before(esi);
                    floor = floor.max(esi as usize);
                    prop_assert_eq!(relay.first(), floor as u64);
                    // The equations without forgotten symbols remain.
                    let low = received.iter().map(|v| v[..floor].to_vec()).collect();
                    let kept = dense.rank(received.clone()) - dense.rank(low);
                    prop_assert_eq!(relay.rank(), kept);
                    continue;
                }
            };
            let low = vector[..floor].iter().any(|c| *c != 0);
            if low {
                let refused = matches!(outcome, Err(DecodeError::NotHeld { .. }));
                prop_assert!(refused || outcome == Ok(Outcome::Redundant));
                prop_assert_eq!(relay.rank(), before);
                continue;
            }
            received.push(vector);
            let low = received.iter().map(|v| v[..floor].to_vec()).collect();
            let rank = dense.rank(received.clone()) - dense.rank(low);
            prop_assert_eq!(relay.rank(), rank);
            let expected = if rank > before { Outcome::Innovative } else { Outcome::Redundant };
            prop_assert_eq!(outcome, Ok(expected));
        }

        let rank = relay.rank();
        let mut made = Vec::new();
        for key in 0..(rank as u32 + 12) {
            // Existing content stays.
            let (mut vector, mut data) = (vec![9], vec![8, 7]);
            let outcome = relay.recode(seed.wrapping_add(key), &mut vector, &mut data);
            if rank == 0 {
                prop_assert_eq!(outcome, Err(RepairError::EmptyWindow));
                continue;
            }
            let window = outcome.unwrap();
            prop_assert!(window.start >= floor as u64);
            prop_assert_eq!(vector.remove(0), 9);
            prop_assert_eq!(data.drain(..2).collect::<Vec<_>>(), [8, 7]);
            prop_assert_eq!(vector.len() as u64, window.end - window.start);
            let (start, end) = (window.start as usize, window.end as usize);
            let mut expected = combination(&dense, bits, &vector, &symbols[start..end]);
            // It may be longer, by zeros, than the longest symbol it contains.
            let length = expected.len().max(data.len());
            expected.resize(length, 0);
            let contained = vector.iter().zip(&symbols[start..end]);
            let longest = contained.filter(|(c, _)| **c != 0).map(|(_, s)| s.len()).max();
            prop_assert!(data.len() >= longest.unwrap());
            data.resize(length, 0);
            prop_assert_eq!(data, expected);
            let mut whole = vec![0; 42];
            whole[start..end].copy_from_slice(&vector);
            made.push(whole);
        }
        if bits == 8 {
            prop_assert_eq!(dense.rank(made), rank);
        }
    }

    #[test]
    fn no_input_makes_a_relay_panic_or_exceed_its_memory(
        bits in 1..=8_u32,
        limits in (0..9_usize, 0..12_usize),
        inputs in proptest::collection::vec(
            (
                prop_oneof![0..40_u64, any::<u64>()],
                0..14_u64,
                proptest::collection::vec(any::<u8>(), 0..30),
                any::<u32>(),
                0..6,
            ),
            0..100,
        ),
    ) {
        let (n, w) = limits;
        let mut relay = Recoder::with_field(n, w, 20, field(bits));
        let (w, n) = (w.max(1), n.clamp(1, w.max(1)));
        let limit = (n + 1) * (20 + 5 * w + 2 * n + 512) + 1024;
        for (start, symbols, bytes, key, kind) in inputs {
            let window = start..start.saturating_add(symbols);
            let outcome = match kind {
                0 => relay.source(start, &bytes),
                1 => relay.repair(window, key, &bytes),
                2 => relay.repair(window, Coefficients::Explicit(&bytes), &bytes),
                3 => {
                    let elements: Vec<u8> = bytes.iter().cycle().take(symbols as usize)
                        .map(|byte| byte & (field(bits).order() - 1) as u8)
                        .collect();
                    relay.repair(window, Coefficients::Explicit(&elements), &bytes)
                }
                4 if start < 100 => {
                    relay.forget_before(start);
                    continue;
                }
                _ => relay.repair(window, Coefficients::Uniform { key }, &bytes),
            };
            prop_assert!(relay.rank() <= n && relay.memory() <= limit);
            let (mut vector, mut data) = (Vec::new(), Vec::new());
            match relay.recode(key, &mut vector, &mut data) {
                Ok(window) => {
                    prop_assert_eq!(vector.len() as u64, window.end - window.start);
                    prop_assert!(vector.len() <= w && vector.iter().any(|c| *c != 0));
                    prop_assert!(relay.window().start <= window.start);
                    prop_assert!(relay.window().end >= window.end);
                    prop_assert!(data.len() <= field(bits).whole_groups(22));
                }
                Err(_) => prop_assert_eq!(relay.rank(), 0),
            }
            if outcome == Ok(Outcome::Innovative) {
                prop_assert!(relay.rank() > 0);
            }
        }
    }
}

#[test]
fn the_oldest_make_room_for_the_newest() {
    let mut relay = Recoder::new(3, 10, 20);
    for esi in 0..5 {
        assert_eq!(relay.source(esi, b"x"), Ok(Outcome::Innovative));
    }
    assert_eq!((relay.rank(), relay.window()), (3, 2..5));
    assert_eq!(relay.source(3, b"x"), Ok(Outcome::Redundant));
    // So far above the others that none stays within the span.
    assert_eq!(relay.source(1 << 40, b"x"), Ok(Outcome::Innovative));
    assert_eq!(relay.first(), (1 << 40) - 9);
    assert_eq!(relay.rank(), 1);
    assert_eq!(relay.source(4, b"x"), Ok(Outcome::Redundant));
    assert_eq!(
        relay.repair(3..6, 1, &[0; 4]),
        Err(DecodeError::NotHeld {
            start: 3,
            first: (1 << 40) - 9
        })
    );
}

#[test]
fn impossible_input_is_refused_with_the_reason() {
    let mut relay = Recoder::with_field(8, 8, 20, field(3));
    assert_eq!(
        relay.source(0, &[0; 21]),
        Err(DecodeError::SymbolTooLong { got: 21, limit: 20 })
    );
    assert_eq!(
        relay.source(u64::MAX, b"x"),
        Err(DecodeError::OutOfSpan {
            end: u64::MAX,
            limit: u64::MAX
        })
    );
    assert_eq!(
        relay.repair(4..4, 1, &[0; 8]),
        Err(DecodeError::WindowEmpty)
    );
    assert_eq!(
        relay.repair(4..13, 1, &[0; 8]),
        Err(DecodeError::WindowTooLong { got: 9, limit: 8 })
    );
    let group = field(3).group();
    let max = field(3).whole_groups(22);
    let length = |got| DecodeError::RepairLength { got, min: 2, max };
    assert_eq!(relay.repair(4..5, 1, &[0; 1]), Err(length(1)));
    let data = vec![0; max + group];
    assert_eq!(relay.repair(4..5, 1, &data), Err(length(max + group)));
    assert_eq!(
        relay.repair(4..5, 1, &[0; 4]),
        Err(DecodeError::RepairGroups { got: 4, group })
    );
    assert!(matches!(
        relay.repair(4..6, &[1, 8][..], &data[..group]),
        Err(DecodeError::Coefficients(_))
    ));
    // All zeros are redundant, and not an error.
    let zeros = relay.repair(4..6, &[0, 0][..], &data[..group]);
    assert_eq!(zeros, Ok(Outcome::Redundant));
    assert_eq!(relay.first(), 0);
}
