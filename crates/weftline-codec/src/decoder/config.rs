//! The limits of a decoder.

use crate::symbol::MAX_SYMBOL_SIZE;

/// The limits of a decoder. The peer decides what arrives, so every limit is
/// checked before anything is stored.
///
/// Memory, in bytes, is at most
///
/// ```text
/// (max_span + 2) * (buffer + 320)
///     + max_unknowns * (max_unknowns + 512) + 2 * max_window + 1024
/// ```
///
/// where `buffer` is `max_symbol_size`, or `max_buffer` if that is larger and
/// [`source_owned`](crate::WindowDecoder::source_owned) is used. New symbols
/// reuse the buffers of forgotten ones, so the decoder keeps the memory of the
/// time when it held most. No single call multiplies or copies more bytes than
///
/// ```text
/// (max_window + 2 * max_unknowns) * (max_symbol_size + 64) + 4 * max_unknowns^2
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderConfig {
    /// Symbols, known or missing, that may be held from the floor on.
    pub max_span: usize,
    /// Bytes of the longest payload; a larger limit counts as
    /// [`MAX_SYMBOL_SIZE`].
    pub max_symbol_size: usize,
    /// Symbols that may be missing at once.
    pub max_unknowns: usize,
    /// Symbols a repair symbol may cover.
    pub max_window: usize,
    /// Capacity, in bytes, of the largest buffer that
    /// [`source_owned`](crate::WindowDecoder::source_owned) keeps; it copies
    /// from a larger one. The default is 512 more than a symbol and at least
    /// 2048, which most receivers use for a packet.
    pub max_buffer: usize,
}

impl DecoderConfig {
    /// These limits; see the fields.
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
            max_buffer: (max_symbol_size.min(MAX_SYMBOL_SIZE) + 512).max(2048),
        }
    }
}

impl Default for DecoderConfig {
    /// 4096 symbols of 1500 bytes, 512 of them missing, and windows of 1024:
    /// about 8 MB when full, or 10 MB with owned buffers.
    fn default() -> Self {
        Self::new(4096, 1500, 512, 1024)
    }
}
