//! For any input of a peer the decoder stays within its limits, names the limit
//! that was hit, and works on.

use std::ops::Range;

use proptest::prelude::*;
use weftline_codec::coefficients::{Coefficients, CoefficientsError};
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

fn decoder() -> WindowDecoder {
    WindowDecoder::new(DecoderConfig::new(32, 20, 8, 16))
}

/// The documented bound on a decoder's memory.
fn memory_bound(config: &DecoderConfig, owned: bool) -> usize {
    let buffer = match owned {
        true => config.max_symbol_size.max(config.max_buffer),
        false => config.max_symbol_size,
    };
    (config.max_span + 2) * (buffer + 320)
        + config.max_unknowns * (config.max_unknowns + 512)
        + 2 * config.max_window
        + 1024
}

/// The observable state of a decoder, without statistics.
fn observe(decoder: &WindowDecoder) -> (Range<u64>, u64, usize, Vec<Option<Vec<u8>>>) {
    let range = decoder.first()..decoder.end();
    let symbols = range.clone().map(|esi| decoder.symbol(esi).map(Into::into));
    let (contiguous, rank) = (decoder.contiguous(), decoder.rank());
    (range.clone(), contiguous, rank, symbols.collect())
}

#[test]
fn source_symbol_longer_than_agreed_is_refused() {
    let error = DecodeError::SymbolTooLong { got: 21, limit: 20 };
    assert_eq!(decoder().source(0, &[0; 21]), Err(error));
    assert_eq!(decoder().source(0, &[0; 20]), Ok(Outcome::Innovative));
}

#[test]
fn symbols_beyond_the_span_are_refused() {
    let mut decoder = decoder();
    let error = |end| Err(DecodeError::OutOfSpan { end, limit: 32 });
    assert_eq!(decoder.source(32, b"x"), error(33));
    assert_eq!(decoder.source(u64::MAX, b"x"), error(u64::MAX));
    assert_eq!(decoder.repair(30..33, 0, &[0; 9]), error(33));
    assert_eq!(decoder.expect(33).unwrap_err(), error(33).unwrap_err());
    decoder.forget_before(1);
    let error = DecodeError::TooManyUnknowns { got: 31, limit: 8 };
    assert_eq!(decoder.source(32, b"x"), Err(error));
}

#[test]
fn more_missing_symbols_than_agreed_are_refused() {
    let mut decoder = decoder();
    let error = DecodeError::TooManyUnknowns { got: 9, limit: 8 };
    assert_eq!(decoder.expect(9), Err(error));
    assert_eq!(decoder.source(9, b"x"), Err(error));
    assert_eq!(decoder.repair(1..9, 0, &[0; 9]), Err(error));
    assert_eq!(decoder.source(8, b"x"), Ok(Outcome::Innovative));
    assert_eq!(decoder.unknowns(), 8);
}

#[test]
fn windows_of_no_symbol_or_too_many_are_refused() {
    let mut decoder = decoder();
    #[expect(clippy::reversed_empty_ranges, reason = "a peer may send it")]
    for empty in [3..3, 3..2] {
        let refused = decoder.repair(empty, 0, &[0; 9]);
        assert_eq!(refused, Err(DecodeError::WindowEmpty));
    }
    let error = DecodeError::WindowTooLong { got: 17, limit: 16 };
    assert_eq!(decoder.repair(0..17, 0, &[0; 9]), Err(error));
    let error = DecodeError::WindowTooLong {
        got: u64::MAX,
        limit: 16,
    };
    assert_eq!(decoder.repair(0..u64::MAX, 0, &[0; 9]), Err(error));
}

#[test]
fn repair_symbols_of_impossible_length_are_refused() {
    let mut decoder = decoder();
    let error = |got, min| Err(DecodeError::RepairLength { got, min, max: 22 });
    assert_eq!(decoder.repair(0..2, 0, &[0]), error(1, 2));
    assert_eq!(decoder.repair(0..2, 0, &[0; 23]), error(23, 2));
    decoder.source(0, &[7; 10]).unwrap();
    // Both with and without new symbols in the window.
    assert_eq!(decoder.repair(0..2, 0, &[0; 11]), error(11, 12));
    assert_eq!(decoder.end(), 1);
    decoder.expect(2).unwrap();
    assert_eq!(decoder.repair(0..2, 0, &[0; 11]), error(11, 12));
    assert_eq!(decoder.rank(), 0);
}

