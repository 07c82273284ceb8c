//! How a decoder uses repair symbols.

use core::ops::Range;

use super::{Outcome, Shape, WindowDecoder};
use crate::buffers::Coded;
use crate::coefficients::Coefficients;
use crate::error::DecodeError;
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::kernel::Terms;
use crate::store::Store;
use crate::symbol::LENGTH_BYTES;

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
    /// effect; or [`DecodeError::Inconsistent`], after the symbol was used.
    // Always: on a path without losses nearly all repair symbols end here.
    #[inline(always)]
    pub fn repair<'a>(
        &mut self,
        window: Range<Esi>,
        coefficients: impl Into<Coefficients<'a>>,
        data: &[u8],
    ) -> Result<Outcome, DecodeError> {
        let coefficients = coefficients.into();
        let all_known = self.unknowns() == 0 && window.end <= self.end();
        if all_known && self.is_sound(&window, coefficients, data) {
            return Ok(self.redundant_repair());
        }
        self.repair_unprepared(window, coefficients, data)
    }

    /// As [`repair`](Self::repair), for all cases.
    #[inline(never)]
    fn repair_unprepared(
        &mut self,
        window: Range<Esi>,
        coefficients: Coefficients<'_>,
        data: &[u8],
    ) -> Result<Outcome, DecodeError> {
        self.check_repair(&window, coefficients, data)?;
        let grows = window.end > self.end();
        if !grows && (self.unknowns() == 0 || !self.system.is_unknown_within(&window)) {
            return Ok(self.redundant_repair());
        }
        self.use_repair(&window, coefficients, data, grows)
    }

    /// Uses a checked repair symbol that covers missing symbols.
    #[inline(never)]
    fn use_repair(
        &mut self,
        window: &Range<Esi>,
        coefficients: Coefficients<'_>,
        data: &[u8],
        grows: bool,
    ) -> Result<Outcome, DecodeError> {
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
            let equation = self.subtract_known(window, coefficients, data)?;
            self.miss_up_to(window.end);
            if !self.reduce(window) {
                // Every missing symbol has a coefficient of 0.
                self.buffers.give(equation);
                return Ok(self.redundant_repair());
            }
            self.system.insert(equation, &mut self.buffers);
        } else {
            if !self.reduce(window) {
                return Ok(self.redundant_repair());
            }
            let equation = self.subtract_known(window, coefficients, data)?;
            self.system.insert(equation, &mut self.buffers);
        }
        self.stats.repairs += 1;
        match self.settle() {
            None => Ok(Outcome::Innovative),
            Some(esi) => Err(DecodeError::Inconsistent { esi }),
        }
    }

    /// The equation of a repair symbol with all known symbols subtracted. The
    /// repair symbol must be as long as the longest symbol it contains.
    fn subtract_known(
        &mut self,
        window: &Range<Esi>,
        coefficients: Coefficients<'_>,
        data: &[u8],
    ) -> Result<Coded, DecodeError> {
        let mut equation = self.buffers.copy(data);
        let field = self.field;
        let apart = self.shape.group == 1;
        if !apart {
            self.store.complete(window);
        }
        let known = Known {
            field,
            store: &self.store,
            window,
            coefficients,
            vector: &self.vector,
        };
        let mut longest = 0;
        let (prefix, payload) = if apart {
            // Payloads are aligned to a cache line, coded forms are not.
            equation.bytes_mut().split_at_mut(LENGTH_BYTES)
        } else {
            (&mut [][..], equation.bytes_mut())
        };
        let fitting = Fitting {
            known,
            limit: data.len(),
            longest: &mut longest,
            prefix: apart.then_some(prefix),
        };
        field.combine(payload, fitting);
        let heard = self.end().clamp(window.start, window.end) - window.start;
        let known = heard as usize - self.system.unknowns_within(window);
        self.system.count(0, known * data.len());
        if longest <= data.len() {
            return Ok(equation);
        }
        let error = DecodeError::RepairLength {
            got: data.len(),
            min: field.whole_groups(longest),
            max: self.shape.max,
        };
        self.buffers.give(equation);
        Err(error)
    }

    /// Whether the current coding vector is innovative.
    fn reduce(&mut self, window: &Range<Esi>) -> bool {
        let vector = &self.vector;
        self.system
            .reduce(window, |esi| vector[(esi - window.start) as usize])
    }

    #[inline]
    fn redundant_repair(&mut self) -> Outcome {
        self.stats.redundant_repairs += 1;
        Outcome::Redundant
    }

    /// Whether a repair symbol certainly passes the
    /// [checks](Self::check_repair) if its window ends at or below the end.
    #[inline(always)]
    fn is_sound(&self, window: &Range<Esi>, coefficients: Coefficients<'_>, data: &[u8]) -> bool {
        let Shape { group, min, max } = self.shape;
        window.start < window.end
            && window.end - window.start <= self.config.max_window as u64
            && coefficients.are_for_any_window()
            && (min..=max).contains(&data.len())
            && group == 1
    }

    /// The checks that do not depend on any symbol.
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

