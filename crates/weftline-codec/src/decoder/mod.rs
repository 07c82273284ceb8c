//! The receiving side of a sliding-window code.

mod config;
mod news;
mod repair;
mod shape;
mod stats;

use alloc::vec::Vec;
use core::ops::Range;

use crate::buffers::{Buffers, Coded};
use crate::error::DecodeError;
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::store::Store;
use crate::symbol::{LENGTH_BYTES, MAX_SYMBOL_SIZE};
use crate::system::{Settled, System};

use news::News;
use shape::Shape;

pub use config::DecoderConfig;
pub use stats::{DecoderStats, Outcome, Skipped};

/// Recovers missing source symbols from repair symbols as they arrive.
///
/// Symbols may come in any order and more than once. A symbol becomes known
/// when it arrives or when the repair symbols determine it;
/// [`next_known`](Self::next_known) reports it at once, not when a block is
/// complete. Repair symbols count only for missing symbols: one whose window is
/// all known costs two binary searches.
///
/// The decoder keeps the symbols `first..end`. The caller drops old ones with
/// [`forget_before`](Self::forget_before), usually those that the peer no
/// longer covers. Buffers are reused, and [`DecoderConfig`] sets the limits.
///
/// The decoder does not authenticate payloads. One forged repair symbol can
/// corrupt other symbols, so the carrier must keep forgeries out.
#[derive(Clone, Debug)]
pub struct WindowDecoder {
    config: DecoderConfig,
    field: Arithmetic,
    shape: Shape,
    store: Store,
    system: System,
    news: News,
    /// The coding vector of the repair symbol being processed.
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
            shape: Shape::new(field, config.max_symbol_size),
            store: Store::new(config.max_span),
            config,
            field,
            system: System::new(field),
            news: News::default(),
            vector: Vec::new(),
            buffers: Buffers::default(),
            stats: DecoderStats::default(),
        }
    }

    /// An empty decoder with the same limits and field that expects `esi` first:
    /// for a receiver that joins a running flow. Symbols below `esi` count as
    /// forgotten, not as lost.
    ///
    /// A repair symbol that covers anything below `esi` is refused with
    /// [`DecodeError::NotHeld`]. To use those that straddle the first symbol
    /// heard, start below it by up to the length of a window; the symbols
    /// between are then missing.
    ///
    /// ```
    /// use weftline_codec::{DecoderConfig, Outcome, WindowDecoder};
    ///
    /// // The first packet heard has the ESI 700,000.
    /// let mut decoder = WindowDecoder::new(DecoderConfig::default()).starting_at(700_000);
    /// assert_eq!(decoder.source(700_000, b"weft")?, Outcome::Innovative);
    /// assert_eq!(decoder.next_known(), Some(700_000));
    /// # Ok::<(), weftline_codec::DecodeError>(())
    /// ```
    #[must_use]
    pub fn starting_at(self, esi: Esi) -> Self {
        let mut decoder = Self::with_field(self.config, self.field);
        decoder.store.start_at(esi);
        decoder.news.skip(0, esi);
        decoder
    }

    /// Takes a source symbol and copies its payload. If `esi` is past
    /// [`end`](Self::end), the symbols between become missing.
    ///
    /// For the next symbol in order this costs little more than the copy; for a
    /// missing symbol it costs at most O(rank x payload).
    ///
    /// # Errors
    ///
    /// [`DecodeError::SymbolTooLong`], [`DecodeError::OutOfSpan`] or
    /// [`DecodeError::TooManyUnknowns`].
    // Always: a call would cost as many stores as the work itself.
    #[inline(always)]
    pub fn source(&mut self, esi: Esi, payload: &[u8]) -> Result<Outcome, DecodeError> {
        let follows = esi == self.store.end() && payload.len() <= self.config.max_symbol_size;
        if follows && self.store.push_copy(payload) {
            self.stats.sources += 1;
            self.announce(esi);
            return Ok(Outcome::Innovative);
        }
        self.source_unprepared(esi, payload)
    }

    /// Takes several source symbols, such as those of one read from a socket,
    /// as [`source`](Self::source) would one after the other. Calls `known`
    /// with each symbol that is known and not yet reported, as
    /// [`each_known`](Self::each_known) does. Returns how many were innovative.
    ///
    /// Most of the work besides the copies is done once for all consecutive
    /// symbols, so pass many in one call.
    ///
    /// ```
    /// use weftline_codec::{DecoderConfig, WindowDecoder};
    ///
    /// let mut decoder = WindowDecoder::new(DecoderConfig::default());
    /// let packets = [(0, &b"zero"[..]), (1, b"one"), (3, b"three")];
    /// let mut known = Vec::new();
    /// let innovative = decoder.sources(packets, |esi, payload| known.push((esi, payload.len())))?;
    /// assert_eq!(innovative, 3);
    /// assert_eq!(known, [(0, 4), (1, 3), (3, 5)]);
    /// # Ok::<(), weftline_codec::DecodeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`source`](Self::source), for the first symbol that is refused; those
    /// before it were taken, those after it were not.
    #[inline(always)]
    pub fn sources<'a>(
        &mut self,
        symbols: impl IntoIterator<Item = (Esi, &'a [u8])>,
        mut known: impl FnMut(Esi, &[u8]),
    ) -> Result<usize, DecodeError> {
        let mut symbols = symbols.into_iter();
        let mut innovative = 0;
        loop {
            self.each_known(&mut known);
            let end = self.store.end();
            let longest = self.config.max_symbol_size;
            let other = self.store.push_copies(&mut symbols, longest, &mut known);
            let taken = self.store.end() - end;
            self.stats.sources += taken;
            self.news.report_up_to(self.store.end());
            innovative += taken as usize;
            let Some((esi, payload)) = other else {
                return Ok(innovative);
            };
            let outcome = self.source_unprepared(esi, payload)?;
            innovative += usize::from(outcome == Outcome::Innovative);
        }
    }

    /// As [`source`](Self::source), without the copy: the decoder keeps the
    /// buffer that the payload arrived in, and `payload` is the range of the
    /// payload in it. At least [`LENGTH_BYTES`] bytes must precede the payload,
    /// such as a packet's header; they may be overwritten.
    /// [`reclaim`](Self::reclaim) returns the buffer: at once if the symbol is
    /// redundant or refused, otherwise when the symbol is forgotten.
    ///
    /// If the buffer's capacity exceeds [`DecoderConfig::max_buffer`], the
    /// decoder copies the payload and returns the buffer at once.
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
        let fits = buffer.get(payload.clone()).is_some() && payload.start >= LENGTH_BYTES;
        let follows = fits
            && esi == self.store.end()
            && payload.len() <= self.config.max_symbol_size
            && buffer.capacity() <= self.config.max_buffer;
        let buffer = if follows {
            match self.store.push_lent(buffer, payload.clone()) {
                Ok(()) => {
                    self.stats.sources += 1;
                    self.announce(esi);
                    self.limit_buffers();
                    return Ok(Outcome::Innovative);
                }
                Err(buffer) => buffer,
            }
        } else {
            buffer
        };
        self.source_owned_unprepared(esi, buffer, payload, fits)
    }

    /// A buffer given to [`source_owned`](Self::source_owned) that is no longer
    /// needed; use it for the next packet. The decoder keeps unclaimed buffers
    /// up to the bound of [`DecoderConfig`] and drops the rest.
    #[inline]
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.buffers.reclaim()
    }

    /// The next symbol that became known, received or recovered. Each is
    /// reported once, in the order in which they became known. Symbols
    /// forgotten before they were reported are left out.
    #[inline]
    pub fn next_known(&mut self) -> Option<Esi> {
        self.news.pop(self.first(), self.end())
    }

    /// Calls `known` with each symbol that [`next_known`](Self::next_known)
    /// would report from now on, and its payload.
    #[inline]
    pub fn each_known(&mut self, mut known: impl FnMut(Esi, &[u8])) {
        if !self.news.are_reported(self.end()) {
            self.report(&mut known);
        }
    }

    /// The payload of a known symbol that is not forgotten.
    #[inline]
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        self.store.get(esi).map(Coded::payload)
    }

    /// Whether a symbol is known and not forgotten.
    #[inline]
    #[must_use]
    pub fn is_known(&self, esi: Esi) -> bool {
        self.store.get(esi).is_some()
    }

    /// The floor: all symbols below it are forgotten.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Esi {
        self.store.first()
    }

    /// The in-order edge: the lowest ESI, from [`first`](Self::first) on, that
    /// is not known.
    #[inline]
    #[must_use]
    pub fn contiguous(&self) -> Esi {
        self.system.first_unknown().unwrap_or_else(|| self.end())
    }

    /// One past the highest ESI heard of.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Esi {
        self.store.end()
    }

    /// Tells the decoder that all symbols below `end` exist. Those it has not
    /// heard of become missing.
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

    /// The missing ESIs as maximal ranges, ascending. The iterator is lazy: it
    /// looks only at the symbols of the ranges it gives.
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

    /// The number of missing symbols.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        self.system.unknowns()
    }

    /// The number of independent equations about missing symbols.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.system.rank()
    }

    /// The work of decoding so far: bytes multiplied or moved, of coding vectors
    /// and of data. Bytes of data in a field whose elements do not fill a byte
    /// (3, 5, 6 or 7 bits) count eight times, because they take about eight times
    /// as long. A session can bound with it what a peer may ask of a processor.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.system.work()
    }

    /// The number of further innovative symbols needed until nothing is
    /// missing.
    #[must_use]
    pub fn deficit(&self) -> usize {
        self.unknowns() - self.rank()
    }

    /// Raises the floor to `esi`, because the peer no longer covers the symbols
    /// below. Known symbols are dropped; missing symbols are given up, together
    /// with the equations that need them, and no others. No effect if the floor
    /// is higher already.
    ///
    /// O(1) for any number of symbols, if none of them is missing or in a
    /// buffer of the caller's.
    #[inline]
    pub fn forget_before(&mut self, esi: Esi) {
        if esi > self.first() {
            if esi > self.contiguous() {
                self.give_up_before(esi);
            }
            self.store.drop_before(esi, &mut self.buffers);
        }
    }

    /// Raises the floor to `esi` as [`forget_before`](Self::forget_before)
    /// does, and reports the symbols that it skips. For a receiver that cannot
    /// wait for the missing symbols, or that has heard nothing for longer than
    /// its limits allow.
    ///
    /// After an outage every call fails with [`DecodeError::OutOfSpan`] or
    /// [`DecodeError::TooManyUnknowns`] until the floor rises. Whatever the
    /// decoder holds, a source symbol `esi` within the size limit is accepted
    /// after `skip_to(esi)` if [`max_span`](DecoderConfig::max_span) is 1 or more.
    /// Read the known symbols first ([`each_known`](Self::each_known)), and
    /// [`missing`](Self::missing) if you must know which are lost.
    ///
    /// O([`max_span`](DecoderConfig::max_span)), however far it skips.
    ///
    /// ```
    /// use weftline_codec::{DecodeError, DecoderConfig, WindowDecoder};
    ///
    /// let mut decoder = WindowDecoder::new(DecoderConfig::new(64, 1200, 32, 32));
    /// decoder.source(0, b"warp")?;
    /// decoder.source(2, b"weft")?;
    /// // Nothing arrives for a while; then comes symbol 5000.
    /// let refused = decoder.source(5000, b"loom");
    /// assert!(matches!(refused, Err(DecodeError::OutOfSpan { .. })));
    /// let skipped = decoder.skip_to(5000);
    /// assert_eq!((skipped.known, skipped.missing, skipped.unheard), (2, 1, 4997));
    /// decoder.source(5000, b"loom")?;
    /// # Ok::<(), DecodeError>(())
    /// ```
    pub fn skip_to(&mut self, esi: Esi) -> Skipped {
        let (first, end) = (self.first(), self.end());
        if esi <= first {
            return Skipped::default();
        }
        let missing = self.system.unknowns_before(esi) as u64;
        let skipped = Skipped {
            known: esi.min(end) - first - missing,
            missing,
            unheard: esi.saturating_sub(end),
        };
        self.forget_before(esi);
        skipped
    }

    /// Counts of what happened so far.
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
    /// [`DecoderConfig`] says. The cost grows with the symbols held: call it
    /// for reports, not for every packet.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.store.memory()
            + self.system.memory()
            + self.buffers.memory()
            + self.news.memory()
            + self.vector.capacity()
    }

    /// As [`memory`](Self::memory) at most, in O(1), for a decoder without
    /// buffers of the caller's.
    #[must_use]
    pub fn memory_bound(&self) -> usize {
        let buffers = self.store.filled() + self.system.rank() + self.buffers.len();
        buffers * self.buffers.longest()
            + self.store.ring()
            + self.system.memory_bound(self.config.max_unknowns)
            + self.buffers.lists()
            + self.news.memory()
            + self.vector.capacity()
    }

    /// Frees the memory that is kept for reuse, if no symbol is held: for a flow
    /// that pauses. Call [`forget_before`](Self::forget_before) first.
    pub fn release(&mut self) {
        if self.first() == self.end() {
            self.store.release();
            self.system.release();
            self.buffers = Buffers::default();
        }
    }

    /// Changes [`DecoderConfig::max_span`]: for a flow whose symbols have become
    /// much longer or shorter. The symbols move to buffers that fit them, and the
    /// other buffers are freed, those of the caller's too. If equations are held,
    /// later buffers are as long as before. O(symbols held).
    ///
    /// Returns false, and changes nothing, if more than `max_span` are held.
    pub fn set_max_span(&mut self, max_span: usize) -> bool {
        if self.store.len() > max_span {
            return false;
        }
        self.config.max_span = max_span;
        self.buffers = match self.rank() {
            0 => Buffers::default(),
            // Equations keep buffers as long as these.
            _ => self.buffers.emptied(),
        };
        self.store.compact(max_span, &mut self.buffers);
        true
    }

    /// As [`each_known`](Self::each_known), where there may be unreported
    /// symbols.
    #[inline(never)]
    fn report(&mut self, known: &mut impl FnMut(Esi, &[u8])) {
        while let Some(run) = self.news.pop_run(self.first(), self.end()) {
            for (esi, slot) in run.clone().zip(self.store.range(&run)) {
                if let Some(coded) = slot {
                    known(esi, coded.payload());
                }
            }
        }
    }

    /// As [`source`](Self::source), for all cases.
    #[inline(never)]
    fn source_unprepared(&mut self, esi: Esi, payload: &[u8]) -> Result<Outcome, DecodeError> {
        let outcome = self.admit(esi, payload.len())?;
        if outcome == Outcome::Innovative {
            if esi == self.end() {
                // The buffer of its slot is too small or missing.
                self.store.vacate_next(&mut self.buffers);
            }
            let coded = self.buffers.code(payload);
            self.learn(esi, coded);
        }
        Ok(outcome)
    }

    /// As [`source_owned`](Self::source_owned), for all cases. `fits` tells
    /// whether the payload lies in the buffer, with room before it.
    #[inline(never)]
    fn source_owned_unprepared(
        &mut self,
        esi: Esi,
        buffer: Vec<u8>,
        payload: Range<usize>,
        fits: bool,
    ) -> Result<Outcome, DecodeError> {
        if !fits {
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

    /// Gives up the missing symbols below `esi`.
    #[cold]
    fn give_up_before(&mut self, esi: Esi) {
        // Symbols from `end` to `esi` are lost too, although no packet
        // announced them.
        let unheard = esi.saturating_sub(self.end());
        let given_up = self.system.give_up_before(esi, &mut self.buffers) as u64;
        self.stats.abandoned = self
            .stats
            .abandoned
            .saturating_add(given_up)
            .saturating_add(unheard);
    }

    /// Whether a source symbol is new; makes the symbols before it missing.
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
        // The highest ESI would leave no value for `end`.
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
        self.news.skip(self.end(), end);
        self.system.push_unknowns(self.end()..end);
        self.store.extend_to(end, &mut self.buffers);
        // All missing symbols may become known at once.
        self.news.reserve(self.system.unknowns());
    }

    /// Stores a source symbol that is new.
    #[inline(always)]
    fn learn(&mut self, esi: Esi, coded: Coded) {
        self.stats.sources += 1;
        if esi == self.end() {
            // No equation contains it.
            self.store.push(coded, &mut self.buffers);
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
        let (first, end) = (self.store.first(), self.store.end());
        self.news.push(esi, first, end, self.store.len());
        self.settle();
    }

    /// Keeps a buffer of the caller until it is reclaimed.
    #[cold]
    fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffers.give_back(buffer);
        self.limit_buffers();
    }

    /// Drops unneeded buffers: each symbol or equation has one, and no more are
    /// kept than there can be symbols and equations.
    #[inline(always)]
    fn limit_buffers(&mut self) {
        let used = self.store.filled() + self.system.rank();
        let unused = self.config.max_span.saturating_add(1).saturating_sub(used);
        if self.buffers.len() > unused {
            self.buffers.keep(unused);
        }
    }

    /// Reports the symbol that was the next one in order.
    #[inline(always)]
    fn announce(&mut self, esi: Esi) {
        let (first, most) = (self.store.first(), self.store.len());
        self.news.push_next(esi, first, most);
    }

    /// Stores the symbols that the equations determine. Returns the lowest
    /// impossible one, if any.
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
                    news.push(esi, store.first(), store.end(), store.len());
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
