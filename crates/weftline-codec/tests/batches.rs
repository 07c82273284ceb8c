//! Source symbols taken several at once are taken as if they came one by one.

use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

const SPAN: usize = 60;
const LONGEST: usize = 90;

fn decoder() -> WindowDecoder {
    WindowDecoder::new(DecoderConfig::new(SPAN, LONGEST, 20, 40))
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What has become known since the last time, with payloads.
fn told(decoder: &mut WindowDecoder) -> Vec<(u64, Vec<u8>)> {
    let mut told = Vec::new();
    while let Some(esi) = decoder.next_known() {
        told.push((esi, decoder.symbol(esi).expect("it is known").to_vec()));
    }
    told
}

/// The same by runs.
fn told_in_runs(decoder: &mut WindowDecoder) -> Vec<(u64, Vec<u8>)> {
    let mut told = Vec::new();
    while let Some(run) = decoder.next_known_run() {
        let symbols = decoder.symbols(&run);
        told.extend(
            run.clone()
                .zip(symbols.map(|symbol| symbol.expect("it is known").to_vec())),
        );
    }
    told
}

#[test]
fn several_at_once_are_taken_as_one_by_one_whatever_is_lost_and_forgotten() {
    let mut random = Random(7);
    let (mut alone, mut together) = (decoder(), decoder());
    let mut encoder = WindowEncoder::new(40, LONGEST);
    let mut next = 0;
    for round in 0..if cfg!(miri) { 60 } else { 3000 } {
        let count = random.below(20);
        let payloads: Vec<Vec<u8>> = (0..count)
            .map(|_| vec![random.below(256) as u8; random.below(LONGEST as u64 + 1) as usize])
            .collect();
        for payload in &payloads {
            encoder.discard_before((encoder.next() + 1).saturating_sub(40));
            encoder.push(payload).unwrap();
        }
        let floor = encoder
            .next()
            .saturating_sub(SPAN as u64 - random.below(15));
        alone.forget_before(floor);
        together.forget_before(floor);
        // A part is lost, or all of it; the last ones come again.
        let lost = match random.below(3) {
            0 => random.below(count + 1),
            _ => 0,
        };
        let again = count - random.below(3).min(count);
        for from in [lost, again] {
            let payloads = &payloads[from as usize..];
            let one_by_one = (next + from..)
                .zip(payloads)
                .try_fold(0, |known, (esi, payload)| {
                    let outcome = alone.source(esi, payload)?;
                    Ok(known + usize::from(outcome == Outcome::Innovative))
                });
            let payloads = payloads.iter().map(Vec::as_slice);
            assert_eq!(together.sources(next + from, payloads), one_by_one);
        }
        next += count;
        if round % 3 == 0 && !encoder.is_empty() {
            let mut repair = Vec::new();
            let window = encoder.held();
            encoder.repair(window.clone(), round, &mut repair).unwrap();
            let one = alone.repair(window.clone(), round, &repair);
            assert_eq!(together.repair(window, round, &repair), one);
        }
        if random.below(3) > 0 {
            assert_eq!(told_in_runs(&mut together), told(&mut alone));
        }
        assert_eq!(together.stats(), alone.stats());
        assert!(together.missing().eq(alone.missing()));
        let held = together.first()..together.end();
        assert_eq!(held, alone.first()..alone.end());
        let symbols = held.clone().map(|esi| alone.symbol(esi));
        assert!(together.symbols(&held).eq(symbols));
    }
    assert!(together.stats().recovered > 0 || cfg!(miri));
    assert!(together.stats().redundant_sources > 0);
}

#[test]
fn what_follows_a_symbol_that_is_refused_is_not_taken() {
    let mut decoder = decoder();
    let (fine, long) = ([1; LONGEST], [2; LONGEST + 1]);
    let error = DecodeError::SymbolTooLong {
        got: LONGEST + 1,
        limit: LONGEST,
    };
    // The first time no buffer is there, afterwards there are.
    for round in 0..3 {
        let start = 2 * round;
        let payloads = [&fine[..], &fine, &long, &fine];
        assert_eq!(decoder.sources(start, payloads), Err(error));
        assert_eq!(decoder.end(), start + 2);
        decoder.forget_before(start + 1);
    }
    let limit = decoder.first() + SPAN as u64;
    let many = vec![&fine[..]; SPAN + 1];
    let error = DecodeError::OutOfSpan {
        end: limit + 1,
        limit,
    };
    assert_eq!(decoder.sources(decoder.end(), many), Err(error));
    assert_eq!(decoder.end(), limit);
    assert_eq!(decoder.unknowns(), 0);
}

#[test]
fn a_run_of_known_symbols_ends_where_the_order_of_arrival_does() {
    let mut decoder = decoder();
    let payloads = [&b"0"[..], b"1", b"2"];
    assert_eq!(decoder.sources(0, payloads), Ok(3));
    decoder.source(5, b"5").unwrap();
    decoder.source(6, b"6").unwrap();
    decoder.source(3, b"3").unwrap();
    decoder.source(7, b"7").unwrap();
    let runs: Vec<_> = core::iter::from_fn(|| decoder.next_known_run()).collect();
    assert_eq!(runs, [0..3, 5..7, 3..4, 7..8]);
    let held: Vec<_> = decoder.symbols(&(2..9)).collect();
    let expected = [Some("2"), Some("3"), None, Some("5"), Some("6"), Some("7")];
    assert_eq!(held, expected.map(|symbol| symbol.map(str::as_bytes)));
}

#[test]
fn the_highest_esis_of_all_are_taken_and_then_no_more() {
    let mut decoder = decoder();
    let start = u64::MAX - 10;
    decoder.forget_before(start);
    for esi in start..u64::MAX - 5 {
        decoder.source(esi, b"to have buffers").unwrap();
    }
    let error = decoder.sources(u64::MAX - 5, [&b"last ones"[..]; 8]);
    assert!(
        matches!(error, Err(DecodeError::OutOfSpan { .. })),
        "{error:?}"
    );
    assert_eq!(decoder.end(), u64::MAX);
    assert_eq!(told_in_runs(&mut decoder).len(), 10);
}
