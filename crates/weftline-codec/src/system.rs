//! The equations a decoder holds about missing symbols.
//!
//! Each column is a missing symbol (an *unknown*), in order of ESI; each row is
//! a repair symbol from which all known symbols have been subtracted. The rows
//! are kept in reduced row echelon form:
//!
//! - a row's pivot is the *oldest* unknown it contains, with coefficient 1;
//! - no other row contains that unknown;
//! - the column of the pivot owns the row.
//!
//! Two things follow. An unknown is determined by the equations exactly when it
//! is a pivot and its row contains nothing else, so determined symbols are
//! found by looking at rows that changed. And when the oldest unknowns are given
//! up, the equations that remain usable are exactly the rows of the other
//! pivots: nothing that could still help is lost with them.

use alloc::vec::Vec;
use core::ops::Range;

use crate::buffers::{Buffers, Coded};
use crate::esi::Esi;
use crate::field::Arithmetic;
use crate::symbol::{self, is_zero};

/// Unknowns and equations; see the description of the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    field: Arithmetic,
    columns: Vec<Column>,
    rank: usize,
    /// The coefficients of the equation that is being added, by column.
    vector: Vec<u8>,
    /// The rows to add to that equation to reduce it: pivot columns with
    /// factors.
    factors: Vec<(usize, u8)>,
    /// Columns whose rows changed since the last [`settle`](Self::settle).
    changed: Vec<usize>,
    /// Columns to remove, ascending.
    removed: Vec<usize>,
    /// Memory for the coefficients of rows.
    spare: Vec<Vec<u8>>,
    /// Bytes multiplied so far, times the field's weight.
    work: u64,
}

#[derive(Clone, Debug)]
struct Column {
    esi: Esi,
    /// The row that has its pivot here.
    row: Option<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    /// The coefficients by column, from `skip` on. Those beyond the end are 0,
    /// because new unknowns are added there.
    elements: Vec<u8>,
    /// The number of columns given up since the row was made. Their zeros stay,
    /// because moving the other coefficients would cost more.
    skip: usize,
    /// The value of the combination of unknowns.
    data: Coded,
}

/// The value of a determined unknown.
pub(crate) enum Settled {
    /// The symbol.
    Known(Coded),
    /// The equations give a value that no symbol can have.
    Impossible,
}

impl System {
    pub(crate) fn new(field: Arithmetic) -> Self {
        Self {
            field,
            ..Self::default()
        }
    }

    pub(crate) fn unknowns(&self) -> usize {
        self.columns.len()
    }

    /// Bytes multiplied so far: of vectors, and of data times the weight of the field.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Accounts for products of this many bytes of vectors and of data.
    pub(crate) fn count(&mut self, vectors: usize, data: usize) {
        self.work += vectors as u64 + data as u64 * self.field.weight();
    }

    /// The number of rows.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The unknowns' ESIs, ascending.
    pub(crate) fn esis(&self) -> impl Iterator<Item = Esi> {
        self.columns.iter().map(|column| column.esi)
    }

    pub(crate) fn first_unknown(&self) -> Option<Esi> {
        self.esis().next()
    }

    /// How many unknowns lie below `esi`. O(log unknowns).
    pub(crate) fn unknowns_before(&self, esi: Esi) -> usize {
        self.columns.partition_point(|column| column.esi < esi)
    }

    pub(crate) fn is_unknown_within(&self, window: &Range<Esi>) -> bool {
        !self.columns_within(window).is_empty()
    }

    pub(crate) fn unknowns_within(&self, window: &Range<Esi>) -> usize {
        self.columns_within(window).len()
    }

    /// Adds unknowns above all existing ones.
    pub(crate) fn push_unknowns(&mut self, esis: Range<Esi>) {
        self.columns
            .extend(esis.map(|esi| Column { esi, row: None }));
        // Make room for all notes about them here, rather than each time that
        // more of them than ever before are involved.
        let most = self.columns.len();
        make_room(&mut self.vector, most);
        make_room(&mut self.factors, most);
        make_room(&mut self.removed, most);
        make_room(&mut self.changed, 2 * most);
    }

    /// Takes the coefficients of a new equation and reduces them. Returns
    /// whether the equation is innovative; if so, [`insert`](Self::insert)
    /// takes its data.
    pub(crate) fn reduce(&mut self, window: &Range<Esi>, coefficient: impl Fn(Esi) -> u8) -> bool {
        let Self {
            field,
            columns,
            vector,
            factors,
            ..
        } = self;
        vector.clear();
        vector.resize(columns.len(), 0);
        factors.clear();
        let within = columns_within(columns, window);
        for (index, column) in within.clone().zip(&columns[within]) {
            vector[index] = coefficient(column.esi);
            // A row contains no pivot but its own, so reducing by one row
            // changes no other factor, and all factors can be read at once.
            if column.row.is_some() && vector[index] != 0 {
                factors.push((index, vector[index]));
            }
        }
        let rows = terms(columns, factors, Row::coefficients);
        field.combine_vectors(vector, rows);
        let (is_new, products) = (!is_zero(vector), factors.len() * vector.len());
        self.count(products, 0);
        is_new
    }

