//! For any losses, order, windows, lengths, field and kind of coding vector: at
//! every step the decoder knows exactly the symbols that follow from its input,
//! byte for byte.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::oracle::Oracle;
use proptest::prelude::*;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{
    DecodeError, DecoderConfig, DecoderStats, Outcome, WindowDecoder, WindowEncoder,
};

/// The fate of a packet on the path.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    /// Arrives after this many later packets.
    Arrives(usize),
    Twice(usize, usize),
}

/// The symbols that a repair covers.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// All symbols that the sender holds.
    Elastic,
    /// The latest ones.
    Fixed(u64),
    /// Any run of held symbols, by shares of them.
    Random(f64, f64),
}

/// How the coding vectors of a run are made.
#[derive(Clone, Copy, Debug)]
enum Kind {
    NonZero,
    Uniform,
    Sparse(u8),
    Fading(u16),
    Rfc8681(u8),
    /// Explicit, with every third element 0.
    Explicit,
}

/// A coding vector and its description for the decoder.
#[derive(Clone, Debug)]
struct Vector {
    kind: Kind,
    key: u32,
    elements: Vec<u8>,
}

impl Vector {
    fn new(kind: Kind, field: Arithmetic, key: u32, symbols: usize) -> Self {
        let mut vector = Self {
            kind,
            key,
            elements: vec![0; symbols],
        };
        let coefficients = match kind {
            Kind::Explicit => Coefficients::Uniform { key },
            _ => vector.coefficients(),
        };
        let mut elements = vec![0; symbols];
        let made = coefficients.fill(field, &mut elements);
        assert_eq!(made, Ok(()));
        if matches!(kind, Kind::Explicit) {
            elements.iter_mut().step_by(3).for_each(|c| *c = 0);
        }
        vector.elements = elements;
        vector
    }

    fn coefficients(&self) -> Coefficients<'_> {
        let key = self.key;
        match self.kind {
            Kind::NonZero => Coefficients::NonZero { key },
            Kind::Uniform => Coefficients::Uniform { key },
            Kind::Sparse(density_threshold) => Coefficients::Sparse {
                key,
                density_threshold,
            },
            Kind::Fading(dense) => Coefficients::Fading { key, dense },
            Kind::Rfc8681(density_threshold) => Coefficients::Rfc8681 {
                repair_key: key as u16,
                density_threshold,
            },
            Kind::Explicit => Coefficients::Explicit(&self.elements),
        }
    }
}

fn code() -> impl Strategy<Value = (Arithmetic, Kind)> {
    let kind = prop_oneof![
        Just(Kind::NonZero),
        Just(Kind::Uniform),
        (0..16_u8).prop_map(Kind::Sparse),
        (0..12_u16).prop_map(Kind::Fading),
        Just(Kind::Explicit),
    ];
    let field = |bits| Arithmetic::with_bits(bits).expect("1 to 8");
    prop_oneof![
        2 => Just((field(8), Kind::NonZero)),
        8 => (1..=8_u32, kind).prop_map(move |(bits, kind)| (field(bits), kind)),
        2 => (prop_oneof![Just(1), Just(8)], 0..16_u8)
            .prop_map(move |(bits, density)| (field(bits), Kind::Rfc8681(density))),
    ]
}

#[derive(Clone, Debug)]
struct Step {
    length: usize,
    fate: Fate,
    repairs: Vec<(Shape, Fate)>,
    /// The share of its symbols that the sender discards after this step, and
    /// the fate of the report of it.
    discard: Option<(f64, Fate)>,
}

#[derive(Clone, Debug)]
enum Packet {
    Source(u64),
    Repair(Range<u64>, Vector, Vec<u8>),
    Forget(u64),
}

