//! A worked example of block RLC: every coding vector, packet and step of the elimination, made by
//! the real codec.

use serde::Serialize;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{BlockEncoder, DecoderConfig, Outcome, WindowDecoder};

use super::channel::{Draws, threshold};
use super::{SlotError, within};

/// The largest block of an example.
const MOST: u32 = 16;
/// Bytes of a source symbol. With its length it makes whole groups of most fields.
const SYMBOL: usize = 4;
/// An example that needs more packets than this is given up.
const MOST_PACKETS: usize = 1000;

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RlcExample {
    /// Packets of the block, K.
    pub k: u32,
    /// Coefficients are in GF(2^q).
    pub q: u32,
    /// Share of packets that are lost.
    pub fer: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The example: one block, until the receiver has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Packets of the block, K.
    pub k: u32,
    /// Coefficients are in GF(2^q).
    pub q: u32,
    /// The source symbols in the form that is combined: the length in two bytes, then the payload.
    pub sources: Vec<Vec<u8>>,
    /// The packets that were sent.
    pub packets: Vec<Packet>,
}

/// A packet: one combination of all source symbols.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Packet {
    /// Its number, from 0.
    pub packet: usize,
    /// The seed that determines its coding vector.
    pub key: u32,
    /// The coding vector: a coefficient for each source symbol.
    pub vector: Vec<u8>,
    /// The combination: the sum of the coefficients times the source symbols.
    pub data: Vec<u8>,
    /// Whether it arrived.
    pub received: bool,
    /// Whether it was innovative; `None` if it did not arrive.
    pub useful: Option<bool>,
    /// The receiver's equations after it, in reduced row echelon form.
    pub equations: Vec<Equation>,
    /// The number of these equations and of known symbols.
    pub rank: usize,
    /// The source symbols that became known with it.
    pub decoded: Vec<u64>,
}

/// An equation: the sum of `vector` times the symbols is `data`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Equation {
    /// A coefficient for each source symbol; 0 for known ones, which are subtracted.
    pub vector: Vec<u8>,
    /// The sum.
    pub data: Vec<u8>,
}

