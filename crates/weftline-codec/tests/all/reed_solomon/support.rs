//! A field and its codes by definition, and shards for tests.

use weftline_codec::field::Arithmetic;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

pub(crate) const BOTH: [Construction; 2] = [Construction::Rfc5510, Construction::Cauchy];

/// Multiplication by shifts and additions, inversion by trial.
#[derive(Clone, Copy)]
pub(crate) struct Reference {
    bits: u32,
    polynomial: u16,
}

impl Reference {
    pub(crate) fn of(field: Arithmetic) -> Self {
        Self {
            bits: field.bits(),
            polynomial: field.polynomial(),
        }
    }

    pub(crate) fn mul(self, a: u8, b: u8) -> u8 {
        let mut product = 0;
        for bit in (0..self.bits).rev() {
            product <<= 1;
            if product >> self.bits & 1 == 1 {
                product ^= self.polynomial;
            }
            if b >> bit & 1 == 1 {
                product ^= u16::from(a);
            }
        }
        u8::try_from(product).unwrap()
    }

    pub(crate) fn inv(self, a: u8) -> u8 {
        (1..=255).find(|&b| self.mul(a, b) == 1).unwrap()
    }

    /// Solves `matrix * x = right` for several right-hand columns; `None` if
    /// the matrix is singular.
    pub(crate) fn solve(
        self,
        mut matrix: Vec<Vec<u8>>,
        mut right: Vec<Vec<u8>>,
    ) -> Option<Vec<Vec<u8>>> {
        let size = matrix.len();
        for pivot in 0..size {
            let from = (pivot..size).find(|&row| matrix[row][pivot] != 0)?;
            matrix.swap(pivot, from);
            right.swap(pivot, from);
            let inverse = self.inv(matrix[pivot][pivot]);
            for rows in [&mut matrix, &mut right] {
                rows[pivot]
                    .iter_mut()
                    .for_each(|x| *x = self.mul(*x, inverse));
            }
            for row in (0..size).filter(|&row| row != pivot) {
                let factor = matrix[row][pivot];
                for rows in [&mut matrix, &mut right] {
                    let pivot_row = rows[pivot].clone();
                    for (x, p) in rows[row].iter_mut().zip(pivot_row) {
                        *x ^= self.mul(p, factor);
                    }
                }
            }
        }
        Some(right)
    }

    /// The rows of repair coefficients, as each construction is defined.
    pub(crate) fn coefficients(
        self,
        construction: Construction,
        k: usize,
        m: usize,
    ) -> Vec<Vec<u8>> {
        if construction == Construction::Cauchy {
            let last = ((1u16 << self.bits) - 1) as usize;
            let at = |j: usize, i: usize| {
                let x = (last - i) as u8;
                self.mul(x, self.inv(x ^ j as u8))
            };
            return (0..m).map(|j| (0..k).map(|i| at(j, i)).collect()).collect();
        }
        let alpha = |exponent: usize| (0..exponent).fold(1, |power, _| self.mul(power, 2));
        let vandermonde = |columns: std::ops::Range<usize>| -> Vec<Vec<u8>> {
            let row = |i: usize| columns.clone().map(|j| alpha(i * j)).collect();
            (0..k).map(row).collect()
        };
        let generator = self
            .solve(vandermonde(0..k), vandermonde(k..k + m))
            .unwrap();
        (0..m)
            .map(|j| generator.iter().map(|row| row[j]).collect())
            .collect()
    }
}

pub(crate) fn noise(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64;
    let step = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}

pub(crate) fn slices(shards: &[Vec<u8>]) -> Vec<&[u8]> {
    shards.iter().map(Vec::as_slice).collect()
}

pub(crate) fn slices_mut(shards: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    shards.iter_mut().map(Vec::as_mut_slice).collect()
}

/// All shards of a code, made from noise.
pub(crate) fn codeword(code: &Code, length: usize) -> Vec<Vec<u8>> {
    let mut shards: Vec<_> = (0..code.sources()).map(|i| noise(i + 1, length)).collect();
    let mut repairs = vec![noise(99, length); code.repairs()];
    code.encode(&slices(&shards), &mut slices_mut(&mut repairs))
        .unwrap();
    shards.append(&mut repairs);
    shards
}

/// Checks that `present` shards, k or more, recover all others.
pub(crate) fn recovers_all(decoder: &mut Decoder, shards: &[Vec<u8>], present: &[usize]) {
    let wanted: Vec<usize> = (0..shards.len()).filter(|i| !present.contains(i)).collect();
    let mut out = vec![noise(7, shards[0].len()); wanted.len()];
    let received = present.iter().map(|&i| (i, shards[i].as_slice()));
    decoder
        .reconstruct(received, &wanted, &mut slices_mut(&mut out))
        .unwrap();
    for (index, shard) in wanted.iter().zip(&out) {
        assert_eq!(shard, &shards[*index], "shard {index} from {present:?}");
    }
}
