//! The longest of the latest symbols.

use alloc::collections::VecDeque;

use crate::Esi;

/// The symbols longer than all that came after them: among these is the longest
/// of any number of the latest, so that it is found without looking at each.
#[derive(Clone, Debug, Default)]
pub(super) struct Longest {
    /// ESIs rise, lengths fall.
    peaks: VecDeque<(Esi, usize)>,
}

impl Longest {
    /// Takes note of the symbol that follows, the last of `held`. O(1) on
    /// average.
    #[inline]
    pub(super) fn push(&mut self, esi: Esi, length: usize, held: usize) {
        while self.peaks.back().is_some_and(|peak| peak.1 <= length) {
            self.peaks.pop_back();
        }
        // Room for as many as there can be, lest it be needed later.
        self.peaks.reserve(held.saturating_sub(self.peaks.len()));
        self.peaks.push_back((esi, length));
    }

    /// The length of the longest symbol from `esi` on. O(log symbols).
    pub(super) fn from(&self, esi: Esi) -> Option<usize> {
        let earlier = self.peaks.partition_point(|peak| peak.0 < esi);
        self.peaks.get(earlier).map(|peak| peak.1)
    }

    /// Forgets the symbols below `esi`.
    #[inline]
    pub(super) fn forget_before(&mut self, esi: Esi) {
        while self.peaks.front().is_some_and(|peak| peak.0 < esi) {
            self.peaks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_the_latest_is_that_found_by_looking_at_all() {
        let lengths = [5, 5, 9, 1, 7, 7, 3, 0, 8, 2, 2, 1, 0, 0, 6, 10, 4];
        let mut longest = Longest::default();
        for end in 0..lengths.len() {
            longest.push(end as Esi, lengths[end], end + 1);
            let mut later = longest.clone();
            for start in 0..=end {
                later.forget_before(start as Esi);
                let expected = lengths[start..=end].iter().max().copied();
                assert_eq!(longest.from(start as Esi), expected);
                assert_eq!(later.from(start as Esi), expected);
            }
            assert_eq!(longest.from(end as Esi + 1), None);
        }
    }
}
