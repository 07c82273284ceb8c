//! Turns a fuzzer's bytes into the values that the targets need.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;

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

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    pub(super) fn field(&mut self) -> Arithmetic {
        // GF(2^8) half of the time.
        let bits = [8, 8, 8, 8, 8, 8, 8, 1, 1, 2, 3, 4, 4, 5, 6, 7];
        Arithmetic::with_bits(bits[self.below(bits.len())]).expect("1 to 8")
    }

    /// Symbols of at most this many bytes. Many bytes are zeros, which must not
    /// be taken for padding.
    pub(super) fn payloads(&mut self, count: usize, longest: usize) -> Vec<Vec<u8>> {
        let payload = |_| {
            let length = self.below(longest + 1);
            let seed = self.byte();
            let bytes = (0..length as u8).map(|i| seed.wrapping_mul(i | 1) & !(seed >> 3));
            bytes.collect()
        };
        (0..count).map(payload).collect()
    }

    /// Any coefficients; the vector is for explicit ones, which have `length`
    /// elements unless they are hostile.
    pub(super) fn coefficients<'v>(
        &mut self,
        field: Arithmetic,
        length: usize,
        hostile: bool,
        vector: &'v mut Vec<u8>,
    ) -> Coefficients<'v> {
        let (kind, key) = (self.below(6), u32::from(self.byte()));
        let density_threshold = self.byte() % if hostile { 32 } else { 16 };
        let dense = u16::from(self.byte()) / 4;
        match kind {
            0 => Coefficients::NonZero { key },
            1 => Coefficients::Uniform { key },
            2 => Coefficients::Sparse {
                key,
                density_threshold,
            },
            3 => Coefficients::Fading { key, dense },
            4 if hostile || [1, 8].contains(&field.bits()) => Coefficients::Rfc8681 {
                repair_key: key as u16,
                density_threshold,
            },
            _ => {
                let (length, order) = match hostile {
                    true => (self.below(40), 256),
                    false => (length, field.order()),
                };
                // Zeros make vectors dependent.
                let element = |_| match self.byte() {
                    byte if byte < 100 => 0,
                    byte => (usize::from(byte) % order) as u8,
                };
                *vector = (0..length).map(element).collect();
                Coefficients::Explicit(vector)
            }
        }
    }

    /// Bytes that may look like a repair symbol.
    pub(super) fn forgery(&mut self, field: Arithmetic, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 8);
        let mut data = self.take(length).to_vec();
        if self.flag() {
            data.resize(field.whole_groups(length), 0);
        }
        data
    }
}

/// The coding vector of honest coefficients.
pub(super) fn vector(field: Arithmetic, coefficients: Coefficients<'_>, length: usize) -> Vec<u8> {
    let mut vector = vec![0; length];
    let filled = coefficients.fill(field, &mut vector);
    assert_eq!(filled, Ok(()), "{coefficients:?} are honest");
    vector
}
