//! The source symbols a decoder knows.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::Esi;
use crate::pool::Pool;

/// Coded forms of known symbols, by ESI; a hole for each one that is missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    first: Esi,
    slots: VecDeque<Option<Vec<u8>>>,
}

impl Store {
    pub(crate) fn first(&self) -> Esi {
        self.first
    }

    /// One past the highest slot, known or not.
    pub(crate) fn end(&self) -> Esi {
        self.first + self.slots.len() as u64
    }

    pub(crate) fn get(&self, esi: Esi) -> Option<&[u8]> {
        let index = usize::try_from(esi.checked_sub(self.first)?).ok()?;
        self.slots.get(index)?.as_deref()
    }

    /// Adds holes up to `end`, which the caller has bounded.
    pub(crate) fn extend_to(&mut self, end: Esi) {
        while self.end() < end {
            self.slots.push_back(None);
        }
    }

    /// Fills the hole of `esi`.
    pub(crate) fn insert(&mut self, esi: Esi, coded: Vec<u8>) {
        let index = (esi - self.first) as usize;
        debug_assert!(
            self.slots[index].is_none(),
            "symbol {esi} became known twice"
        );
        self.slots[index] = Some(coded);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let symbols: usize = self.slots.iter().flatten().map(Vec::capacity).sum();
        symbols + self.slots.capacity() * size_of::<Option<Vec<u8>>>()
    }

    /// Forgets everything below `esi`, and nothing if that is below the floor.
    pub(crate) fn drop_before(&mut self, esi: Esi, pool: &mut Pool) {
        while self.first < esi {
            match self.slots.pop_front() {
                Some(slot) => {
                    if let Some(coded) = slot {
                        pool.give(coded);
                    }
                    self.first += 1;
                }
                None => self.first = esi,
            }
        }
    }
}
