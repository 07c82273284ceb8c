//! Finds, from their coefficients alone, which combinations of equations
//! determine which unknowns.
//!
//! The caller keeps the equations, coefficients and data, and names them by
//! *slots*. An [`Echelon`] holds *rows*, combinations of the equations in reduced
//! form:
//!
//! - every row has a pivot, a column in which it has a 1 and all other rows
//!   have a 0;
//! - every row records the combination of slots that it is.
//!
//! So once every remaining column has a pivot, the combinations are the rows of
//! the inverse of the matrix of equations. The caller applies them to the data,
//! which nothing had to touch before.

use alloc::vec::Vec;

use crate::arch::Onto;
use crate::buffers::{Buffers, Coded};
use crate::field::Arithmetic;
use crate::kernel;
use crate::references::{Destinations, Sources};
use crate::symbol::is_zero;

/// The most rows that may be fresh.
const MOST_FRESH: usize = 8;

/// The reduced rows over a number of columns and slots.
///
/// A row takes `columns + slots` bytes, and there are at most as many rows as
/// columns or slots. Every operation costs at most two multiply-adds for each
/// row.
#[derive(Clone, Debug)]
pub(crate) struct Echelon {
    field: Arithmetic,
    columns: usize,
    slots: usize,
    /// Coefficients by column, then factors by slot. The first `old` rows may
    /// contain the pivots of the others, the *fresh* ones: reducing them by
    /// several fresh rows at once is much faster.
    rows: Vec<Coded>,
    old: usize,
    /// The column of each row's pivot.
    pivots: Vec<usize>,
    /// The row being made, if any.
    candidate: Option<Coded>,
    /// The factors with which some rows are added to others.
    factors: Vec<u8>,
    buffers: Buffers,
    sums: Destinations,
    sources: Sources,
}

impl Echelon {
    /// No rows over no columns.
    pub(crate) fn new(field: Arithmetic) -> Self {
        Self {
            field,
            columns: 0,
            slots: 0,
            rows: Vec::new(),
            old: 0,
            pivots: Vec::new(),
            candidate: None,
            factors: Vec::new(),
            buffers: Buffers::default(),
            sums: Destinations::default(),
            sources: Sources::default(),
        }
    }

    /// Drops all rows and starts again, over these columns and slots.
    pub(crate) fn reset(&mut self, columns: usize, slots: usize) {
        self.columns = columns;
        self.slots = slots;
        self.old = 0;
        self.pivots.clear();
        for row in self.rows.drain(..).chain(self.candidate.take()) {
            self.buffers.give(row);
        }
    }

    /// The number of rows, which is the number of independent equations.
    pub(crate) fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Reduces all rows by the fresh ones. Then, until the next equation,
    /// [`row`](Self::row) may be called.
    pub(crate) fn settle(&mut self) {
        let (old, fresh) = self.rows.split_at_mut(self.old);
        let pivots = &self.pivots[self.old..];
        if !old.is_empty() && !fresh.is_empty() {
            self.factors.clear();
            for row in &*old {
                let row = row.bytes();
                self.factors.extend(pivots.iter().map(|pivot| row[*pivot]));
            }
            let mut sums = self.sums.take();
            sums.extend(old.iter_mut().map(Coded::bytes_mut));
            let mut sources = self.sources.take();
            sources.extend(fresh.iter().map(Coded::bytes));
            let (ops, tables) = (kernel::active_ops(), self.field.tables());
            ops.mul_add_matrix_with(tables, &mut sums, &sources, &self.factors, Onto::All);
            self.sums.give(sums);
            self.sources.give(sources);
        }
        self.old = self.rows.len();
    }

    /// A row's pivot column, and its combination by slot.
    pub(crate) fn row(&self, index: usize) -> (usize, &[u8]) {
        debug_assert_eq!(self.old, self.rows.len(), "the rows are settled");
        (
            self.pivots[index],
            &self.rows[index].bytes()[self.columns..],
        )
    }

    /// Zeros by column, to be overwritten with the coefficients of the equation
    /// that [`adopt`](Self::adopt) takes next.
    pub(crate) fn candidate(&mut self) -> &mut [u8] {
        let length = self.columns + self.slots;
        let candidate = match self.candidate.take() {
            Some(candidate) => candidate,
            None => self.buffers.take(length),
        };
        let bytes = self.candidate.insert(candidate).bytes_mut();
        bytes.fill(0);
        &mut bytes[..self.columns]
    }

