//! A block coded and decoded step by step (Garrido et al., Fig. 2): every coding vector, coded
//! packet and state of the receiver's linear system, by the real codec.

use serde::Serialize;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{BlockDecoder, BlockEncoder, Outcome};

use super::channel::{Draws, threshold};
use super::{SlotError, within};

/// Largest block of an example.
pub const LARGEST: u32 = 16;
/// Bytes before a coded symbol's payload: its length.
const LENGTH: usize = 2;

/// The example's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkedExample {
    /// Packets of the block, K.
    pub k: u32,
    /// Coefficients are in GF(2^q).
    pub q: u32,
    /// Bytes of a packet.
    pub bytes: u32,
    /// Probability that a coded packet is lost.
    pub fer: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// A coding vector and the combination that it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// One coefficient for each packet of the block.
    pub vector: Vec<u8>,
    /// The combination in hexadecimal: length, payload, padding.
    pub coded: String,
}

/// A coded packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodedPacket {
    /// The seed of its coding vector.
    pub key: u32,
    /// What it carries.
    #[serde(flatten)]
    pub row: Row,
    /// Whether it arrived.
    pub received: bool,
    /// Whether it raised the decoder's rank.
    pub innovative: bool,
    /// The decoder's rank behind it.
    pub rank: u32,
    /// The receiver's equations behind it, in reduced row echelon form.
    pub system: Vec<Row>,
    /// Packets of the block that are known behind it.
    pub known: Vec<u32>,
}

/// The example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The block's packets as the encoder codes them.
    pub source: Vec<String>,
    /// Every coded packet up to the one that decodes the block.
    pub packets: Vec<CodedPacket>,
    /// What the decoder recovered, in the form of `source`.
    pub decoded: Vec<String>,
}

struct Equation {
    vector: Vec<u8>,
    coded: Vec<u8>,
}

impl WorkedExample {
    /// Codes and decodes one block.
    ///
    /// # Errors
    /// A parameter is out of its range, or the decoder returns what was not encoded.
    pub fn run(&self) -> Result<Example, SlotError> {
        let Self { k, q, bytes, .. } = *self;
        within(
            "the number of symbols",
            k,
            (1..=LARGEST).contains(&k),
            "from 1 to 16",
        )?;
        within("q", q, (1..=8).contains(&q), "from 1 to 8")?;
        within(
            "the packet's size",
            bytes,
            (1..=64).contains(&bytes),
            "from 1 to 64 bytes",
        )?;
        let fits = (0.0..=0.95).contains(&self.fer);
        within("FER", self.fer, fits, "from 0 to 0.95")?;
        let field = Arithmetic::with_bits(q).unwrap_or_default();
        let (k, bytes) = (k as usize, bytes as usize);
        let mut draws = Draws::new(self.seed, 0);
        let mut encoder = BlockEncoder::with_field(k, bytes, field);
        let mut payloads = Vec::new();
        for _ in 0..k {
            let payload: Vec<u8> = (0..bytes).map(|_| draws.bits() as u8).collect();
            let pushed = encoder.push(&payload);
            pushed.expect("the encoder was made for these symbols");
            payloads.push(payload);
        }
        let coded = |payload: &[u8]| {
            let length = (payload.len() as u16).to_be_bytes();
            let mut coded = [&length[..], payload].concat();
            coded.resize(field.whole_groups(LENGTH + bytes), 0);
            coded
        };
        let mut decoder = BlockDecoder::with_field(k, bytes, field);
        let mut system: Vec<Equation> = Vec::new();
        let mut packets = Vec::new();
        let fails = threshold(self.fer);
        while !decoder.is_complete() {
            let (key, vector) = draw(field, k, &mut draws);
            let mut combination = Vec::new();
            let made = encoder.repair(Coefficients::Uniform { key }, &mut combination);
            made.expect("the block has symbols");
            let received = !draws.chance(fails);
            let mut innovative = false;
            if received {
                let taken = decoder.repair(Coefficients::Uniform { key }, &combination);
                innovative = taken.map_err(|_| SlotError::Wrong { esi: 0 })? == Outcome::Innovative;
                let equation = Equation {
                    vector: vector.clone(),
                    coded: combination.clone(),
                };
                eliminate(field, &mut system, equation);
            }
            // A complete decoder has forgotten its equations.
            let rank = if decoder.is_complete() {
                k
            } else {
                decoder.rank()
            };
            if rank != system.len() {
                return Err(SlotError::Wrong { esi: 0 });
            }
            packets.push(CodedPacket {
                key,
                row: row(&vector, &combination),
                received,
                innovative,
                rank: rank as u32,
                known: known(&system),
                system: system
                    .iter()
                    .map(|one| row(&one.vector, &one.coded))
                    .collect(),
            });
        }
        let mut decoded = Vec::new();
        for (index, payload) in payloads.iter().enumerate() {
            let wrong = SlotError::Wrong { esi: index as u64 };
            let symbol = decoder.symbol(index);
            // The elimination above must end with the same packets.
            let eliminated = system.get(index).map(|one| &one.coded);
            if symbol != Some(&payload[..]) || eliminated != Some(&coded(payload)) {
                return Err(wrong);
            }
            decoded.push(hex(&coded(payload)));
        }
        Ok(Example {
            source: payloads
                .iter()
                .map(|payload| hex(&coded(payload)))
                .collect(),
            packets,
            decoded,
        })
    }
}

