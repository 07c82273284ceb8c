//! Repair symbols, and what they tell.

use core::ops::Range;

use super::{Outcome, WindowDecoder};
use crate::Esi;
use crate::buffers::Coded;
use crate::coefficients::Coefficients;
use crate::error::DecodeError;
use crate::field::Arithmetic;
use crate::symbol::LENGTH_BYTES;

/// What repair symbols look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Bytes in which there is a whole number of elements.
    group: usize,
    /// The fewest bytes, and the most.
    min: usize,
    max: usize,
}

impl Shape {
    pub(super) fn new(field: Arithmetic, max_symbol_size: usize) -> Self {
        Self {
            group: field.group(),
            min: field.whole_groups(LENGTH_BYTES),
            max: field.whole_groups(LENGTH_BYTES + max_symbol_size),
        }
    }
}

impl WindowDecoder {
    /// Takes a repair symbol made over `window` with these coefficients, or
    /// those of a key. Symbols of the window past [`end`](Self::end) become
    /// missing.
    ///
    /// # Errors
    ///
    /// [`DecodeError::WindowEmpty`], [`DecodeError::WindowTooLong`],
    /// [`DecodeError::Coefficients`], [`DecodeError::RepairLength`],
    /// [`DecodeError::RepairGroups`], [`DecodeError::OutOfSpan`],
    /// [`DecodeError::TooManyUnknowns`] or [`DecodeError::NotHeld`], without
    /// effect; or [`DecodeError::Inconsistent`] after it has taken effect.
    pub fn repair<'a>(
        &mut self,
        window: Range<Esi>,
        coefficients: impl Into<Coefficients<'a>>,
        data: &[u8],
    ) -> Result<Outcome, DecodeError> {
        let coefficients = coefficients.into();
        self.check_repair(&window, coefficients, data)?;
        let grows = window.end > self.end();
        if !grows && !self.system.is_unknown_within(&window) {
            return Ok(self.redundant_repair());
        }
        if window.start < self.first() {
            self.stats.not_held += 1;
            return Err(DecodeError::NotHeld {
                start: window.start,
                first: self.first(),
            });
        }
        self.vector.clear();
        self.vector.resize((window.end - window.start) as usize, 0);
        coefficients.fill(self.field, &mut self.vector)?;
        if grows {
            let equation = self.subtract_known(&window, data)?;
            self.miss_up_to(window.end);
            if !self.reduce(&window) {
                // All that is missing has a coefficient of 0.
                self.buffers.give(equation);
                return Ok(self.redundant_repair());
            }
            self.system.insert(equation, &mut self.buffers);
        } else {
            if !self.reduce(&window) {
                return Ok(self.redundant_repair());
            }
            let equation = self.subtract_known(&window, data)?;
            self.system.insert(equation, &mut self.buffers);
        }
        self.stats.repairs += 1;
        match self.settle() {
            None => Ok(Outcome::Innovative),
            Some(esi) => Err(DecodeError::Inconsistent { esi }),
        }
    }

    /// The equation of a repair symbol with all known symbols subtracted. It
    /// must be as long as the longest symbol it contains.
    fn subtract_known(&mut self, window: &Range<Esi>, data: &[u8]) -> Result<Coded, DecodeError> {
        let mut equation = self.buffers.copy(data);
        let Self {
            store,
            vector,
            field,
            ..
        } = self;
        let apart = self.shape.group == 1;
        if !apart {
            store.complete(window);
        }
        let known = || {
            let symbols = store.range(window).zip(vector.iter());
            symbols.filter_map(|(symbol, c)| Some((*c, symbol?)).filter(|_| *c != 0))
        };
        let mut fits = true;
        let fitting = known().take_while(|(_, symbol)| {
            fits = symbol.len() <= data.len();
            fits
        });
        if apart {
            // Payloads begin at a line of the cache, coded forms do not.
            let mut lengths = Lengths::default();
            let (prefix, payload) = equation.bytes_mut().split_at_mut(LENGTH_BYTES);
            let payloads = fitting.map(|(c, symbol)| {
                lengths.add(*field, prefix, c, symbol.len() - LENGTH_BYTES);
                (c, symbol.payload())
            });
            field.combine(payload, payloads);
            lengths.finish(*field, prefix);
        } else {
            let forms = fitting.map(|(c, symbol)| (c, symbol.bytes()));
            field.combine(equation.bytes_mut(), forms);
        }
        if fits {
            return Ok(equation);
        }
        let longest = known().map(|(_, symbol)| symbol.len()).max();
        let error = DecodeError::RepairLength {
            got: data.len(),
            min: self.field.whole_groups(longest.unwrap_or(0)),
            max: self.shape.max,
        };
        self.buffers.give(equation);
        Err(error)
    }

    /// Whether the coding vector in hand tells anything new.
    fn reduce(&mut self, window: &Range<Esi>) -> bool {
        let vector = &self.vector;
        self.system
            .reduce(window, |esi| vector[(esi - window.start) as usize])
    }

    fn redundant_repair(&mut self) -> Outcome {
        self.stats.redundant_repairs += 1;
        Outcome::Redundant
    }

    /// The checks that need no look at any symbol.
    fn check_repair(
        &self,
        window: &Range<Esi>,
        coefficients: Coefficients<'_>,
        data: &[u8],
    ) -> Result<(), DecodeError> {
        if window.is_empty() {
            return Err(DecodeError::WindowEmpty);
        }
        let symbols = window.end - window.start;
        if symbols > self.config.max_window as u64 {
            return Err(DecodeError::WindowTooLong {
                got: symbols,
                limit: self.config.max_window,
            });
        }
        coefficients.check(self.field, symbols as usize)?;
        let Shape { group, min, max } = self.shape;
        if data.len() < min || data.len() > max {
            return Err(DecodeError::RepairLength {
                got: data.len(),
                min,
                max,
            });
        }
        if group > 1 && !data.len().is_multiple_of(group) {
            return Err(DecodeError::RepairGroups {
                got: data.len(),
                group,
            });
        }
        if window.end > self.end() {
            self.check_end(window.end, 0)?;
        }
        Ok(())
    }
}

/// A combination of the lengths before payloads, of which most are equal.
#[derive(Debug, Default)]
struct Lengths {
    /// The sum of the coefficients of this length so far.
    factor: u8,
    length: usize,
}

impl Lengths {
    /// Adds a length, to the sum at the latest when [finished](Self::finish).
    #[inline]
    fn add(&mut self, field: Arithmetic, sum: &mut [u8], c: u8, length: usize) {
        if length != self.length {
            self.finish(field, sum);
            self.length = length;
        }
        self.factor ^= c;
    }

    fn finish(&mut self, field: Arithmetic, sum: &mut [u8]) {
        let bytes = (self.length as u16).to_be_bytes();
        field.mul_add(sum, &bytes, self.factor);
        self.factor = 0;
    }
}
