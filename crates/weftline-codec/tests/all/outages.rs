//! A receiver that joins late or has heard nothing for a long time goes on as one
//! that was there from the beginning of what it hears.

use std::ops::Range;

use proptest::prelude::*;
use weftline_codec::{
    DecodeError, DecoderConfig, Outcome, Recoder, Skipped, WindowDecoder, WindowEncoder, expand_esi,
};

const WINDOW: u64 = 12;

fn config() -> DecoderConfig {
    DecoderConfig::new(40, 30, 20, WINDOW as usize)
}

fn payload(esi: u64) -> Vec<u8> {
    (0..esi % 31).map(|i| (esi * 7 + i * i) as u8).collect()
}

/// A packet of a flow whose first symbol has the ESI 0.
#[derive(Clone, Debug)]
enum Packet {
    Source(u64),
    Repair(Range<u64>, u32, Vec<u8>),
}

/// Every packet of a flow of `symbols` source symbols, with a repair after every second one.
fn flow(symbols: u64) -> Vec<Packet> {
    let mut encoder = WindowEncoder::new(WINDOW as usize, 30).evicting();
    let mut packets = Vec::new();
    for _ in 0..symbols {
        let esi = encoder.push(&payload(encoder.next())).expect("it evicts");
        packets.push(Packet::Source(esi));
        if esi % 2 == 1 {
            let (window, key, mut data) = (encoder.held(), esi as u32, Vec::new());
            let made = encoder.repair(window.clone(), key, &mut data);
            assert_eq!(made, Ok(()));
            packets.push(Packet::Repair(window, key, data));
        }
    }
    packets
}

/// Gives a packet to a decoder, as one of a flow whose first symbol has the ESI
/// `base`; errors speak of ESIs from `base` on.
fn take(decoder: &mut WindowDecoder, packet: &Packet, base: u64) -> Result<Outcome, DecodeError> {
    let taken = match packet {
        Packet::Source(esi) => decoder.source(base + esi, &payload(*esi)),
        Packet::Repair(window, key, data) => {
            let window = base + window.start..base + window.end;
            decoder.repair(window, *key, data)
        }
    };
    taken.map_err(|error| match error {
        DecodeError::OutOfSpan { end, limit } => DecodeError::OutOfSpan {
            end: end - base,
            limit: limit - base,
        },
        DecodeError::NotHeld { start, first } => DecodeError::NotHeld {
            start: start - base,
            first: first - base,
        },
        other => other,
    })
}

