//! The source symbols a decoder knows.

use alloc::vec::Vec;
use core::ops::Range;

use crate::buffers::{Buffers, Coded};
use crate::esi::Esi;

/// The slots that a ring begins with, and the fewest it shrinks to.
const LEAST: usize = 16;

/// Known symbols by ESI, and a hole for each missing one.
///
/// A ring of slots. The slot of a forgotten symbol keeps its buffer for the
/// symbol that comes one turn later, so copying symbols that arrive in order
/// moves only their bytes. Holes have no buffer: an equation about the missing
/// symbol has one instead.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    first: Esi,
    end: Esi,
    /// Empty where there is a hole.
    slots: Vec<Coded>,
    /// The most slots there may be.
    most: usize,
    /// The ESI in the first slot since the ring turned: the slot of `end` comes
    /// `end - base` slots later, which is less than `turn`. The slots after
    /// that hold symbols from before `base`.
    base: Esi,
    /// After this many slots the ring turns. The slots beyond are unused, so
    /// that the used ones stay in the cache after a time in which more were
    /// needed.
    turn: usize,
    /// The `end` at which the ring turns, or checks whether it can turn
    /// earlier.
    goal: Esi,
    /// Slots with a buffer, including those of forgotten symbols.
    filled: usize,
    /// Symbols in buffers of the caller.
    lent: usize,
}

