//! Two sliding-window decoders that must agree: one copies payloads, one owns
//! buffers.

use weftline_codec::{DecodeError, DecoderConfig, Outcome, WindowDecoder, WindowEncoder};

use super::input::Input;

const LONGEST: usize = 24;
const STEPS: usize = 300;

/// Any calls, with honest symbols of any coefficients in any field, and with
/// forgeries if the first byte is odd. The decoder that owns buffers and the
/// one that copies give the same answers, report the same symbols in the same
/// order and stay within their memory. Honest symbols equal those sent.
pub(crate) fn window(data: &[u8]) {
    let mut input = Input::new(data);
    let (hostile, field) = (input.flag(), input.field());
    let (span, unknowns, window) = (input.below(60), input.below(24), input.below(40));
    let mut config = DecoderConfig::new(span, LONGEST, unknowns, window);
    config.max_buffer = 64;
    let bound =
        (span + 2) * (config.max_buffer + 320) + unknowns * (unknowns + 512) + 2 * window + 1024;
    let mut copying = WindowDecoder::with_field(config.clone(), field);
    let mut owning = WindowDecoder::with_field(config, field);
    let mut encoder = WindowEncoder::with_field(64, LONGEST, field);
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    let reclaims = input.flag();
    // Whether all symbols taken were honest.
    let mut honest = true;
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        let (floor, end) = (copying.first(), copying.end());
        let near = |input: &mut Input<'_>| (floor + input.below(70) as u64).saturating_sub(4);
        let mut explicit = Vec::new();
        // The symbols already reported.
        let mut told = None;
        let outcomes = match input.below(if hostile { 14 } else { 11 }) {
            // The next symbol in order, or an older one again.
            kind @ 0..=5 => {
                let esi = match kind {
                    0..=3 => payloads.len() as u64,
                    _ => near(&mut input),
                };
                if esi == payloads.len() as u64 {
                    if encoder.is_full() {
                        encoder.discard_before(encoder.first() + 1);
                    }
                    let payload = input.payloads(1, LONGEST).remove(0);
                    encoder.push(&payload).expect("there is room");
                    payloads.push(payload);
                }
                let Some(payload) = payloads.get(esi as usize) else {
                    continue;
                };
                if input.below(5) == 0 {
                    // Lost.
                    continue;
                }
                let first = 2 + input.below(6);
                // Some buffers are too large to keep.
                let mut packet = Vec::with_capacity(40 + input.below(40));
                packet.resize(first, 0xAB);
                packet.extend_from_slice(payload);
                packet.resize(packet.len() + input.below(3), 0xCD);
                let place = first..first + payload.len();
                let outcome = if input.below(4) == 0 {
                    owning.source(esi, payload)
                } else {
                    owning.source_owned(esi, packet, place)
                };
                (take(&mut copying, esi, payload, &mut told), outcome)
            }
            6 | 7 => {
                let next = payloads.len() as u64;
                let start = (encoder.first() + input.below(64) as u64).min(next);
                let end = (start + input.below(64) as u64).min(next);
                if start >= end {
                    continue;
                }
                let length = (end - start) as usize;
                let coefficients = input.coefficients(field, length, false, &mut explicit);
                let mut data = Vec::new();
                let made = encoder.repair(start..end, coefficients, &mut data);
                assert_eq!(made, Ok(()), "{coefficients:?}");
                (
                    copying.repair(start..end, coefficients, &data),
                    owning.repair(start..end, coefficients, &data),
                )
            }
            8 | 9 => {
                // The floor does not exceed the symbols sent.
                let to = near(&mut input).min(payloads.len() as u64);
                copying.forget_before(to);
                owning.forget_before(to);
                continue;
            }
            10 => {
                let to = near(&mut input).min(payloads.len() as u64);
                let same = [copying.expect(to), owning.expect(to)];
                assert_eq!(same[0], same[1]);
                continue;
            }
            11 => {
                let esi = match input.flag() {
                    true => near(&mut input),
                    false => (u64::from(input.byte()) << input.below(57)).wrapping_sub(1),
                };
                let start = input.below(5);
                let payload = start..start + input.below(30);
                let bytes = [input.byte(); 40];
                let owned = owning.source_owned(esi, bytes.to_vec(), payload.clone());
                if start < 2 {
                    assert!(matches!(owned, Err(DecodeError::PayloadRange { .. })));
                    continue;
                }
                (take(&mut copying, esi, &bytes[payload], &mut told), owned)
            }
            12 => {
                let data = input.forgery(field, LONGEST + 2);
                let start = near(&mut input);
                let window = start..start + input.below(30) as u64;
                let coefficients = input.coefficients(field, 4, true, &mut explicit);
                (
                    copying.repair(window.clone(), coefficients, &data),
                    owning.repair(window, coefficients, &data),
                )
            }
            _ => {
                let far = u64::from(input.byte()) << input.below(57);
                copying.forget_before(far);
                let skipped = owning.skip_to(far);
                let passed = skipped.known + skipped.missing + skipped.unheard;
                assert_eq!(passed, far.saturating_sub(floor));
                honest = false;
                continue;
            }
        };
        honest &= !hostile;
        assert_eq!(outcomes.0, outcomes.1);
        match outcomes.0 {
            Err(DecodeError::Inconsistent { .. }) => assert!(hostile),
            Err(_) => assert_eq!((copying.first(), copying.end()), (floor, end)),
            Ok(Outcome::Innovative | Outcome::Redundant) => {}
        }
        check(&copying, &owning, bound);
        if input.flag() || told.is_some() {
            let mut told = told.unwrap_or_default();
            copying.each_known(|esi, payload| told.push((esi, payload.to_vec())));
            for (esi, payload) in told {
                assert_eq!(owning.next_known(), Some(esi));
                assert_eq!(owning.symbol(esi), Some(&payload[..]));
            }
            assert_eq!(owning.next_known(), None);
            assert_eq!(copying.next_known(), None);
        }
        while reclaims && owning.reclaim().is_some() {}
        if honest {
            assert_eq!(copying.stats().inconsistent, 0);
            for esi in copying.first()..copying.end() {
                let symbol = copying.symbol(esi);
                assert!(symbol.is_none_or(|symbol| symbol == payloads[esi as usize]));
            }
        }
    }
}

