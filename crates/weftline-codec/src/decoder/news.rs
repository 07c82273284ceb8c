//! The symbols that became known and are not reported yet.

use alloc::collections::VecDeque;
use core::ops::Range;

use crate::esi::Esi;

/// ESIs in the order of arrival; a stretch of consecutive ones is one entry.
///
/// While symbols come in order, only the reported position is written: the
/// stretch is *open*, and ends at the decoder's end.
#[derive(Clone, Debug)]
pub(super) struct News {
    /// The next ones; up to [`OPEN`] while symbols come in order.
    now: Range<Esi>,
    /// The stretches after `now`; none while `now` is empty or open.
    later: VecDeque<Range<Esi>>,
}

/// The end of an open stretch.
const OPEN: Esi = Esi::MAX;

impl Default for News {
    fn default() -> Self {
        Self {
            now: 0..OPEN,
            later: VecDeque::new(),
        }
    }
}

impl News {
    /// Whether all symbols below the decoder's `end` are reported, so that the
    /// next ones in order may be [reported](Self::report_up_to) at once.
    #[inline(always)]
    pub(super) fn are_reported(&self, end: Esi) -> bool {
        self.is_open() && self.now.start >= end
    }

    /// All symbols up to the decoder's new `end` came in order and are
    /// reported.
    #[inline(always)]
    pub(super) fn report_up_to(&mut self, end: Esi) {
        debug_assert!(self.is_open(), "all before was taken");
        self.now.start = end;
    }

    /// Adds the ESI that was the decoder's end before.
    #[inline(always)]
    pub(super) fn push_next(&mut self, esi: Esi, first: Esi, most: usize) {
        if !self.is_open() {
            self.push_apart(esi, first, most);
        }
    }

    /// Adds an ESI below the decoder's `end`. Entries below `first` may be
    /// dropped; at most `most` others exist.
    pub(super) fn push(&mut self, esi: Esi, first: Esi, end: Esi, most: usize) {
        self.close(end);
        self.push_apart(esi, first, most);
    }

    /// The decoder's end moves from `end` to `next`, over missing symbols.
    pub(super) fn skip(&mut self, end: Esi, next: Esi) {
        if self.is_open() && self.now.start >= end {
            self.now.start = next;
        } else {
            self.close(end);
        }
    }

    #[inline(always)]
    fn is_open(&self) -> bool {
        self.now.end == OPEN
    }

    /// The next entry does not follow the decoder's `end`.
    fn close(&mut self, end: Esi) {
        if self.is_open() {
            self.now = self.now.start.min(end)..end;
        }
    }

    #[inline(never)]
    fn push_apart(&mut self, esi: Esi, first: Esi, most: usize) {
        if self.now.is_empty() {
            self.now = esi..esi + 1;
            return;
        }
        if self.later.is_empty() && self.now.end == esi {
            self.now.end += 1;
            return;
        }
        match self.later.back_mut() {
            Some(last) if last.end == esi => last.end += 1,
            _ => {
                // Forgotten entries are dropped when their turn comes, or here
                // when at least half of all must be forgotten.
                if self.later.len() >= 2 * most {
                    self.later.retain(|range| range.end > first);
                }
                self.later.push_back(esi..esi + 1);
            }
        }
    }

    /// The next ESI below the decoder's `end`, leaving out those below `first`.
    #[inline(always)]
    pub(super) fn pop(&mut self, first: Esi, end: Esi) -> Option<Esi> {
        if self.now.end != OPEN {
            return self.pop_closed(first, end);
        }
        let esi = self.now.start.max(first);
        if esi < end {
            self.now.start = esi + 1;
            return Some(esi);
        }
        // The highest ESI looks like an open end.
        if end == OPEN {
            return self.pop_closed(first, end);
        }
        None
    }

    /// As [`pop`](Self::pop), for a whole run of consecutive ESIs.
    #[inline]
    pub(super) fn pop_run(&mut self, first: Esi, end: Esi) -> Option<Range<Esi>> {
        let start = self.pop(first, end)?;
        // The rest of the stretch is still there.
        if self.now.start != start + 1 {
            return Some(start..start + 1);
        }
        let until = self.now.end.min(end);
        self.now.start = until;
        if self.now.end != OPEN {
            self.turn(end);
        }
        Some(start..until)
    }

    /// As [`pop`](Self::pop), from closed stretches.
    #[inline(never)]
    fn pop_closed(&mut self, first: Esi, end: Esi) -> Option<Esi> {
        loop {
            let esi = self.now.start.max(first);
            if esi < self.now.end {
                self.now.start = esi + 1;
                if self.now.is_empty() {
                    self.turn(end);
                }
                return Some(esi);
            }
            if !self.turn(end) {
                return None;
            }
        }
    }

    /// Moves to the next stretch. If there is none, opens one at `end` and
    /// returns false.
    fn turn(&mut self, end: Esi) -> bool {
        let next = self.later.pop_front();
        let there_is = next.is_some();
        self.now = next.unwrap_or(end..OPEN);
        there_is
    }

