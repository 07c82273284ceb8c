//! Lists of an entry.

use core::fmt;
use core::ops::Deref;

/// A list that rarely has more than one element, and allocates nothing until it has. It is read as a slice.
#[derive(Clone, PartialEq)]
pub struct Few<T>(List<T>);

#[derive(Clone, PartialEq)]
enum List<T> {
    None,
    One(T),
    More(Vec<T>),
}

impl<T> Few<T> {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        matches!(self.0, List::None)
    }

    pub(crate) fn push(&mut self, element: T) {
        self.0 = match core::mem::replace(&mut self.0, List::None) {
            List::None => List::One(element),
            List::One(first) => List::More(vec![first, element]),
            List::More(mut list) => {
                list.push(element);
                List::More(list)
            }
        };
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Few(List::None)
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            List::None => &[],
            List::One(element) => core::slice::from_ref(element),
            List::More(list) => list,
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut few = Few::default();
        elements.into_iter().for_each(|element| few.push(element));
        few
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(feature = "serde")]
impl<T: serde::Serialize> serde::Serialize for Few<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(to)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for Few<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn a_list_is_what_was_pushed() {
        for len in 0..5 {
            let few: Few<u64> = (0..len).collect();
            assert!(few.iter().copied().eq(0..len), "{few:?}");
            assert_eq!(few.is_empty(), len == 0);
        }
    }
}
