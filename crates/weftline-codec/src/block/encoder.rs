//! The sending side of a block code.

use alloc::vec::Vec;
use core::ops::Range;

use crate::coefficients::Coefficients;
use crate::error::{PushError, RepairError};
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::window::WindowEncoder;

/// Makes any number of repair symbols over a whole block of source symbols.
///
/// The source symbols are the payloads themselves, which may differ in length;
/// a repair symbol is [`LENGTH_BYTES`](crate::LENGTH_BYTES) longer than the
/// longest of them, rounded up to whole groups of the field. The choice of
/// symbols to send decides which code this is:
///
/// - the payloads, then repair symbols with a new key each until the receiver
///   has enough: a *systematic rateless* code, which is UDP-RC (Chong et al.)
///   in GF(2) with [`Coefficients::Uniform`];
/// - only repair symbols: a *non-systematic* block code (Garrido et al.), with
///   keys or explicit coding vectors in GF(2) to GF(2^8).
///
/// A block of k symbols is recovered from nearly any k received. With uniform
/// coefficients in GF(2^q), k of them suffice with a probability of about 1 - 1
/// / (2^q - 1), 0.29 in GF(2) and 0.996 in GF(2^8), and each further one
/// divides the probability of failure by 2^q.
///
/// Memory is that of the payloads plus about 100 bytes for each. A repair
/// symbol costs one multiply-add of each payload.
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
    /// An empty block in GF(2^8) for at most `max_symbols` symbols of at most
    /// `max_symbol_size` bytes.
    #[must_use]
    pub fn new(max_symbols: usize, max_symbol_size: usize) -> Self {
        Self::with_field(max_symbols, max_symbol_size, Arithmetic::default())
    }

    /// As [`new`](Self::new), in this field.
    #[must_use]
    pub fn with_field(max_symbols: usize, max_symbol_size: usize, field: Arithmetic) -> Self {
        Self {
            window: WindowEncoder::with_field(max_symbols, max_symbol_size, field),
        }
    }

    /// A block of these payloads in GF(2^8).
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

    /// Appends the next source symbol and returns its index. Copies it once.
    ///
    /// # Errors
    ///
    /// As [`WindowEncoder::push`].
    pub fn push(&mut self, payload: &[u8]) -> Result<usize, PushError> {
        let esi = self.window.push(payload)?;
        Ok((esi - self.window.first()) as usize)
    }

    /// As [`push`](Self::push), without the copy; see
    /// [`WindowEncoder::push_owned`].
    ///
    /// # Errors
    ///
    /// As [`WindowEncoder::push_owned`].
    pub fn push_owned(
        &mut self,
        buffer: Vec<u8>,
        payload: Range<usize>,
    ) -> Result<usize, PushError> {
        let esi = self.window.push_owned(buffer, payload)?;
        Ok((esi - self.window.first()) as usize)
    }

    /// A buffer given to [`push_owned`](Self::push_owned) that is no longer
    /// needed.
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.window.reclaim()
    }

    /// The number of source symbols of the block.
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

    /// Appends to `out` the repair symbol with these coefficients, or those of a
    /// key, over the whole block.
    ///
    /// # Errors
    ///
    /// [`RepairError::EmptyWindow`] if the block has no symbols, or
    /// [`RepairError::Coefficients`]; `out` is then unchanged.
    pub fn repair<'a>(
        &self,
        coefficients: impl Into<Coefficients<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), RepairError> {
        let window = self.window.first()..self.window.next();
        self.window.repair(window, coefficients, out)
    }

    /// Several repair symbols at once: appends the one with `coefficients[i]`
    /// to `out[i]`. Faster than one [`repair`](Self::repair) after another,
    /// because each source symbol is read once for several of them.
    ///
    /// # Errors
    ///
    /// As [`repair`](Self::repair); all of `out` is then unchanged.
    ///
    /// # Panics
    ///
    /// When `out` does not have one buffer for each of `coefficients`.
    pub fn repairs_with(
        &self,
        coefficients: &[Coefficients<'_>],
        out: &mut [Vec<u8>],
    ) -> Result<(), RepairError> {
        let window = self.window.first()..self.window.next();
        self.window.repairs(window, coefficients, out)
    }

    /// The repair symbols of the keys `0..count`.
    ///
    /// # Errors
    ///
    /// As [`repair`](Self::repair).
    pub fn repairs(&self, count: u32) -> Result<Vec<Vec<u8>>, RepairError> {
        let coefficients: Vec<_> = (0..count).map(Coefficients::from).collect();
        let mut out = Vec::new();
        out.resize_with(coefficients.len(), Vec::new);
        self.repairs_with(&coefficients, &mut out)?;
        Ok(out)
    }

    /// Empties the block for the next one; its buffers are reused.
    pub fn clear(&mut self) {
        self.window.discard_before(self.window.next());
    }
}
