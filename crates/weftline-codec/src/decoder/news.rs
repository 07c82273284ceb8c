//! Which symbols became known and were not reported yet.

use alloc::collections::VecDeque;
use core::ops::Range;

use crate::Esi;

/// ESIs in the order in which they came, stretches of consecutive ones as one.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    /// The next ones.
    now: Range<Esi>,
    /// Those after them, if any; none while there are none `now`.
    later: VecDeque<Range<Esi>>,
}

impl News {
    /// Adds an ESI. Those below `first` may go; no more than `most` others are
    /// there.
    #[inline(always)]
    pub(super) fn push(&mut self, esi: Esi, first: Esi, most: usize) {
        if esi == self.now.end && self.later.is_empty() {
            self.now.end += 1;
        } else {
            self.push_apart(esi, first, most);
        }
    }

    fn push_apart(&mut self, esi: Esi, first: Esi, most: usize) {
        if self.now.is_empty() {
            self.now = esi..esi + 1;
            return;
        }
        match self.later.back_mut() {
            Some(last) if last.end == esi => last.end += 1,
            _ => {
                // Forgotten ones leave when their turn comes, unless so many
                // wait that at least half must have been forgotten.
                if self.later.len() >= 2 * most {
                    self.later.retain(|range| range.end > first);
                }
                self.later.push_back(esi..esi + 1);
            }
        }
    }

    /// The next one, leaving out those below `first`.
    #[inline(always)]
    pub(super) fn pop(&mut self, first: Esi) -> Option<Esi> {
        loop {
            let esi = self.now.start.max(first);
            if esi < self.now.end {
                self.now.start = esi + 1;
                if esi + 1 == self.now.end {
                    self.turn();
                }
                return Some(esi);
            }
            if self.later.is_empty() {
                // What follows the last one goes on to be the usual.
                self.now.start = self.now.end;
                return None;
            }
            self.turn();
        }
    }

    /// Goes on to the next stretch, if there is one.
    #[inline(always)]
    fn turn(&mut self) {
        if let Some(next) = self.later.pop_front() {
            self.now = next;
        }
    }

    /// Makes room for so many more.
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

    fn drain(news: &mut News, first: Esi) -> Vec<Esi> {
        core::iter::from_fn(|| news.pop(first)).collect()
    }

    #[test]
    fn each_is_reported_once_in_the_order_of_arrival() {
        let mut news = News::default();
        for order in [
            &[0, 1, 2, 3][..],
            &[4, 6, 7, 5, 9, 8],
            &[10],
            &[13, 12, 11, 14],
            &[15, 16],
        ] {
            order.iter().for_each(|esi| news.push(*esi, 0, 20));
            assert_eq!(drain(&mut news, 0), order);
        }
        assert_eq!(news.pop(0), None);
    }

    #[test]
    fn stretches_follow_each_other_while_some_are_taken() {
        let mut news = News::default();
        let mut taken = Vec::new();
        let order = [3, 4, 0, 1, 2, 5, 6, 9, 8, 7];
        for esi in order {
            news.push(esi, 0, 20);
            if esi % 3 == 0 {
                taken.extend(news.pop(0));
            }
        }
        taken.extend(drain(&mut news, 0));
        assert_eq!(taken, order);
    }

    #[test]
    fn forgotten_ones_are_left_out_and_take_no_room() {
        let mut news = News::default();
        for esi in [0, 1, 2, 5, 3, 4, 6] {
            news.push(esi, 0, 20);
        }
        assert_eq!(drain(&mut news, 4), [5, 4, 6]);
        // None of which follows another; three are kept at a time.
        let from = if cfg!(miri) { 9_900 } else { 100 };
        for esi in (from..10_000).step_by(2) {
            news.push(esi, esi - 5, 3);
        }
        assert!(news.memory() <= 16 * size_of::<Range<Esi>>());
        assert_eq!(drain(&mut news, 9_994), [9_994, 9_996, 9_998]);
        // The next ones in order again.
        news.push(9_999, 0, 3);
        assert_eq!(news.pop(10_001), None);
        news.push(10_001, 0, 3);
        assert_eq!(drain(&mut news, 0), [10_001]);
    }
}
