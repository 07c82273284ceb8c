//! Results and statistics of a decoder.

/// Whether a symbol was useful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It added information.
    Innovative,
    /// It added nothing: a duplicate, a symbol below the floor, or a repair
    /// symbol that follows from what is held.
    Redundant,
}

/// The symbols that [`skip_to`](crate::WindowDecoder::skip_to) skipped. The
/// three counts add up to the symbols between the old floor and the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Symbols that were known, received or recovered, and are dropped.
    pub known: u64,
    /// Symbols that were missing and are given up.
    pub missing: u64,
    /// Symbols from the old [`end`](crate::WindowDecoder::end) on, which no
    /// packet had announced.
    pub unheard: u64,
}

/// Statistics of a decoder, in symbols since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderStats {
    /// Source symbols received that were not known.
    pub sources: u64,
    /// Source symbols received that were known or forgotten.
    pub redundant_sources: u64,
    /// Repair symbols that were innovative.
    pub repairs: u64,
    /// Repair symbols that were redundant.
    pub redundant_repairs: u64,
    /// Repair symbols refused because they need forgotten symbols.
    pub not_held: u64,
    /// Missing symbols recovered from repair symbols.
    pub recovered: u64,
    /// Symbols given up: forgotten while missing, or skipped unheard.
    pub abandoned: u64,
    /// Equations dropped because they contradict a symbol or determine an
    /// impossible one; 0 with an honest peer.
    pub inconsistent: u64,
}