#[test]
fn repair_symbols_that_need_forgotten_symbols_are_refused() {
    let mut decoder = decoder();
    decoder.source(0, b"zero").unwrap();
    decoder.source(2, b"two").unwrap();
    decoder.forget_before(1);
    let error = DecodeError::NotHeld { start: 0, first: 1 };
    assert_eq!(decoder.repair(0..3, 0, &[0; 9]), Err(error));
    assert_eq!(decoder.repair(0..9, 0, &[0; 9]), Err(error));
    assert_eq!(decoder.stats().not_held, 2);
    // A redundant one is not an error.
    decoder.source(1, b"one").unwrap();
    assert_eq!(decoder.repair(0..3, 0, &[0; 9]), Ok(Outcome::Redundant));
    assert_eq!(decoder.source(0, b"zero"), Ok(Outcome::Redundant));
}

#[test]
fn forged_repair_is_not_delivered_and_does_not_prevent_recovery() {
    let mut encoder = WindowEncoder::new(8, 20);
    for payload in ["zero", "one", "two"] {
        encoder.push(payload.as_bytes()).unwrap();
    }
    let mut honest = Vec::new();
    encoder.repair(0..3, 5, &mut honest).unwrap();
    // Each of these changes the length or the padding.
    for byte in [0, 1, 5] {
        let mut decoder = decoder();
        decoder.source(0, b"zero").unwrap();
        decoder.source(2, b"two").unwrap();
        let mut forged = honest.clone();
        forged[byte] ^= 0x40;
        let error = DecodeError::Inconsistent { esi: 1 };
        assert_eq!(decoder.repair(0..3, 5, &forged), Err(error));
        assert_eq!(decoder.stats().inconsistent, 1);
        assert!(!decoder.is_known(1));
        assert_eq!((decoder.unknowns(), decoder.rank()), (1, 0));
        assert_eq!(decoder.repair(0..3, 5, &honest), Ok(Outcome::Innovative));
        assert_eq!(decoder.symbol(1), Some(&b"one"[..]));
    }
}

#[test]
fn a_source_symbol_longer_than_a_repair_over_it_exposes_the_repair() {
    // In the pivot's column and in another.
    for late in [0, 1] {
        let mut decoder = decoder();
        decoder.repair(0..3, 0, &[1; 6]).unwrap();
        assert_eq!(decoder.rank(), 1);
        assert_eq!(decoder.source(late, &[9; 5]), Ok(Outcome::Innovative));
        assert_eq!(decoder.stats().inconsistent, 1);
        assert_eq!((decoder.unknowns(), decoder.rank()), (2, 0));
        assert_eq!(decoder.symbol(late), Some(&[9; 5][..]));
    }
}

#[test]
fn the_floor_may_jump_anywhere() {
    let mut decoder = decoder();
    decoder.source(3, b"three").unwrap();
    decoder.forget_before(u64::MAX);
    assert_eq!(decoder.first(), u64::MAX);
    assert_eq!(decoder.end(), u64::MAX);
    assert_eq!(decoder.next_known(), None);
    assert_eq!(decoder.stats().abandoned, u64::MAX - 1);
    let error = DecodeError::OutOfSpan {
        end: u64::MAX,
        limit: u64::MAX,
    };
    assert_eq!(decoder.source(u64::MAX, b"x"), Err(error));
    decoder.forget_before(7);
    assert_eq!(decoder.first(), u64::MAX);
}

