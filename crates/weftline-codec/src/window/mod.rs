//! The sending side of a sliding-window code.

mod covered;
mod longest;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::buffers::{Buffers, Coded};
use crate::coefficients::Coefficients;
use crate::error::{PushError, RepairError};
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::symbol::{LENGTH_BYTES, MAX_SYMBOL_SIZE};
use covered::Covered;
use longest::Longest;

/// Coefficients on the stack while several repairs are made at once.
const INLINE: usize = 8192;
/// Repairs made in one pass.
const ABREAST: usize = 8;
/// Sources combined in one pass.
const BATCH: usize = 64;

/// Holds recent source symbols and makes repair symbols over any run of them.
///
/// The application [pushes](Self::push) payloads, which get consecutive ESIs.
/// The payload itself travels as the source symbol. A [repair](Self::repair)
/// covers a window of held symbols; its window and key must travel with it.
/// Symbols leave at the lower edge: when the caller
/// [discards](Self::discard_before) acknowledged ones, or by themselves if the
/// encoder [evicts](Self::evicting).
///
/// Memory is at most `capacity` times the longest payload pushed, or the
/// largest buffer, plus about 200 bytes. Buffers are reused.
#[derive(Clone, Debug)]
pub struct WindowEncoder {
    field: Arithmetic,
    first: Esi,
    /// The symbols `first..next`.
    symbols: VecDeque<Coded>,
    longest: Longest,
    buffers: Buffers,
    capacity: usize,
    /// Whether a full window drops its oldest symbol for a new one.
    evicts: bool,
    max_symbol_size: usize,
}

impl WindowEncoder {
    /// An empty window for at most `capacity` symbols of at most
    /// `max_symbol_size` bytes (a larger limit counts as [`MAX_SYMBOL_SIZE`]).
    #[must_use]
    pub fn new(capacity: usize, max_symbol_size: usize) -> Self {
        Self::with_field(capacity, max_symbol_size, Arithmetic::default())
    }

    /// As [`new`](Self::new), for a code over `field` instead of GF(2^8).
    #[must_use]
    pub fn with_field(capacity: usize, max_symbol_size: usize, field: Arithmetic) -> Self {
        Self {
            field,
            first: 0,
            symbols: VecDeque::new(),
            longest: Longest::default(),
            buffers: Buffers::default(),
            capacity,
            evicts: false,
            max_symbol_size: max_symbol_size.min(MAX_SYMBOL_SIZE),
        }
    }

    /// The same encoder, but when its window is full, a push drops the oldest
    /// symbol instead of failing: for senders that get no acknowledgements.
    ///
    /// ```
    /// use weftline_codec::WindowEncoder;
    ///
    /// let mut encoder = WindowEncoder::new(2, 1200).evicting();
    /// for payload in ["warp", "weft", "loom"] {
    ///     encoder.push(payload.as_bytes())?;
    /// }
    /// assert_eq!(encoder.held(), 1..3);
    /// # Ok::<(), weftline_codec::PushError>(())
    /// ```
    #[must_use]
    pub fn evicting(mut self) -> Self {
        self.evicts = true;
        self
    }

    /// Copies the next source symbol into the window and returns its ESI.
    /// O(payload).
    ///
    /// # Errors
    ///
    /// [`PushError::TooLong`], or [`PushError::Full`] if the window is full and
    /// the encoder does not [evict](Self::evicting).
    pub fn push(&mut self, payload: &[u8]) -> Result<Esi, PushError> {
        self.make_room(payload.len())?;
        let coded = self.buffers.code(payload);
        Ok(self.hold(coded))
    }

    /// As [`push`](Self::push), without the copy: the encoder keeps the buffer,
    /// and `payload` is the range of the payload in it. At least
    /// [`LENGTH_BYTES`] bytes must precede the payload; they are overwritten.
    /// [`reclaim`](Self::reclaim) returns the buffer when the symbol is
    /// discarded, or at once after an error. O(1).
    ///
    /// # Errors
    ///
    /// [`PushError::PayloadRange`], and as [`push`](Self::push).
    pub fn push_owned(&mut self, buffer: Vec<u8>, payload: Range<usize>) -> Result<Esi, PushError> {
        let inside = payload.start >= LENGTH_BYTES && buffer.get(payload.clone()).is_some();
        let checked = if inside {
            self.make_room(payload.len())
        } else {
            Err(PushError::PayloadRange {
                start: payload.start,
                end: payload.end,
                buffer: buffer.len(),
            })
        };
        let pushed = match checked {
            Err(error) => {
                self.buffers.give_back(buffer);
                Err(error)
            }
            Ok(()) => Ok(match Coded::in_place(buffer, payload.clone()) {
                Ok(coded) => self.hold(coded),
                Err(buffer) => {
                    let coded = self.buffers.code(&buffer[payload]);
                    self.buffers.give_back(buffer);
                    self.hold(coded)
                }
            }),
        };
        let unused = self.capacity.saturating_add(1) - self.symbols.len();
        self.buffers.keep(unused);
        pushed
    }

