//! Turns a fuzzer's bytes into the values that the targets need.

/// Reads values from the front; gives zeros after the last byte.
#[derive(Debug)]
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(n.min(self.0.len()));
        self.0 = tail;
        head
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// Less than `n`, which is 256 at most.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    /// One of them.
    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// `None` half of the time.
    pub(super) fn some(&mut self, n: usize) -> Option<usize> {
        self.flag().then(|| self.below(n))
    }
}
