//! A block decoder compared with dense elimination.

use weftline_codec::{BlockDecoder, BlockEncoder, DecodeError, Outcome};

use super::input::{Input, vector};
use super::judge;

const LONGEST: usize = 20;
const STEPS: usize = 80;

/// Symbols of blocks in any order, copied or owned, with forgeries if the first
/// byte is odd. With honest symbols, the missing symbols are exactly those of
/// elimination, and every known symbol is right.
pub(crate) fn block(data: &[u8]) {
    let mut input = Input::new(data);
    let (hostile, field) = (input.flag(), input.field());
    let dense = judge(field);
    let mut decoder = BlockDecoder::with_field(0, LONGEST, field);
    let mut steps = 0;
    while !input.is_empty() && steps < STEPS {
        let k = 1 + input.below(20);
        let payloads = input.payloads(k, LONGEST);
        let mut encoder = BlockEncoder::with_field(k, LONGEST, field);
        for payload in &payloads {
            encoder.push(payload).expect("no longer than agreed");
        }
        decoder.reset(k);
        let mut known = vec![false; k];
        let mut forged = false;
        let mut equations: Vec<Vec<u8>> = Vec::new();
        for _ in 0..input.below(50) {
            steps += 1;
            let deficit = decoder.deficit();
            let mut explicit = Vec::new();
            let outcome = match input.below(if hostile { 7 } else { 5 }) {
                kind @ (0 | 1) => {
                    let index = input.below(k);
                    let payload = &payloads[index];
                    let outcome = if kind == 0 {
                        decoder.source(index, payload)
                    } else {
                        let mut packet = vec![9; 5];
                        packet.extend_from_slice(payload);
                        let end = packet.len();
                        decoder.source_owned(index, packet, 5..end)
                    };
                    let mut unit = vec![0; k];
                    unit[index] = 1;
                    equations.push(unit);
                    outcome
                }
                2..=4 => {
                    let coefficients = input.coefficients(field, k, false, &mut explicit);
                    let mut data = Vec::new();
                    let made = encoder.repair(coefficients, &mut data);
                    assert_eq!(made, Ok(()), "{coefficients:?}");
                    let outcome = decoder.repair(coefficients, &data);
                    equations.push(vector(field, coefficients, k));
                    outcome
                }
                5 => {
                    let data = input.forgery(field, LONGEST + 2);
                    let coefficients = input.coefficients(field, k, true, &mut explicit);
                    let outcome = decoder.repair(coefficients, &data);
                    forged |= outcome == Ok(Outcome::Innovative);
                    outcome
                }
                _ => {
                    let (start, end) = (input.below(6), input.below(40));
                    let index = input.below(k + 2);
                    let outcome = decoder.source_owned(index, vec![7; 30], start..end);
                    forged |= outcome.is_ok();
                    outcome
                }
            };
            match outcome {
                // A symbol that contradicts others removes these.
                Ok(_) if hostile => {}
                Ok(Outcome::Innovative) => assert!(decoder.deficit() < deficit),
                Ok(Outcome::Redundant) => assert_eq!(decoder.deficit(), deficit),
                Err(DecodeError::Inconsistent { .. }) => assert!(hostile),
                Err(_) => {
                    assert!(hostile, "{outcome:?}");
                    assert_eq!(decoder.deficit(), deficit);
                }
            }
            while let Some(index) = decoder.next_known() {
                assert!(!known[index], "{index} reported twice");
                known[index] = true;
            }
            let missing: Vec<usize> = (0..k).filter(|index| !known[*index]).collect();
            assert!(decoder.missing().eq(missing.iter().copied()));
            assert!(decoder.rank() <= decoder.unknowns());
            if input.flag() {
                let _ = decoder.reclaim();
            }
            if forged {
                continue;
            }
            for (index, payload) in payloads.iter().enumerate() {
                let expected = known[index].then_some(&payload[..]);
                assert_eq!(decoder.symbol(index), expected);
            }
            if !hostile {
                assert_eq!(decoder.deficit(), k - dense.rank(equations.clone()));
            }
        }
    }
}