fn fate(loss: u32) -> impl Strategy<Value = Fate> {
    prop_oneof![
        loss => Just(Fate::Lost),
        60 => Just(Fate::Arrives(0)),
        10 => (0..25_usize).prop_map(Fate::Arrives),
        5 => (0..9_usize, 0..25_usize).prop_map(|(a, b)| Fate::Twice(a, b)),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Elastic),
        (1..12_u64).prop_map(Shape::Fixed),
        (0.0..1.0, 0.0..1.0).prop_map(|(a, b)| Shape::Random(a, b)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    (5..60_u32, 0.0..0.2).prop_flat_map(|(loss, discards)| {
        let step = (
            prop_oneof![0..40_usize, Just(32)],
            fate(loss),
            proptest::collection::vec((shape(), fate(loss)), 0..3),
            proptest::option::weighted(discards, (0.0..1.0, fate(10))),
        )
            .prop_map(|(length, fate, repairs, discard)| Step {
                length,
                fate,
                repairs,
                discard,
            });
        proptest::collection::vec(step, 1..45)
    })
}

fn payload(esi: u64, length: usize) -> Vec<u8> {
    // With zeros, which must not be taken for padding.
    (0..length)
        .map(|i| (esi.wrapping_mul(37) as usize + i * i) as u8 & 0xF5)
        .collect()
}

/// The packets in order of arrival, and the payloads sent.
fn run_sender((field, kind): (Arithmetic, Kind), steps: &[Step]) -> (Vec<Packet>, Vec<Vec<u8>>) {
    let mut encoder = WindowEncoder::with_field(100, 40, field);
    let mut sent = Vec::new();
    let mut payloads = Vec::new();
    let mut send = |packet: Packet, fate: Fate| {
        let now = sent.len();
        let delays = match fate {
            Fate::Lost => vec![],
            Fate::Arrives(delay) => vec![delay],
            Fate::Twice(one, other) => vec![one, other],
        };
        for delay in delays {
            sent.push((now + delay, packet.clone()));
        }
    };
    let mut key = 0;
    for step in steps {
        let bytes = payload(encoder.next(), step.length);
        // Copied and owned alike.
        let pushed = if bytes.len().is_multiple_of(2) {
            encoder.push(&bytes)
        } else {
            let packet = [&[0xEE; 7][..], &bytes, &[0xEE; 3]].concat();
            encoder.push_owned(packet, 7..7 + bytes.len())
        };
        let esi = pushed.expect("room for all steps");
        payloads.push(bytes);
        send(Packet::Source(esi), step.fate);
        for &(shape, fate) in &step.repairs {
            let (first, next) = (encoder.first(), encoder.next());
            let held = next - first;
            let window = match shape {
                _ if held == 0 => continue,
                Shape::Elastic => first..next,
                Shape::Fixed(length) => next - length.min(held)..next,
                Shape::Random(start, share) => {
                    let start = first + (held as f64 * start) as u64;
                    start..start + 1 + ((next - start - 1) as f64 * share) as u64
                }
            };
            let symbols = (window.end - window.start) as usize;
            let vector = Vector::new(kind, field, key, symbols);
            let mut repair = vec![];
            let made = encoder.repair(window.clone(), vector.coefficients(), &mut repair);
            assert_eq!(made, Ok(()));
            assert_eq!(encoder.repair_len(window.clone()), Ok(repair.len()));
            send(Packet::Repair(window, vector, repair), fate);
            key += 1;
        }
        if let Some((share, fate)) = step.discard {
            let held = encoder.next() - encoder.first();
            encoder.discard_before(encoder.first() + (held as f64 * share) as u64);
            send(Packet::Forget(encoder.first()), fate);
        }
    }
    sent.sort_by_key(|(time, _)| *time);
    let arrivals = sent.into_iter().map(|(_, packet)| packet).collect();
    (arrivals, payloads)
}

/// A decoder and its oracle.
struct Checked {
    decoder: WindowDecoder,
    oracle: Oracle,
    /// All symbols that the decoder has reported as known.
    reported: BTreeSet<u64>,
    /// What the outcomes of all calls add up to.
    counts: DecoderStats,
}

impl Checked {
    fn take(&mut self, packet: &Packet, payloads: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let (first, end) = (self.decoder.first(), self.decoder.end());
        let before = self.oracle.verdict(first, end);
        match packet {
            Packet::Source(esi) => {
                let payload = &payloads[*esi as usize];
                let outcome = if esi % 3 == 0 {
                    let packet = [&[0xEE; 5][..], payload, &[0xEE; 4]].concat();
                    let place = 5..5 + payload.len();
                    self.decoder.source_owned(*esi, packet, place)
                } else {
                    self.decoder.source(*esi, payload)
                };
                let helps = *esi >= first && !before.known.contains(esi);
                prop_assert_eq!(outcome, Ok(outcome_if(helps)));
                self.counts.sources += u64::from(helps);
                self.counts.redundant_sources += u64::from(!helps);
                if helps {
                    self.oracle.receive(*esi);
                }
            }
            Packet::Repair(window, vector, data) => {
                let coefficients = vector.coefficients();
                let outcome = self.decoder.repair(window.clone(), coefficients, data);
                let missing = |esi| esi >= first && !before.known.contains(&esi);
                if window.start >= first {
                    self.oracle
                        .equation(window.clone(), vector.elements.clone());
                    let after = self.oracle.verdict(first, end.max(window.end));
                    prop_assert_eq!(outcome, Ok(outcome_if(after.rank > before.rank)));
                } else if window.clone().any(missing) {
                    let start = window.start;
                    prop_assert_eq!(outcome, Err(DecodeError::NotHeld { start, first }));
                } else {
                    prop_assert_eq!(outcome, Ok(Outcome::Redundant));
                }
                self.counts.repairs += u64::from(outcome == Ok(Outcome::Innovative));
                self.counts.redundant_repairs += u64::from(outcome == Ok(Outcome::Redundant));
                self.counts.not_held += u64::from(outcome.is_err());
            }
            Packet::Forget(esi) => self.decoder.forget_before(*esi),
        }
        self.check(payloads)
    }

    fn check(&mut self, payloads: &[Vec<u8>]) -> Result<(), TestCaseError> {
        let decoder = &mut self.decoder;
        let (first, end) = (decoder.first(), decoder.end());
        let verdict = self.oracle.verdict(first, end);
        while let Some(esi) = decoder.next_known() {
            prop_assert!(self.reported.insert(esi), "{} reported twice", esi);
            prop_assert!(decoder.is_known(esi));
        }
        let held: BTreeSet<u64> = (first..end).filter(|esi| decoder.is_known(*esi)).collect();
        prop_assert_eq!(&held, &verdict.known);
        prop_assert!(held.is_subset(&self.reported));
        for &esi in &held {
            prop_assert_eq!(decoder.symbol(esi), Some(&payloads[esi as usize][..]));
        }
        let missing: Vec<u64> = (first..end).filter(|esi| !held.contains(esi)).collect();
        prop_assert_eq!(
            decoder.missing().flatten().collect::<Vec<_>>(),
            missing.clone()
        );
        let ranges: Vec<Range<u64>> = decoder.missing().collect();
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        prop_assert_eq!(decoder.unknowns(), missing.len());
        prop_assert_eq!(
            decoder.contiguous(),
            missing.first().copied().unwrap_or(end)
        );
        let recovered = held.len() - self.oracle.received_within(first..end);
        prop_assert_eq!(decoder.rank(), verdict.rank - recovered);
        prop_assert_eq!(decoder.deficit(), decoder.unknowns() - decoder.rank());
        self.counts.recovered = self.reported.len() as u64 - self.counts.sources;
        self.counts.abandoned = decoder.stats().abandoned;
        prop_assert_eq!(decoder.stats(), &self.counts);
        Ok(())
    }
}

fn outcome_if(helps: bool) -> Outcome {
    if helps {
        Outcome::Innovative
    } else {
        Outcome::Redundant
    }
}

#[test]
fn symbols_are_reported_once_in_the_order_in_which_they_became_known() {
    let mut encoder = WindowEncoder::new(10, 10);
    for payload in [b"a", b"b", b"c", b"d", b"e"] {
        assert!(encoder.push(payload).is_ok());
    }
    let mut decoder = WindowDecoder::new(DecoderConfig::new(10, 10, 10, 10));
    let repair = |decoder: &mut WindowDecoder, window: Range<u64>, key| {
        let mut data = Vec::new();
        assert_eq!(encoder.repair(window.clone(), key, &mut data), Ok(()));
        assert_eq!(decoder.repair(window, key, &data), Ok(Outcome::Innovative));
    };
    decoder.source(4, b"e").unwrap();
    decoder.source(1, b"b").unwrap();
    repair(&mut decoder, 0..4, 0);
    repair(&mut decoder, 0..5, 1);
    // Determines 0 and 2 together with the equations held.
    decoder.source(3, b"d").unwrap();
    decoder.source(3, b"d").unwrap();
    let reported: Vec<u64> = std::iter::from_fn(|| decoder.next_known()).collect();
    assert_eq!(reported, [4, 1, 3, 0, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn decoder_knows_exactly_what_follows_from_what_arrived(
        code in code(),
        steps in steps(),
    ) {
        let (arrivals, payloads) = run_sender(code, &steps);
        let config = DecoderConfig::new(100, 40, 100, 100);
        let mut checked = Checked {
            decoder: WindowDecoder::with_field(config, code.0),
            oracle: Oracle::new(code.0),
            reported: BTreeSet::new(),
            counts: DecoderStats::default(),
        };
        for packet in &arrivals {
            checked.take(packet, &payloads)?;
        }
        let decoder = &checked.decoder;
        let stats = decoder.stats();
        let symbols = stats.sources + stats.recovered + stats.abandoned;
        prop_assert_eq!(symbols, decoder.end() - decoder.unknowns() as u64);
        // Then the sender sends the missing symbols again, and all are known.
        let missing: Vec<u64> = decoder.missing().flatten().collect();
        for esi in missing {
            checked.take(&Packet::Source(esi), &payloads)?;
        }
        prop_assert_eq!(checked.decoder.unknowns(), 0);
        prop_assert_eq!(checked.decoder.rank(), 0);
    }
}