    /// Completes the equation that [`reduce`](Self::reduce) found to be
    /// innovative.
    pub(crate) fn insert(&mut self, mut data: Coded, buffers: &mut Buffers) {
        let rows = || terms(&self.columns, &self.factors, |row| row.data.bytes());
        let longest = rows().map(|(_, data)| data.len()).max();
        data.lengthen(longest.unwrap_or(0), buffers);
        self.field.combine(data.bytes_mut(), rows());
        self.count(0, self.factors.len() * data.len());
        let mut elements = self.spare.pop().unwrap_or_default();
        elements.clear();
        reserve(&mut elements, self.vector.len());
        elements.extend_from_slice(&self.vector);
        let row = Row {
            elements,
            skip: 0,
            data,
        };
        // The vector was not all zero, so the row has a pivot.
        let adopted = self.adopt(row, buffers);
        debug_assert!(adopted, "an innovative equation has a pivot");
    }

    /// Substitutes the value of an unknown that became known by other means.
    /// Returns the number of equations that contradict it and are removed; 0
    /// with an honest peer.
    pub(crate) fn substitute(&mut self, esi: Esi, value: &[u8], buffers: &mut Buffers) -> usize {
        let Ok(index) = self.columns.binary_search_by_key(&esi, |column| column.esi) else {
            return 0;
        };
        let mut inconsistent = 0;
        let orphan = self.columns[index].row.take();
        if orphan.is_some() {
            self.rank -= 1;
        }
        // A pivot is in no other row; any other unknown only in rows with an
        // older pivot.
        let rows = if orphan.is_some() { 0 } else { index };
        let mut products = 1;
        for holder in 0..rows {
            let slot = &mut self.columns[holder].row;
            let Some(row) = slot else { continue };
            let factor = row.coefficient(index);
            if factor == 0 {
                continue;
            }
            // Every equation is as long as the longest symbol it contains.
            if value.len() <= row.data.len() {
                self.field.mul_add(row.data.bytes_mut(), value, factor);
                products += 1;
                self.changed.push(holder);
            } else if let Some(row) = slot.take() {
                row.recycle(&mut self.spare, buffers);
                self.rank -= 1;
                inconsistent += 1;
            }
        }
        self.count(0, products * value.len());
        self.removed.clear();
        self.removed.push(index);
        self.remove_columns();
        if let Some(mut row) = orphan {
            row.remove(&[index]);
            if value.len() > row.data.len() {
                row.recycle(&mut self.spare, buffers);
                inconsistent += 1;
            } else {
                self.field.mul_add(row.data.bytes_mut(), value, 1);
                if !self.adopt(row, buffers) {
                    inconsistent += 1;
                }
            }
        }
        inconsistent
    }

    /// Removes the unknowns that are determined by rows changed since the last
    /// call, and passes each to `settled`, in order of ESI. Those with an
    /// impossible value stay unknown and lose their row.
    pub(crate) fn settle(
        &mut self,
        max_symbol_size: usize,
        buffers: &mut Buffers,
        mut settled: impl FnMut(Esi, Settled),
    ) {
        if self.changed.is_empty() {
            return;
        }
        self.removed.clear();
        self.changed.sort_unstable();
        self.changed.dedup();
        for &index in &self.changed {
            let column = &mut self.columns[index];
            let Some(mut row) = column.row.take_if(|row| row.is_alone(index)) else {
                continue;
            };
            self.rank -= 1;
            self.spare.push(row.elements);
            if let Some(length) = symbol::coded_length(row.data.bytes(), max_symbol_size) {
                row.data.truncate(length);
                settled(column.esi, Settled::Known(row.data));
                self.removed.push(index);
            } else {
                buffers.give(row.data);
                settled(column.esi, Settled::Impossible);
            }
        }
        self.changed.clear();
        self.remove_columns();
    }

    /// Gives up the unknowns below `esi` and the rows that contain them.
    /// Returns the number of these unknowns.
    pub(crate) fn give_up_before(&mut self, esi: Esi, buffers: &mut Buffers) -> usize {
        if self.first_unknown().is_none_or(|first| first >= esi) {
            return 0;
        }
        let count = self.unknowns_before(esi);
        for column in self.columns.drain(..count) {
            if let Some(row) = column.row {
                row.recycle(&mut self.spare, buffers);
                self.rank -= 1;
            }
        }
        for row in self.columns.iter_mut().filter_map(|c| c.row.as_mut()) {
            row.skip += count;
        }
        count
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let rows = self.columns.iter().filter_map(|c| c.row.as_ref());
        let rows: usize = rows
            .map(|row| row.elements.capacity() + row.data.memory())
            .sum();
        let spare: usize = self.spare.iter().map(Vec::capacity).sum();
        rows + spare + self.lists()
    }