#[test]
fn what_is_kept_for_reuse_is_freed_in_a_pause_and_the_flow_goes_on() {
    let mut encoder = WindowEncoder::new(64, 1000);
    let mut decoder = WindowDecoder::new(DecoderConfig::new(64, 1000, 32, 64));
    let payload = [7; 1000];
    for _ in 0..3 {
        let first = encoder.next();
        for esi in first..first + 60 {
            assert_eq!(encoder.push(&payload), Ok(esi));
            // One of ten is lost and recovered.
            if esi % 10 != 9 {
                decoder.source(esi, &payload).unwrap();
                continue;
            }
            let mut repair = Vec::new();
            encoder.repair(first..esi + 1, 1, &mut repair).unwrap();
            decoder.repair(first..esi + 1, 1, &repair).unwrap();
        }
        let known = core::iter::from_fn(|| decoder.next_known());
        assert_eq!(known.count(), 60);
        for held in [encoder.memory_bound(), decoder.memory_bound()] {
            assert!((60_000..80_000).contains(&held), "{held}");
        }
        // Nothing is freed while symbols are held.
        encoder.release();
        decoder.release();
        assert_eq!(decoder.symbol(first + 9), Some(&payload[..]));
        assert_eq!(encoder.symbol(first), Some(&payload[..]));
        encoder.discard_before(first + 60);
        decoder.forget_before(first + 60);
        assert!(encoder.memory_bound().min(decoder.memory_bound()) > 60_000);
        encoder.release();
        decoder.release();
        for held in [encoder.memory_bound(), decoder.memory_bound()] {
            assert!(held < 1000, "{held}");
        }
    }
    assert_eq!(decoder.stats().recovered, 18);
}

#[test]
fn fewer_longer_symbols_take_no_more_memory_and_nothing_is_lost_between() {
    let mut encoder = WindowEncoder::new(64, 8000);
    let mut decoder = WindowDecoder::new(DecoderConfig::new(64, 8000, 32, 64));
    let few = DecoderConfig::new(8, 8000, 32, 64);
    let mut sent = Vec::new();
    for (length, span) in [(1000, 64), (8000, 8), (1000, 64)].repeat(3) {
        // Some symbols of the last length are still held, and one of them is missing.
        encoder.compact();
        assert_eq!(decoder.set_max_span(0), sent.is_empty());
        assert!(decoder.set_max_span(span));
        for _ in 0..200 {
            let esi = encoder.push(&vec![sent.len() as u8; length]).unwrap();
            sent.push(length);
            if esi % 10 == 9 {
                let window = esi - 2..esi + 1;
                let mut repair = Vec::new();
                encoder.repair(window.clone(), 1, &mut repair).unwrap();
                decoder.repair(window, 1, &repair).unwrap();
            } else {
                let payload = encoder.symbol(esi).unwrap();
                decoder.source(esi, payload).unwrap();
            }
            let keep = esi.saturating_sub(span as u64 - 3);
            encoder.discard_before(keep);
            decoder.forget_before(keep);
            let most = memory_bound(&few, false);
            for held in [encoder.memory_bound(), decoder.memory_bound()] {
                assert!(held <= most, "{held} with {length} bytes, of {most}");
            }
            assert!(decoder.memory() <= decoder.memory_bound());
        }
        let (first, end) = (encoder.first().max(encoder.next() - 4), encoder.next());
        for esi in first..end {
            assert_eq!(decoder.symbol(esi), encoder.symbol(esi), "{esi}");
        }
        // Long symbols would make later buffers long.
        let first = if length > 1000 { end } else { first };
        encoder.discard_before(first);
        decoder.forget_before(first);
        // Another one, that is missing when the length changes.
        let esi = encoder.push(&[1; 10]).unwrap();
        sent.push(10);
        decoder.expect(esi + 1).unwrap();
        let payload = encoder.symbol(esi).unwrap().to_vec();
        assert!(decoder.set_max_span(8));
        decoder.source(esi, &payload).unwrap();
    }
    let known = core::iter::from_fn(|| decoder.next_known());
    assert!(known.count() > 0);
    assert_eq!(decoder.contiguous(), sent.len() as u64);
}

