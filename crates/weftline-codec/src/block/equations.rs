//! The repair symbols that a block decoder holds, unchanged until they suffice.

use alloc::vec::Vec;

use crate::arch::Onto;
use crate::buffers::{Buffers, Coded};
use crate::echelon::Echelon;
use crate::field::Arithmetic;
use crate::kernel;
use crate::references::{Destinations, Sources};

/// Repair symbols that are independent equations about the missing symbols.
/// Each has a *slot*: its coding vector over the whole block and its data.
#[derive(Clone, Debug)]
pub(super) struct Equations {
    field: Arithmetic,
    /// Source symbols of the block.
    symbols: usize,
    /// The symbols that were missing when the first repair symbol came,
    /// ascending. The columns of symbols that became known later are zero in
    /// the echelon form.
    columns: Vec<usize>,
    echelon: Echelon,
    /// Coding vectors, slot after slot.
    vectors: Vec<u8>,
    /// Data by slot.
    data: Vec<Option<Coded>>,
    free: Vec<usize>,
    /// The slot that is being filled.
    open: usize,
    workspace: Workspace,
}

/// The effect of a late source symbol on the equations.
pub(super) struct Substituted {
    /// The equations had already determined the symbol.
    pub(super) redundant: bool,
    /// Equations dropped because they are shorter than a symbol they contain.
    pub(super) inconsistent: usize,
}

impl Equations {
    pub(super) fn new(field: Arithmetic, symbols: usize) -> Self {
        Self {
            field,
            symbols,
            columns: Vec::new(),
            echelon: Echelon::new(field),
            vectors: Vec::new(),
            data: Vec::new(),
            free: Vec::new(),
            open: 0,
            workspace: Workspace::default(),
        }
    }

    /// The number of equations held.
    pub(super) fn rank(&self) -> usize {
        self.echelon.rank()
    }

    /// Drops all equations; the next are about a block of this many symbols.
    pub(super) fn reset(&mut self, symbols: usize, buffers: &mut Buffers) {
        self.symbols = symbols;
        self.echelon.reset(0, 0);
        self.columns.clear();
        self.vectors.clear();
        self.free.clear();
        for data in self.data.drain(..).flatten() {
            buffers.give(data);
        }
    }

    /// Room for the coding vector of the next equation, to be written before
    /// [`close`](Self::close). `missing` are the symbols missing now, at least
    /// one and more than there are equations.
    pub(super) fn open(
        &mut self,
        missing: impl Iterator<Item = usize>,
        buffers: &mut Buffers,
    ) -> &mut [u8] {
        if self.rank() == 0 {
            self.reset(self.symbols, buffers);
            self.columns.extend(missing);
            self.echelon.reset(self.columns.len(), self.columns.len());
        }
        self.open = self.free.last().copied().unwrap_or(self.data.len());
        let end = (self.open + 1) * self.symbols;
        if self.vectors.len() < end {
            self.vectors.resize(end, 0);
        }
        &mut self.vectors[end - self.symbols..end]
    }

    /// Takes the equation, or returns false if it follows from those held.
    /// `is_missing` tells whether a symbol is still missing.
    pub(super) fn close(
        &mut self,
        data: &[u8],
        is_missing: impl Fn(usize) -> bool,
        buffers: &mut Buffers,
    ) -> bool {
        let vector = &self.vectors[self.open * self.symbols..][..self.symbols];
        let candidate = self.echelon.candidate();
        for (coefficient, &index) in candidate.iter_mut().zip(&self.columns) {
            if is_missing(index) {
                *coefficient = vector[index];
            }
        }
        if !self.echelon.adopt(self.open) {
            return false;
        }
        let data = Some(buffers.copy(data));
        if self.free.pop().is_some() {
            self.data[self.open] = data;
        } else {
            self.data.push(data);
        }
        true
    }

    /// Notes that the symbol `index`, of `length` bytes in coded form, is no
    /// longer missing.
    pub(super) fn substitute(
        &mut self,
        index: usize,
        length: usize,
        buffers: &mut Buffers,
    ) -> Substituted {
        let mut inconsistent = 0;
        for slot in 0..self.data.len() {
            let too_short = self.data[slot]
                .as_ref()
                .is_some_and(|data| data.len() < length);
            if too_short && self.vectors[slot * self.symbols + index] != 0 {
                self.echelon.remove_slot(slot);
                self.release(slot, buffers);
                inconsistent += 1;
            }
        }
        let determined = match self.columns.binary_search(&index) {
            Ok(column) if self.rank() > 0 => self.echelon.remove_column(column),
            _ => None,
        };
        if let Some(slot) = determined {
            self.release(slot, buffers);
        }
        Substituted {
            redundant: determined.is_some(),
            inconsistent,
        }
    }