    /// As [`memory`](Self::memory) at most, without the data of rows, for a limit
    /// of `most` unknowns. O(1).
    pub(crate) fn memory_bound(&self, most: usize) -> usize {
        // A row has as many coefficients as there were ever unknowns, in steps.
        let columns = self.vector.capacity().min(most) + STEP;
        (self.rank + self.spare.len()) * columns + self.lists()
    }

    /// Frees the memory kept for reuse; nothing is missing.
    pub(crate) fn release(&mut self) {
        *self = Self {
            work: self.work,
            ..Self::new(self.field)
        };
    }

    /// Bytes of everything but the rows.
    fn lists(&self) -> usize {
        self.spare.capacity() * size_of::<Vec<u8>>()
            + self.columns.capacity() * size_of::<Column>()
            + self.vector.capacity()
            + self.factors.capacity() * size_of::<(usize, u8)>()
            + (self.changed.capacity() + self.removed.capacity()) * size_of::<usize>()
    }

    /// Gives a pivot to a row that is reduced by all others, and reduces the
    /// others by it. If the row contains no unknown, drops it and returns
    /// false.
    fn adopt(&mut self, mut row: Row, buffers: &mut Buffers) -> bool {
        let Some(pivot) = row.coefficients().iter().position(|c| *c != 0) else {
            row.recycle(&mut self.spare, buffers);
            return false;
        };
        let scale = self.field.inverse(row.coefficient(pivot));
        self.field.scale_vector(row.coefficients_mut(), scale);
        self.field.scale(row.data.bytes_mut(), scale);
        // A row with a younger pivot cannot contain this one.
        let mut products = 1;
        for (index, column) in self.columns[..pivot].iter_mut().enumerate() {
            let Some(other) = &mut column.row else {
                continue;
            };
            let factor = other.coefficient(pivot);
            if factor != 0 {
                other.lengthen(row.coefficients().len());
                let coefficients = other.coefficients_mut();
                self.field
                    .mul_add_vector(coefficients, row.coefficients(), factor);
                other.data.lengthen(row.data.len(), buffers);
                self.field
                    .mul_add(other.data.bytes_mut(), row.data.bytes(), factor);
                products += 1;
                self.changed.push(index);
            }
        }
        let (vector, data) = (row.coefficients().len(), row.data.len());
        self.count(products * vector, products * data);
        self.columns[pivot].row = Some(row);
        self.changed.push(pivot);
        self.rank += 1;
        true
    }

    /// Removes the columns listed in `removed`, which no longer own a row.
    fn remove_columns(&mut self) {
        if self.removed.is_empty() {
            return;
        }
        let (mut index, mut next) = (0, 0);
        self.columns.retain(|_| {
            let gone = self.removed.get(next) == Some(&index);
            index += 1;
            next += usize::from(gone);
            !gone
        });
        self.count(self.rank * self.columns.len(), 0);
        for row in self.columns.iter_mut().filter_map(|c| c.row.as_mut()) {
            row.remove(&self.removed);
        }
    }

    fn columns_within(&self, window: &Range<Esi>) -> Range<usize> {
        columns_within(&self.columns, window)
    }
}

impl Row {
    fn coefficients(&self) -> &[u8] {
        &self.elements[self.skip..]
    }

    fn coefficients_mut(&mut self) -> &mut [u8] {
        &mut self.elements[self.skip..]
    }

    fn coefficient(&self, column: usize) -> u8 {
        self.coefficients().get(column).copied().unwrap_or(0)
    }

    /// Appends zeros to the coefficients, up to this many columns.
    fn lengthen(&mut self, columns: usize) {
        let length = self.skip + columns;
        if length > self.elements.len() {
            if length > self.elements.capacity() {
                self.elements.drain(..self.skip);
                self.skip = 0;
                reserve(&mut self.elements, columns);
            }
            self.elements.resize(self.skip + columns, 0);
        }
    }

    /// Whether the row contains only the unknown of its pivot.
    fn is_alone(&self, pivot: usize) -> bool {
        is_zero(&self.coefficients()[pivot + 1..])
    }

    /// Removes columns, in ascending order.
    fn remove(&mut self, columns: &[usize]) {
        remove_at(&mut self.elements, self.skip, columns);
    }

    fn recycle(self, spare: &mut Vec<Vec<u8>>, buffers: &mut Buffers) {
        spare.push(self.elements);
        buffers.give(self.data);
    }
}

fn columns_within(columns: &[Column], window: &Range<Esi>) -> Range<usize> {
    let start = columns.partition_point(|column| column.esi < window.start);
    let count = columns[start..].partition_point(|column| column.esi < window.end);
    start..start + count
}

