//! Memory for lists of references, reused from one use to the next.

use alloc::vec::Vec;

/// An empty list of destinations and its memory; a clone has none.
#[derive(Debug, Default)]
pub(crate) struct Destinations(Vec<&'static mut [u8]>);

impl Destinations {
    /// Lends the list; [`give`](Self::give) takes it back.
    pub(crate) fn take<'a>(&mut self) -> Vec<&'a mut [u8]> {
        emptied_mut(core::mem::take(&mut self.0))
    }

    pub(crate) fn give(&mut self, list: Vec<&mut [u8]>) {
        self.0 = emptied_mut(list);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<&mut [u8]>()
    }
}

impl Clone for Destinations {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An empty list of sources and its memory; a clone has none.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<&'static [u8]>);

impl Sources {
    /// Lends the list; [`give`](Self::give) takes it back.
    pub(crate) fn take<'a>(&mut self) -> Vec<&'a [u8]> {
        emptied(core::mem::take(&mut self.0))
    }

    pub(crate) fn give(&mut self, list: Vec<&[u8]>) {
        self.0 = emptied(list);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity() * size_of::<&[u8]>()
    }
}

impl Clone for Sources {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An empty list in the same memory, for references of another lifetime:
/// collecting an emptied vector reuses its allocation.
fn emptied<'a>(list: Vec<&[u8]>) -> Vec<&'a [u8]> {
    list.into_iter().map_while(|_| None).collect()
}

/// As [`emptied`].
fn emptied_mut<'a>(list: Vec<&mut [u8]>) -> Vec<&'a mut [u8]> {
    list.into_iter().map_while(|_| None).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_given_back_is_lent_again_in_the_same_memory() {
        let mut bytes = [1, 2, 3];
        let (mut sources, mut destinations) = (Sources::default(), Destinations::default());
        for _ in 0..3 {
            let mut list = sources.take();
            list.extend(bytes.chunks(1));
            let address = list.as_ptr() as usize;
            sources.give(list);
            assert!(sources.memory() >= 3 * size_of::<&[u8]>());
            let list = sources.take();
            assert_eq!(list.as_ptr() as usize, address);
            sources.give(list);
            let mut list = destinations.take();
            list.extend(bytes.chunks_mut(1));
            let address = list.as_ptr() as usize;
            destinations.give(list);
            assert!(destinations.memory() >= 3 * size_of::<&[u8]>());
            let list = destinations.take();
            assert_eq!(list.as_ptr() as usize, address);
            destinations.give(list);
        }
    }
}
