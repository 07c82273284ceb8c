//! A receiver of one block at a time, ideal or real.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{BlockDecoder, BlockEncoder};

use super::channel::{Draws, threshold};
use super::{Code, SlotError};
use crate::theory::rlnc::Vectors;

/// Bytes of a symbol: a whole group of any field.
const SYMBOL: usize = 8;

/// Most symbols of a really coded block: its decoder's memory grows with their square.
const LARGEST: u32 = 8192;

/// Receives blocks of k symbols in GF(2^q).
pub(super) enum Receiver {
    /// By the probability that a combination is innovative, which depends on the deficit alone.
    Genie {
        /// By deficit.
        news: Vec<u64>,
        deficit: usize,
    },
    /// By coding and decoding.
    Real(Box<Real>),
}

pub(super) struct Real {
    field: Arithmetic,
    vectors: Vectors,
    encoder: BlockEncoder,
    decoder: BlockDecoder,
    vector: Vec<u8>,
    repair: Vec<u8>,
}

fn payload(index: usize) -> [u8; SYMBOL] {
    (index as u64 ^ 0xB10C)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .to_le_bytes()
}

impl Receiver {
    pub(super) fn new(code: Code, q: u32, k: u32, vectors: Vectors) -> Result<Self, SlotError> {
        super::within("q", q, (1..=8).contains(&q), "from 1 to 8")?;
        if code == Code::Real {
            let expected = "at most 8192 where a block is coded for real";
            super::within("the number of symbols", k, k <= LARGEST, expected)?;
        }
        let k = k as usize;
        let field = Arithmetic::with_bits(q).unwrap_or_default();
        if code == Code::Genie {
            let power = |n: usize| (-f64::from(q) * n as f64).exp2();
            let some = match vectors {
                Vectors::Any => 1.0,
                Vectors::NonZero => 1.0 - power(k),
            };
            let news = (0..=k).map(|deficit| threshold((1.0 - power(deficit)) / some));
            return Ok(Self::Genie {
                news: news.collect(),
                deficit: k,
            });
        }
        let mut encoder = BlockEncoder::with_field(k, SYMBOL, field);
        for index in 0..k {
            let pushed = encoder.push(&payload(index));
            pushed.expect("the encoder was made for these symbols");
        }
        Ok(Self::Real(Box::new(Real {
            field,
            vectors,
            encoder,
            decoder: BlockDecoder::with_field(k, SYMBOL, field),
            vector: vec![0; k],
            repair: Vec::new(),
        })))
    }

    /// Starts the next block.
    pub(super) fn begin(&mut self) {
        match self {
            Self::Genie { news, deficit } => *deficit = news.len() - 1,
            Self::Real(real) => real.decoder.reset(real.encoder.len()),
        }
    }

    /// Receives a source symbol, before any combination.
    pub(super) fn source(&mut self, index: usize) {
        match self {
            Self::Genie { deficit, .. } => *deficit -= 1,
            Self::Real(real) => {
                let taken = real.decoder.source(index, &payload(index));
                taken.expect("the symbol is one of the block");
            }
        }
    }

    /// Receives a combination.
    pub(super) fn combination(&mut self, draws: &mut Draws) -> Result<(), SlotError> {
        match self {
            Self::Genie { news, deficit } => {
                if *deficit > 0 && draws.chance(news[*deficit]) {
                    *deficit -= 1;
                }
                Ok(())
            }
            Self::Real(real) => real.combination(draws),
        }
    }

    /// Number of symbols that the block still needs.
    pub(super) fn deficit(&self) -> usize {
        match self {
            Self::Genie { deficit, .. } => *deficit,
            Self::Real(real) => real.decoder.deficit(),
        }
    }
}

impl Real {
    fn combination(&mut self, draws: &mut Draws) -> Result<(), SlotError> {
        let coefficients = loop {
            let coefficients = Coefficients::Uniform {
                key: draws.bits() as u32,
            };
            if self.vectors == Vectors::Any {
                break coefficients;
            }
            let filled = coefficients.fill(self.field, &mut self.vector);
            filled.expect("there is such a vector in every field");
            if self.vector.iter().any(|element| *element != 0) {
                break coefficients;
            }
        };
        self.repair.clear();
        let made = self.encoder.repair(coefficients, &mut self.repair);
        made.expect("the block has symbols");
        let wrong = |esi| SlotError::Wrong { esi };
        self.decoder
            .repair(coefficients, &self.repair)
            .map_err(|_| wrong(0))?;
        if let Some(symbols) = self.decoder.symbols() {
            for (index, symbol) in symbols.enumerate() {
                if symbol != payload(index) {
                    return Err(wrong(index as u64));
                }
            }
        }
        Ok(())
    }
}