    /// Solves for all missing symbols and drops the equations; there must be as
    /// many missing symbols as equations. `known` are the coded forms by index.
    /// `solved` becomes the missing ones, in no particular order, padded with
    /// zeros to the length of the longest equation.
    ///
    /// The missing symbols are the inverse of their coefficient matrix times
    /// the repair symbols without the known symbols. Multiplying the small
    /// matrices first leaves one pass over the data.
    pub(super) fn solve(
        &mut self,
        known: &[Option<Coded>],
        solved: &mut Vec<(usize, Coded)>,
        buffers: &mut Buffers,
    ) {
        let (symbols, rank) = (self.symbols, self.rank());
        let lengths = self.data.iter().flatten().map(Coded::len);
        let length = lengths.max().unwrap_or(0);
        let mut workspace = core::mem::take(&mut self.workspace);
        self.decoding_matrix(&mut workspace);
        let mut data = workspace.sources.take();
        data.extend(known.iter().map(|coded| match coded {
            // Only symbols that no equation contains can be longer.
            Some(coded) => &coded.bytes()[..coded.len().min(length)],
            None => &[],
        }));
        solved.clear();
        for (row, &slot) in workspace.slots.iter().enumerate() {
            let index = self.columns[self.echelon.row(row).0];
            data[index] = self.data[slot].as_ref().map_or(&[], Coded::bytes);
            solved.push((index, buffers.take(length)));
        }
        let mut sums = workspace.sums.take();
        sums.extend(solved.iter_mut().map(|(_, sum)| sum.bytes_mut()));
        self.field.dot_matrix(&mut sums, &data, &workspace.matrix);
        workspace.sums.give(sums);
        workspace.sources.give(data);
        self.workspace = workspace;
        self.reset(symbols, buffers);
        debug_assert_eq!(solved.len(), rank);
    }

    /// The matrix that makes the missing symbols, in the order of the echelon
    /// form's rows. Its columns stand for the known symbols and, in the places
    /// of the missing ones, for the repair symbols in the same order.
    fn decoding_matrix(&mut self, workspace: &mut Workspace) {
        let (symbols, rank) = (self.symbols, self.rank());
        let Workspace {
            slots,
            inverse,
            matrix,
            sources,
            sums,
        } = workspace;
        self.echelon.settle();
        slots.clear();
        slots.extend((0..self.data.len()).filter(|slot| self.data[*slot].is_some()));
        inverse.clear();
        for row in 0..rank {
            let (_, combination) = self.echelon.row(row);
            inverse.extend(slots.iter().map(|slot| combination[*slot]));
        }
        matrix.clear();
        matrix.resize(rank * symbols, 0);
        if rank < symbols {
            let mut vectors = sources.take();
            let starts = slots.iter().map(|slot| slot * symbols);
            vectors.extend(starts.map(|start| &self.vectors[start..][..symbols]));
            let mut rows = sums.take();
            rows.extend(matrix.chunks_exact_mut(symbols));
            let ops = kernel::active_ops();
            ops.mul_add_matrix_with(self.field.tables(), &mut rows, &vectors, inverse, Onto::All);
            sums.give(rows);
            sources.give(vectors);
        }
        // The columns of the missing symbols now form a unit matrix.
        for nth in 0..rank {
            let place = self.columns[self.echelon.row(nth).0];
            for (row, inverse) in matrix
                .chunks_exact_mut(symbols)
                .zip(inverse.chunks_exact(rank))
            {
                row[place] = inverse[nth];
            }
        }
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let data: usize = self.data.iter().flatten().map(Coded::memory).sum();
        let words =
            self.columns.capacity() + self.free.capacity() + self.workspace.slots.capacity();
        data + self.data.capacity() * size_of::<Option<Coded>>()
            + self.echelon.memory()
            + self.vectors.capacity()
            + self.workspace.inverse.capacity()
            + self.workspace.matrix.capacity()
            + words * size_of::<usize>()
            + self.workspace.sources.memory()
            + self.workspace.sums.memory()
    }

    fn release(&mut self, slot: usize, buffers: &mut Buffers) {
        if let Some(data) = self.data[slot].take() {
            buffers.give(data);
        }
        self.free.push(slot);
    }
}

/// Memory of [`Equations::solve`], reused from one call to the next.
#[derive(Clone, Debug, Default)]
struct Workspace {
    /// The used slots.
    slots: Vec<usize>,
    /// A row for each missing symbol, a column for each used slot.
    inverse: Vec<u8>,
    /// A row for each missing symbol, a column for each symbol of the block.
    matrix: Vec<u8>,
    sources: Sources,
    sums: Destinations,
}
