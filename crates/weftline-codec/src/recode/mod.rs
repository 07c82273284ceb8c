//! New repair symbols made from received ones.

mod holding;
mod pool;

use alloc::vec::Vec;
use core::ops::Range;

use holding::{Held, Holding, extent};

use crate::coefficients::Coefficients;
use crate::decoder::Outcome;
use crate::error::{DecodeError, RepairError};
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::symbol::{self, LENGTH_BYTES, MAX_SYMBOL_SIZE};

/// Makes new repair symbols at a relay from the source and repair symbols that
/// it receives, without decoding them.
///
/// A relay that only forwards passes on the losses of the path before it. A
/// relay that recodes replaces them with new combinations of what it has. Over
/// two links with the loss rates a and b, a receiver then gets the share that
/// the worse link carries, 1 - max(a, b), instead of (1 - a)(1 - b). The sender
/// need not know.
///
/// A combination has its own coding vector, which must travel with it: a
/// receiver gives it to [`WindowDecoder::repair`] or [`BlockDecoder::repair`]
/// as [`Coefficients::Explicit`]. The vector has one element for each symbol of
/// the window, q bits each when packed.
///
/// Only innovative symbols are held, so there are never more than the span has
/// symbols. When a limit is reached, the oldest are dropped. So a relay may
/// join a flow at any time, and goes on after an outage by itself.
///
/// # Limits
///
/// For at most n symbols of at most s bytes, over a span of at most w, memory
/// is at most `(n + 1) * (s + 5 * w + 2 * n + 512) + 1024` bytes. With r
/// symbols held, an arriving symbol costs a copy and at most `2 * r * (w + n)`
/// multiply-adds of an element, and a combination costs `r * (s + w)`. Raising
/// the floor costs at most `r * (s + 2 * w + n)` for each symbol below it that
/// a held symbol contains.
///
/// ```
/// use weftline_codec::coefficients::Coefficients;
/// use weftline_codec::{BlockDecoder, BlockEncoder, Recoder};
///
/// let block = BlockEncoder::from_slices(["one", "two", "three"])?;
/// let repairs = block.repairs(2)?;
/// let mut relay = Recoder::new(3, 3, 1500);
/// relay.source(1, b"two")?;
/// relay.repair(0..3, 0, &repairs[0])?;
/// relay.repair(0..3, 1, &repairs[1])?;
///
/// let mut decoder = BlockDecoder::new(3, 1500);
/// for key in 0..3 {
///     let (mut vector, mut data) = (Vec::new(), Vec::new());
///     let window = relay.recode(key, &mut vector, &mut data)?;
///     assert_eq!(window, 0..3);
///     decoder.repair(Coefficients::Explicit(&vector), &data)?;
/// }
/// assert_eq!(decoder.symbol(2), Some(&b"three"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`WindowDecoder::repair`]: crate::WindowDecoder::repair
/// [`BlockDecoder::repair`]: crate::BlockDecoder::repair
#[derive(Clone, Debug)]
pub struct Recoder {
    holding: Holding,
    max_symbol_size: usize,
    /// The coding vector being processed, or the factors of a combination.
    vector: Vec<u8>,
}

impl Recoder {
    /// A relay in GF(2^8) that holds at most `max_symbols` symbols of at most
    /// `max_symbol_size` bytes (a larger limit counts as [`MAX_SYMBOL_SIZE`]),
    /// and combines at most `max_span` consecutive ESIs. A `max_symbols` or
    /// `max_span` of 0 counts as 1.
    #[must_use]
    pub fn new(max_symbols: usize, max_span: usize, max_symbol_size: usize) -> Self {
        Self::with_field(
            max_symbols,
            max_span,
            max_symbol_size,
            Arithmetic::default(),
        )
    }

    /// As [`new`](Self::new), in this field.
    #[must_use]
    pub fn with_field(
        max_symbols: usize,
        max_span: usize,
        max_symbol_size: usize,
        field: Arithmetic,
    ) -> Self {
        Self {
            holding: Holding::new(field, max_symbols, max_span),
            max_symbol_size: max_symbol_size.min(MAX_SYMBOL_SIZE),
            vector: Vec::new(),
        }
    }

    /// Takes a received source symbol.
    ///
    /// Raises the floor if `esi` lies [`max_span`](Self::new) or more above it.
    ///
    /// # Errors
    ///
    /// [`DecodeError::SymbolTooLong`], or [`DecodeError::OutOfSpan`] for the
    /// highest ESI.
    pub fn source(&mut self, esi: Esi, payload: &[u8]) -> Result<Outcome, DecodeError> {
        if payload.len() > self.max_symbol_size {
            return Err(DecodeError::SymbolTooLong {
                got: payload.len(),
                limit: self.max_symbol_size,
            });
        }
        if esi == Esi::MAX {
            return Err(DecodeError::OutOfSpan {
                end: esi,
                limit: esi,
            });
        }
        let holding = &mut self.holding;
        if esi < holding.floor() || !holding.is_innovative(esi, &[1]) {
            return Ok(Outcome::Redundant);
        }
        let data = holding.buffers().code(payload);
        holding.hold(esi, &[1], data);
        Ok(Outcome::Innovative)
    }

