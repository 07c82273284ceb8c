//! Whatever a peer sends, the decoder stays within its limits, says which one
//! was hit, and is none the worse for it.

use std::ops::Range;

use proptest::prelude::*;
use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

fn decoder() -> WindowDecoder {
    WindowDecoder::new(DecoderConfig::new(32, 20, 8, 16))
}

/// The documented bound on a decoder's memory.
fn memory_bound(config: &DecoderConfig) -> usize {
    (config.max_span + 1) * (config.max_symbol_size + 128)
        + config.max_unknowns * (2 * config.max_unknowns + 300)
        + 2 * config.max_window
        + 1024
}

/// All that can be observed of a decoder, but for statistics.
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
    // Whether the window brings new symbols or not.
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
    // One that is of no use anyway is no error.
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
    // Any of these changes the length, or the padding after it.
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
fn source_symbol_longer_than_a_repair_that_covers_it_unmasks_the_repair() {
    // In the pivot's column and in another one.
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
fn floor_may_jump_anywhere_at_no_cost() {
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
fn a_decoder_in_steady_state_takes_no_more_memory() {
    let mut encoder = WindowEncoder::new(64, 100);
    let mut decoder = WindowDecoder::new(DecoderConfig::new(64, 100, 32, 32));
    let mut repair = Vec::new();
    let mut settled = 0;
    for round in 0..4000_u64 {
        let payload = [round as u8; 100];
        let esi = encoder.push(&payload).unwrap();
        // Bursts of up to three losses, one repair for each two symbols.
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

#[derive(Clone, Debug)]
enum Attack {
    Source(u64, usize),
    Repair(u64, u64, u32, Vec<u8>),
    Expect(u64),
    Forget(u64),
    Drain,
}

/// ESIs near the floor mostly, anywhere sometimes.
fn esi() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..40_u64, 1 => any::<u64>(), 1 => u64::MAX - 3..=u64::MAX]
}

fn attack() -> impl Strategy<Value = Attack> {
    let dull = proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..24);
    prop_oneof![
        8 => (esi(), 0..22_usize).prop_map(|(esi, length)| Attack::Source(esi, length)),
        10 => (esi(), 0..18_u64, 0..4_u32, dull).prop_map(
            |(start, length, key, data)| Attack::Repair(start, length, key, data)
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
    ) {
        let mut decoder = decoder();
        let mut base = 0_u64;
        for attack in attacks {
            let before = observe(&decoder);
            // Mostly relative to the floor, so that attacks go on when it moves.
            let near = |esi: u64| if esi < 40 { base.saturating_add(esi).saturating_sub(4) } else { esi };
            let result = match attack {
                Attack::Source(esi, length) => {
                    decoder.source(near(esi), &[0xA5; 22][..length]).map(drop)
                }
                Attack::Repair(start, length, key, data) => {
                    let start = near(start);
                    decoder.repair(start..start.wrapping_add(length), key, &data).map(drop)
                }
                Attack::Expect(end) => decoder.expect(near(end)),
                Attack::Forget(esi) => {
                    // Far jumps end the game; most floors move a little.
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
            prop_assert!(decoder.memory() <= memory_bound(config));
            let unknown = range.filter(|esi| !decoder.is_known(*esi));
            prop_assert!(unknown.eq(decoder.missing().flatten()));
        }
    }

    #[test]
    fn memory_stays_within_the_documented_bound_when_all_limits_are_reached(
        (span, size, unknowns) in (1..300_usize, 0..300_usize, 0..80_usize),
        seed in any::<u32>(),
    ) {
        let config = DecoderConfig::new(span, size, unknowns, span);
        let bound = memory_bound(&config);
        let mut decoder = WindowDecoder::new(config);
        let data = vec![0x5A; size + 2];
        let lost = span.min(unknowns) as u64;
        for round in 0..3_u64 {
            let first = round * span as u64;
            decoder.expect(first + lost).unwrap();
            for esi in first + lost..first + span as u64 {
                decoder.source(esi, &data[..size]).unwrap();
            }
            for key in 1..lost as u32 {
                let length = 2 + size * (key as usize % 4 + 1) / 4;
                let window = first..first + lost;
                let _ = decoder.repair(window, seed.wrapping_add(key), &data[..length]);
            }
            prop_assert!(decoder.memory() <= bound, "{} > {}", decoder.memory(), bound);
            decoder.forget_before(first + span as u64);
            prop_assert!(decoder.memory() <= bound, "{} > {}", decoder.memory(), bound);
        }
    }
}
