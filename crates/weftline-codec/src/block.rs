//! Systematic block codes: the sliding window standing still.

use alloc::vec::Vec;

use crate::Esi;
use crate::decoder::{DecoderConfig, Outcome, WindowDecoder};
use crate::error::{DecodeError, PushError, RepairError};
use crate::window::WindowEncoder;

/// Makes repair symbols over a whole block of source symbols.
///
/// The source symbols travel as they are; every repair symbol covers all of
/// them, so a block of k symbols is recovered from nearly any k symbols
/// received: they suffice with a probability of about 0.996 or more, and each
/// further one divides what is left of the failures by about 255.
///
/// ```
/// use weftline_codec::{BlockDecoder, BlockEncoder};
///
/// let block = BlockEncoder::from_slices(["one", "two", "three"])?;
/// let mut repair = Vec::new();
/// block.repair(0, &mut repair)?;
///
/// let mut decoder = BlockDecoder::new(3, 1500);
/// decoder.source(0, b"one")?;
/// decoder.source(2, b"three")?;
/// decoder.repair(0, &repair)?;
/// assert!(decoder.is_complete());
/// assert_eq!(decoder.symbol(1), Some(&b"two"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockEncoder {
    window: WindowEncoder,
}

impl BlockEncoder {
    /// An empty block for at most `max_symbols` symbols of at most
    /// `max_symbol_size` bytes.
    #[must_use]
    pub fn new(max_symbols: usize, max_symbol_size: usize) -> Self {
        Self {
            window: WindowEncoder::new(max_symbols, max_symbol_size),
        }
    }

    /// A block of these payloads, which may differ in length.
    ///
    /// # Errors
    ///
    /// [`PushError::TooLong`] if one exceeds [`MAX_SYMBOL_SIZE`].
    ///
    /// [`MAX_SYMBOL_SIZE`]: crate::MAX_SYMBOL_SIZE
    pub fn from_slices<T: AsRef<[u8]>>(
        payloads: impl IntoIterator<Item = T>,
    ) -> Result<Self, PushError> {
        let mut block = Self::new(usize::MAX, usize::MAX);
        for payload in payloads {
            block.push(payload.as_ref())?;
        }
        Ok(block)
    }

    /// Takes the next source symbol in and returns its index.
    ///
    /// # Errors
    ///
    /// As [`WindowEncoder::push`].
    pub fn push(&mut self, payload: &[u8]) -> Result<usize, PushError> {
        let esi = self.window.push(payload)?;
        Ok((esi - self.window.first()) as usize)
    }

    /// How many source symbols the block has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.window.len()
    }

    /// Whether the block has no symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// The payload of a source symbol.
    #[must_use]
    pub fn symbol(&self, index: usize) -> Option<&[u8]> {
        self.window.symbol(self.window.first() + index as Esi)
    }

    /// Appends to `out` the repair symbol of `key` over the whole block.
    ///
    /// # Errors
    ///
    /// [`RepairError::EmptyWindow`] if the block has no symbols.
    pub fn repair(&self, key: u32, out: &mut Vec<u8>) -> Result<(), RepairError> {
        let window = self.window.first()..self.window.next();
        self.window.repair(window, key, out)
    }

    /// The repair symbols of the keys `0..count`.
    ///
    /// # Errors
    ///
    /// As [`repair`](Self::repair).
    pub fn repairs(&self, count: u32) -> Result<Vec<Vec<u8>>, RepairError> {
        (0..count)
            .map(|key| {
                let mut out = Vec::new();
                self.repair(key, &mut out)?;
                Ok(out)
            })
            .collect()
    }

    /// Empties the block for the next one; its buffers are reused.
    pub fn clear(&mut self) {
        self.window.discard_before(self.window.next());
    }
}

/// Recovers a block of source symbols.
///
/// Memory and work are those of a [`WindowDecoder`] with all limits at the
/// number of source symbols.
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    window: WindowDecoder,
    symbols: usize,
}

impl BlockDecoder {
    /// A decoder for a block of `symbols` source symbols of at most
    /// `max_symbol_size` bytes.
    #[must_use]
    pub fn new(symbols: usize, max_symbol_size: usize) -> Self {
        let config = DecoderConfig::new(symbols, max_symbol_size, symbols, symbols);
        let mut window = WindowDecoder::new(config);
        let expected = window.expect(symbols as Esi);
        debug_assert!(expected.is_ok(), "the limits are those of the block");
        Self { window, symbols }
    }

    /// Takes the source symbol with this index.
    ///
    /// # Errors
    ///
    /// As [`WindowDecoder::source`]; [`DecodeError::OutOfSpan`] for an index
    /// outside of the block.
    pub fn source(&mut self, index: usize, payload: &[u8]) -> Result<Outcome, DecodeError> {
        self.window.source(index as Esi, payload)
    }

    /// Takes the repair symbol of `key`.
    ///
    /// # Errors
    ///
    /// As [`WindowDecoder::repair`].
    pub fn repair(&mut self, key: u32, data: &[u8]) -> Result<Outcome, DecodeError> {
        self.window.repair(0..self.symbols as Esi, key, data)
    }

    /// The next symbol that became known, in the order in which they did.
    pub fn next_known(&mut self) -> Option<usize> {
        self.window.next_known().map(|esi| esi as usize)
    }

    /// The payload of a known symbol.
    #[must_use]
    pub fn symbol(&self, index: usize) -> Option<&[u8]> {
        self.window.symbol(index as Esi)
    }

    /// All payloads in order, or `None` while one is missing.
    #[must_use]
    pub fn symbols(&self) -> Option<impl Iterator<Item = &[u8]>> {
        self.is_complete()
            .then(|| (0..self.symbols).filter_map(|index| self.symbol(index)))
    }

    /// Whether every source symbol is known.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.window.unknowns() == 0
    }

    /// How many more innovative symbols complete the block.
    #[must_use]
    pub fn deficit(&self) -> usize {
        self.window.deficit()
    }
}
