//! Source symbols taken in one call have the same effect as one by one.

use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

const SPAN: usize = 60;
const LONGEST: usize = 90;

fn decoder() -> WindowDecoder {
    WindowDecoder::new(DecoderConfig::new(SPAN, LONGEST, 20, 40))
}

/// Pseudo-random numbers.
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

/// The symbols that became known since the last call, with payloads.
fn told(decoder: &mut WindowDecoder) -> Vec<(u64, Vec<u8>)> {
    let mut told = Vec::new();
    while let Some(esi) = decoder.next_known() {
        told.push((esi, decoder.symbol(esi).expect("it is known").to_vec()));
    }
    told
}

/// The same, in one call.
fn told_at_once(decoder: &mut WindowDecoder) -> Vec<(u64, Vec<u8>)> {
    let mut told = Vec::new();
    decoder.each_known(|esi, payload| told.push((esi, payload.to_vec())));
    assert_eq!(decoder.next_known(), None);
    told
}

#[test]
fn symbols_in_one_call_are_taken_as_one_by_one_with_any_losses() {
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
        // Some are lost; some are reordered or duplicated.
        let mut symbols: Vec<(u64, &[u8])> =
            (next..).zip(payloads.iter().map(Vec::as_slice)).collect();
        if random.below(3) == 0 {
            let from = random.below(count + 1);
            let most = if random.below(8) == 0 { count } else { 2 };
            let lost = random.below(most + 1).min(count - from);
            symbols.drain(from as usize..(from + lost) as usize);
        }
        for _ in 0..random.below(10).saturating_sub(6) {
            if !symbols.is_empty() {
                let places = symbols.len() as u64;
                symbols.swap(random.below(places) as usize, random.below(places) as usize);
                symbols.push(symbols[random.below(places) as usize]);
            }
        }
        let mut told_together = Vec::new();
        let innovative = together.sources(symbols.iter().copied(), |esi, payload| {
            told_together.push((esi, payload.to_vec()));
        });
        let one_by_one = symbols.iter().try_fold(0, |known, (esi, payload)| {
            let outcome = alone.source(*esi, payload)?;
            Ok(known + usize::from(outcome == Outcome::Innovative))
        });
        assert_eq!(innovative, one_by_one);
        if innovative.is_ok() {
            assert_eq!(told_together, told(&mut alone));
            assert_eq!(together.next_known(), None);
        } else {
            // The outcome of the refused one is reported later.
            let mut told = told(&mut alone);
            told_together.append(&mut told_at_once(&mut together));
            assert_eq!(told_together, std::mem::take(&mut told));
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
            assert_eq!(told_at_once(&mut together), told(&mut alone));
        }
        assert_eq!(together.stats(), alone.stats());
        assert!(together.missing().eq(alone.missing()));
        let held = together.first()..together.end();
        assert_eq!(held, alone.first()..alone.end());
        for esi in held {
            assert_eq!(together.symbol(esi), alone.symbol(esi));
        }
    }
    assert!(together.stats().recovered > 0 || cfg!(miri));
    assert!(together.stats().redundant_sources > 0);
}

#[test]
fn symbols_after_a_refused_one_are_not_taken() {
    let mut decoder = decoder();
    let (fine, long) = ([1; LONGEST], [2; LONGEST + 1]);
    let error = DecodeError::SymbolTooLong {
        got: LONGEST + 1,
        limit: LONGEST,
    };
    // The first time there are no buffers, later there are.
    for round in 0..3 {
        let start = 2 * round;
        let symbols = (start..).zip([&fine[..], &fine, &long, &fine]);
        let mut known = 0;
        let taken = decoder.sources(symbols, |_, payload| known += payload.len());
        assert_eq!(taken, Err(error));
        assert_eq!((decoder.end(), known), (start + 2, 2 * LONGEST));
        decoder.forget_before(start + 1);
    }
    let limit = decoder.first() + SPAN as u64;
    let many = (decoder.end()..).zip(vec![&fine[..]; SPAN + 1]);
    let error = DecodeError::OutOfSpan {
        end: limit + 1,
        limit,
    };
    assert_eq!(decoder.sources(many, |_, _| ()), Err(error));
    assert_eq!(decoder.end(), limit);
    assert_eq!(decoder.unknowns(), 0);
}

#[test]
fn waiting_symbols_are_reported_first_and_recovered_ones_in_their_turn() {
    let mut encoder = WindowEncoder::new(10, LONGEST);
    let payloads = ["0", "1", "2", "3", "4", "5"];
    for payload in payloads {
        encoder.push(payload.as_bytes()).unwrap();
    }
    let mut decoder = decoder();
    let symbol = |esi: u64| (esi, payloads[esi as usize].as_bytes());
    let mut known = Vec::new();
    decoder.source(0, b"0").unwrap();
    let mut repair = Vec::new();
    encoder.repair(0..4, 1, &mut repair).unwrap();
    // Symbols 2 and 3 are still missing, and 3 comes with others.
    decoder.source(1, b"1").unwrap();
    decoder.repair(0..4, 1, &repair).unwrap();
    let taken = decoder.sources([symbol(4), symbol(3), symbol(5)], |esi, payload| {
        known.push((esi, String::from_utf8(payload.to_vec()).unwrap()));
    });
    assert_eq!(taken, Ok(3));
    let order = [0, 1, 4, 3, 2, 5].map(|esi| (esi, payloads[esi as usize].to_owned()));
    assert_eq!(known, order);
}

#[test]
fn an_iterator_that_has_ended_is_not_asked_again() {
    let mut decoder = decoder();
    for round in 0..5 {
        let mut asked = 0;
        let symbols = core::iter::from_fn(|| {
            asked += 1;
            (asked <= 3).then_some((3 * round + asked - 1, &b"payload"[..]))
        });
        assert_eq!(decoder.sources(symbols, |_, _| ()), Ok(3));
        assert_eq!(asked, 4);
    }
}

#[test]
fn the_highest_esis_are_taken_and_none_after_them() {
    let mut decoder = decoder();
    let start = u64::MAX - 10;
    decoder.forget_before(start);
    for esi in start..u64::MAX - 5 {
        decoder.source(esi, b"to have buffers").unwrap();
    }
    let esis = (start + 5..=u64::MAX).chain([u64::MAX]);
    let mut known = Vec::new();
    let symbols = esis.map(|esi| (esi, &b"last ones"[..]));
    let error = decoder.sources(symbols, |esi, _| known.push(esi));
    assert!(
        matches!(error, Err(DecodeError::OutOfSpan { .. })),
        "{error:?}"
    );
    assert_eq!(decoder.end(), u64::MAX);
    assert!(known.into_iter().eq(start..u64::MAX));
    assert_eq!(decoder.next_known(), None);
}
