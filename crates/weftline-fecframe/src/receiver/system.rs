//! The equations about lost symbols: the codec's decoder, adapted to symbols without a
//! length, with an option to drop equations.

use core::ops::Range;
use std::collections::VecDeque;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, DecoderConfig, LENGTH_BYTES, Outcome, WindowDecoder};

use super::Elimination;

/// Source symbols, known and not, and equations about those that are not.
#[derive(Clone, Debug)]
pub(super) struct System {
    field: Arithmetic,
    decoder: WindowDecoder,
    symbol_size: u16,
    vector: Vec<u8>,
    equation: Vec<u8>,
    /// The equations as received, if those that contain a leaving symbol are dropped.
    raw: Option<VecDeque<Raw>>,
}

#[derive(Clone, Debug)]
struct Raw {
    window: Range<u64>,
    vector: Vec<u8>,
    equation: Vec<u8>,
}

impl System {
    /// A system whose symbols begin at `first`.
    pub(super) fn new(
        field: Arithmetic,
        config: DecoderConfig,
        elimination: Elimination,
        first: u64,
    ) -> Self {
        let symbol_size = config.max_symbol_size as u16;
        let decoder = WindowDecoder::with_field(config, field).starting_at(first);
        Self {
            field,
            decoder,
            symbol_size,
            vector: Vec::new(),
            equation: Vec::new(),
            raw: (elimination == Elimination::Discarding).then(VecDeque::new),
        }
    }

    /// The lowest ESI held.
    pub(super) fn first(&self) -> u64 {
        self.decoder.first()
    }

    pub(super) fn symbol(&self, esi: u64) -> Option<&[u8]> {
        self.decoder.symbol(esi)
    }

    pub(super) fn next_known(&mut self) -> Option<u64> {
        self.decoder.next_known()
    }

    /// Missing symbols, and independent equations about them.
    pub(super) fn missing(&self) -> (usize, usize) {
        (self.decoder.unknowns(), self.decoder.rank())
    }

    pub(super) fn memory(&self) -> usize {
        let raw = self.raw.iter().flatten();
        let raw: usize = raw
            .map(|raw| raw.vector.capacity() + raw.equation.capacity())
            .sum();
        self.decoder.memory() + self.vector.capacity() + self.equation.capacity() + raw
    }

    /// Notes that all symbols below `end` exist.
    pub(super) fn expect(&mut self, end: u64) -> Result<(), DecodeError> {
        self.decoder.expect(end)
    }

    pub(super) fn source(&mut self, esi: u64, symbol: &[u8]) -> Result<Outcome, DecodeError> {
        self.decoder.source(esi, symbol)
    }

    /// Takes a repair symbol of the symbol size.
    pub(super) fn repair(
        &mut self,
        window: Range<u64>,
        coefficients: Coefficients<'_>,
        symbol: &[u8],
    ) -> Result<Outcome, DecodeError> {
        if window.end <= self.decoder.end() && !self.is_missing_within(&window) {
            return Ok(Outcome::Redundant);
        }
        self.vector.clear();
        self.vector.resize((window.end - window.start) as usize, 0);
        coefficients.fill(self.field, &mut self.vector)?;
        // The codec's symbols begin with their length, and those of this format do not.
        // All lengths are equal, so their combination is known.
        let sum = self.vector.iter().fold(0, |sum, c| sum ^ c);
        let length = self.symbol_size.to_be_bytes();
        let mut prefix = [0; LENGTH_BYTES];
        self.field.mul_add(&mut prefix, &length, sum);
        self.equation.clear();
        self.equation.extend_from_slice(&prefix);
        self.equation.extend_from_slice(symbol);
        let coefficients = Coefficients::Explicit(&self.vector);
        let outcome = self
            .decoder
            .repair(window.clone(), coefficients, &self.equation)?;
        if let (Some(raw), Outcome::Innovative) = (&mut self.raw, outcome) {
            raw.push_back(Raw {
                window,
                vector: self.vector.clone(),
                equation: self.equation.clone(),
            });
        }
        Ok(outcome)
    }

    /// Drops the symbols below `esi`.
    pub(super) fn forget_before(&mut self, esi: u64) {
        if let Some(raw) = self.raw.take() {
            self.raw = Some(self.discard_before(esi, raw));
        }
        self.decoder.forget_before(esi);
    }

    fn is_missing_within(&self, window: &Range<u64>) -> bool {
        if self.decoder.contiguous() >= window.end {
            return false;
        }
        let mut ranges = self.decoder.missing();
        let first = ranges.find(|missing| missing.end > window.start);
        first.is_some_and(|missing| missing.start < window.end)
    }

    /// Drops all equations that contain a missing symbol below `esi`, and starts again
    /// with the others, if any. Returns the others.
    fn discard_before(&mut self, esi: u64, mut raw: VecDeque<Raw>) -> VecDeque<Raw> {
        let (first, end) = (self.decoder.first(), self.decoder.end());
        raw.retain(|raw| self.is_missing_within(&raw.window));
        let gone: Vec<u64> = self
            .decoder
            .missing()
            .take_while(|missing| missing.start < esi)
            .flatten()
            .filter(|missing| *missing < esi)
            .collect();
        let before = raw.len();
        raw.retain(|raw| {
            !gone.iter().any(|gone| {
                let position = gone.checked_sub(raw.window.start);
                let coefficient = position.and_then(|at| raw.vector.get(at as usize));
                coefficient.is_some_and(|c| *c != 0)
            })
        });
        if raw.len() == before {
            return raw;
        }
        let mut decoder = WindowDecoder::with_field(self.decoder.config().clone(), self.field);
        decoder.forget_before(first);
        // None of this can fail: the decoder held the same equations before.
        for (esi, symbol) in (first..end).filter_map(|esi| Some((esi, self.symbol(esi)?))) {
            let _ = decoder.source(esi, symbol);
        }
        let _ = decoder.expect(end);
        for raw in &raw {
            let coefficients = Coefficients::Explicit(&raw.vector);
            let _ = decoder.repair(raw.window.clone(), coefficients, &raw.equation);
        }
        // None of these symbols is newly known.
        while decoder.next_known().is_some() {}
        self.decoder = decoder;
        raw
    }
}
