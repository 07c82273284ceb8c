//! The independent equations that a relay holds.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::pool::Pool;
use crate::buffers::{Buffers, Coded};
use crate::echelon::Echelon;
use crate::esi::Esi;
use crate::field::Arithmetic;

/// An equation about source symbols.
#[derive(Clone, Debug)]
pub(super) struct Held {
    slot: usize,
    /// The ESI of the vector's first element. The first and the last element
    /// are not 0.
    pub(super) start: Esi,
    pub(super) vector: Vec<u8>,
    pub(super) data: Coded,
}

impl Held {
    pub(super) fn end(&self) -> Esi {
        self.start + self.vector.len() as Esi
    }
}

/// Independent equations about symbols at or above a floor, over a bounded
/// span.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    field: Arithmetic,
    max_symbols: usize,
    max_span: usize,
    floor: Esi,
    /// In the order of arrival.
    held: VecDeque<Held>,
    /// Rows over the span; ESI e has the column `e % max_span`.
    echelon: Echelon,
    /// Unused slots of the echelon form.
    free: Vec<usize>,
    /// Slots and factors of a subtraction.
    factors: Vec<(usize, u8)>,
    vectors: Pool,
    buffers: Buffers,
}

impl Holding {
    /// Room for at most `max_symbols` equations over at most `max_span`
    /// consecutive symbols; 0 counts as 1.
    pub(super) fn new(field: Arithmetic, max_symbols: usize, max_span: usize) -> Self {
        let max_span = max_span.max(1);
        // More cannot be independent.
        let max_symbols = max_symbols.clamp(1, max_span);
        let mut echelon = Echelon::new(field);
        // One more slot, because the oldest leaves after the newest has
        // arrived.
        echelon.reset(max_span, max_symbols + 1);
        Self {
            field,
            max_symbols,
            max_span,
            floor: 0,
            held: VecDeque::new(),
            echelon,
            free: (0..=max_symbols).rev().collect(),
            factors: Vec::new(),
            vectors: Pool::default(),
            buffers: Buffers::default(),
        }
    }

    pub(super) fn field(&self) -> Arithmetic {
        self.field
    }

    pub(super) fn max_span(&self) -> usize {
        self.max_span
    }

    pub(super) fn floor(&self) -> Esi {
        self.floor
    }

    /// The equations, in the order of arrival.
    pub(super) fn held(&self) -> &VecDeque<Held> {
        &self.held
    }

    pub(super) fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let held = self.held.iter();
        let held: usize = held
            .map(|held| held.vector.capacity() + held.data.memory())
            .sum();
        held + self.held.capacity() * size_of::<Held>()
            + self.echelon.memory()
            + self.free.capacity() * size_of::<usize>()
            + self.factors.capacity() * size_of::<(usize, u8)>()
            + self.vectors.memory()
            + self.buffers.memory()
    }

    /// Whether the equation with these coefficients from the ESI `start` on,
    /// which is not below the floor, is innovative; if so, [`hold`](Self::hold)
    /// must take it. Raises the floor to make room.
    pub(super) fn is_innovative(&mut self, start: Esi, vector: &[u8]) -> bool {
        let end = start + vector.len() as Esi;
        self.forget_before(end.saturating_sub(self.max_span as Esi));
        let Some(&slot) = self.free.last() else {
            return false;
        };
        // A ring covers at most two stretches of the candidate.
        let (wrap, span) = ((start % self.max_span as Esi) as usize, self.max_span);
        let (head, tail) = vector.split_at(vector.len().min(span - wrap));
        let candidate = self.echelon.candidate();
        candidate[wrap..][..head.len()].copy_from_slice(head);
        candidate[..tail.len()].copy_from_slice(tail);
        self.echelon.adopt(slot)
    }

    /// Takes the equation that [`is_innovative`](Self::is_innovative) accepted.
    pub(super) fn hold(&mut self, start: Esi, coefficients: &[u8], data: Coded) {
        // The slot under which the echelon form took it.
        let slot = self.free.pop().unwrap_or_default();
        let mut vector = self.vectors.take();
        // Room for the growth that elimination may cause.
        vector.reserve_exact(self.max_span);
        vector.extend_from_slice(coefficients);
        self.held.push_back(Held {
            slot,
            start,
            vector,
            data,
        });
        if self.held.len() > self.max_symbols {
            self.drop_held(0);
        }
    }

    /// Raises the floor and keeps all information that does not involve the
    /// symbols below it.
    pub(super) fn forget_before(&mut self, esi: Esi) {
        if self.held.iter().all(|held| held.end() <= esi) {
            while !self.held.is_empty() {
                self.drop_held(0);
            }
        }
        while let Some(lowest) = self.held.iter().map(|held| held.start).min()
            && lowest < esi
        {
            self.eliminate(lowest);
        }
        self.floor = self.floor.max(esi);
    }

    /// Removes the symbol `lowest`, the lowest in any equation, by subtracting
    /// one equation that contains it from the others.
    fn eliminate(&mut self, lowest: Esi) {
        let holders = self.held.iter().enumerate();
        let shortest = holders
            .filter(|(_, held)| held.start == lowest)
            .min_by_key(|(_, held)| held.vector.len());
        let Some((index, _)) = shortest else {
            return;
        };
        // `remove` keeps the others in the order of arrival.
        let Some(pivot) = self.held.remove(index) else {
            return;
        };
        let field = self.field;
        let inverse = field.inverse(pivot.vector[0]);
        self.factors.clear();
        for held in self.held.iter_mut().filter(|held| held.start == lowest) {
            let factor = field.product(held.vector[0], inverse);
            self.factors.push((held.slot, factor));
            if held.vector.len() < pivot.vector.len() {
                held.vector.resize(pivot.vector.len(), 0);
            }
            field.mul_add_vector(&mut held.vector, &pivot.vector, factor);
            let longest = held.data.len().max(pivot.data.len());
            let length = field.whole_groups(longest);
            held.data.lengthen(length, &mut self.buffers);
            field.mul_add(held.data.bytes_mut(), pivot.data.bytes(), factor);
            // Independent equations do not cancel.
            if let Some(part) = extent(&held.vector) {
                held.vector.truncate(part.end);
                held.vector.drain(..part.start);
                held.start += part.start as Esi;
            }
        }
        self.echelon.subtracted(pivot.slot, &self.factors);
        self.release(pivot);
    }

    fn drop_held(&mut self, index: usize) {
        if let Some(held) = self.held.remove(index) {
            self.release(held);
        }
    }

    fn release(&mut self, held: Held) {
        self.echelon.remove_slot(held.slot);
        self.free.push(held.slot);
        self.vectors.give(held.vector);
        self.buffers.give(held.data);
    }
}

/// The range from a vector's first to its last element other than 0.
pub(super) fn extent(vector: &[u8]) -> Option<Range<usize>> {
    let start = vector.iter().position(|c| *c != 0)?;
    let end = vector.iter().rposition(|c| *c != 0)?;
    Some(start..end + 1)
}
