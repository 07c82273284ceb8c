//! Two-by-two matrices and power series of them, for chains with two states.

use core::ops::{Add, Mul};

/// A matrix of transitions between the good state (0) and the bad one (1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Matrix(pub(super) [[f64; 2]; 2]);

impl Matrix {
    pub(super) const ONE: Self = Self([[1.0, 0.0], [0.0, 1.0]]);

    pub(super) fn scaled(self, by: f64) -> Self {
        Self(self.0.map(|row| row.map(|x| x * by)))
    }

    pub(super) fn entries(self) -> [f64; 4] {
        let [[a, b], [c, d]] = self.0;
        [a, b, c, d]
    }

    pub(super) fn from_entries([a, b, c, d]: [f64; 4]) -> Self {
        Self([[a, b], [c, d]])
    }

    /// The row vector `start` times this matrix.
    pub(super) fn after(self, start: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|j| start[0] * self.0[0][j] + start[1] * self.0[1][j])
    }
}

impl Add for Matrix {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let mut sum = self;
        for (row, more) in sum.0.iter_mut().zip(other.0) {
            row[0] += more[0];
            row[1] += more[1];
        }
        sum
    }
}

impl Mul for Matrix {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(self.0.map(|row| other.after(row)))
    }
}

/// Terms that are kept of a series: enough for three moments.
pub(super) const TERMS: usize = 4;

/// A power series in z - 1 with matrices for coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Series(pub(super) [Matrix; TERMS]);

impl Series {
    pub(super) fn constant(matrix: Matrix) -> Self {
        let mut series = Self::default();
        series.0[0] = matrix;
        series
    }

    /// `matrix` times the series.
    pub(super) fn left(self, matrix: Matrix) -> Self {
        Self(self.0.map(|term| matrix * term))
    }

    /// z times the series.
    pub(super) fn times_z(self) -> Self {
        let mut out = self;
        for n in 1..TERMS {
            out.0[n] = out.0[n] + self.0[n - 1];
        }
        out
    }
}

impl Add for Series {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let mut sum = self;
        for (term, more) in sum.0.iter_mut().zip(other.0) {
            *term = *term + more;
        }
        sum
    }
}

impl Mul for Series {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let mut product = Self::default();
        for i in 0..TERMS {
            for j in 0..TERMS - i {
                product.0[i + j] = product.0[i + j] + self.0[i] * other.0[j];
            }
        }
        product
    }
}

/// The x with `a` x = `b`; `a` is not singular.
pub(super) fn solve(mut a: [[f64; 4]; 4], mut b: [f64; 4]) -> [f64; 4] {
    for column in 0..4 {
        let largest =
            (column..4).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()));
        let pivot = largest.unwrap_or(column);
        a.swap(column, pivot);
        b.swap(column, pivot);
        let row = a[column];
        for i in (0..4).filter(|i| *i != column) {
            let factor = a[i][column] / row[column];
            for j in column..4 {
                a[i][j] -= factor * row[j];
            }
            b[i] -= factor * b[column];
        }
    }
    [0, 1, 2, 3].map(|i| b[i] / a[i][i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_satisfies_the_system() {
        let a = [
            [0.0, 2.0, 1.0, 0.5],
            [1.0, 0.1, 3.0, 0.0],
            [4.0, 1.0, 0.0, 1.0],
            [0.2, 0.0, 1.0, 5.0],
        ];
        let x = solve(a, [1.0, 2.0, 3.0, 4.0]);
        for (row, expected) in a.iter().zip([1.0, 2.0, 3.0, 4.0]) {
            let got: f64 = row.iter().zip(x).map(|(a, x)| a * x).sum();
            assert!((got - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_series_multiplies_as_polynomials_do() {
        let one_plus = Series::constant(Matrix::ONE).times_z();
        let cube = one_plus * one_plus * one_plus;
        let expected = [1.0, 3.0, 3.0, 1.0];
        for (term, expected) in cube.0.iter().zip(expected) {
            assert_eq!(*term, Matrix::ONE.scaled(expected));
        }
    }
}