/// Takes a source symbol by one of two calls; one of them reports it at once.
fn take(
    decoder: &mut WindowDecoder,
    esi: u64,
    payload: &[u8],
    told: &mut Option<Vec<(u64, Vec<u8>)>>,
) -> Result<Outcome, DecodeError> {
    if esi.is_multiple_of(2) {
        return decoder.source(esi, payload);
    }
    let told = told.insert(Vec::new());
    let innovative = decoder.sources([(esi, payload)], |esi, payload| {
        told.push((esi, payload.to_vec()));
    })?;
    Ok(match innovative {
        0 => Outcome::Redundant,
        _ => Outcome::Innovative,
    })
}

/// Checks that the observable state of both is equal and within the limits.
fn check(copying: &WindowDecoder, owning: &WindowDecoder, bound: usize) {
    let range = copying.first()..copying.end();
    assert_eq!(range, owning.first()..owning.end());
    assert_eq!(copying.stats(), owning.stats());
    assert_eq!(copying.rank(), owning.rank());
    assert_eq!(copying.contiguous(), owning.contiguous());
    assert!(copying.missing().eq(owning.missing()));
    for esi in range {
        assert_eq!(copying.symbol(esi), owning.symbol(esi), "{esi}");
    }
    for decoder in [copying, owning] {
        let config = decoder.config();
        assert!(decoder.end() - decoder.first() <= config.max_span as u64);
        assert!(decoder.unknowns() <= config.max_unknowns);
        assert!(decoder.rank() <= decoder.unknowns());
        let memory = decoder.memory();
        assert!(memory <= bound, "{memory} bytes held, {bound} documented");
    }
}