impl RlcExample {
    /// Codes, loses, decodes, and compares the result.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn run(&self) -> Result<Example, SlotError> {
        within(
            "K",
            self.k,
            (1..=MOST).contains(&self.k),
            "from 1 to 16 in an example",
        )?;
        within("q", self.q, (1..=8).contains(&self.q), "from 1 to 8")?;
        let fits = (0.0..=0.9).contains(&self.fer);
        within("FER", self.fer, fits, "from 0 to 0.9")?;
        let field = Arithmetic::with_bits(self.q).unwrap_or_default();
        let k = self.k as usize;
        let mut draws = Draws::new(self.seed, 0);
        let mut encoder = BlockEncoder::with_field(k, SYMBOL, field);
        let mut sources = Vec::new();
        for index in 0..k {
            let payload = (draws.bits() as u32).to_be_bytes();
            let pushed = encoder.push(&payload);
            debug_assert_eq!(pushed, Ok(index));
            let length = (SYMBOL as u16).to_be_bytes();
            sources.push([&length[..], &payload[..]].concat());
        }
        let mut decoder = WindowDecoder::with_field(DecoderConfig::new(k, SYMBOL, k, k), field);
        let mut packets = Vec::new();
        while decoder.contiguous() < u64::from(self.k) {
            if packets.len() == MOST_PACKETS {
                return Err(SlotError::TooLarge {
                    what: "the number of packets",
                    limit: MOST_PACKETS as u64,
                });
            }
            let packet = self.packet(packets.len(), field, &encoder, &mut decoder, &mut draws)?;
            packets.push(packet);
        }
        for (esi, source) in (0..).zip(&sources) {
            if decoder.symbol(esi) != Some(&source[source.len() - SYMBOL..]) {
                return Err(SlotError::Wrong { esi });
            }
        }
        Ok(Example {
            k: self.k,
            q: self.q,
            sources,
            packets,
        })
    }

    fn packet(
        &self,
        number: usize,
        field: Arithmetic,
        encoder: &BlockEncoder,
        decoder: &mut WindowDecoder,
        draws: &mut Draws,
    ) -> Result<Packet, SlotError> {
        let (k, fails) = (self.k as usize, threshold(self.fer));
        // As the scheme of the engine does: any vector but zero.
        let (key, vector) = loop {
            let key = draws.bits() as u32;
            let mut vector = vec![0; k];
            let filled = Coefficients::Uniform { key }.fill(field, &mut vector);
            debug_assert!(filled.is_ok(), "every field has such vectors");
            if vector.iter().any(|element| *element != 0) {
                break (key, vector);
            }
        };
        let coefficients = Coefficients::Uniform { key };
        let mut data = Vec::new();
        let made = encoder.repair(coefficients, &mut data);
        debug_assert!(made.is_ok(), "the block has symbols");
        let received = !draws.chance(fails);
        let mut useful = None;
        if received {
            let taken = decoder.repair(0..u64::from(self.k), coefficients, &data);
            let taken = taken.map_err(|_| SlotError::Wrong { esi: 0 })?;
            useful = Some(taken == Outcome::Innovative);
        }
        let decoded: Vec<u64> = std::iter::from_fn(|| decoder.next_known()).collect();
        let equations: Vec<Equation> = decoder
            .equations()
            .map(|(coefficients, data)| {
                let mut vector = vec![0; k];
                for (esi, coefficient) in coefficients {
                    vector[esi as usize] = coefficient;
                }
                Equation {
                    vector,
                    data: data.to_vec(),
                }
            })
            .collect();
        let known = (0..u64::from(self.k)).filter(|esi| decoder.is_known(*esi));
        Ok(Packet {
            packet: number,
            key,
            vector,
            data,
            received,
            useful,
            rank: equations.len() + known.count(),
            equations,
            decoded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(k: u32, q: u32, fer: f64, seed: u64) -> Example {
        RlcExample { k, q, fer, seed }.run().unwrap()
    }

    /// The sum of `vector` times the sources, symbol by symbol and byte by byte.
    fn sum(field: Arithmetic, vector: &[u8], sources: &[Vec<u8>], len: usize) -> Vec<u8> {
        let mut sum = vec![0; len];
        for (coefficient, source) in vector.iter().zip(sources) {
            let mut long = source.clone();
            long.resize(len, 0);
            field.mul_add(&mut sum, &long, *coefficient);
        }
        sum
    }

    #[test]
    fn every_packet_and_every_equation_is_the_sum_that_its_vector_says() {
        for (k, q) in [(3, 8), (3, 1), (5, 2), (4, 4), (16, 8)] {
            let field = Arithmetic::with_bits(q).unwrap();
            for seed in 0..20 {
                let example = example(k, q, 0.3, seed);
                let mut known: Vec<u64> = Vec::new();
                for packet in &example.packets {
                    let len = packet.data.len();
                    assert_eq!(
                        packet.data,
                        sum(field, &packet.vector, &example.sources, len)
                    );
                    assert_eq!(packet.received, packet.useful.is_some());
                    known.extend(&packet.decoded);
                    assert_eq!(packet.rank, packet.equations.len() + known.len());
                    for equation in &packet.equations {
                        let len = equation.data.len();
                        let expected = sum(field, &equation.vector, &example.sources, len);
                        assert_eq!(equation.data, expected, "K {k}, q {q}, seed {seed}");
                        let first = equation.vector.iter().find(|c| **c != 0);
                        assert_eq!(first, Some(&1));
                    }
                }
                known.sort_unstable();
                assert!(known.into_iter().eq(0..u64::from(k)));
                let useful = example.packets.iter().filter(|p| p.useful == Some(true));
                assert_eq!(useful.count(), k as usize);
            }
        }
    }

    #[test]
    fn a_large_block_is_refused() {
        let large = RlcExample {
            k: 17,
            q: 8,
            fer: 0.0,
            seed: 1,
        };
        assert!(matches!(large.run(), Err(SlotError::Theory(_))));
    }
}