    /// A buffer given to [`push_owned`](Self::push_owned) that is no longer
    /// needed. At most [`capacity`](Self::capacity) buffers wait here; the rest
    /// are dropped.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.buffers.reclaim()
    }

    /// The lowest ESI held, or [`next`](Self::next) if none is.
    #[must_use]
    pub fn first(&self) -> Esi {
        self.first
    }

    /// The ESI the next symbol will get; `first..next` are held.
    #[must_use]
    pub fn next(&self) -> Esi {
        self.first + self.symbols.len() as u64
    }

    /// The symbols held: those a repair may cover.
    #[must_use]
    pub fn held(&self) -> Range<Esi> {
        self.first..self.next()
    }

    /// The number of symbols held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether no symbol is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Whether the window holds as many symbols as it may, so that a push
    /// [evicts](Self::evicting) one or fails.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.symbols.len() >= self.capacity
    }

    /// The number of symbols that may be held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes of memory held now at most, buffers kept for reuse included, for an
    /// encoder without buffers of the caller's. O(1).
    #[must_use]
    pub fn memory_bound(&self) -> usize {
        (self.symbols.len() + self.buffers.len()) * self.buffers.longest()
            + self.symbols.capacity() * size_of::<Coded>()
            + self.buffers.lists()
            + self.longest.memory()
    }

    /// Frees the memory that is kept for reuse, if no symbol is held: for a flow
    /// that pauses.
    pub fn release(&mut self) {
        if self.is_empty() {
            self.symbols = VecDeque::new();
            self.longest = Longest::default();
            self.buffers = Buffers::default();
        }
    }

    /// Moves the symbols to buffers that fit them, and frees the others: for a
    /// flow whose symbols have become much longer or shorter. Buffers of the
    /// caller's are not given back. O(symbols held).
    pub fn compact(&mut self) {
        self.buffers = Buffers::default();
        self.symbols.shrink_to_fit();
        for coded in &mut self.symbols {
            *coded = self.buffers.code(coded.payload());
        }
    }

    /// The payload of a symbol still held.
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        let index = usize::try_from(esi.checked_sub(self.first)?).ok()?;
        self.symbols.get(index).map(Coded::payload)
    }

    /// Moves the window's lower edge up to `esi`: symbols below it can no
    /// longer be covered. No effect if the edge is higher already. An `esi`
    /// above [`next`](Self::next) empties the window but skips no ESI.
    pub fn discard_before(&mut self, esi: Esi) {
        while self.first < esi {
            let Some(coded) = self.symbols.pop_front() else {
                return;
            };
            self.buffers.give(coded);
            self.first += 1;
            self.longest.forget_before(self.first);
        }
    }

    /// The bytes of a repair symbol over `window`: [`LENGTH_BYTES`] more than
    /// its longest payload, rounded up to whole [groups](Arithmetic::group) of
    /// the field. O(log window) if the window ends at [`next`](Self::next),
    /// otherwise O(window).
    ///
    /// # Errors
    ///
    /// [`RepairError::EmptyWindow`] or [`RepairError::NotHeld`].
    pub fn repair_len(&self, window: Range<Esi>) -> Result<usize, RepairError> {
        let (start, end) = (window.start, window.end);
        let covered = self.covered(window)?;
        let longest = if end == self.next() {
            self.longest.from(start)
        } else {
            covered.map(Coded::len).max()
        };
        Ok(self.field.whole_groups(longest.unwrap_or(LENGTH_BYTES)))
    }

    /// Appends to `out` the repair symbol over `window` with these
    /// coefficients, or those of a key: [`repair_len`](Self::repair_len) bytes.
    /// O(window x symbol); symbols that [`Fading`](Coefficients::Fading)
    /// vectors leave out cost nothing. Allocates only if `out` lacks capacity.
    ///
    /// # Errors
    ///
    /// [`RepairError::EmptyWindow`], [`RepairError::NotHeld`] when not all of
    /// the window is held, or [`RepairError::Coefficients`]; `out` is then
    /// unchanged.
    pub fn repair<'a>(
        &self,
        window: Range<Esi>,
        coefficients: impl Into<Coefficients<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), RepairError> {
        let coefficients = [coefficients.into()];
        self.repairs(window, &coefficients, core::slice::from_mut(out))
    }

    /// Several repair symbols over one window: appends the one with
    /// `coefficients[i]` to `out[i]`. Faster than one [`repair`](Self::repair)
    /// after another, because each source symbol is read once for several of
    /// them.
    ///
    /// # Errors
    ///
    /// As [`repair`](Self::repair); all of `out` is then unchanged.
    ///
    /// # Panics
    ///
    /// When `out` does not have one buffer for each of `coefficients`.
    pub fn repairs(
        &self,
        window: Range<Esi>,
        coefficients: &[Coefficients<'_>],
        out: &mut [Vec<u8>],
    ) -> Result<(), RepairError> {
        assert_eq!(
            coefficients.len(),
            out.len(),
            "each repair symbol needs its own buffer"
        );
        let length = self.repair_len(window.clone())?;
        let symbols = (window.end - window.start) as usize;
        for coefficients in coefficients {
            coefficients.check(self.field, symbols)?;
        }
        let thins_out = |c: &Coefficients<'_>| matches!(c, Coefficients::Fading { .. });
        let abreast = coefficients.len().min(ABREAST).min(INLINE / symbols);
        // Made together, they would read every symbol, including those left
        // out.
        if abreast < 2 || coefficients.iter().any(thins_out) {
            for (coefficients, out) in coefficients.iter().zip(out) {
                let start = out.len();
                out.resize(start + length, 0);
                let covered = Covered {
                    field: self.field,
                    coefficients: *coefficients,
                    symbols: &self.symbols,
                    start: (window.start - self.first) as usize,
                    length: symbols,
                };
                self.field.combine(&mut out[start..], covered);
            }
            return Ok(());
        }
        let mut inline = [0; INLINE];
        let matrix = &mut inline[..abreast * symbols];
        for (coefficients, out) in coefficients.chunks(abreast).zip(out.chunks_mut(abreast)) {
            for (row, coefficients) in matrix.chunks_exact_mut(symbols).zip(coefficients) {
                coefficients.fill(self.field, row)?;
            }
            let mut sums: [&mut [u8]; ABREAST] = Default::default();
            for (sum, out) in sums.iter_mut().zip(&mut *out) {
                let start = out.len();
                out.resize(start + length, 0);
                *sum = &mut out[start..];
            }
            let symbols = self.covered(window.clone())?;
            self.combine(symbols, &mut sums[..coefficients.len()], matrix);
        }
        Ok(())
    }

    /// Adds to each of `sums` the symbols with the coefficients of its row.
    fn combine<'a>(
        &self,
        mut symbols: impl ExactSizeIterator<Item = &'a Coded>,
        sums: &mut [&mut [u8]],
        matrix: &[u8],
    ) {
        let columns = symbols.len();
        let mut sources: [&[u8]; BATCH] = [&[]; BATCH];
        let mut part = [0; ABREAST * BATCH];
        for start in (0..columns).step_by(BATCH) {
            let count = BATCH.min(columns - start);
            for (source, symbol) in sources.iter_mut().zip(symbols.by_ref().take(count)) {
                *source = symbol.bytes();
            }
            let rows = matrix.chunks_exact(columns);
            for (part, row) in part.chunks_exact_mut(count).zip(rows).take(sums.len()) {
                part.copy_from_slice(&row[start..start + count]);
            }
            let part = &part[..sums.len() * count];
            self.field.mul_add_matrix(sums, &sources[..count], part);
        }
    }

    /// Appends the next symbol.
    #[inline]
    fn hold(&mut self, coded: Coded) -> Esi {
        let esi = self.next();
        let length = coded.len();
        self.symbols.push_back(coded);
        self.longest.push(esi, length, self.symbols.len());
        esi
    }

    /// Makes sure that a payload of this length can be taken in.
    fn make_room(&mut self, length: usize) -> Result<(), PushError> {
        if length > self.max_symbol_size {
            return Err(PushError::TooLong {
                got: length,
                limit: self.max_symbol_size,
            });
        }
        if self.is_full() {
            if !self.evicts || self.capacity == 0 {
                return Err(PushError::Full {
                    capacity: self.capacity,
                });
            }
            self.discard_before(self.first + 1);
        }
        Ok(())
    }

    /// The symbols of a window.
    fn covered(
        &self,
        window: Range<Esi>,
    ) -> Result<impl ExactSizeIterator<Item = &Coded>, RepairError> {
        if window.is_empty() {
            return Err(RepairError::EmptyWindow);
        }
        if window.start < self.first || window.end > self.next() {
            return Err(RepairError::NotHeld {
                window,
                held: self.held(),
            });
        }
        let (start, end) = (window.start - self.first, window.end - self.first);
        Ok(self.symbols.range(start as usize..end as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coefficients::{self, CoefficientsError};
    use crate::field::{Field, Gf256};
    use alloc::vec;

    fn encoder(payloads: &[&[u8]]) -> WindowEncoder {
        let mut encoder = WindowEncoder::new(100, 1000);
        for payload in payloads {
            encoder.push(payload).unwrap();
        }
        encoder
    }

    #[test]
    fn repair_is_the_combination_of_length_payload_and_zeros() {
        let payloads: [&[u8]; 4] = [b"not covered", b"abc", b"", &[0xFF; 300]];
        let encoder = encoder(&payloads);
        let mut repair = vec![0xEE];
        encoder.repair(1..4, 99, &mut repair).unwrap();

        let mut expected = vec![0; 302];
        for (position, payload) in payloads[1..].iter().enumerate() {
            let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
            let coded = length.iter().chain(payload.iter());
            for (sum, byte) in expected.iter_mut().zip(coded) {
                *sum ^= Gf256::mul(coefficients::at(99, position), *byte);
            }
        }
        assert_eq!(repair[0], 0xEE);
        assert_eq!(repair[1..], expected);
        assert_eq!(encoder.repair_len(1..4), Ok(302));
        assert_eq!(encoder.repair_len(2..3), Ok(2));
    }

    #[test]
    fn repairs_made_at_once_equal_those_made_one_by_one() {
        let (fields, symbols) = if cfg!(miri) { (2, 150) } else { (8, 2100) };
        for bits in [8, 1, 3, 2, 4, 5, 6, 7].into_iter().take(fields) {
            let field = Arithmetic::with_bits(bits).unwrap();
            let mut encoder = WindowEncoder::with_field(3000, 100, field);
            for i in 0..symbols {
                let payload = vec![i as u8 | 1; (i * 37 % 101) as usize];
                encoder.push(&payload).unwrap();
            }
            let explicit = [1; 64];
            for window in [5..6, 5..69, 7..150, 0..symbols] {
                let count = if window.end < 2000 { 11 } else { 3 };
                let mut all: Vec<Coefficients<'_>> = (0..count)
                    .map(|key| Coefficients::Uniform { key })
                    .collect();
                if window == (5..69) {
                    all[4] = Coefficients::Explicit(&explicit);
                }
                if window == (7..150) {
                    all[2] = Coefficients::Fading { key: 2, dense: 9 };
                }
                let mut at_once = vec![vec![0xEE]; all.len()];
                encoder.repairs(window.clone(), &all, &mut at_once).unwrap();
                for (coefficients, together) in all.iter().zip(at_once) {
                    let mut alone = vec![0xEE];
                    encoder
                        .repair(window.clone(), *coefficients, &mut alone)
                        .unwrap();
                    assert_eq!(together, alone, "GF(2^{bits}), {window:?}");
                    let length = encoder.repair_len(window.clone()).unwrap();
                    assert_eq!(alone.len(), 1 + length);
                    assert!(length.is_multiple_of(field.group()));
                }
            }
        }
    }

    #[test]
    fn no_repair_is_made_if_one_is_impossible() {
        let encoder = encoder(&[b"0", b"1", b"2"]);
        let refused = Coefficients::Explicit(&[1, 2]);
        let mut out = [vec![1], vec![2]];
        let error = CoefficientsError::Length {
            got: 2,
            expected: 3,
        };
        assert_eq!(
            encoder.repairs(0..3, &[7.into(), refused], &mut out),
            Err(RepairError::Coefficients(error))
        );
        assert_eq!(out, [vec![1], vec![2]]);
        assert_eq!(encoder.repairs(0..3, &[], &mut []), Ok(()));
    }

    #[test]
    fn owned_payloads_are_used_in_place_and_their_buffers_come_back() {
        let mut encoder = WindowEncoder::new(2, 5);
        let packet = vec![9, 9, 9, 9, b'a', b'b', 9];
        let address = packet.as_ptr();
        assert_eq!(encoder.push_owned(packet, 4..6), Ok(0));
        assert_eq!(encoder.symbol(0), Some(&b"ab"[..]));
        assert_eq!(encoder.reclaim(), None);
        encoder.push(b"ab").unwrap();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        encoder.repair(0..1, 1, &mut one).unwrap();
        encoder.repair(1..2, 1, &mut other).unwrap();
        assert_eq!(one, other);
        let full = encoder.push_owned(vec![1; 9], 4..6);
        assert_eq!(full, Err(PushError::Full { capacity: 2 }));
        assert_eq!(encoder.reclaim(), Some(vec![1; 9]));
        encoder.discard_before(1);
        assert_eq!(encoder.reclaim().map(|b| b.as_ptr()), Some(address));
        for place in [0..1, 1..2, 5..10, 10..10] {
            let error = PushError::PayloadRange {
                start: place.start,
                end: place.end,
                buffer: 9,
            };
            assert_eq!(encoder.push_owned(vec![1; 9], place), Err(error));
            assert!(encoder.reclaim().is_some());
        }
        let too_long = PushError::TooLong { got: 6, limit: 5 };
        assert_eq!(encoder.push_owned(vec![1; 9], 2..8), Err(too_long));
    }

    #[test]
    fn repair_needs_its_whole_window() {
        let mut encoder = encoder(&[b"0", b"1", b"2"]);
        encoder.discard_before(1);
        let held = 1..3;
        let mut out = vec![7];
        for window in [0..2, 1..4, 5..6] {
            let held = held.clone();
            let error = RepairError::NotHeld {
                window: window.clone(),
                held,
            };
            assert_eq!(encoder.repair(window, 0, &mut out), Err(error));
        }
        let empty = encoder.repair(2..2, 0, &mut out);
        assert_eq!(empty, Err(RepairError::EmptyWindow));
        assert_eq!(out, [7]);
        assert_eq!(encoder.repair(held, 0, &mut out), Ok(()));
    }

    #[test]
    fn window_slides_with_consecutive_numbers() {
        let mut encoder = WindowEncoder::new(2, 3);
        assert_eq!(
            encoder.push(b"zero"),
            Err(PushError::TooLong { got: 4, limit: 3 })
        );
        assert_eq!(encoder.push(b"0"), Ok(0));
        assert_eq!(encoder.push(b"1"), Ok(1));
        assert_eq!(encoder.push(b"2"), Err(PushError::Full { capacity: 2 }));
        encoder.discard_before(1);
        assert_eq!(encoder.push(b"2"), Ok(2));
        assert_eq!((encoder.first(), encoder.next(), encoder.len()), (1, 3, 2));
        assert_eq!(encoder.symbol(0), None);
        assert_eq!(encoder.symbol(1), Some(&b"1"[..]));
        assert_eq!(encoder.symbol(3), None);
        encoder.discard_before(u64::MAX);
        assert!(encoder.is_empty());
        assert_eq!(encoder.push(b"3"), Ok(3));
    }

    #[test]
    fn an_evicting_encoder_holds_the_newest_symbols() {
        let mut evicting = WindowEncoder::new(3, 4).evicting();
        let mut discarding = WindowEncoder::new(3, 4);
        for i in 0..40_u8 {
            let payload = &[i; 4][..usize::from(i % 5)];
            if discarding.is_full() {
                discarding.discard_before(discarding.first() + 1);
            }
            assert_eq!(discarding.push(payload), Ok(i.into()));
            let pushed = match i % 2 {
                0 => evicting.push(payload),
                _ => evicting.push_owned([&[0xEE; 9], payload].concat(), 9..9 + payload.len()),
            };
            assert_eq!(pushed, Ok(i.into()));
            assert_eq!(evicting.held(), discarding.held());
            // What is refused evicts nothing.
            assert!(evicting.push(&[0; 5]).is_err());
            assert!(evicting.push_owned(vec![0; 9], 4..9).is_err());
            let (mut one, mut other) = (Vec::new(), Vec::new());
            evicting.repair(evicting.held(), 7, &mut one).unwrap();
            discarding.repair(discarding.held(), 7, &mut other).unwrap();
            assert_eq!(one, other);
            let held = evicting.held().map(|esi| evicting.symbol(esi));
            assert!(held.eq(discarding.held().map(|esi| discarding.symbol(esi))));
        }
        // Nobody reclaimed the buffers, and no more than can be used are kept.
        let waiting = core::iter::from_fn(|| evicting.reclaim()).count();
        assert!(waiting <= 3, "{waiting}");
        let mut none = WindowEncoder::new(0, 4).evicting();
        assert_eq!(none.push(b"0"), Err(PushError::Full { capacity: 0 }));
    }

    #[test]
    fn symbols_longer_than_the_length_field_allows_are_refused() {
        let mut encoder = WindowEncoder::new(1, usize::MAX);
        let error = PushError::TooLong {
            got: 65_536,
            limit: 65_535,
        };
        assert_eq!(encoder.push(&vec![0; 65_536]), Err(error));
        assert_eq!(encoder.push(&vec![0; 65_535]), Ok(0));
    }
}
