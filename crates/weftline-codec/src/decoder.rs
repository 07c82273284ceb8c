//! The receiving side of a sliding-window code.

mod config;
mod stats;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Esi;
use crate::buffers::{Buffers, Coded};
use crate::coefficients::Coefficients;
use crate::error::DecodeError;
use crate::field::Arithmetic;
use crate::store::Store;
use crate::symbol::{LENGTH_BYTES, MAX_SYMBOL_SIZE};
use crate::system::{Settled, System};

pub use config::DecoderConfig;
pub use stats::{DecoderStats, Outcome};

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
    buffers: Buffers,
    stats: DecoderStats,
}

impl WindowDecoder {
    /// A decoder that expects ESI 0 first.
    #[must_use]
    pub fn new(config: DecoderConfig) -> Self {
        Self::with_field(config, Arithmetic::default())
    }

    /// As [`new`](Self::new), for a code over `field` instead of GF(2^8).
    #[must_use]
    pub fn with_field(mut config: DecoderConfig, field: Arithmetic) -> Self {
        config.max_symbol_size = config.max_symbol_size.min(MAX_SYMBOL_SIZE);
        Self {
            config,
            field,
            store: Store::default(),
            system: System::new(field),
            news: VecDeque::new(),
            vector: Vec::new(),
            buffers: Buffers::default(),
            stats: DecoderStats::default(),
        }
    }

    /// Takes a source symbol and copies it. If `esi` is past [`end`](Self::end),
    /// the ones between become missing.
    ///
    /// In order and with nothing missing, O(payload) for the copy and O(1)
    /// besides; for a missing symbol O(rank x payload) at most.
    ///
    /// # Errors
    ///
    /// [`DecodeError::SymbolTooLong`], [`DecodeError::OutOfSpan`] or
    /// [`DecodeError::TooManyUnknowns`].
    pub fn source(&mut self, esi: Esi, payload: &[u8]) -> Result<Outcome, DecodeError> {
        let outcome = self.admit(esi, payload.len())?;
        if outcome == Outcome::Innovative {
            let coded = self.buffers.code(payload);
            self.learn(esi, coded);
        }
        Ok(outcome)
    }

    /// As [`source`](Self::source), without the copy: the decoder keeps the
    /// buffer the payload arrived in, `payload` being its place there. At least
    /// [`LENGTH_BYTES`] bytes must precede it, as those of a packet's header do;
    /// they are overwritten. The buffer comes back by
    /// [`reclaim`](Self::reclaim): at once if the symbol is of no use or an
    /// error is returned, else when the symbol is forgotten.
    ///
    /// A buffer with a capacity above [`DecoderConfig::max_buffer`] is copied
    /// from and comes back at once.
    ///
    /// # Errors
    ///
    /// [`DecodeError::PayloadRange`], and as [`source`](Self::source).
    pub fn source_owned(
        &mut self,
        esi: Esi,
        buffer: Vec<u8>,
        payload: Range<usize>,
    ) -> Result<Outcome, DecodeError> {
        if payload.start < LENGTH_BYTES || buffer.get(payload.clone()).is_none() {
            let error = DecodeError::PayloadRange {
                start: payload.start,
                end: payload.end,
                buffer: buffer.len(),
            };
            self.give_back(buffer);
            return Err(error);
        }
        let outcome = self.admit(esi, payload.len());
        if outcome != Ok(Outcome::Innovative) {
            self.give_back(buffer);
            return outcome;
        }
        let coded = if buffer.capacity() <= self.config.max_buffer {
            Coded::in_place(buffer, payload.clone())
        } else {
            Err(buffer)
        };
        match coded {
            Ok(coded) => self.learn(esi, coded),
            Err(buffer) => {
                let coded = self.buffers.code(&buffer[payload]);
                self.learn(esi, coded);
                self.buffers.give_back(buffer);
            }
        }
        self.limit_buffers();
        outcome
    }