#[test]
fn a_decoder_in_steady_state_takes_no_more_memory() {
    let mut encoder = WindowEncoder::new(64, 100);
    let mut decoder = WindowDecoder::new(DecoderConfig::new(64, 100, 32, 32));
    let mut repair = Vec::new();
    let mut settled = 0;
    for round in 0..4000_u64 {
        let payload = [round as u8; 100];
        let esi = encoder.push(&payload).unwrap();
        // Bursts of up to three losses, one repair for every two symbols.
        if (round / 3) % 5 != 0 {
            decoder.source(esi, &payload).unwrap();
        }
        if round % 2 == 0 {
            let window = encoder.first()..encoder.next();
            repair.clear();
            encoder
                .repair(window.clone(), round as u32, &mut repair)
                .unwrap();
            decoder.repair(window, round as u32, &repair).unwrap();
        }
        while decoder.next_known().is_some() {}
        let floor = (esi + 1).saturating_sub(20);
        encoder.discard_before(floor);
        decoder.forget_before(floor);
        if round == 200 {
            settled = decoder.memory();
        }
    }
    assert_eq!(decoder.stats().abandoned, 0);
    assert!(decoder.stats().recovered > 700);
    assert_eq!(decoder.memory(), settled);
}

#[test]
fn owned_payloads_need_room_for_their_length_before_them() {
    let mut decoder = decoder();
    let refused = |payload: Range<usize>, buffer| DecodeError::PayloadRange {
        start: payload.start,
        end: payload.end,
        buffer,
    };
    #[expect(clippy::reversed_empty_ranges, reason = "a caller may err")]
    for payload in [0..3, 1..4, 2..11, 11..11, 7..6, 9..usize::MAX] {
        let error = refused(payload.clone(), 10);
        assert_eq!(decoder.source_owned(0, vec![7; 10], payload), Err(error));
        assert_eq!(decoder.reclaim(), Some(vec![7; 10]));
        assert_eq!((decoder.end(), decoder.reclaim()), (0, None));
    }
    for (esi, payload) in [2..10, 2..2, 10..10].into_iter().enumerate() {
        let outcome = decoder.source_owned(esi as u64, vec![7; 10], payload.clone());
        assert_eq!(outcome, Ok(Outcome::Innovative));
        let symbol = decoder.symbol(esi as u64);
        assert_eq!(symbol.map(<[u8]>::len), Some(payload.len()));
    }
}

#[test]
fn owned_buffers_come_back_when_they_are_no_longer_needed() {
    let mut decoder = decoder();
    let packet = |byte| {
        let mut buffer = Vec::with_capacity(100);
        buffer.resize(12, byte);
        buffer
    };
    // A useless one comes back at once: too long, or a duplicate. A useful one
    // comes back when it is forgotten.
    let too_long = DecodeError::SymbolTooLong { got: 21, limit: 20 };
    let outcome = decoder.source_owned(0, vec![9; 30], 9..30);
    assert_eq!(outcome, Err(too_long));
    assert_eq!(decoder.reclaim(), Some(vec![9; 30]));
    for (esi, byte) in [(0, 1), (1, 2), (3, 3)] {
        let outcome = decoder.source_owned(esi, packet(byte), 4..12);
        assert_eq!(outcome, Ok(Outcome::Innovative));
        assert_eq!(decoder.symbol(esi), Some(&[byte; 8][..]));
        assert_eq!(decoder.reclaim(), None);
    }
    assert_eq!(
        decoder.source_owned(1, packet(4), 4..12),
        Ok(Outcome::Redundant)
    );
    assert_eq!(decoder.reclaim(), Some(packet(4)));
    decoder.forget_before(2);
    let mut back: Vec<u8> = std::iter::from_fn(|| decoder.reclaim())
        .map(|buffer| buffer[4])
        .collect();
    back.sort_unstable();
    assert_eq!(back, [1, 2]);
    // The payload of a too large buffer is copied.
    let mut large = Vec::with_capacity(10_000);
    large.extend_from_slice(&[5; 12]);
    assert_eq!(
        decoder.source_owned(4, large, 4..12),
        Ok(Outcome::Innovative)
    );
    assert!(decoder.reclaim().is_some_and(|b| b.capacity() >= 10_000));
    assert_eq!(decoder.symbol(4), Some(&[5; 8][..]));
}

