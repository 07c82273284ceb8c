//! The receiving side of a sliding-window code.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Esi;
use crate::coefficients;
use crate::error::DecodeError;
use crate::field::Arithmetic;
use crate::pool::Pool;
use crate::store::Store;
use crate::symbol::{self, LENGTH_BYTES, MAX_SYMBOL_SIZE};
use crate::system::{Settled, System};

/// What a decoder may spend; the peer decides what it gets, so every limit is
/// checked before anything is stored.
///
/// Memory, in bytes, is at most
///
/// ```text
/// (max_span + 1) * (max_symbol_size + 128)
///     + max_unknowns * (2 * max_unknowns + 300) + 2 * max_window + 1024
/// ```
///
/// and no single call multiplies or copies more bytes than
///
/// ```text
/// (max_window + 2 * max_unknowns) * (max_symbol_size + 2) + 4 * max_unknowns^2
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderConfig {
    /// Symbols, known or missing, kept above the floor.
    pub max_span: usize,
    /// Bytes of the longest payload; above [`MAX_SYMBOL_SIZE`] that counts.
    pub max_symbol_size: usize,
    /// Symbols that may be missing at once.
    pub max_unknowns: usize,
    /// Symbols a repair symbol may cover.
    pub max_window: usize,
}

impl DecoderConfig {
    /// The given limits: see the fields.
    #[must_use]
    pub fn new(
        max_span: usize,
        max_symbol_size: usize,
        max_unknowns: usize,
        max_window: usize,
    ) -> Self {
        Self {
            max_span,
            max_symbol_size,
            max_unknowns,
            max_window,
        }
    }
}

impl Default for DecoderConfig {
    /// Room for 4096 symbols of 1500 bytes, 512 of them missing, and windows
    /// of 1024: about 7 MB when full.
    fn default() -> Self {
        Self::new(4096, 1500, 512, 1024)
    }
}

/// Whether a symbol helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It told something new.
    Innovative,
    /// It told nothing new: a duplicate, from below the floor, or a repair
    /// over symbols that are known or determined without it.
    Redundant,
}

/// What a decoder has seen and done, in symbols since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderStats {
    /// Source symbols received that were missing until then.
    pub sources: u64,
    /// Source symbols received that were known or forgotten.
    pub redundant_sources: u64,
    /// Repair symbols that told something new.
    pub repairs: u64,
    /// Repair symbols that told nothing new.
    pub redundant_repairs: u64,
    /// Repair symbols useless because they need forgotten symbols.
    pub not_held: u64,
    /// Missing symbols recovered from repair symbols.
    pub recovered: u64,
    /// Symbols forgotten while still missing.
    pub abandoned: u64,
    /// Equations dropped because they contradict a symbol or determine an
    /// impossible one; 0 with an honest peer.
    pub inconsistent: u64,
}

/// Recovers missing source symbols from repair symbols as they arrive.
///
/// Symbols may come in any order and more than once. Each one that becomes
/// known, because it arrived or because the repair symbols determine it, is
/// reported by [`next_known`](Self::next_known) at once, not when a block is
/// complete. Repair symbols count only for what is missing: one whose window is
/// all known costs two binary searches.
///
/// The decoder keeps the symbols `first..end`. They leave by
/// [`forget_before`](Self::forget_before), which the caller drives from what the
/// peer says it still covers. Buffers are reused; limits are those of
/// [`DecoderConfig`].
///
/// The payloads themselves are not authenticated here: with coding, one forged
/// repair symbol can spoil others, so the carrier must keep forgeries out.
#[derive(Clone, Debug)]
pub struct WindowDecoder {
    config: DecoderConfig,
    field: Arithmetic,
    store: Store,
    system: System,
    /// Symbols that became known and were not reported yet.
    news: VecDeque<Esi>,
    /// The coding vector of the repair symbol in hand.
    vector: Vec<u8>,
    pool: Pool,
    stats: DecoderStats,
}

impl WindowDecoder {
    /// A decoder that expects ESI 0 first.
    #[must_use]
    pub fn new(mut config: DecoderConfig) -> Self {
        config.max_symbol_size = config.max_symbol_size.min(MAX_SYMBOL_SIZE);
        Self {
            config,
            field: Arithmetic::default(),
            store: Store::default(),
            system: System::default(),
            news: VecDeque::new(),
            vector: Vec::new(),
            pool: Pool::default(),
            stats: DecoderStats::default(),
        }
    }

