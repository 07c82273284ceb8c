//! A decoder that misses nothing has a short way for what tells it nothing new. It must refuse what
//! any other decoder refuses, and its work is counted as everyone's.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

fn field(bits: u32) -> Arithmetic {
    Arithmetic::with_bits(bits).expect("1 to 8")
}

/// A decoder that knows `0..24`.
fn complete(bits: u32) -> WindowDecoder {
    let config = DecoderConfig::new(32, 100, 8, 16);
    let mut decoder = WindowDecoder::with_field(config, field(bits));
    for esi in 0..24 {
        assert_eq!(decoder.source(esi, &[7; 9]), Ok(Outcome::Innovative));
    }
    decoder
}

#[test]
fn what_is_refused_does_not_depend_on_what_is_missing() {
    for bits in [1, 5, 8] {
        let mut decoder = complete(bits);
        let group = field(bits).group();
        let (min, max) = (field(bits).whole_groups(2), field(bits).whole_groups(102));
        #[expect(clippy::reversed_empty_ranges, reason = "a peer may send it")]
        for empty in [3..3, 3..2, 24..24] {
            let refused = decoder.repair(empty, 0, &vec![0; min]);
            assert_eq!(refused, Err(DecodeError::WindowEmpty));
        }
        let long = DecodeError::WindowTooLong { got: 17, limit: 16 };
        assert_eq!(decoder.repair(7..24, 0, &vec![0; min]), Err(long));
        for got in 0..=max + 1 {
            let expected = match got {
                _ if got < min || got > max => Err(DecodeError::RepairLength { got, min, max }),
                _ if !got.is_multiple_of(group) => Err(DecodeError::RepairGroups { got, group }),
                _ => Ok(Outcome::Redundant),
            };
            assert_eq!(decoder.repair(8..24, 0, &vec![0; got]), expected);
        }
        let vector = Coefficients::Explicit(&[1; 3]);
        assert!(decoder.repair(0..2, vector, &vec![0; min]).is_err());
        let none_is_lost = decoder.work() == 0 && decoder.stats().repairs == 0;
        assert!(none_is_lost && decoder.unknowns() == 0);
    }
}

/// Bytes of data count eight times where no kernel multiplies a byte at a time.
#[test]
fn the_work_of_a_repair_is_what_it_adds_to_sums() {
    for (bits, weight) in [(1, 1), (4, 1), (5, 8), (7, 8), (8, 1)] {
        let mut encoder = WindowEncoder::with_field(16, 40, field(bits));
        let payloads: Vec<Vec<u8>> = (0..10u8).map(|n| vec![n; 38]).collect();
        for payload in &payloads {
            encoder.push(payload).expect("there is room");
        }
        let mut decoder = WindowDecoder::with_field(DecoderConfig::new(32, 40, 8, 16), field(bits));
        for esi in [0, 1, 2, 3, 4, 5, 6] {
            assert!(decoder.source(esi, &payloads[esi as usize]).is_ok());
        }
        let all_ones = Coefficients::Explicit(&[1; 10]);
        let mut repair = Vec::new();
        encoder
            .repair(0..10, all_ones, &mut repair)
            .expect("a window");
        let length = repair.len() as u64 * weight;
        assert!(decoder.repair(0..10, all_ones, &repair).is_ok());
        // Seven known symbols are subtracted; then the equation is scaled.
        let first = 8 * length + 3;
        assert_eq!(decoder.work(), first, "{bits} bits");
        // The same again: three coefficients show that it is nothing new.
        let again = decoder.repair(0..10, all_ones, &repair);
        assert_eq!(again, Ok(Outcome::Redundant));
        assert_eq!(decoder.work(), first + 3, "{bits} bits");
        // A missing symbol is subtracted too, and two coefficients are moved.
        assert!(decoder.source(9, &payloads[9]).is_ok());
        let substituted = first + 3 + 2 * 40 * weight + 2;
        assert_eq!(decoder.work(), substituted, "{bits} bits");
        assert!(decoder.source(8, &payloads[8]).is_ok());
        assert_eq!(decoder.symbol(7), Some(&payloads[7][..]));
        let before = decoder.work();
        decoder.forget_before(10);
        decoder.release();
        assert_eq!(decoder.work(), before, "what is freed was done");
    }
}

#[test]
fn fields_are_equal_if_their_elements_are_as_long() {
    for one in 1..=8 {
        assert!((1..=8).all(|other| (field(one) == field(other)) == (one == other)));
    }
}
