//! Coding vectors of scheme `rateless`.

use weftline_codec::coefficients::Coefficients;

use super::options::VectorHeader;
use crate::sender::scheme::rule::Drawn;
use crate::wire::{CodingVector, FieldCode, pack};

/// Draws one coding vector after the other.
#[derive(Debug)]
pub(super) struct Vectors {
    bits: u8,
    header: VectorHeader,
    next_seed: u32,
    /// The current vector, unpacked and packed.
    vector: Vec<u8>,
    packed: Vec<u8>,
}

impl Vectors {
    pub(super) fn new(bits: u8, header: VectorHeader, seed: u64) -> Self {
        Vectors {
            bits,
            header,
            next_seed: seed as u32,
            vector: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Draws the next vector, for `nss` symbols. It is never zero, because a zero vector carries
    /// nothing.
    pub(super) fn draw(&mut self, nss: u16) -> Drawn<'_> {
        let bits = self.bits;
        let key = loop {
            let key = self.next_seed;
            self.next_seed = key.wrapping_add(1);
            let vector = CodingVector::Seed(key);
            FieldCode { bits, vector }.fill(nss, &mut self.vector);
            // At worst one in two is zero: for a single symbol in GF(2).
            if nss == 0 || self.vector.iter().any(|c| *c != 0) {
                break key;
            }
        };
        let vector = match self.header {
            VectorHeader::Seed => CodingVector::Seed(key),
            VectorHeader::Explicit => {
                pack(&self.vector, bits, &mut self.packed);
                CodingVector::Explicit(&self.packed)
            }
        };
        let coefficients = Coefficients::Explicit(&self.vector);
        (FieldCode { bits, vector }, coefficients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coding_vectors_are_never_zero_and_do_not_repeat() {
        for bits in [1, 4, 8] {
            let mut drawing = Vectors::new(bits, VectorHeader::Explicit, 5);
            let mut vectors = Vec::new();
            for _ in 0..200 {
                let (FieldCode { vector, .. }, _) = drawing.draw(40);
                let CodingVector::Explicit(packed) = vector else {
                    panic!("a seed")
                };
                vectors.push(packed.to_vec());
            }
            assert!(vectors.iter().all(|v| v.iter().any(|b| *b != 0)));
            vectors.sort();
            vectors.dedup();
            assert_eq!(vectors.len(), 200);
            let (one, _) = drawing.draw(1);
            let mut vector = Vec::new();
            one.fill(1, &mut vector);
            assert_ne!(vector, [0]);
        }
    }
}