    /// Takes a source symbol. If `esi` is past [`end`](Self::end), the ones
    /// between become missing.
    ///
    /// # Errors
    ///
    /// [`DecodeError::SymbolTooLong`], [`DecodeError::OutOfSpan`] or
    /// [`DecodeError::TooManyUnknowns`].
    pub fn source(&mut self, esi: Esi, payload: &[u8]) -> Result<Outcome, DecodeError> {
        if payload.len() > self.config.max_symbol_size {
            return Err(DecodeError::SymbolTooLong {
                got: payload.len(),
                limit: self.config.max_symbol_size,
            });
        }
        if esi < self.first() || self.is_known(esi) {
            self.stats.redundant_sources += 1;
            return Ok(Outcome::Redundant);
        }
        if esi >= self.end() {
            // The last ESI of all would leave `end` no value.
            let end = esi.checked_add(1).ok_or(DecodeError::OutOfSpan {
                end: esi,
                limit: self.limit(),
            })?;
            self.check_end(end, 1)?;
            self.system.push_unknowns(self.end()..esi);
            self.store.extend_to(end);
        }
        let mut coded = self.pool.take();
        symbol::write(&mut coded, payload);
        let dropped = self.system.substitute(esi, &coded, &mut self.pool);
        self.stats.inconsistent += dropped as u64;
        self.stats.sources += 1;
        self.store.insert(esi, coded);
        self.news.push_back(esi);
        self.settle();
        Ok(Outcome::Innovative)
    }

    /// Takes a repair symbol made over `window` with the coding vector of
    /// `key`. Symbols of the window past [`end`](Self::end) become missing.
    ///
    /// # Errors
    ///
    /// [`DecodeError::WindowEmpty`], [`DecodeError::WindowTooLong`],
    /// [`DecodeError::RepairLength`], [`DecodeError::OutOfSpan`],
    /// [`DecodeError::TooManyUnknowns`] or [`DecodeError::NotHeld`], without
    /// effect; or [`DecodeError::Inconsistent`] after it has taken effect.
    pub fn repair(
        &mut self,
        window: Range<Esi>,
        key: u32,
        data: &[u8],
    ) -> Result<Outcome, DecodeError> {
        self.check_repair(&window, data)?;
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
        coefficients::fill(key, &mut self.vector);
        if grows {
            // No equation can hold these symbols yet, so the repair is
            // innovative for certain and the length can be checked now.
            self.check_length(&window, data)?;
            self.system.push_unknowns(self.end()..window.end);
            self.store.extend_to(window.end);
        }
        let vector = &self.vector;
        let coefficient = |esi: Esi| vector[(esi - window.start) as usize];
        if !self.system.reduce(&window, coefficient) {
            return Ok(self.redundant_repair());
        }
        if !grows {
            self.check_length(&window, data)?;
        }
        let mut equation = self.pool.take();
        equation.reserve_exact(data.len());
        equation.extend_from_slice(data);
        let known = window
            .clone()
            .zip(vector)
            .filter_map(|(esi, c)| Some((*c, self.store.get(esi)?)));
        self.field.combine(&mut equation, known);
        self.system.insert(equation, &mut self.pool);
        self.stats.repairs += 1;
        match self.settle() {
            None => Ok(Outcome::Innovative),
            Some(esi) => Err(DecodeError::Inconsistent { esi }),
        }
    }

    /// The next symbol that became known, received or recovered: each once, in
    /// the order in which they became known. Symbols forgotten before they were
    /// reported are left out.
    pub fn next_known(&mut self) -> Option<Esi> {
        self.news.pop_front()
    }

