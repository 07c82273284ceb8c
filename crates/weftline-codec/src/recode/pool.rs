//! Buffers of coding vectors between two uses.

use alloc::vec::Vec;

/// Keeps unused buffers, so that the next symbol needs no allocation. It never
/// holds more than its owner used at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    free: Vec<Vec<u8>>,
}

impl Pool {
    /// An empty buffer.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.free.push(buffer);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let buffers: usize = self.free.iter().map(Vec::capacity).sum();
        buffers + self.free.capacity() * size_of::<Vec<u8>>()
    }
}