/// A part of each row named by `factors`, with its factor.
fn terms<'a>(
    columns: &'a [Column],
    factors: &'a [(usize, u8)],
    part: impl Fn(&'a Row) -> &'a [u8],
) -> impl Iterator<Item = (u8, &'a [u8])> {
    factors.iter().filter_map(move |&(index, factor)| {
        let row = columns[index].row.as_ref()?;
        Some((factor, part(row)))
    })
}

/// Makes room for `most` notes in a list that is not in use.
fn make_room<T>(notes: &mut Vec<T>, most: usize) {
    if notes.capacity() < most {
        notes.clear();
        notes.reserve(most);
    }
}

/// Rows grow by a column or two: their memory grows by this many.
const STEP: usize = 64;

/// Makes room for this many elements, in steps.
fn reserve(elements: &mut Vec<u8>, columns: usize) {
    let missing = columns
        .next_multiple_of(STEP)
        .saturating_sub(elements.len());
    elements.reserve_exact(missing);
}

/// Removes the bytes at ascending `positions`, counted from `origin`. Positions
/// beyond the end are ignored.
fn remove_at(bytes: &mut Vec<u8>, origin: usize, positions: &[usize]) {
    let end = bytes.len();
    let place = |position: usize| end.min(origin + position);
    let mut kept = positions.first().map_or(end, |first| place(*first));
    for (i, &gone) in positions.iter().enumerate() {
        let gone = origin + gone;
        if gone >= end {
            break;
        }
        let next = positions.get(i + 1).map_or(end, |next| place(*next));
        bytes.copy_within(gone + 1..next, kept);
        kept += next - (gone + 1);
    }
    bytes.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn remove_at_keeps_all_other_bytes_in_order() {
        let all: Vec<u8> = (0..20).collect();
        for positions in [
            vec![],
            vec![0],
            vec![19],
            vec![3, 4, 5],
            vec![0, 7, 19],
            vec![18, 25],
            vec![20],
            (0..20).collect(),
        ] {
            let mut bytes = all.clone();
            remove_at(&mut bytes, 0, &positions);
            let kept = all.iter().copied();
            let kept: Vec<u8> = kept
                .filter(|b| !positions.contains(&usize::from(*b)))
                .collect();
            assert_eq!(bytes, kept, "without {positions:?}");

            let mut later = [&[99; 5], &all[..]].concat();
            remove_at(&mut later, 5, &positions);
            assert_eq!(later[..5], [99; 5]);
            assert_eq!(later[5..], bytes, "without {positions:?}");
        }
    }

    /// A system over unknowns `0..n` with the given equations of one data byte.
    fn system(n: u64, equations: &[&[u8]]) -> (System, Buffers) {
        let (mut system, mut buffers) = (System::default(), Buffers::default());
        system.push_unknowns(0..n);
        for equation in equations {
            if system.reduce(&(0..n), |esi| equation[esi as usize]) {
                let data = buffers.copy(&[0, 0]);
                system.insert(data, &mut buffers);
            }
        }
        (system, buffers)
    }

    #[test]
    fn rows_stay_in_reduced_echelon_form_with_the_pivot_on_the_oldest() {
        let (system, _) = system(4, &[&[1, 2, 3, 4], &[5, 6, 7, 8], &[4, 4, 4, 12]]);
        let pivots: Vec<usize> = (0..4)
            .filter(|&i| system.columns[i].row.is_some())
            .collect();
        assert_eq!(pivots.len(), system.rank());
        for &pivot in &pivots {
            let row = system.columns[pivot].row.as_ref().unwrap();
            assert!(is_zero(&row.coefficients()[..pivot]));
            for &other in &pivots {
                assert_eq!(row.coefficient(other), u8::from(other == pivot));
            }
        }
        assert_eq!(pivots[0], 0);
    }

    #[test]
    fn an_equation_that_follows_from_others_tells_nothing_new() {
        let (mut system, _) = system(3, &[&[1, 2, 3], &[0, 5, 6]]);
        let sum = |esi: Esi| [1, 2 ^ 5, 3 ^ 6][esi as usize];
        assert!(!system.reduce(&(0..3), sum));
        assert!(system.reduce(&(0..3), |esi| [1, 2 ^ 5, 3][esi as usize]));
    }

    #[test]
    fn giving_up_the_oldest_costs_only_its_own_row() {
        let (mut system, mut buffers) = system(4, &[&[1, 1, 1, 1], &[1, 2, 3, 4], &[9, 8, 1, 6]]);
        assert_eq!(system.rank(), 3);
        assert_eq!(system.give_up_before(1, &mut buffers), 1);
        assert_eq!((system.unknowns(), system.rank()), (3, 2));
    }
}
