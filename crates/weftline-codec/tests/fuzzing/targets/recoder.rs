//! A relay's combinations compared with dense elimination.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::{BlockDecoder, BlockEncoder, Outcome, Recoder, RepairError};

use super::input::{Input, vector};
use super::judge;

const LONGEST: usize = 16;
const STEPS: usize = 60;

/// Symbols of a block go to a relay with room for all and to one with any
/// limits; the second also gets forgeries if the first byte is odd. The first
/// holds exactly the independent symbols, and its combinations are true.
pub(crate) fn recoder(data: &[u8]) {
    let mut input = Input::new(data);
    let (hostile, field) = (input.flag(), input.field());
    let dense = judge(field);
    let k = 1 + input.below(16);
    let payloads = input.payloads(k, LONGEST);
    let mut encoder = BlockEncoder::with_field(k, LONGEST, field);
    for payload in &payloads {
        encoder.push(payload).expect("no longer than agreed");
    }
    let mut relay = Recoder::with_field(k, k, LONGEST, field);
    let (symbols, span) = (1 + input.below(20), 1 + input.below(20));
    let mut narrow = Recoder::with_field(symbols, span, LONGEST, field);
    let bound = (symbols + 1) * (LONGEST + 5 * span + 2 * symbols + 512) + 1024;
    let mut equations: Vec<Vec<u8>> = Vec::new();
    let mut decoder = BlockDecoder::with_field(k, LONGEST, field);
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        let rank = relay.rank();
        let mut explicit = Vec::new();
        match input.below(if hostile { 8 } else { 6 }) {
            0 | 1 => {
                let index = input.below(k);
                let outcome = relay.source(index as u64, &payloads[index]);
                let helped = outcome.expect("an honest symbol is taken") == Outcome::Innovative;
                assert_eq!(relay.rank(), rank + usize::from(helped));
                let _ = narrow.source(index as u64, &payloads[index]);
                let mut unit = vec![0; k];
                unit[index] = 1;
                equations.push(unit);
            }
            2 | 3 => {
                let coefficients = input.coefficients(field, k, false, &mut explicit);
                let mut data = Vec::new();
                assert_eq!(encoder.repair(coefficients, &mut data), Ok(()));
                let outcome = relay.repair(0..k as u64, coefficients, &data);
                let helped = outcome.expect("an honest symbol is taken") == Outcome::Innovative;
                assert_eq!(relay.rank(), rank + usize::from(helped));
                let _ = narrow.repair(0..k as u64, coefficients, &data);
                equations.push(vector(field, coefficients, k));
            }
            4 => {
                let (mut vector, mut data) = (Vec::new(), Vec::new());
                let key = u32::from(input.byte());
                let made = relay.recode(key, &mut vector, &mut data);
                let Ok(window) = made else {
                    assert_eq!(made, Err(RepairError::EmptyWindow));
                    assert_eq!(rank, 0);
                    continue;
                };
                assert!(window.end <= k as u64);
                assert_eq!(vector.len() as u64, window.end - window.start);
                let mut whole = vec![0; k];
                whole[window.start as usize..window.end as usize].copy_from_slice(&vector);
                let taken = decoder.repair(Coefficients::Explicit(&whole), &data);
                taken.expect("what a relay makes of honest symbols is honest");
                // It lies in the span of the symbols that the relay got.
                let mut all = equations.clone();
                all.push(whole);
                assert_eq!(dense.rank(all), rank);
            }
            5 => {
                // Only for the narrow relay: forgetting would change the rank
                // of the other.
                narrow.forget_before(input.below(k + 4) as u64);
            }
            6 => {
                let data = input.forgery(field, LONGEST + 2);
                let start = u64::from(input.byte()) << input.below(56);
                let window = start..start.wrapping_add(input.below(30) as u64);
                let coefficients = input.coefficients(field, 4, true, &mut explicit);
                let _ = narrow.repair(window, coefficients, &data);
            }
            _ => {
                let esi = (u64::from(input.byte()) << input.below(57)).wrapping_sub(1);
                let length = input.below(LONGEST + 4);
                let _ = narrow.source(esi, &[3; LONGEST + 4][..length]);
            }
        }
        assert_eq!(relay.rank(), dense.rank(equations.clone()));
        assert!(narrow.rank() <= symbols.min(span));
        let window = narrow.window();
        assert!(window.is_empty() || window.start >= narrow.first());
        assert!(window.end.saturating_sub(window.start) <= span as u64);
        let memory = narrow.memory();
        assert!(memory <= bound, "{memory} bytes held, {bound} documented");
        let (mut vector, mut data) = (Vec::new(), Vec::new());
        let made = narrow.recode(7, &mut vector, &mut data);
        assert_eq!(made.is_ok(), narrow.rank() > 0);
    }
    while let Some(index) = decoder.next_known() {
        assert_eq!(decoder.symbol(index), Some(&payloads[index][..]));
    }
}