    /// Takes a received repair symbol of an encoder or another relay, made over
    /// `window` with these coefficients or those of a key.
    ///
    /// Raises the floor if the window ends more than [`max_span`](Self::new)
    /// above it.
    ///
    /// # Errors
    ///
    /// [`DecodeError::WindowEmpty`], [`DecodeError::WindowTooLong`],
    /// [`DecodeError::RepairLength`], [`DecodeError::RepairGroups`],
    /// [`DecodeError::Coefficients`], or [`DecodeError::NotHeld`] if it contains
    /// symbols below the floor; without effect.
    pub fn repair<'a>(
        &mut self,
        window: Range<Esi>,
        coefficients: impl Into<Coefficients<'a>>,
        data: &[u8],
    ) -> Result<Outcome, DecodeError> {
        self.check_repair(&window, data)?;
        self.vector.clear();
        self.vector.resize((window.end - window.start) as usize, 0);
        let holding = &mut self.holding;
        coefficients
            .into()
            .fill(holding.field(), &mut self.vector)?;
        let Some(part) = extent(&self.vector) else {
            return Ok(Outcome::Redundant);
        };
        let start = window.start + part.start as Esi;
        if start < holding.floor() {
            return Err(DecodeError::NotHeld {
                start,
                first: holding.floor(),
            });
        }
        let vector = &self.vector[part];
        if !holding.is_innovative(start, vector) {
            return Ok(Outcome::Redundant);
        }
        let data = holding.buffers().copy(data);
        holding.hold(start, vector, data);
        Ok(Outcome::Innovative)
    }

    /// Appends a new repair symbol: its coding vector to `vector`, one element
    /// a byte, and its data to `data`. Returns the window; the vector has an
    /// element for each of its symbols.
    ///
    /// It is a combination of all symbols held; the factors are those of
    /// [`Coefficients::Uniform`] with `key`. Use a new key each time. Keys need
    /// not differ from those of other relays, and they do not travel.
    ///
    /// # Errors
    ///
    /// [`RepairError::EmptyWindow`] if nothing is held.
    pub fn recode(
        &mut self,
        key: u32,
        vector: &mut Vec<u8>,
        data: &mut Vec<u8>,
    ) -> Result<Range<Esi>, RepairError> {
        let (field, held) = (self.holding.field(), self.holding.held());
        if held.is_empty() {
            return Err(RepairError::EmptyWindow);
        }
        let factors = &mut self.vector;
        factors.clear();
        factors.resize(held.len(), 0);
        Coefficients::Uniform { key }.fill(field, factors)?;
        if symbol::is_zero(factors) {
            // Nobody has a use for a symbol of zeros.
            let any = key as usize % factors.len();
            factors[any] = 1;
        }
        let factors = &self.vector;
        let terms = || {
            let terms = factors.iter().copied().zip(held);
            terms.filter(|(factor, _)| *factor != 0)
        };
        let start = terms().map(|(_, held)| held.start).min().unwrap_or(0);
        let end = terms().map(|(_, held)| held.end()).max().unwrap_or(0);
        let longest = terms().map(|(_, held)| held.data.len()).max();

        let at = vector.len();
        vector.resize(at + (end - start) as usize, 0);
        for (factor, held) in terms() {
            let place = at + (held.start - start) as usize;
            let sum = &mut vector[place..][..held.vector.len()];
            field.mul_add_vector(sum, &held.vector, factor);
        }
        let at = data.len();
        data.resize(at + field.whole_groups(longest.unwrap_or(0)), 0);
        let terms = terms().map(|(factor, held)| (factor, held.data.bytes()));
        field.combine(&mut data[at..], terms);
        Ok(start..end)
    }

    /// How many symbols are held, all of them independent of each other.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.holding.held().len()
    }

    /// The symbols in the held equations: from the lowest to one past the
    /// highest that is part of any. Empty when nothing is held.
    #[must_use]
    pub fn window(&self) -> Range<Esi> {
        let (held, floor) = (self.holding.held(), self.first());
        let start = held.iter().map(|held| held.start).min();
        let end = held.iter().map(Held::end).max();
        start.unwrap_or(floor)..end.unwrap_or(floor)
    }

    /// The floor: no combination contains symbols below it.
    #[must_use]
    pub fn first(&self) -> Esi {
        self.holding.floor()
    }

    /// Raises the floor to `esi`, because receivers have, or gave up, the
    /// symbols below. No effect if the floor is higher already.
    ///
    /// The relay keeps all information that does not involve the symbols below:
    /// it eliminates each of these from the held symbols, which costs one held
    /// symbol.
    pub fn forget_before(&mut self, esi: Esi) {
        self.holding.forget_before(esi);
    }

    /// Bytes of memory held now, buffers kept for reuse included. The cost
    /// grows with the symbols held: call it for reports, not for every packet.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.holding.memory() + self.vector.capacity()
    }

    fn check_repair(&self, window: &Range<Esi>, data: &[u8]) -> Result<(), DecodeError> {
        if window.is_empty() {
            return Err(DecodeError::WindowEmpty);
        }
        let symbols = window.end - window.start;
        let limit = self.holding.max_span();
        if symbols > limit as Esi {
            return Err(DecodeError::WindowTooLong {
                got: symbols,
                limit,
            });
        }
        let field = self.holding.field();
        let max = field.whole_groups(LENGTH_BYTES + self.max_symbol_size);
        if data.len() < LENGTH_BYTES || data.len() > max {
            return Err(DecodeError::RepairLength {
                got: data.len(),
                min: LENGTH_BYTES,
                max,
            });
        }
        if !data.len().is_multiple_of(field.group()) {
            return Err(DecodeError::RepairGroups {
                got: data.len(),
                group: field.group(),
            });
        }
        Ok(())
    }
}
