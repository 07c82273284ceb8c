//! Bits, most significant first, and Exp-Golomb numbers.

/// Reads bits. Behind the end there are none.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0 }
    }

    /// A bit.
    pub(super) fn bit(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// A number of up to 64 bits.
    pub(super) fn bits(&mut self, count: u32) -> Option<u64> {
        let mut number = 0;
        for _ in 0..count {
            number = number << 1 | u64::from(self.bit()?);
        }
        Some(number)
    }

    /// Skips bits; the next read fails if there are not so many.
    pub(super) fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    /// An unsigned Exp-Golomb number of up to 32 bits, `ue(v)` of H.264.
    pub(super) fn ue(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.bit()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        let rest = self.bits(zeros)?;
        u32::try_from((1 << zeros) - 1 + rest).ok()
    }

    /// A signed Exp-Golomb number, `se(v)`.
    pub(super) fn se(&mut self) -> Option<i64> {
        let code = i64::from(self.ue()?);
        Some(if code % 2 == 1 {
            code / 2 + 1
        } else {
            -(code / 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard() {
        // 1, 010, 011, 00100, 00101: table 9-2 of H.264.
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        let read: Vec<_> = (0..5).map(|_| bits.ue()).collect();
        assert_eq!(read, [0, 1, 2, 3, 4].map(Some));
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        let read: Vec<_> = (0..5).map(|_| bits.se()).collect();
        assert_eq!(read, [0, 1, -1, 2, -2].map(Some));
    }

    #[test]
    fn nothing_is_read_behind_the_end() {
        assert_eq!(Bits::new(&[0; 3]).ue(), None);
        assert_eq!(Bits::new(&[0; 9]).ue(), None);
        let mut bits = Bits::new(&[0xff]);
        bits.skip(usize::MAX);
        assert_eq!((bits.bit(), bits.bits(2)), (None, None));
    }
}