/// What can be observed of a decoder, with ESIs from `base` on.
fn observe(decoder: &mut WindowDecoder, base: u64) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut known = Vec::new();
    decoder.each_known(|esi, payload| known.push((esi - base, payload.to_vec())));
    let missing: Vec<_> = decoder.missing().flatten().map(|esi| esi - base).collect();
    let edges = [decoder.first(), decoder.contiguous(), decoder.end()].map(|esi| esi - base);
    (known, missing, edges, decoder.rank())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_decoder_that_starts_anywhere_does_what_one_that_starts_at_0_does(
        base in prop_oneof![0..100_u64, Just(0xFFFF_FFFE), any::<u64>().prop_map(|b| b >> 1)],
        lost in proptest::collection::vec(any::<bool>(), 60),
        floors in proptest::collection::vec(0..40_u64, 60),
    ) {
        let mut from_0 = WindowDecoder::new(config());
        let mut from_base = WindowDecoder::new(config()).starting_at(base);
        for ((packet, lost), floor) in flow(40).iter().zip(lost).zip(floors) {
            if !lost {
                let taken = take(&mut from_base, packet, base);
                prop_assert_eq!(taken, take(&mut from_0, packet, 0));
            }
            let floor = floor.saturating_sub(15).min(from_0.end());
            let skipped = from_base.skip_to(base + floor);
            prop_assert_eq!(skipped, from_0.skip_to(floor));
            prop_assert_eq!(observe(&mut from_base, base), observe(&mut from_0, 0));
        }
        prop_assert_eq!(from_base.stats(), from_0.stats());
    }

    #[test]
    fn a_decoder_that_skips_past_an_outage_does_what_a_new_one_does(
        before in proptest::collection::vec(any::<bool>(), 0..60),
        outage in prop_oneof![0..90_u64, Just(1 << 16), Just(1 << 40)],
        after in proptest::collection::vec(any::<bool>(), 1..60),
    ) {
        let packets = flow(40);
        let mut decoder = WindowDecoder::new(config());
        for (packet, lost) in packets.iter().zip(&before) {
            let end = decoder.end();
            if !lost {
                take(&mut decoder, packet, 0).expect("all windows are held");
            }
            decoder.skip_to(end.saturating_sub(WINDOW));
        }
        let known = (decoder.first()..decoder.end()).filter(|esi| decoder.is_known(*esi));
        let (known, missing) = (known.count() as u64, decoder.unknowns() as u64);
        let (first, end) = (decoder.first(), decoder.end());
        let base = end + outage;
        let expected = (known, missing, outage);
        let abandoned = decoder.stats().abandoned;

        let Skipped { known, missing, unheard, .. } = decoder.skip_to(base);
        prop_assert_eq!((known, missing, unheard), expected);
        prop_assert_eq!(known + missing + unheard, base - first);
        prop_assert_eq!(decoder.stats().abandoned - abandoned, missing + unheard);
        prop_assert_eq!(decoder.skip_to(base), Skipped::default());

        let mut new = WindowDecoder::new(config()).starting_at(base);
        for (packet, lost) in packets.iter().zip(&after) {
            if !lost {
                let taken = take(&mut decoder, packet, base);
                prop_assert_eq!(taken, take(&mut new, packet, base));
            }
            prop_assert_eq!(observe(&mut decoder, base), observe(&mut new, base));
        }
    }

    #[test]
    fn a_receiver_that_skips_when_refused_takes_every_source_symbol_that_comes(
        gaps in proptest::collection::vec(prop_oneof![0..4_u64, 0..60_u64, 0..32_000_u64], 1..80),
    ) {
        let mut decoder = WindowDecoder::new(config()).starting_at(60_000);
        let (mut esi, mut arrived) = (60_000, 0);
        let (mut dropped, mut known) = (0, 0);
        for gap in gaps {
            esi += gap;
            // Sixteen bits travel.
            let heard = expand_esi(esi as u16 as u32, 16, decoder.end());
            prop_assert_eq!(heard, Some(esi));
            let taken = decoder.source(esi, b"x").or_else(|error| {
                assert!(matches!(
                    error,
                    DecodeError::OutOfSpan { .. } | DecodeError::TooManyUnknowns { .. }
                ));
                dropped += decoder.skip_to(esi).known;
                decoder.source(esi, b"x")
            });
            prop_assert_eq!(taken, Ok(Outcome::Innovative));
            arrived += 1;
            decoder.each_known(|_, _| known += 1);
            esi += 1;
        }
        prop_assert_eq!(known, arrived);
        let held = (decoder.first()..decoder.end()).filter(|esi| decoder.is_known(*esi));
        prop_assert_eq!(dropped + held.count() as u64, arrived);
        prop_assert_eq!(decoder.end(), esi);
    }

    #[test]
    fn a_relay_that_joins_late_or_skips_an_outage_does_what_a_new_one_does(
        before in 0..40_usize,
        base in prop_oneof![100..200_u64, Just(1 << 40)],
    ) {
        let packets = flow(40);
        let mut relay = Recoder::new(10, WINDOW as usize, 30);
        for packet in &packets[..before] {
            give(&mut relay, packet, 0)?;
        }
        let mut new = Recoder::new(10, WINDOW as usize, 30);
        for (key, packet) in (0..).zip(&packets) {
            prop_assert_eq!(give(&mut relay, packet, base)?, give(&mut new, packet, base)?);
            prop_assert_eq!(relay.window(), new.window());
            let (mut one, mut other) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
            prop_assert_eq!(
                relay.recode(key, &mut one.0, &mut one.1),
                new.recode(key, &mut other.0, &mut other.1)
            );
            prop_assert_eq!(one, other);
        }
    }
}

/// Gives a packet to a relay, as one of a flow whose first symbol has the ESI
/// `base`.
fn give(relay: &mut Recoder, packet: &Packet, base: u64) -> Result<Outcome, TestCaseError> {
    let taken = match packet {
        Packet::Source(esi) => relay.source(base + esi, &payload(*esi)),
        Packet::Repair(window, key, data) => {
            relay.repair(base + window.start..base + window.end, *key, data)
        }
    };
    taken.map_err(|error| TestCaseError::fail(format!("{error}")))
}

#[test]
fn a_decoder_may_start_at_the_highest_esis_and_skip_to_the_last() {
    let mut decoder = WindowDecoder::new(config()).starting_at(u64::MAX - 2);
    assert_eq!(decoder.source(u64::MAX - 1, b"x"), Ok(Outcome::Innovative));
    assert_eq!(decoder.next_known(), Some(u64::MAX - 1));
    assert_eq!(decoder.source(5, b"x"), Ok(Outcome::Redundant));
    let skipped = decoder.skip_to(u64::MAX);
    assert_eq!((skipped.known, skipped.missing, skipped.unheard), (1, 1, 0));
    assert_eq!(decoder.first(), u64::MAX);
}

#[test]
fn a_decoder_keeps_its_limits_and_its_field_when_it_starts_elsewhere() {
    let field = weftline_codec::field::Arithmetic::with_bits(3).expect("1 to 8");
    let decoder = WindowDecoder::with_field(config(), field).starting_at(1000);
    assert_eq!(decoder.config(), &config());
    assert_eq!(decoder.stats(), WindowDecoder::new(config()).stats());
    let mut encoder = WindowEncoder::with_field(8, 30, field);
    for esi in 0..3 {
        assert_eq!(encoder.push(&payload(esi)), Ok(esi));
    }
    let mut repair = Vec::new();
    assert_eq!(encoder.repair(0..3, 5, &mut repair), Ok(()));
    let mut decoder = decoder;
    assert_eq!(decoder.source(1000, &payload(0)), Ok(Outcome::Innovative));
    assert_eq!(decoder.source(1002, &payload(2)), Ok(Outcome::Innovative));
    assert_eq!(
        decoder.repair(1000..1003, 5, &repair),
        Ok(Outcome::Innovative)
    );
    assert_eq!(decoder.symbol(1001), Some(&payload(1)[..]));
}