    /// Takes the equation written to [`candidate`](Self::candidate) under an
    /// unused slot. Returns false, and does not take it, if it is a combination
    /// of the equations held.
    pub(crate) fn adopt(&mut self, slot: usize) -> bool {
        let Some(mut candidate) = self.candidate.take() else {
            return false;
        };
        candidate.bytes_mut()[self.columns + slot] = 1;
        // No row of a kind contains the pivot of another, so reducing by one
        // changes no factor of the others, and all factors can be read at once.
        for kind in [0..self.old, self.old..self.rows.len()] {
            if kind.is_empty() {
                continue;
            }
            let bytes = candidate.bytes_mut();
            let pivots = self.pivots[kind.clone()].iter();
            self.factors.clear();
            self.factors.extend(pivots.map(|pivot| bytes[*pivot]));
            let rows = self.rows[kind].iter().map(Coded::bytes);
            self.field
                .combine_vectors(bytes, self.factors.iter().copied().zip(rows));
        }
        let pivot = self.pivot(&candidate);
        match pivot {
            Some(pivot) => self.insert(candidate, pivot),
            None => self.candidate = Some(candidate),
        }
        pivot.is_some()
    }

    /// The unknown of a column became known, so no equation contains it. If one
    /// equation has become a combination of the others, removes it and returns
    /// its slot.
    pub(crate) fn remove_column(&mut self, column: usize) -> Option<usize> {
        self.settle();
        let Some(index) = self.pivots.iter().position(|pivot| *pivot == column) else {
            for row in &mut self.rows {
                row.bytes_mut()[column] = 0;
            }
            return None;
        };
        let mut row = self.take_row(index);
        row.bytes_mut()[column] = 0;
        if let Some(pivot) = self.pivot(&row) {
            self.insert(row, pivot);
            return None;
        }
        // The combination is zero, so each of its slots depends on the others.
        let mut combination = row.bytes()[self.columns..].iter();
        let slot = combination.position(|factor| *factor != 0);
        if let Some(slot) = slot {
            self.reduce_by(&mut row, self.columns + slot, 0);
        }
        self.buffers.give(row);
        slot
    }

    /// Forgets the equation of a used slot.
    pub(crate) fn remove_slot(&mut self, slot: usize) {
        self.settle();
        let at = self.columns + slot;
        let holder = self.rows.iter().position(|row| row.bytes()[at] != 0);
        if let Some(index) = holder {
            let mut row = self.take_row(index);
            self.reduce_by(&mut row, at, 0);
            self.buffers.give(row);
        }
    }

