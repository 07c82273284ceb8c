//! A fuzzer's bytes as numbers.

/// Takes values from the front; gives zeros once the bytes are used up.
#[derive(Clone, Debug)]
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Input(data)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn u8(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    pub(super) fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    /// At most 62 bits, as many as a variable-length integer holds; small values and huge ones
    /// are about equally likely.
    pub(super) fn u62(&mut self) -> u64 {
        let wide = u64::from(self.u32()) << 32 | u64::from(self.u32());
        wide >> 2 >> (self.u8() % 62)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.u8() & 1 != 0
    }

    /// An index below `len`; 0 if `len` is 0.
    pub(super) fn index(&mut self, len: usize) -> usize {
        match len {
            0 | 1 => 0,
            2..=256 => usize::from(self.u8()) % len,
            _ => usize::from(self.u16()) % len,
        }
    }

    /// The next `n` bytes, or the rest if fewer are left.
    pub(super) fn bytes(&mut self, n: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(n.min(self.0.len()));
        self.0 = tail;
        head
    }
}