#[test]
fn invalid_coding_vectors_are_refused_even_if_they_are_redundant() {
    let field = Arithmetic::with_bits(4).expect("1 to 8");
    let mut decoder = WindowDecoder::with_field(DecoderConfig::new(32, 20, 8, 16), field);
    decoder.source(0, b"zero").unwrap();
    let cases = [
        (
            Coefficients::Explicit(&[1, 2, 3]),
            CoefficientsError::Length {
                got: 3,
                expected: 2,
            },
        ),
        (
            Coefficients::Explicit(&[]),
            CoefficientsError::Length {
                got: 0,
                expected: 2,
            },
        ),
        (
            Coefficients::Explicit(&[15, 16]),
            CoefficientsError::NotAnElement {
                position: 1,
                got: 16,
                bits: 4,
            },
        ),
        (
            Coefficients::Sparse {
                key: 1,
                density_threshold: 16,
            },
            CoefficientsError::DensityThreshold { got: 16 },
        ),
        (
            Coefficients::Rfc8681 {
                repair_key: 1,
                density_threshold: 255,
            },
            CoefficientsError::DensityThreshold { got: 255 },
        ),
        (
            Coefficients::Rfc8681 {
                repair_key: 1,
                density_threshold: 15,
            },
            CoefficientsError::Field { bits: 4 },
        ),
    ];
    for known in [false, true] {
        for (coefficients, error) in cases {
            let refused = Err(DecodeError::Coefficients(error));
            assert_eq!(decoder.repair(0..2, coefficients, &[0; 9]), refused);
            assert_eq!(decoder.end(), 1 + u64::from(known));
        }
        decoder.source(1, b"one").unwrap();
    }
}

#[test]
fn repair_symbols_with_incomplete_groups_are_refused() {
    let field = Arithmetic::with_bits(5).expect("1 to 8");
    let mut decoder = WindowDecoder::with_field(DecoderConfig::new(32, 20, 8, 16), field);
    let group = field.group();
    let (min, max) = (field.whole_groups(2), field.whole_groups(22));
    assert!(group > 1);
    for got in (min..=max).filter(|got| !got.is_multiple_of(group)) {
        let error = DecodeError::RepairGroups { got, group };
        assert_eq!(decoder.repair(0..2, 0, &vec![0; got]), Err(error));
    }
    for got in [0, min - 1, max + 1] {
        let error = DecodeError::RepairLength { got, min, max };
        assert_eq!(decoder.repair(0..2, 0, &vec![0; got]), Err(error));
    }
    assert_eq!(decoder.end(), 0);
    let outcome = decoder.repair(0..2, 0, &vec![0; max]);
    assert_eq!(outcome, Ok(Outcome::Innovative));
}

#[test]
fn a_repair_need_not_be_as_long_as_a_symbol_it_leaves_out() {
    let mut decoder = decoder();
    decoder.source(0, &[9; 15]).unwrap();
    let leaves_out = Coefficients::Explicit(&[0, 3]);
    let contains = Coefficients::Explicit(&[1, 3]);
    let data = [0, 6, 3, 3];
    let error = DecodeError::RepairLength {
        got: 4,
        min: 17,
        max: 22,
    };
    assert_eq!(decoder.repair(0..2, contains, &data), Err(error));
    let outcome = decoder.repair(0..2, leaves_out, &data);
    assert_eq!(outcome, Ok(Outcome::Innovative));
    assert_eq!(decoder.symbol(1), Some(&[1, 1][..]));
}

#[test]
fn a_repair_with_only_zero_coefficients_shows_that_its_symbols_exist() {
    let mut decoder = decoder();
    decoder.source(0, b"zero").unwrap();
    let nothing = Coefficients::Explicit(&[0, 0, 0]);
    let outcome = decoder.repair(0..3, nothing, &[0; 9]);
    assert_eq!(outcome, Ok(Outcome::Redundant));
    assert_eq!(
        (decoder.end(), decoder.unknowns(), decoder.rank()),
        (3, 2, 0)
    );
}

