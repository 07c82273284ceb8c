//! The source symbols a block decoder knows.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::buffers::{Buffers, Coded};

/// Coded forms by index, and those that became known recently.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    symbols: Vec<Option<Coded>>,
    unknowns: usize,
    /// Bytes of the longest coded form.
    longest: usize,
    /// Symbols that became known and are not reported yet.
    news: VecDeque<usize>,
}

impl Known {
    /// Forgets everything: `symbols` symbols are missing now.
    pub(super) fn reset(&mut self, symbols: usize, buffers: &mut Buffers) {
        for coded in self.symbols.drain(..).flatten() {
            buffers.give(coded);
        }
        self.symbols.resize(symbols, None);
        self.unknowns = symbols;
        self.longest = 0;
        self.news.clear();
    }

    /// The coded forms by index, including missing ones.
    pub(super) fn symbols(&self) -> &[Option<Coded>] {
        &self.symbols
    }

    pub(super) fn unknowns(&self) -> usize {
        self.unknowns
    }

    pub(super) fn is_missing(&self, index: usize) -> bool {
        self.symbols[index].is_none()
    }

    /// The indices of the missing symbols, ascending.
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        (0..self.symbols.len()).filter(|index| self.is_missing(*index))
    }

    /// Fills a gap.
    pub(super) fn insert(&mut self, index: usize, coded: Coded) {
        debug_assert!(self.is_missing(index), "symbol {index} became known twice");
        self.longest = self.longest.max(coded.len());
        self.symbols[index] = Some(coded);
        self.unknowns -= 1;
        self.news.push_back(index);
    }

    /// The next symbol that became known.
    pub(super) fn next_known(&mut self) -> Option<usize> {
        self.news.pop_front()
    }

    /// Whether an equation of this length is long enough for the known symbols
    /// it contains; if not, the length it would need.
    pub(super) fn check_length(&self, vector: &[u8], length: usize) -> Result<(), usize> {
        if length >= self.longest {
            return Ok(());
        }
        let contained = vector.iter().zip(&self.symbols);
        let lengths = contained
            .filter(|(c, _)| **c != 0)
            .filter_map(|(_, coded)| Some(coded.as_ref()?.len()));
        match lengths.max() {
            Some(longest) if longest > length => Err(longest),
            _ => Ok(()),
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let symbols: usize = self.symbols.iter().flatten().map(Coded::memory).sum();
        symbols
            + self.symbols.capacity() * size_of::<Option<Coded>>()
            + self.news.capacity() * size_of::<usize>()
    }
}
