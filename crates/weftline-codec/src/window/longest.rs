//! The longest of the latest symbols.

use alloc::collections::VecDeque;

use crate::esi::Esi;

/// The symbols that are longer than all later ones. The longest of the latest n
/// symbols, for any n, is one of these, so it is found without looking at each
/// symbol.
#[derive(Clone, Debug, Default)]
pub(super) struct Longest {
    /// ESIs rise, lengths fall.
    peaks: VecDeque<(Esi, usize)>,
}

impl Longest {
    /// Notes the next symbol, the last of `held`. O(1) on average.
    #[inline]
    pub(super) fn push(&mut self, esi: Esi, length: usize, held: usize) {
        while self.peaks.back().is_some_and(|peak| peak.1 <= length) {
            self.peaks.pop_back();
        }
        // Reserve now what may be needed, so that later pushes do not allocate.
        self.peaks.reserve(held.saturating_sub(self.peaks.len()));
        self.peaks.push_back((esi, length));
    }

    /// The length of the longest symbol from `esi` on. O(log symbols).
    pub(super) fn from(&self, esi: Esi) -> Option<usize> {
        let earlier = self.peaks.partition_point(|peak| peak.0 < esi);
        self.peaks.get(earlier).map(|peak| peak.1)
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.peaks.capacity() * size_of::<(Esi, usize)>()
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
    fn the_longest_of_the_latest_agrees_with_a_full_search() {
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
