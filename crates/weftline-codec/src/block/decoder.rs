//! The receiving side of a block code.

use alloc::vec::Vec;
use core::ops::Range;

use super::equations::Equations;
use super::known::Known;
use crate::buffers::{Buffers, Coded};
use crate::coefficients::Coefficients;
use crate::decoder::{DecoderStats, Outcome};
use crate::error::DecodeError;
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::symbol::{self, LENGTH_BYTES, MAX_SYMBOL_SIZE};

/// By how much a buffer of the caller may exceed the symbol size.
const BUFFER_SLACK: usize = 2048;

/// Recovers the missing source symbols of a block, all at once.
///
/// Source symbols can be read when they arrive. A repair symbol costs work on
/// its coefficients only when it arrives: whether it helps, and how many more
/// are needed, is known at once ([`rank`](Self::rank),
/// [`deficit`](Self::deficit)), but its data are stored. When source and repair
/// symbols suffice, the decoder solves for all missing symbols in one pass over
/// the block with long inner loops. This is the fast way to decode a block. A
/// [`WindowDecoder`] takes the same symbols, over the window `0..symbols`;
/// choose it where a symbol should be known as early as possible, as with
/// sparse coefficients.
///
/// A decoder is made for a number of source symbols. It need not know how many
/// repair symbols will come, and their order does not matter.
///
/// # Limits
///
/// For a block of k symbols of at most s bytes, memory is at most `2 * k * (s +
/// 512) + 12 * k^2 + 1024` bytes, where s is 2048 more if source symbols come
/// by [`source_owned`](Self::source_owned). With e symbols missing, a repair
/// symbol costs a copy, its k coefficients and at most `4 * e * (e + 1)`
/// multiply-adds of an element; a late source symbol costs as many, and the
/// symbol that completes the block costs `e * k * (s + e)` more.
///
/// # Contradictions
///
/// Repair symbols are not authenticated. Repair symbols that were not made from
/// this block are detected when a solved symbol has an impossible length or
/// padding other than zeros. The other symbols solved with it are then most
/// likely wrong too, so none is accepted: the repair symbols are dropped, and
/// the block goes on with the symbols that come next.
///
/// [`WindowDecoder`]: crate::WindowDecoder
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    field: Arithmetic,
    max_symbol_size: usize,
    known: Known,
    equations: Equations,
    /// Symbols just solved; empty otherwise.
    solved: Vec<(usize, Coded)>,
    buffers: Buffers,
    stats: DecoderStats,
}

impl BlockDecoder {
    /// A decoder for a block in GF(2^8) of `symbols` source symbols of at most
    /// `max_symbol_size` bytes (a larger limit counts as [`MAX_SYMBOL_SIZE`]).
    #[must_use]
    pub fn new(symbols: usize, max_symbol_size: usize) -> Self {
        Self::with_field(symbols, max_symbol_size, Arithmetic::default())
    }

    /// As [`new`](Self::new), in this field.
    #[must_use]
    pub fn with_field(symbols: usize, max_symbol_size: usize, field: Arithmetic) -> Self {
        let mut decoder = Self {
            field,
            max_symbol_size: max_symbol_size.min(MAX_SYMBOL_SIZE),
            known: Known::default(),
            equations: Equations::new(field, symbols),
            solved: Vec::new(),
            buffers: Buffers::default(),
            stats: DecoderStats::default(),
        };
        decoder.reset(symbols);
        decoder
    }

    /// Takes the source symbol with this index. Copies it once.
    ///
    /// It is redundant if it was known, or if the repair symbols held determine
    /// it; in the latter case it can be read from now on too.
    ///
    /// # Errors
    ///
    /// [`DecodeError::SymbolTooLong`]; [`DecodeError::OutOfSpan`] for an index
    /// outside of the block.
    pub fn source(&mut self, index: usize, payload: &[u8]) -> Result<Outcome, DecodeError> {
        if !self.wants(index, payload.len())? {
            return Ok(Outcome::Redundant);
        }
        let coded = self.buffers.code(payload);
        Ok(self.take(index, coded))
    }