#[derive(Clone, Debug)]
enum Attack {
    Source(u64, usize),
    Owned(u64, usize, usize),
    Repair(u64, u64, Vector, Vec<u8>),
    Expect(u64),
    Forget(u64),
    Drain,
}

/// A coding vector, valid or not.
#[derive(Clone, Debug)]
enum Vector {
    NonZero(u32),
    Uniform(u32),
    Sparse(u32, u8),
    Fading(u32, u16),
    Rfc8681(u16, u8),
    Explicit(Vec<u8>),
}

impl Vector {
    fn coefficients(&self) -> Coefficients<'_> {
        match *self {
            Self::NonZero(key) => Coefficients::NonZero { key },
            Self::Uniform(key) => Coefficients::Uniform { key },
            Self::Sparse(key, density_threshold) => Coefficients::Sparse {
                key,
                density_threshold,
            },
            Self::Fading(key, dense) => Coefficients::Fading { key, dense },
            Self::Rfc8681(repair_key, density_threshold) => Coefficients::Rfc8681 {
                repair_key,
                density_threshold,
            },
            Self::Explicit(ref vector) => Coefficients::Explicit(vector),
        }
    }
}

fn vector() -> impl Strategy<Value = Vector> {
    let element = prop_oneof![3 => 0..2_u8, 3 => any::<u8>()];
    prop_oneof![
        3 => (0..4_u32).prop_map(Vector::NonZero),
        1 => (0..4_u32).prop_map(Vector::Uniform),
        1 => (0..4_u32, 0..18_u8).prop_map(|(key, density)| Vector::Sparse(key, density)),
        1 => (0..4_u32, prop_oneof![0..6_u16, any::<u16>()])
            .prop_map(|(key, dense)| Vector::Fading(key, dense)),
        1 => (0..4_u16, 0..18_u8).prop_map(|(key, density)| Vector::Rfc8681(key, density)),
        2 => proptest::collection::vec(element, 0..6).prop_map(Vector::Explicit),
    ]
}

/// Mostly ESIs near the floor, sometimes any.
fn esi() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..40_u64, 1 => any::<u64>(), 1 => u64::MAX - 3..=u64::MAX]
}