/// A coding vector other than zero, and the key that makes it.
fn draw(field: Arithmetic, k: usize, draws: &mut Draws) -> (u32, Vec<u8>) {
    let mut vector = vec![0; k];
    loop {
        let key = draws.bits() as u32;
        let filled = Coefficients::Uniform { key }.fill(field, &mut vector);
        filled.expect("there is such a vector in every field");
        if vector.iter().any(|element| *element != 0) {
            return (key, vector);
        }
    }
}

/// Adds an equation to a system in reduced row echelon form; one that depends on the others
/// vanishes.
fn eliminate(field: Arithmetic, system: &mut Vec<Equation>, mut new: Equation) {
    let pivot = |one: &Equation| one.vector.iter().position(|element| *element != 0);
    let subtract = |from: &mut Equation, what: &Equation, factor: u8| {
        if factor != 0 {
            field.mul_add_vector(&mut from.vector, &what.vector, factor);
            field.mul_add(&mut from.coded, &what.coded, factor);
        }
    };
    for one in &*system {
        let factor = pivot(one).map_or(0, |at| new.vector[at]);
        subtract(&mut new, one, factor);
    }
    let Some(at) = pivot(&new) else { return };
    let factor = field.inverse(new.vector[at]);
    field.scale_vector(&mut new.vector, factor);
    field.scale(&mut new.coded, factor);
    for one in &mut *system {
        let factor = one.vector[at];
        subtract(one, &new, factor);
    }
    let place = system.partition_point(|one| pivot(one) < Some(at));
    system.insert(place, new);
}

/// Packets that an equation of their own determines.
fn known(system: &[Equation]) -> Vec<u32> {
    let alone = |one: &Equation| {
        let mut terms = (0..).zip(&one.vector).filter(|(_, c)| **c != 0);
        let (first, second) = (terms.next(), terms.next());
        first.filter(|_| second.is_none()).map(|(index, _)| index)
    };
    system.iter().filter_map(alone).collect()
}

fn row(vector: &[u8], coded: &[u8]) -> Row {
    Row {
        vector: vector.to_vec(),
        coded: hex(coded),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(k: u32, q: u32, seed: u64) -> WorkedExample {
        WorkedExample {
            k,
            q,
            bytes: 4,
            fer: 0.3,
            seed,
        }
    }

    #[test]
    fn every_block_is_decoded_step_by_step() {
        for q in 1..=8 {
            for seed in 0..8 {
                let got = example(3, q, seed).run().unwrap();
                assert_eq!(got.source, got.decoded, "q {q}, seed {seed}");
                let last = got.packets.last().unwrap();
                assert_eq!((last.rank, last.innovative), (3, true));
                assert_eq!(last.known, [0, 1, 2]);
                let identity: Vec<Vec<u8>> = vec![vec![1, 0, 0], vec![0, 1, 0], vec![0, 0, 1]];
                let vectors: Vec<Vec<u8>> =
                    last.system.iter().map(|row| row.vector.clone()).collect();
                assert_eq!(vectors, identity);
                let mut rank = 0;
                for packet in &got.packets {
                    assert!(packet.received || !packet.innovative);
                    assert_eq!(packet.rank, rank + u32::from(packet.innovative));
                    rank = packet.rank;
                }
            }
        }
        let some = (0..40).map(|seed| example(3, 1, seed).run().unwrap());
        let all: Vec<CodedPacket> = some.flat_map(|example| example.packets).collect();
        assert!(all.iter().any(|packet| !packet.received));
        assert!(
            all.iter()
                .any(|packet| packet.received && !packet.innovative)
        );
    }

    #[test]
    fn large_examples_are_refused() {
        assert!(example(17, 1, 1).run().is_err());
        let all_lost = WorkedExample {
            fer: 1.0,
            ..example(3, 1, 1)
        };
        assert!(all_lost.run().is_err());
    }
}