impl Store {
    /// An empty store for at most `most` symbols.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            first: 0,
            end: 0,
            slots: Vec::new(),
            most,
            base: 0,
            turn: 0,
            goal: 0,
            filled: 0,
            lent: 0,
        }
    }

    /// Makes an empty store expect `esi` first.
    pub(crate) fn start_at(&mut self, esi: Esi) {
        debug_assert!(self.first == self.end, "nothing is held");
        (self.first, self.end) = (esi, esi);
        self.begin(self.turn);
    }

    #[inline]
    pub(crate) fn first(&self) -> Esi {
        self.first
    }

    /// One past the highest slot, known or not.
    #[inline]
    pub(crate) fn end(&self) -> Esi {
        self.end
    }

    /// The number of symbols, known or not.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    /// The number of slots with a buffer, including those of forgotten symbols.
    #[inline]
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    #[inline]
    pub(crate) fn get(&self, esi: Esi) -> Option<&Coded> {
        if esi < self.first || esi >= self.end {
            return None;
        }
        self.slots.get(self.place(esi)).filter(|s| !s.is_empty())
    }

    /// The slots of the part of a range that is held, from
    /// [`first`](Self::first) to [`end`](Self::end).
    pub(crate) fn range(&self, window: &Range<Esi>) -> impl Iterator<Item = Option<&Coded>> {
        let index = |esi: Esi| (esi.clamp(self.first, self.end) - self.first) as usize;
        let (start, end) = (index(window.start), index(window.end));
        // First the slots up to the turn, then those from the beginning.
        let head = self.place(self.first);
        let straight = self.turn - head;
        let upper = head + start.min(straight)..head + end.min(straight);
        let lower = start.saturating_sub(straight)..end.saturating_sub(straight);
        let slots = self.slots[upper].iter().chain(&self.slots[lower]);
        slots.map(|slot| (!slot.is_empty()).then_some(slot))
    }

    /// Copies the payload of the next symbol if its slot has a buffer that can
    /// hold it; otherwise does nothing and returns false.
    #[inline(always)]
    pub(crate) fn push_copy(&mut self, payload: &[u8]) -> bool {
        if self.len() == self.turn || self.end == Esi::MAX {
            return false;
        }
        let tail = self.tail();
        let Some(slot) = self.slots.get_mut(tail) else {
            return false;
        };
        let copied = slot.overwrite(payload).is_some();
        if copied {
            self.advance();
        }
        copied
    }

    /// Takes symbols from `symbols` while they are the next in order, have at
    /// most `longest` bytes, and find a slot with a buffer that can hold them.
    /// Copies each and passes the copy to `taken`. Returns the first symbol
    /// that fails one of these conditions.
    // Always, so that the caller's iterator stays in registers: in memory,
    // reading it would wait for the previous copy.
    #[inline(always)]
    pub(crate) fn push_copies<'a>(
        &mut self,
        symbols: &mut impl Iterator<Item = (Esi, &'a [u8])>,
        longest: usize,
        taken: &mut impl FnMut(Esi, &[u8]),
    ) -> Option<(Esi, &'a [u8])> {
        loop {
            let mut end = self.end;
            let slots = self.row();
            if slots.is_empty() {
                return symbols.next();
            }
            let until = end + slots.len() as u64;
            let mut other = None;
            for (slot, (esi, payload)) in slots.iter_mut().zip(&mut *symbols) {
                if esi == end
                    && payload.len() <= longest
                    && let Some(copy) = slot.overwrite(payload)
                {
                    taken(esi, copy);
                    end += 1;
                } else {
                    other = Some((esi, payload));
                    break;
                }
            }
            if end > self.end {
                self.advance_to(end);
            }
            if end < until {
                return other;
            }
        }
    }

    /// The consecutive slots that the next symbols may take.
    #[inline]
    fn row(&mut self) -> &mut [Coded] {
        let tail = self.tail();
        let until_turn = self.goal.wrapping_sub(self.end) as usize;
        let until_full = self.turn - self.len();
        let until_last = usize::try_from(Esi::MAX - self.end).unwrap_or(usize::MAX);
        let room = until_turn.min(until_full).min(until_last);
        self.slots.get_mut(tail..tail + room).unwrap_or_default()
    }

    /// Keeps the payload of the next symbol in its buffer if its slot is ready;
    /// otherwise returns the buffer.
    #[inline(always)]
    pub(crate) fn push_lent(
        &mut self,
        buffer: Vec<u8>,
        payload: Range<usize>,
    ) -> Result<(), Vec<u8>> {
        if self.len() == self.turn || self.end == Esi::MAX {
            return Err(buffer);
        }
        let tail = self.tail();
        let Some(slot) = self.slots.get_mut(tail) else {
            return Err(buffer);
        };
        slot.lend(buffer, payload)?;
        self.filled += 1;
        self.lent += 1;
        self.advance();
        Ok(())
    }

    /// Adds the next symbol. The caller has checked the bound.
    #[inline(always)]
    pub(crate) fn push(&mut self, coded: Coded, buffers: &mut Buffers) {
        self.make_room();
        self.vacate(self.tail(), buffers);
        self.fill(self.tail(), coded);
        self.advance();
    }

    /// Writes the lengths before the payloads of a range that is completely
    /// known.
    pub(crate) fn complete(&mut self, window: &Range<Esi>) {
        for esi in window.start.max(self.first)..window.end.min(self.end) {
            let place = self.place(esi);
            self.slots[place].complete();
        }
    }

    /// Adds holes up to `end`. The caller has checked the bound.
    pub(crate) fn extend_to(&mut self, end: Esi, buffers: &mut Buffers) {
        while self.end < end {
            self.make_room();
            self.vacate(self.tail(), buffers);
            self.advance();
        }
    }

    /// Takes the buffer out of the next slot, if it has one, before
    /// [`push`](Self::push).
    pub(crate) fn vacate_next(&mut self, buffers: &mut Buffers) {
        self.make_room();
        self.vacate(self.tail(), buffers);
    }

    /// Fills the hole of `esi`.
    pub(crate) fn insert(&mut self, esi: Esi, coded: Coded) {
        let place = self.place(esi);
        debug_assert!(
            self.slots[place].is_empty(),
            "symbol {esi} became known twice"
        );
        self.fill(place, coded);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let symbols: usize = self.slots.iter().map(Coded::memory).sum();
        symbols + self.ring()
    }

    /// Bytes of the ring itself.
    pub(crate) fn ring(&self) -> usize {
        self.slots.capacity() * size_of::<Coded>()
    }

    /// Frees the ring; nothing is held.
    pub(crate) fn release(&mut self) {
        let end = self.end;
        *self = Self::new(self.most);
        self.start_at(end);
    }

    /// Moves the symbols to other buffers, in a ring for at most `most` of them,
    /// and drops the buffers of forgotten symbols.
    pub(crate) fn compact(&mut self, most: usize, buffers: &mut Buffers) {
        let mut compact = Self::new(most);
        compact.start_at(self.first);
        for esi in self.first..self.end {
            compact.make_room();
            if let Some(symbol) = self.get(esi) {
                let coded = buffers.code(symbol.payload());
                compact.fill(compact.tail(), coded);
            }
            compact.advance();
        }
        *self = compact;
    }

    /// Forgets everything below `esi`, which is above the floor.
    #[inline(always)]
    pub(crate) fn drop_before(&mut self, esi: Esi, buffers: &mut Buffers) {
        debug_assert!(esi > self.first, "the floor only rises");
        if self.lent > 0 || esi > self.end {
            return self.drop_with_care(esi, buffers);
        }
        self.first = esi;
    }

    /// As [`drop_before`](Self::drop_before), for all cases.
    #[inline(never)]
    fn drop_with_care(&mut self, esi: Esi, buffers: &mut Buffers) {
        if esi > self.end {
            return self.drop_all(esi, buffers);
        }
        self.give_back(esi, buffers);
        self.first = esi;
    }

    /// Forgets all symbols and begins again at `esi`.
    #[cold]
    fn drop_all(&mut self, esi: Esi, buffers: &mut Buffers) {
        self.give_back(self.end, buffers);
        self.first = self.end;
        self.start_at(esi);
    }

    /// Takes the caller's buffers out of the slots below `esi`.
    #[inline]
    fn give_back(&mut self, esi: Esi, buffers: &mut Buffers) {
        let mut place = self.place(self.first);
        for _ in self.first..esi {
            if let Some(buffer) = self.slots[place].take_lent() {
                self.filled -= 1;
                self.lent -= 1;
                buffers.give_back(buffer);
            }
            place = if place + 1 == self.turn { 0 } else { place + 1 };
        }
    }

    /// Where the slot of an ESI is, from the first one to the end.
    #[inline(always)]
    fn place(&self, esi: Esi) -> usize {
        let before = if esi < self.base { self.turn } else { 0 };
        (esi.wrapping_sub(self.base) as usize).wrapping_add(before)
    }

    /// Where the slot of the end is.
    #[inline(always)]
    fn tail(&self) -> usize {
        (self.end - self.base) as usize
    }

    /// Marks the next slot as used.
    #[inline(always)]
    fn advance(&mut self) {
        self.advance_to(self.end + 1);
    }

    /// Marks the slots of a [row](Self::row) as used, up to `end`.
    #[inline(always)]
    fn advance_to(&mut self, end: Esi) {
        self.end = end;
        if self.end == self.goal {
            self.reach_goal();
        }
    }

    /// Turns the ring; earlier than planned if no held symbol lies beyond.
    #[cold]
    fn reach_goal(&mut self) {
        let tail = self.tail();
        if self.base <= self.first && self.first < self.end {
            self.turn = tail;
        }
        let is_sparse = self.turn >= 2 * LEAST && self.len() <= self.turn / 3;
        if tail < self.turn {
            self.goal = self.base.wrapping_add(self.turn as u64);
        } else {
            self.begin(if is_sparse { self.turn / 2 } else { self.turn });
        }
    }

    /// The next symbol gets the first slot; after `until` slots the ring may
    /// turn.
    fn begin(&mut self, until: usize) {
        self.base = self.end;
        // Near the highest ESI the goal wraps, and the ring never turns again.
        self.goal = self.base.wrapping_add(until as u64);
    }

    /// Makes sure that the next slot exists and is unused.
    #[inline(always)]
    fn make_room(&mut self) {
        if self.len() == self.turn {
            self.grow();
        }
    }

    /// Makes a full ring longer.
    #[cold]
    fn grow(&mut self) {
        let length = self.turn;
        let head = self.place(self.first);
        self.slots[..length].rotate_left(head);
        self.turn = (2 * length).max(LEAST).min(self.most).max(length + 1);
        if self.turn > self.slots.len() {
            self.slots.reserve_exact(self.turn - self.slots.len());
            self.slots.resize_with(self.turn, Coded::default);
        }
        self.base = self.first;
        self.goal = self.base.wrapping_add(self.turn as u64);
    }

    /// Takes the buffer out of a slot.
    #[inline(always)]
    fn vacate(&mut self, place: usize, buffers: &mut Buffers) {
        let slot = &mut self.slots[place];
        if slot.has_buffer() {
            self.filled -= 1;
            self.lent -= usize::from(slot.is_lent());
            buffers.give(core::mem::take(slot));
        } else {
            slot.clear();
        }
    }

    /// Puts a symbol into a slot without a buffer.
    #[inline(always)]
    fn fill(&mut self, place: usize, coded: Coded) {
        self.filled += 1;
        self.lent += usize::from(coded.is_lent());
        let slot = &mut self.slots[place];
        *slot = coded;
        if !slot.is_lent() {
            slot.settle_down();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec;

    const MOST: usize = if cfg!(miri) { 40 } else { 150 };

    /// A store, a model of its contents, and its buffers.
    struct Both {
        store: Store,
        model: BTreeMap<Esi, Option<Vec<u8>>>,
        buffers: Buffers,
    }

    impl Both {
        fn new() -> Self {
            Self {
                store: Store::new(MOST),
                model: BTreeMap::new(),
                buffers: Buffers::default(),
            }
        }

        fn push(&mut self, how: u64, length: usize) {
            if self.store.len() == MOST {
                return;
            }
            let esi = self.store.end();
            let payload = vec![esi as u8; length];
            match how {
                0 => {
                    self.store.extend_to(esi + 1, &mut self.buffers);
                    self.model.insert(esi, None);
                    return;
                }
                1 => {
                    let packet = [&[9, 9, 9], &payload[..]].concat();
                    if let Err(packet) = self.store.push_lent(packet, 3..3 + length) {
                        let coded = Coded::in_place(packet, 3..3 + length).unwrap();
                        self.store.push(coded, &mut self.buffers);
                    }
                }
                _ => {
                    if !self.store.push_copy(&payload) {
                        self.store.vacate_next(&mut self.buffers);
                        let coded = self.buffers.code(&payload);
                        self.store.push(coded, &mut self.buffers);
                    }
                }
            }
            self.model.insert(esi, Some(payload));
        }

        fn fill_a_hole(&mut self) {
            let hole = self.model.iter_mut().find(|(_, payload)| payload.is_none());
            if let Some((esi, hole)) = hole {
                let payload = vec![7; 5];
                self.store.insert(*esi, self.buffers.code(&payload));
                *hole = Some(payload);
            }
        }

        fn drop_before(&mut self, esi: Esi) {
            if esi > self.store.first() {
                self.store.drop_before(esi, &mut self.buffers);
            }
            self.model = self.model.split_off(&esi);
        }

        /// Compares all there is; now and then where that takes long.
        fn check(&mut self) {
            if cfg!(miri) && !self.store.end().is_multiple_of(37) {
                return;
            }
            let store = &mut self.store;
            let all = store.first()..store.end();
            let expected: Vec<_> = self.model.values().map(Option::as_deref).collect();
            let slots = store.range(&all).map(|slot| slot.map(Coded::payload));
            assert!(slots.eq(expected.iter().copied()));
            let part = all.start + 3..all.end.saturating_sub(2).max(all.start + 3);
            store.complete(&part);
            let slots = store.range(&part).map(|slot| slot.map(Coded::bytes));
            for (slot, (_, payload)) in slots.zip(self.model.range(part.clone())) {
                let coded = |payload: &Vec<u8>| [&[0, payload.len() as u8], &payload[..]].concat();
                assert_eq!(slot.map(Vec::from), payload.as_ref().map(coded));
            }
            for (esi, payload) in &self.model {
                assert_eq!(store.get(*esi).map(Coded::payload), payload.as_deref());
            }
            assert!(store.get(all.start.wrapping_sub(1)).is_none() && store.get(all.end).is_none());
            let slots = store.slots.iter();
            assert_eq!(store.filled, slots.filter(|slot| slot.has_buffer()).count());
            let slots = store.slots.iter();
            assert_eq!(store.lent, slots.filter(|slot| slot.is_lent()).count());
            assert!(store.slots.len() <= MOST && store.len() <= store.turn);
        }
    }

    #[test]
    fn symbols_are_found_while_the_ring_grows_shrinks_and_turns() {
        let mut random = 1_u64;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut both = Both::new();
        let mut turns = [usize::MAX, 0];
        let (rounds, each) = if cfg!(miri) { (5, 60) } else { (60, 400) };
        for _ in 0..rounds {
            // How many symbols to hold, and in which ways they arrive.
            let (held, kinds) = ([3, 10, 40, MOST as u64][below(4) as usize], 2 + below(8));
            for _ in 0..each {
                both.push(below(kinds), below(60) as usize);
                if below(4) == 0 {
                    both.fill_a_hole();
                }
                let end = both.store.end();
                if held < MOST as u64 && below(3) == 0 {
                    both.drop_before(end.saturating_sub(below(2 * held)));
                }
                if both.store.len() as u64 > held {
                    both.drop_before(end - held);
                }
                while both.buffers.reclaim().is_some() {}
                if both.store.turn > 0 {
                    turns = [turns[0].min(both.store.turn), turns[1].max(both.store.turn)];
                }
                both.check();
            }
            both.drop_before(both.store.end() + below(3));
        }
        assert!(turns == [LEAST, MOST] || cfg!(miri), "{turns:?}");
    }

    #[test]
    fn a_ring_that_was_large_once_shrinks_again() {
        let mut both = Both::new();
        (0..MOST).for_each(|_| both.push(2, 10));
        assert_eq!(both.store.turn, MOST);
        for _ in 0..4 * MOST {
            both.drop_before(both.store.end() - 10);
            both.push(2, 10);
            both.check();
        }
        assert!(both.store.turn <= 3 * 11, "{}", both.store.turn);
        // No buffer is lost: when the ring grows again, nothing is allocated.
        assert_eq!(both.store.filled, MOST);
        assert_eq!(both.buffers.len(), 0);
    }
}
