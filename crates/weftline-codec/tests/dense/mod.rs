//! Plain arithmetic and elimination in GF(2^q), bit by bit: an independent
//! check of tables and kernels.

use weftline_codec::field::Arithmetic;

/// A field GF(2^q) with schoolbook products.
pub(crate) struct Dense {
    products: Vec<[u8; 256]>,
}

impl Dense {
    pub(crate) fn new(field: Arithmetic) -> Self {
        let (bits, polynomial) = (field.bits(), field.polynomial());
        let product = |a: usize, b: usize| {
            let mut sum = 0;
            for bit in (0..bits).rev() {
                sum <<= 1;
                if sum >> bits & 1 != 0 {
                    sum ^= polynomial;
                }
                if b >> bit & 1 != 0 {
                    sum ^= a as u16;
                }
            }
            sum as u8
        };
        let order = 1 << bits;
        let row = |a| std::array::from_fn(|b| if b < order { product(a, b) } else { 0 });
        Self {
            products: (0..order).map(row).collect(),
        }
    }

    pub(crate) fn product(&self, a: u8, b: u8) -> u8 {
        self.products[usize::from(a)][usize::from(b)]
    }

    /// The rank of these vectors.
    pub(crate) fn rank(&self, mut rows: Vec<Vec<u8>>) -> usize {
        let columns = rows.first().map_or(0, Vec::len);
        let mut rank = 0;
        for column in 0..columns {
            let Some(found) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else {
                continue;
            };
            rows.swap(rank, found);
            let (above, below) = rows.split_at_mut(rank + 1);
            let pivot = &above[rank];
            let mut inverses = 1..=u8::MAX;
            let inverse = inverses.find(|x| self.product(pivot[column], *x) == 1);
            for row in below {
                let factor = self.product(row[column], inverse.unwrap());
                for (x, p) in row.iter_mut().zip(pivot) {
                    *x ^= self.product(factor, *p);
                }
            }
            rank += 1;
        }
        rank
    }
}
