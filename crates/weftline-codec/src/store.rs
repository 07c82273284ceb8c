//! The source symbols a decoder knows.

use alloc::collections::VecDeque;
use core::ops::Range;

use crate::Esi;
use crate::buffers::{Buffers, Coded};

/// Known symbols by ESI; a hole for each one that is missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    first: Esi,
    slots: VecDeque<Option<Coded>>,
}

impl Store {
    #[inline]
    pub(crate) fn first(&self) -> Esi {
        self.first
    }

    /// One past the highest slot, known or not.
    #[inline]
    pub(crate) fn end(&self) -> Esi {
        self.first + self.slots.len() as u64
    }

    /// How many slots there are, known or not.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn get(&self, esi: Esi) -> Option<&Coded> {
        let index = usize::try_from(esi.checked_sub(self.first)?).ok()?;
        self.slots.get(index)?.as_ref()
    }

    /// The slots of a range, of which those not there are left out: the part
    /// from the [`first`](Self::first) to the [`end`](Self::end).
    pub(crate) fn range(&self, window: &Range<Esi>) -> impl Iterator<Item = Option<&Coded>> {
        let index = |esi: Esi| (esi.clamp(self.first, self.end()) - self.first) as usize;
        let (start, end) = (index(window.start), index(window.end));
        self.slots.range(start..end).map(Option::as_ref)
    }

    /// Adds holes up to `end`, which the caller has bounded.
    pub(crate) fn extend_to(&mut self, end: Esi) {
        while self.end() < end {
            self.slots.push_back(None);
        }
    }

    /// Adds the symbol that follows.
    #[inline]
    pub(crate) fn push(&mut self, coded: Coded) {
        self.slots.push_back(Some(coded));
    }

    /// Fills the hole of `esi`.
    pub(crate) fn insert(&mut self, esi: Esi, coded: Coded) {
        let index = (esi - self.first) as usize;
        debug_assert!(
            self.slots[index].is_none(),
            "symbol {esi} became known twice"
        );
        self.slots[index] = Some(coded);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let symbols: usize = self.slots.iter().flatten().map(Coded::memory).sum();
        symbols + self.slots.capacity() * size_of::<Option<Coded>>()
    }

    /// Forgets everything below `esi`, and nothing if that is below the floor.
    #[inline]
    pub(crate) fn drop_before(&mut self, esi: Esi, buffers: &mut Buffers) {
        while self.first < esi {
            match self.slots.pop_front() {
                Some(slot) => {
                    if let Some(coded) = slot {
                        buffers.give(coded);
                    }
                    self.first += 1;
                }
                None => self.first = esi,
            }
        }
    }
}
