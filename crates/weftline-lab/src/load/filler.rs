//! Bytes that cannot be compressed.

/// Period in bytes: longer than any compression on the path looks back.
const PERIOD: usize = 1 << 20;

/// Pseudo-random bytes, so that a transport that compresses (as kcptun does) gains nothing.
pub(crate) struct Filler {
    bytes: Vec<u8>,
    next: usize,
}

impl Filler {
    /// A filler for pieces of up to `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut bytes = Vec::with_capacity(PERIOD + longest + 8);
        while bytes.len() < PERIOD + longest {
            // Xorshift (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        Filler { bytes, next: 0 }
    }

    /// The next `len` bytes, at most `longest` of [`Filler::new`].
    pub(crate) fn next(&mut self, len: usize) -> &[u8] {
        let start = self.next;
        self.skip(len);
        &self.bytes[start..start + len]
    }

    /// The next `len` bytes, without consuming them.
    pub(crate) fn peek(&self, len: usize) -> &[u8] {
        &self.bytes[self.next..self.next + len]
    }

    /// Skips `len` bytes.
    pub(crate) fn skip(&mut self, len: usize) {
        self.next = (self.next + len) % PERIOD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_and_differ() {
        let mut filler = Filler::new(1000);
        let one = filler.next(1000).to_vec();
        let two = filler.next(1000).to_vec();
        assert_ne!(one, two);
        let mut again = Filler::new(2000);
        assert_eq!(again.next(2000), [one, two].concat());
    }

    #[test]
    fn it_goes_on_for_ever() {
        let mut filler = Filler::new(PERIOD / 3);
        for _ in 0..10 {
            assert_eq!(filler.next(PERIOD / 3).len(), PERIOD / 3);
        }
    }
}
