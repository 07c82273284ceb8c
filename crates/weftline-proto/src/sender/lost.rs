//! The symbols that are lost, in order.

use std::ops::Range;

use weftline_codec::Esi;

/// A set of symbols, ascending. Nearly all come at its end, and it is short.
#[derive(Debug, Default)]
pub(super) struct Lost(Vec<Esi>);

impl Lost {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn first(&self) -> Option<Esi> {
        self.0.first().copied()
    }

    pub(super) fn contains(&self, esi: Esi) -> bool {
        self.0.binary_search(&esi).is_ok()
    }

    pub(super) fn insert(&mut self, esi: Esi) {
        match self.0.last() {
            Some(last) if esi <= *last => {
                if let Err(place) = self.0.binary_search(&esi) {
                    self.0.insert(place, esi);
                }
            }
            _ => self.0.push(esi),
        }
    }

    pub(super) fn remove(&mut self, esi: Esi) {
        if let Ok(place) = self.0.binary_search(&esi) {
            self.0.remove(place);
        }
    }

    /// Those in this range.
    pub(super) fn within(&self, range: Range<Esi>) -> &[Esi] {
        &self.0[self.places(range)]
    }

    /// Removes those in this range.
    pub(super) fn take(&mut self, range: Range<Esi>) -> std::vec::Drain<'_, Esi> {
        let places = self.places(range);
        self.0.drain(places)
    }

    fn places(&self, range: Range<Esi>) -> Range<usize> {
        let place = |esi: Esi| match self.first() {
            Some(first) if first < esi => self.0.partition_point(|lost| *lost < esi),
            _ => 0,
        };
        let start = place(range.start);
        start..place(range.end).max(start)
    }
}

#[cfg(test)]
impl<const N: usize> From<[Esi; N]> for Lost {
    fn from(symbols: [Esi; N]) -> Self {
        let mut lost = Lost::default();
        symbols.into_iter().for_each(|esi| lost.insert(esi));
        lost
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_plain_set(steps in proptest::collection::vec((0u8..4, 0u64..40, 0u64..40), 0..200)) {
            let (mut lost, mut plain) = (Lost::default(), BTreeSet::new());
            for (step, esi, other) in steps {
                let range = esi..other.max(esi);
                match step {
                    0 | 1 => {
                        lost.insert(esi);
                        plain.insert(esi);
                    }
                    2 => {
                        lost.remove(esi);
                        plain.remove(&esi);
                    }
                    _ => {
                        let taken: Vec<Esi> = lost.take(range.clone()).collect();
                        let expected: Vec<Esi> = plain.range(range.clone()).copied().collect();
                        prop_assert_eq!(&taken, &expected);
                        plain.retain(|esi| !range.contains(esi));
                    }
                }
                prop_assert_eq!(lost.contains(other), plain.contains(&other));
                prop_assert_eq!(lost.first(), plain.first().copied());
                prop_assert_eq!(lost.len(), plain.len());
                let within = lost.within(range.clone());
                prop_assert_eq!(within, plain.range(range).copied().collect::<Vec<_>>());
            }
        }
    }
}