    /// As [`source`](Self::source), without the copy: the decoder keeps the
    /// buffer that the payload arrived in, and `payload` is the range of the
    /// payload in it. At least [`LENGTH_BYTES`] bytes must precede the payload,
    /// such as a packet's header; they are overwritten.
    /// [`reclaim`](Self::reclaim) returns the buffer: at once if the symbol is
    /// redundant or refused, otherwise after the block.
    ///
    /// If the buffer's capacity exceeds the symbol size by more than 2048
    /// bytes, the decoder copies the payload and returns the buffer at once.
    ///
    /// # Errors
    ///
    /// [`DecodeError::PayloadRange`], and as [`source`](Self::source).
    pub fn source_owned(
        &mut self,
        index: usize,
        buffer: Vec<u8>,
        payload: Range<usize>,
    ) -> Result<Outcome, DecodeError> {
        let outcome = self.take_owned(index, buffer, payload);
        // No more buffers wait than can be used.
        let used = self.len() - self.deficit();
        self.buffers.keep(2 * self.len() + 1 - used);
        outcome
    }

    /// A buffer given to [`source_owned`](Self::source_owned) that is no longer
    /// needed. The decoder keeps at most twice as many unclaimed buffers as the
    /// block has symbols.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.buffers.reclaim()
    }

    /// Takes a repair symbol made over the whole block with these coefficients,
    /// or those of a key.
    ///
    /// # Errors
    ///
    /// [`DecodeError::WindowEmpty`] for a block without symbols,
    /// [`DecodeError::RepairLength`], [`DecodeError::RepairGroups`] or
    /// [`DecodeError::Coefficients`], without effect; or
    /// [`DecodeError::Inconsistent`] if the solved block is impossible; all
    /// repair symbols are then dropped.
    pub fn repair<'a>(
        &mut self,
        coefficients: impl Into<Coefficients<'a>>,
        data: &[u8],
    ) -> Result<Outcome, DecodeError> {
        if self.is_empty() {
            return Err(DecodeError::WindowEmpty);
        }
        let (got, group) = (data.len(), self.field.group());
        let max = self.field.whole_groups(LENGTH_BYTES + self.max_symbol_size);
        let length = |min| DecodeError::RepairLength { got, min, max };
        if !(LENGTH_BYTES..=max).contains(&got) {
            return Err(length(LENGTH_BYTES));
        }
        if !got.is_multiple_of(group) {
            return Err(DecodeError::RepairGroups { got, group });
        }
        if self.is_complete() {
            self.stats.redundant_repairs += 1;
            return Ok(Outcome::Redundant);
        }
        let (known, buffers) = (&self.known, &mut self.buffers);
        let vector = self.equations.open(known.missing(), buffers);
        coefficients.into().fill(self.field, vector)?;
        known.check_length(vector, got).map_err(length)?;
        let is_missing = |index| known.is_missing(index);
        if !self.equations.close(data, is_missing, buffers) {
            self.stats.redundant_repairs += 1;
            return Ok(Outcome::Redundant);
        }
        self.stats.repairs += 1;
        match self.settle() {
            None => Ok(Outcome::Innovative),
            Some(index) => Err(DecodeError::Inconsistent { esi: index as Esi }),
        }
    }

    /// The next symbol that became known, received or recovered. Each is
    /// reported once, in the order in which they became known.
    pub fn next_known(&mut self) -> Option<usize> {
        self.known.next_known()
    }

    /// The payload of a known symbol.
    #[must_use]
    pub fn symbol(&self, index: usize) -> Option<&[u8]> {
        Some(self.known.symbols().get(index)?.as_ref()?.payload())
    }

    /// All payloads in order, or `None` while one is missing.
    #[must_use]
    pub fn symbols(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.is_complete().then(|| {
            let known = self.known.symbols().iter().flatten();
            known.map(Coded::payload)
        })
    }

    /// The number of source symbols of the block.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.symbols().len()
    }

    /// Whether the block has no symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every source symbol is known.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unknowns() == 0
    }

    /// The number of missing source symbols.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        self.known.unknowns()
    }

    /// The indices of the missing source symbols, ascending.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        self.known.missing()
    }

    /// The number of independent equations about missing symbols.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.equations.rank()
    }

    /// The number of further innovative symbols that complete the block.
    #[must_use]
    pub fn deficit(&self) -> usize {
        self.unknowns() - self.rank()
    }

    /// Forgets everything but the statistics and begins a block of the same
    /// number of symbols. Buffers are reused.
    pub fn clear(&mut self) {
        self.reset(self.len());
    }

    /// As [`clear`](Self::clear), with another number of symbols.
    pub fn reset(&mut self, symbols: usize) {
        self.known.reset(symbols, &mut self.buffers);
        self.equations.reset(symbols, &mut self.buffers);
    }

    /// Counts of what happened since the decoder was made; `not_held` and
    /// `abandoned` stay 0.
    #[must_use]
    pub fn stats(&self) -> &DecoderStats {
        &self.stats
    }

    /// Bytes of memory held now, buffers kept for reuse included. The cost
    /// grows with the symbols held: call it for reports, not for every packet.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.known.memory()
            + self.equations.memory()
            + self.buffers.memory()
            + self.solved.capacity() * size_of::<(usize, Coded)>()
    }

    /// Whether a source symbol is useful.
    fn wants(&mut self, index: usize, length: usize) -> Result<bool, DecodeError> {
        if length > self.max_symbol_size {
            return Err(DecodeError::SymbolTooLong {
                got: length,
                limit: self.max_symbol_size,
            });
        }
        match self.known.symbols().get(index) {
            None => Err(DecodeError::OutOfSpan {
                end: (index as Esi).saturating_add(1),
                limit: self.len() as Esi,
            }),
            Some(Some(_)) => {
                self.stats.redundant_sources += 1;
                Ok(false)
            }
            Some(None) => Ok(true),
        }
    }

    fn take_owned(
        &mut self,
        index: usize,
        buffer: Vec<u8>,
        payload: Range<usize>,
    ) -> Result<Outcome, DecodeError> {
        let fits = payload.start >= LENGTH_BYTES && buffer.get(payload.clone()).is_some();
        let wanted = if fits {
            self.wants(index, payload.len())
        } else {
            Err(DecodeError::PayloadRange {
                start: payload.start,
                end: payload.end,
                buffer: buffer.len(),
            })
        };
        if wanted != Ok(true) {
            self.buffers.give_back(buffer);
            return wanted.map(|_| Outcome::Redundant);
        }
        let coded = if buffer.capacity() > self.max_symbol_size + BUFFER_SLACK {
            Err(buffer)
        } else {
            Coded::in_place(buffer, payload.clone())
        };
        let coded = coded.unwrap_or_else(|buffer| {
            let copy = self.buffers.code(&buffer[payload]);
            self.buffers.give_back(buffer);
            copy
        });
        Ok(self.take(index, coded))
    }

    /// Takes a missing source symbol in coded form.
    fn take(&mut self, index: usize, coded: Coded) -> Outcome {
        let substituted = self
            .equations
            .substitute(index, coded.len(), &mut self.buffers);
        self.stats.inconsistent += substituted.inconsistent as u64;
        self.known.insert(index, coded);
        self.settle();
        if substituted.redundant {
            self.stats.redundant_sources += 1;
            Outcome::Redundant
        } else {
            self.stats.sources += 1;
            Outcome::Innovative
        }
    }

    /// Solves for the missing symbols, if that is possible. Returns the lowest
    /// impossible one, if any.
    fn settle(&mut self) -> Option<usize> {
        if self.is_complete() || self.deficit() > 0 {
            return None;
        }
        let mut solved = core::mem::take(&mut self.solved);
        self.equations
            .solve(self.known.symbols(), &mut solved, &mut self.buffers);
        let impossible = solved
            .iter_mut()
            .filter_map(|(index, sum)| {
                match symbol::coded_length(sum.bytes(), self.max_symbol_size) {
                    Some(length) => {
                        sum.truncate(length);
                        None
                    }
                    None => Some(*index),
                }
            })
            .min();
        solved.sort_unstable_by_key(|(index, _)| *index);
        for (index, coded) in solved.drain(..) {
            if impossible.is_none() {
                self.known.insert(index, coded);
                self.stats.recovered += 1;
            } else {
                self.stats.inconsistent += 1;
                self.buffers.give(coded);
            }
        }
        self.solved = solved;
        impossible
    }
}
