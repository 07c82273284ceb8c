//! The terms of a single repair symbol.

use alloc::collections::VecDeque;

use crate::buffers::Coded;
use crate::coefficients::Coefficients;
use crate::field::Arithmetic;
use crate::kernel::Terms;

/// A coding vector beside the symbols of its window.
pub(super) struct Covered<'a> {
    pub(super) field: Arithmetic,
    pub(super) coefficients: Coefficients<'a>,
    pub(super) symbols: &'a VecDeque<Coded>,
    /// Where the window begins among the symbols.
    pub(super) start: usize,
    /// The number of symbols it covers.
    pub(super) length: usize,
}

impl<'a> Terms<'a> for Covered<'a> {
    fn at_most(&self) -> usize {
        self.length
    }

    #[inline]
    fn each(self, mut term: impl FnMut(u8, &'a [u8])) {
        let Self { symbols, start, .. } = self;
        self.coefficients
            .each_term(self.field, self.length, |position, c| {
                term(c, symbols[start + position].bytes());
            });
    }
}
