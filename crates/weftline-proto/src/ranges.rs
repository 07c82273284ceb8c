//! A bounded set of numbers that mostly arrive in order.

use std::collections::VecDeque;
use std::ops::Range;

/// At most this many disjoint ranges are kept; the oldest numbers are forgotten.
const MAX_RANGES: usize = 1024;

/// Numbers seen, as disjoint ascending ranges, and a floor below which nothing is remembered.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range<u64>>,
    floor: u64,
}

impl RangeSet {
    /// Adds `n`. Returns false if the set has it already or it is below the floor.
    pub(crate) fn insert(&mut self, n: u64) -> bool {
        if n < self.floor {
            return false;
        }
        // Almost always the newest range grows.
        let at = match self.ranges.back() {
            Some(last) if n >= last.start => self.ranges.len(),
            _ => self.ranges.partition_point(|r| r.start <= n),
        };
        let joins_left = at > 0 && self.ranges[at - 1].end >= n;
        if joins_left && self.ranges[at - 1].end > n {
            return false;
        }
        let joins_right = at < self.ranges.len() && self.ranges[at].start == n + 1;
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].end = self.ranges[at].end;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].end = n + 1,
            (false, true) => self.ranges[at].start = n,
            (false, false) => self.ranges.insert(at, n..n + 1),
        }
        if self.ranges.len() > MAX_RANGES
            && let Some(oldest) = self.ranges.pop_front()
        {
            self.floor = oldest.end;
        }
        true
    }

    /// Whether [`Self::insert`] would add `n`.
    pub(crate) fn is_new(&self, n: u64) -> bool {
        if self.ranges.back().is_none_or(|last| last.end <= n) {
            return n >= self.floor;
        }
        if n < self.floor {
            return false;
        }
        let at = self.ranges.partition_point(|r| r.start <= n);
        at == 0 || self.ranges[at - 1].end <= n
    }

    /// The largest number, if any.
    pub(crate) fn max(&self) -> Option<u64> {
        self.ranges.back().map(|r| r.end - 1)
    }

    /// The ranges from the newest to the oldest.
    pub(crate) fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_range_set_agrees_with_a_plain_set(numbers in proptest::collection::vec(0u64..300, 0..400)) {
            let mut set = RangeSet::default();
            let mut plain = BTreeSet::new();
            for n in numbers {
                let before = plain.len();
                let is_new = set.is_new(n);
                prop_assert_eq!(set.insert(n), plain.insert(n));
                prop_assert_eq!(is_new, !set.is_new(n) && plain.len() > before);
            }
            prop_assert_eq!(set.max(), plain.last().copied());
            let mut listed: Vec<u64> = set.descending().flat_map(|r| r.clone().rev()).collect();
            listed.reverse();
            prop_assert_eq!(listed, plain.into_iter().collect::<Vec<_>>());
            // Ranges are disjoint and not adjacent.
            for (a, b) in set.ranges.iter().zip(set.ranges.iter().skip(1)) {
                prop_assert!(a.end < b.start);
            }
        }
    }

    #[test]
    fn the_number_of_ranges_is_bounded_and_old_numbers_stay_refused() {
        let mut set = RangeSet::default();
        for n in 0..10_000 {
            assert!(set.insert(2 * n));
        }
        assert_eq!(set.ranges.len(), MAX_RANGES);
        assert!(!set.insert(0));
        assert!(
            !set.insert(1),
            "the set remembers nothing below the floor, so it refuses this number"
        );
        assert!(set.insert(19_997));
    }
}