    /// The caller has subtracted the equation of `slot`, times a factor each,
    /// from other equations. Rewrites the rows as combinations of the new
    /// equations.
    pub(crate) fn subtracted(&mut self, slot: usize, from: &[(usize, u8)]) {
        for row in &mut self.rows {
            let combination = &mut row.bytes_mut()[self.columns..];
            for &(other, factor) in from {
                combination[slot] ^= self.field.product(combination[other], factor);
            }
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let rows: usize = self
            .rows
            .iter()
            .chain(&self.candidate)
            .map(Coded::memory)
            .sum();
        rows + self.rows.capacity() * size_of::<Coded>()
            + self.buffers.memory()
            + self.factors.capacity()
            + self.pivots.capacity() * size_of::<usize>()
            + self.sums.memory()
            + self.sources.memory()
    }

    /// The column where a row that is reduced by all others can have its pivot.
    fn pivot(&self, row: &Coded) -> Option<usize> {
        row.bytes()[..self.columns].iter().position(|c| *c != 0)
    }

    /// Removes a row; all rows must be settled.
    fn take_row(&mut self, index: usize) -> Coded {
        self.old -= 1;
        self.pivots.swap_remove(index);
        self.rows.swap_remove(index)
    }

    /// Adds a fresh row that is reduced by all others, with this pivot.
    fn insert(&mut self, mut row: Coded, pivot: usize) {
        debug_assert!(!is_zero(&row.bytes()[self.columns..]));
        self.reduce_by(&mut row, pivot, self.old);
        self.rows.push(row);
        self.pivots.push(pivot);
        if self.rows.len() - self.old >= MOST_FRESH {
            self.settle();
        }
    }

    /// Scales a row so that it has a 1 at this place, column or slot, and makes
    /// the place 0 in all rows from `first` on.
    fn reduce_by(&mut self, row: &mut Coded, at: usize, first: usize) {
        let scale = self.field.inverse(row.bytes()[at]);
        self.field.scale_vector(row.bytes_mut(), scale);
        for other in &mut self.rows[first..] {
            let other = other.bytes_mut();
            self.field.mul_add_vector(other, row.bytes(), other[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    const COLUMNS: usize = 21;
    const SLOTS: usize = 19;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }
    }

    /// Rank by plain elimination with single products.
    fn rank(field: Arithmetic, mut rows: Vec<[u8; COLUMNS]>) -> usize {
        let mut rank = 0;
        for column in 0..COLUMNS {
            let Some(found) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else {
                continue;
            };
            rows.swap(rank, found);
            let pivot = rows[rank];
            let inverse = field.inverse(pivot[column]);
            for row in &mut rows[rank + 1..] {
                let factor = field.product(row[column], inverse);
                for (x, p) in row.iter_mut().zip(pivot) {
                    *x ^= field.product(factor, p);
                }
            }
            rank += 1;
        }
        rank
    }

    fn check(field: Arithmetic, echelon: &Echelon, equations: &BTreeMap<usize, [u8; COLUMNS]>) {
        assert_eq!(echelon.rank(), equations.len());
        assert_eq!(
            rank(field, equations.values().copied().collect()),
            equations.len()
        );
        for index in 0..echelon.rank() {
            let (pivot, combination) = echelon.row(index);
            let mut sum = [0; COLUMNS];
            for (slot, &factor) in combination.iter().enumerate() {
                let unused = [0; COLUMNS];
                assert!(factor == 0 || equations.contains_key(&slot));
                for (x, e) in sum.iter_mut().zip(equations.get(&slot).unwrap_or(&unused)) {
                    *x ^= field.product(factor, *e);
                }
            }
            assert_eq!(sum, echelon.rows[index].bytes()[..COLUMNS]);
            for other in 0..echelon.rank() {
                let at = echelon.rows[other].bytes()[pivot];
                assert_eq!(at, u8::from(other == index));
            }
        }
    }

    #[test]
    fn rows_stay_reduced_combinations_of_the_equations_after_any_operation() {
        for bits in 1..=8 {
            let field = Arithmetic::with_bits(bits).unwrap();
            let mut random = Random(u64::from(bits));
            let mut echelon = Echelon::new(field);
            let mut freed = 0;
            for _ in 0..if cfg!(miri) { 1 } else { 120 } {
                echelon.reset(COLUMNS, SLOTS);
                let mut equations = BTreeMap::new();
                let mut gone = [false; COLUMNS];
                for _ in 0..if cfg!(miri) { 12 } else { 60 } {
                    match random.below(14) {
                        0 => {
                            let column = random.below(COLUMNS);
                            gone[column] = true;
                            for equation in equations.values_mut() {
                                let equation: &mut [u8; COLUMNS] = equation;
                                equation[column] = 0;
                            }
                            if let Some(slot) = echelon.remove_column(column) {
                                assert!(equations.remove(&slot).is_some());
                                freed += 1;
                            }
                        }
                        1 if !equations.is_empty() => {
                            let nth = random.below(equations.len());
                            let slot = *equations.keys().nth(nth).unwrap();
                            equations.remove(&slot);
                            echelon.remove_slot(slot);
                        }
                        2 if equations.len() > 1 => {
                            let (&slot, &equation) = equations.iter().next().unwrap();
                            let factor = random.below(field.order()) as u8;
                            let mut from = Vec::new();
                            for (&other, row) in equations.iter_mut().skip(1) {
                                from.push((other, factor));
                                for (x, e) in row.iter_mut().zip(equation) {
                                    *x ^= field.product(factor, e);
                                }
                            }
                            echelon.subtracted(slot, &from);
                        }
                        _ => {
                            let Some(slot) = (0..SLOTS).find(|s| !equations.contains_key(s)) else {
                                continue;
                            };
                            let mut equation = [0; COLUMNS];
                            for (x, gone) in equation.iter_mut().zip(gone) {
                                // Mostly zeros, so that equations are often
                                // dependent.
                                if !gone && random.below(6) == 0 {
                                    *x = random.below(field.order()) as u8;
                                }
                            }
                            echelon.candidate().copy_from_slice(&equation);
                            let mut with: Vec<_> = equations.values().copied().collect();
                            with.push(equation);
                            let innovative = rank(field, with) > equations.len();
                            assert_eq!(echelon.adopt(slot), innovative);
                            if innovative {
                                equations.insert(slot, equation);
                            }
                        }
                    }
                    if random.below(3) == 0 {
                        echelon.settle();
                        check(field, &echelon, &equations);
                    }
                }
            }
            assert!(freed > 5 || cfg!(miri), "{field:?}: {freed}");
        }
    }
}