/// The known symbols of a window that a repair symbol contains.
#[derive(Clone, Copy)]
struct Known<'a> {
    field: Arithmetic,
    store: &'a Store,
    window: &'a Range<Esi>,
    coefficients: Coefficients<'a>,
    /// All coefficients.
    vector: &'a [u8],
}

impl<'a> Known<'a> {
    /// Calls `symbol` with each of them and its coefficient. Symbols that a
    /// fading vector leaves out cost nothing.
    #[inline]
    fn each(self, mut symbol: impl FnMut(u8, &'a Coded)) {
        let Self { store, vector, .. } = self;
        if let Coefficients::Fading { .. } = self.coefficients {
            let term = |position, c| {
                if let Some(known) = store.get(self.window.start + position as u64) {
                    symbol(c, known);
                }
            };
            return self.coefficients.each_term(self.field, vector.len(), term);
        }
        for (known, c) in store.range(self.window).zip(vector) {
            match known {
                Some(known) if *c != 0 => symbol(*c, known),
                _ => {}
            }
        }
    }
}

/// The known symbols that are not too long, as terms of a sum.
struct Fitting<'a, 'b> {
    known: Known<'a>,
    /// Bytes of the longest coded form that fits.
    limit: usize,
    /// Bytes of the longest coded form.
    longest: &'b mut usize,
    /// Where the lengths are added, if only payloads are terms.
    prefix: Option<&'b mut [u8]>,
}

impl<'a> Terms<'a> for Fitting<'a, '_> {
    fn at_most(&self) -> usize {
        self.known.vector.len()
    }

    #[inline]
    fn each(self, mut term: impl FnMut(u8, &'a [u8])) {
        let Self {
            known,
            limit,
            longest,
            prefix,
        } = self;
        let field = known.field;
        let mut most = 0;
        if let Some(prefix) = prefix {
            let mut lengths = Lengths::default();
            known.each(|c, symbol| {
                most = most.max(symbol.len());
                if symbol.len() <= limit {
                    lengths.add(field, prefix, c, symbol.len() - LENGTH_BYTES);
                    term(c, symbol.payload());
                }
            });
            lengths.finish(field, prefix);
        } else {
            known.each(|c, symbol| {
                most = most.max(symbol.len());
                if symbol.len() <= limit {
                    term(c, symbol.bytes());
                }
            });
        }
        *longest = most;
    }
}

/// A combination of the lengths before the payloads, most of which are equal.
#[derive(Debug, Default)]
struct Lengths {
    /// The sum of the coefficients of this length so far.
    factor: u8,
    length: usize,
}

impl Lengths {
    /// Adds a length; [`finish`](Self::finish) writes the last of them to the
    /// sum.
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