    /// The payload of a known symbol that is not forgotten.
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        self.store.get(esi).map(symbol::payload)
    }

    /// Whether a symbol is known and not forgotten.
    #[must_use]
    pub fn is_known(&self, esi: Esi) -> bool {
        self.store.get(esi).is_some()
    }

    /// The floor: everything below it is forgotten.
    #[must_use]
    pub fn first(&self) -> Esi {
        self.store.first()
    }

    /// The in-order edge: the lowest ESI from [`first`](Self::first) on that is
    /// not known.
    #[must_use]
    pub fn contiguous(&self) -> Esi {
        self.system.first_unknown().unwrap_or_else(|| self.end())
    }

    /// One past the highest ESI heard of.
    #[must_use]
    pub fn end(&self) -> Esi {
        self.store.end()
    }

    /// Learns from the peer that all ESIs below `end` exist: those not heard of
    /// become missing.
    ///
    /// # Errors
    ///
    /// [`DecodeError::OutOfSpan`] or [`DecodeError::TooManyUnknowns`].
    pub fn expect(&mut self, end: Esi) -> Result<(), DecodeError> {
        if end > self.end() {
            self.check_end(end, 0)?;
            self.system.push_unknowns(self.end()..end);
            self.store.extend_to(end);
        }
        Ok(())
    }

    /// The missing ESIs as maximal ranges, ascending. The first few cost no more
    /// than the symbols in them.
    pub fn missing(&self) -> impl Iterator<Item = Range<Esi>> {
        let mut esis = self.system.esis().peekable();
        core::iter::from_fn(move || {
            let start = esis.next()?;
            let mut end = start + 1;
            while esis.next_if_eq(&end).is_some() {
                end += 1;
            }
            Some(start..end)
        })
    }

    /// How many symbols are missing.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        self.system.unknowns()
    }

    /// How many independent equations about missing symbols are held.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.system.rank()
    }

    /// How many more innovative symbols it takes until nothing is missing.
    #[must_use]
    pub fn deficit(&self) -> usize {
        self.unknowns() - self.rank()
    }

    /// Raises the floor to `esi`: the peer no longer covers the symbols below.
    /// Known ones are dropped; missing ones are given up, with only as many
    /// equations as cannot do without them. No effect on a floor that is higher
    /// already.
    pub fn forget_before(&mut self, esi: Esi) {
        if esi <= self.first() {
            return;
        }
        // Symbols never heard of exist too if the peer speaks of what follows.
        let unheard = esi.saturating_sub(self.end());
        let given_up = self.system.give_up_before(esi, &mut self.pool) as u64;
        self.stats.abandoned = self
            .stats
            .abandoned
            .saturating_add(given_up)
            .saturating_add(unheard);
        self.store.drop_before(esi, &mut self.pool);
        self.news.retain(|known| *known >= esi);
    }

    /// What happened so far.
    #[must_use]
    pub fn stats(&self) -> &DecoderStats {
        &self.stats
    }

    /// The limits in force.
    #[must_use]
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Bytes of memory held now, buffers kept for reuse included; bounded as
    /// [`DecoderConfig`] says. The cost grows with the symbols held: this is for
    /// reports, not for every packet.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.store.memory()
            + self.system.memory()
            + self.pool.memory()
            + self.news.capacity() * size_of::<Esi>()
            + self.vector.capacity()
    }

    fn redundant_repair(&mut self) -> Outcome {
        self.stats.redundant_repairs += 1;
        Outcome::Redundant
    }

    /// Stores what the equations determine; the lowest impossible one, if any.
    fn settle(&mut self) -> Option<Esi> {
        let Self {
            store, news, stats, ..
        } = self;
        let mut impossible = None;
        self.system.settle(
            self.config.max_symbol_size,
            &mut self.pool,
            |esi, settled| match settled {
                Settled::Known(coded) => {
                    store.insert(esi, coded);
                    news.push_back(esi);
                    stats.recovered += 1;
                }
                Settled::Impossible => {
                    stats.inconsistent += 1;
                    impossible.get_or_insert(esi);
                }
            },
        );
        impossible
    }

    /// The checks that need no look at any symbol.
    fn check_repair(&self, window: &Range<Esi>, data: &[u8]) -> Result<(), DecodeError> {
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
        let max = LENGTH_BYTES + self.config.max_symbol_size;
        if data.len() < LENGTH_BYTES || data.len() > max {
            return Err(DecodeError::RepairLength {
                got: data.len(),
                min: LENGTH_BYTES,
                max,
            });
        }
        if window.end > self.end() {
            self.check_end(window.end, 0)?;
        }
        Ok(())
    }

    /// A repair symbol is as long as the longest symbol it covers.
    fn check_length(&self, window: &Range<Esi>, data: &[u8]) -> Result<(), DecodeError> {
        let known = window.clone().filter_map(|esi| self.store.get(esi));
        match known.map(<[u8]>::len).max() {
            Some(min) if min > data.len() => Err(DecodeError::RepairLength {
                got: data.len(),
                min,
                max: LENGTH_BYTES + self.config.max_symbol_size,
            }),
            _ => Ok(()),
        }
    }

    /// The highest value [`end`](Self::end) may have.
    fn limit(&self) -> Esi {
        self.first().saturating_add(self.config.max_span as u64)
    }

    /// Whether [`end`](Self::end) may rise to `end`, with `arrived` of the new
    /// symbols known at once.
    fn check_end(&self, end: Esi, arrived: u64) -> Result<(), DecodeError> {
        let limit = self.limit();
        if end > limit {
            return Err(DecodeError::OutOfSpan { end, limit });
        }
        let unknowns = self.unknowns() as u64 + (end - self.end()) - arrived;
        if unknowns > self.config.max_unknowns as u64 {
            return Err(DecodeError::TooManyUnknowns {
                got: unknowns,
                limit: self.config.max_unknowns,
            });
        }
        Ok(())
    }
}