    /// A buffer given to [`source_owned`](Self::source_owned) that is no longer
    /// needed, to receive the next packet in. Buffers nobody reclaims are kept
    /// within the bound of [`DecoderConfig`] and dropped beyond.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.buffers.reclaim()
    }

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

    /// The next symbol that became known, received or recovered: each once, in
    /// the order in which they became known. Symbols forgotten before they were
    /// reported are left out.
    pub fn next_known(&mut self) -> Option<Esi> {
        let first = self.first();
        loop {
            let esi = self.news.pop_front()?;
            if esi >= first {
                return Some(esi);
            }
        }
    }

    /// The payload of a known symbol that is not forgotten.
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        self.store.get(esi).map(Coded::payload)
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
            self.miss_up_to(end);
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
        let given_up = self.system.give_up_before(esi, &mut self.buffers) as u64;
        self.stats.abandoned = self
            .stats
            .abandoned
            .saturating_add(given_up)
            .saturating_add(unheard);
        self.store.drop_before(esi, &mut self.buffers);
        while self.news.front().is_some_and(|known| *known < esi) {
            self.news.pop_front();
        }
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
            + self.buffers.memory()
            + self.news.capacity() * size_of::<Esi>()
            + self.vector.capacity()
    }

    /// Whether a source symbol is new, and makes those before it missing.
    #[inline(always)]
    fn admit(&mut self, esi: Esi, length: usize) -> Result<Outcome, DecodeError> {
        if length > self.config.max_symbol_size {
            return Err(DecodeError::SymbolTooLong {
                got: length,
                limit: self.config.max_symbol_size,
            });
        }
        let end = self.end();
        if esi < end {
            if self.is_known(esi) || esi < self.first() {
                self.stats.redundant_sources += 1;
                return Ok(Outcome::Redundant);
            }
            return Ok(Outcome::Innovative);
        }
        // The last ESI of all would leave `end` no value.
        let next = esi.checked_add(1).ok_or(DecodeError::OutOfSpan {
            end: esi,
            limit: self.limit(),
        })?;
        self.check_end(next, 1)?;
        if esi > end {
            self.miss_up_to(esi);
        }
        Ok(Outcome::Innovative)
    }

    /// Makes the symbols from the end up to `end` missing.
    fn miss_up_to(&mut self, end: Esi) {
        self.system.push_unknowns(self.end()..end);
        self.store.extend_to(end);
        // All may become known at once.
        self.news.reserve(self.system.unknowns());
    }

    /// Stores a source symbol that is new.
    #[inline(always)]
    fn learn(&mut self, esi: Esi, coded: Coded) {
        self.stats.sources += 1;
        if esi == self.end() {
            // No equation has heard of it.
            self.store.push(coded);
            self.announce(esi);
            return;
        }
        self.learn_late(esi, coded);
    }

    /// Stores a source symbol that was missing.
    #[cold]
    fn learn_late(&mut self, esi: Esi, coded: Coded) {
        let dropped = self
            .system
            .substitute(esi, coded.bytes(), &mut self.buffers);
        self.stats.inconsistent += dropped as u64;
        self.store.insert(esi, coded);
        self.announce(esi);
        self.settle();
    }

    /// Keeps a buffer of the caller's until it is reclaimed.
    #[cold]
    fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffers.give_back(buffer);
        self.limit_buffers();
    }

    /// Drops buffers nobody needs: each symbol or equation has one, and no more
    /// are kept than there can be of them.
    #[inline]
    fn limit_buffers(&mut self) {
        let used = self.store.len() - self.system.unknowns() + self.system.rank();
        let unused = self.config.max_span.saturating_add(1).saturating_sub(used);
        self.buffers.keep(unused);
    }

    /// Reports a symbol as known.
    #[inline(always)]
    fn announce(&mut self, esi: Esi) {
        announce(&mut self.news, &self.store, esi);
    }

    /// The equation of a repair symbol with all known symbols subtracted. It
    /// must be as long as the longest symbol it contains.
    fn subtract_known(&mut self, window: &Range<Esi>, data: &[u8]) -> Result<Coded, DecodeError> {
        let mut equation = self.buffers.copy(data);
        let known = || {
            let symbols = self.store.range(window).zip(&self.vector);
            symbols.filter_map(|(symbol, c)| Some((*c, symbol?.bytes())).filter(|_| *c != 0))
        };
        let mut fits = true;
        let fitting = known().take_while(|(_, symbol)| {
            fits = symbol.len() <= data.len();
            fits
        });
        self.field.combine(equation.bytes_mut(), fitting);
        if fits {
            return Ok(equation);
        }
        let longest = known().map(|(_, symbol)| symbol.len()).max();
        let error = DecodeError::RepairLength {
            got: data.len(),
            min: self.field.whole_groups(longest.unwrap_or(0)),
            max: self.longest_repair(),
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

    /// Stores what the equations determine; the lowest impossible one, if any.
    fn settle(&mut self) -> Option<Esi> {
        let Self {
            store, news, stats, ..
        } = self;
        let mut impossible = None;
        self.system.settle(
            self.config.max_symbol_size,
            &mut self.buffers,
            |esi, settled| match settled {
                Settled::Known(coded) => {
                    store.insert(esi, coded);
                    announce(news, store, esi);
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
        let (min, max) = (self.field.whole_groups(LENGTH_BYTES), self.longest_repair());
        if data.len() < min || data.len() > max {
            return Err(DecodeError::RepairLength {
                got: data.len(),
                min,
                max,
            });
        }
        let group = self.field.group();
        if !data.len().is_multiple_of(group) {
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

    /// The most bytes a repair symbol can have.
    fn longest_repair(&self) -> usize {
        self.field
            .whole_groups(LENGTH_BYTES + self.config.max_symbol_size)
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

/// Adds a known symbol to those to be reported.
#[inline(always)]
fn announce(news: &mut VecDeque<Esi>, store: &Store, esi: Esi) {
    // Forgotten symbols leave when their turn comes, unless so many wait that
    // at least half must have been forgotten.
    if news.len() >= 2 * store.len() {
        let first = store.first();
        news.retain(|known| *known >= first);
    }
    news.push_back(esi);
}