fn attack() -> impl Strategy<Value = Attack> {
    let dull = proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..24);
    prop_oneof![
        8 => (esi(), 0..22_usize).prop_map(|(esi, length)| Attack::Source(esi, length)),
        3 => (esi(), 0..6_usize, 0..24_usize)
            .prop_map(|(esi, start, end)| Attack::Owned(esi, start, end)),
        12 => (esi(), 0..18_u64, vector(), dull).prop_map(
            |(start, length, vector, data)| Attack::Repair(start, length, vector, data)
        ),
        1 => esi().prop_map(Attack::Expect),
        2 => esi().prop_map(Attack::Forget),
        1 => Just(Attack::Drain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_input_breaks_a_limit_or_an_invariant(
        attacks in proptest::collection::vec(attack(), 1..150),
        bits in prop_oneof![Just(8), 1..=8_u32],
    ) {
        let field = Arithmetic::with_bits(bits).expect("1 to 8");
        let mut config = decoder().config().clone();
        config.max_buffer = 23;
        let mut decoder = WindowDecoder::with_field(config, field);
        let mut base = 0_u64;
        for attack in attacks {
            let before = observe(&decoder);
            // Mostly relative to the floor, so that attacks continue when it
            // moves.
            let near = |esi: u64| if esi < 40 { base.saturating_add(esi).saturating_sub(4) } else { esi };
            let result = match attack {
                Attack::Source(esi, length) => {
                    decoder.source(near(esi), &[0xA5; 22][..length]).map(drop)
                }
                Attack::Owned(esi, start, end) => {
                    decoder.source_owned(near(esi), vec![0x5A; 22], start..end).map(drop)
                }
                Attack::Repair(start, length, vector, mut data) => {
                    let start = near(start);
                    // Often an explicit vector of the right length.
                    let length = match &vector {
                        Vector::Explicit(vector) if length > 5 => vector.len() as u64,
                        _ => length,
                    };
                    if data.len() > 3 {
                        data.resize(field.whole_groups(data.len()), 0);
                    }
                    let window = start..start.wrapping_add(length);
                    decoder.repair(window, vector.coefficients(), &data).map(drop)
                }
                Attack::Expect(end) => decoder.expect(near(end)),
                Attack::Forget(esi) => {
                    // A far jump ends the run, so most floors move a little.
                    decoder.forget_before(if esi < 40 { near(esi / 4) } else { near(8) });
                    Ok(())
                }
                Attack::Drain => {
                    while let Some(esi) = decoder.next_known() {
                        prop_assert!(decoder.is_known(esi));
                    }
                    Ok(())
                }
            };
            match result {
                Ok(()) | Err(DecodeError::Inconsistent { .. }) => {}
                Err(_) => prop_assert_eq!(observe(&decoder), before),
            }
            base = decoder.first();
            let config = decoder.config();
            let range = decoder.first()..decoder.end();
            prop_assert!(range.end - range.start <= config.max_span as u64);
            prop_assert!(decoder.unknowns() <= config.max_unknowns);
            prop_assert!(decoder.rank() <= decoder.unknowns());
            prop_assert!(decoder.memory() <= decoder.memory_bound());
            prop_assert!(decoder.memory_bound() <= memory_bound(config, true));
            let unknown = range.filter(|esi| !decoder.is_known(*esi));
            prop_assert!(unknown.eq(decoder.missing().flatten()));
        }
    }

    #[test]
    fn memory_stays_within_the_documented_bound_when_all_limits_are_reached(
        (span, size, unknowns) in (1..300_usize, 0..300_usize, 0..80_usize),
        (owned, reclaim) in any::<(bool, bool)>(),
        bits in 1..=8_u32,
        seed in any::<u32>(),
    ) {
        let mut config = DecoderConfig::new(span, size, unknowns, span);
        config.max_buffer = size + 100;
        let bound = memory_bound(&config, owned);
        let field = Arithmetic::with_bits(bits).expect("1 to 8");
        let mut decoder = WindowDecoder::with_field(config, field);
        let data = vec![0x5A; field.whole_groups(size + 2)];
        let lost = span.min(unknowns) as u64;
        for round in 0..4_u64 {
            let first = round * span as u64;
            decoder.expect(first + lost).unwrap();
            for esi in first + lost..first + span as u64 {
                if owned && round != 2 {
                    // The largest capacity that is kept, one byte more, or a
                    // small one.
                    let mut buffer = Vec::with_capacity(size + [2, 100, 101][esi as usize % 3]);
                    buffer.resize(size + 2, 0x5A);
                    decoder.source_owned(esi, buffer, 2..size + 2).unwrap();
                    prop_assert!(decoder.memory() <= bound, "{} > {}", decoder.memory(), bound);
                    if reclaim {
                        drop(decoder.reclaim());
                    }
                } else {
                    decoder.source(esi, &data[..size]).unwrap();
                }
            }
            for key in 1..lost as u32 {
                let length = field.whole_groups(2 + size * (key as usize % 4 + 1) / 4);
                let window = first..first + lost;
                let key = seed.wrapping_add(key);
                let uniform = Coefficients::Uniform { key };
                let _ = decoder.repair(window, uniform, &data[..length]);
            }
            prop_assert!(decoder.memory() <= bound, "{} > {}", decoder.memory(), bound);
            if !owned {
                let stated = decoder.memory_bound();
                prop_assert!(decoder.memory() <= stated, "{} > {stated}", decoder.memory());
                prop_assert!(stated <= bound, "{stated} > {bound}");
            }
            decoder.forget_before(first + span as u64);
            prop_assert!(decoder.memory() <= bound, "{} > {}", decoder.memory(), bound);
        }
    }
}