    /// Makes room for `more` stretches.
    pub(super) fn reserve(&mut self, more: usize) {
        self.later.reserve(more);
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.later.capacity() * size_of::<Range<Esi>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// News, and the decoder's end.
    #[derive(Default)]
    struct Both {
        news: News,
        end: Esi,
    }

    impl Both {
        fn push(&mut self, esi: Esi, first: Esi, most: usize) {
            if esi < self.end {
                return self.news.push(esi, first, self.end, most);
            }
            if esi > self.end {
                self.news.skip(self.end, esi);
            }
            self.news.push_next(esi, first, most);
            self.end = esi + 1;
        }

        fn pop(&mut self, first: Esi) -> Option<Esi> {
            self.news.pop(first, self.end)
        }

        fn drain(&mut self, first: Esi) -> Vec<Esi> {
            core::iter::from_fn(|| self.pop(first)).collect()
        }
    }

    #[test]
    fn each_is_reported_once_in_the_order_of_arrival() {
        let mut both = Both::default();
        for order in [
            &[0, 1, 2, 3][..],
            &[4, 6, 7, 5, 9, 8],
            &[10],
            &[13, 12, 11, 14],
            &[15, 16],
        ] {
            order.iter().for_each(|esi| both.push(*esi, 0, 20));
            assert_eq!(both.drain(0), order);
        }
        assert_eq!(both.pop(0), None);
    }

    #[test]
    fn stretches_follow_each_other_while_some_are_taken() {
        let mut both = Both::default();
        let mut taken = Vec::new();
        let order = [3, 4, 0, 1, 2, 5, 6, 9, 8, 7];
        for esi in order {
            both.push(esi, 0, 20);
            if esi % 3 == 0 {
                taken.extend(both.pop(0));
            }
        }
        taken.extend(both.drain(0));
        assert_eq!(taken, order);
    }

    #[test]
    fn forgotten_ones_are_left_out_and_take_no_room() {
        let mut both = Both::default();
        for esi in [0, 1, 2, 5, 3, 4, 6] {
            both.push(esi, 0, 20);
        }
        assert_eq!(both.drain(4), [5, 4, 6]);
        // None follows another; three are kept at a time.
        let from = if cfg!(miri) { 9_900 } else { 100 };
        for esi in (from..10_000).step_by(2) {
            both.push(esi, esi - 5, 3);
        }
        assert!(both.news.memory() <= 16 * size_of::<Range<Esi>>());
        assert_eq!(both.drain(9_994), [9_994, 9_996, 9_998]);
        // The next ones in order again.
        both.push(9_999, 9_994, 3);
        assert_eq!(both.pop(10_001), None);
        both.push(10_001, 10_001, 3);
        assert_eq!(both.drain(10_001), [10_001]);
    }

    #[test]
    fn a_run_is_a_whole_stretch() {
        let mut both = Both::default();
        for esi in [0, 1, 2, 5, 6, 3, 4, 7, 9, 10, 8] {
            both.push(esi, 0, 20);
        }
        assert_eq!(both.news.later.len(), 5);
        let mut runs = Vec::new();
        let mut run = |both: &mut Both, first| {
            runs.extend(both.news.pop_run(first, both.end));
        };
        run(&mut both, 0);
        // What comes meanwhile is last.
        both.push(11, 0, 20);
        assert_eq!(both.pop(0), Some(5));
        run(&mut both, 0);
        for _ in 0..4 {
            run(&mut both, 4);
        }
        assert_eq!(runs, [0..3, 6..7, 4..5, 7..8, 9..11, 8..9]);
        assert_eq!(both.drain(0), [11]);
    }

    #[test]
    fn only_forgotten_ones_are_dropped_to_make_room() {
        let mut both = Both::default();
        for esi in [10, 20, 30, 40, 50] {
            both.push(esi, 0, 2);
        }
        both.push(60, 31, 2);
        assert_eq!(both.news.later.len(), 3);
        assert_eq!(both.drain(31), [40, 50, 60]);
    }

    #[test]
    fn symbols_in_order_leave_no_note_even_after_others_came_late() {
        let mut both = Both::default();
        for round in 0..100 {
            let start = 10 * round;
            // One comes two symbols late.
            for esi in [0, 1, 2, 5, 6, 3, 4, 7, 8, 9] {
                both.push(start + esi, 0, 20);
                assert_eq!(both.pop(0), Some(start + esi));
                assert_eq!(both.pop(0), None);
            }
            assert_eq!(both.news.now.end, OPEN);
        }
        assert_eq!(both.news.later.capacity(), 0);
    }

    #[test]
    fn the_highest_esis_of_all_are_reported_too() {
        let mut both = Both::default();
        let last = Esi::MAX - 1;
        let order = [last - 4, last - 1, last, last - 3, last - 2];
        for esi in order {
            both.push(esi, last - 4, 20);
        }
        assert_eq!(both.drain(last - 4), order);
        both.push(last - 5, last - 5, 20);
        assert_eq!(both.drain(last - 5), [last - 5]);
    }
}
