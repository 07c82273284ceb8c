//! Means with their standard errors.

use serde::Serialize;

/// A mean of independent values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
    /// The standard deviation of one value.
    pub spread: f64,
}

impl Estimate {
    /// Means over rows of values, column by column; a row that is shorter has zeros.
    pub(super) fn of_columns(rows: &[Vec<f64>]) -> Vec<Self> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let column = |at: usize| {
            let values = rows.iter().map(|row| row.get(at).copied().unwrap_or(0.0));
            Self::of(&values.collect::<Vec<_>>())
        };
        (0..columns).map(column).collect()
    }

    /// The mean of these values.
    pub(super) fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        if values.is_empty() {
            return Self::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let spread = (squares / (n - 1.0).max(1.0)).sqrt();
        Self {
            mean,
            stderr: spread / n.sqrt(),
            spread,
        }
    }
}

/// A ratio of sums over independent cycles, such as delay to packets. The sums are whole numbers,
/// so that the order in which parts are added does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ratio {
    cycles: u64,
    top: u128,
    bottom: u128,
    top_squared: u128,
    mixed: u128,
    bottom_squared: u128,
}

impl Ratio {
    /// Adds a cycle.
    #[inline]
    pub(super) fn add(&mut self, top: u64, bottom: u64) {
        self.add_times(top, bottom, 1);
    }

    /// Adds this many equal cycles.
    #[inline]
    pub(super) fn add_times(&mut self, top: u64, bottom: u64, times: u64) {
        let (t, b, n) = (u128::from(top), u128::from(bottom), u128::from(times));
        self.cycles += times;
        self.top += n * t;
        self.bottom += n * b;
        self.top_squared += n * t * t;
        self.mixed += n * t * b;
        self.bottom_squared += n * b * b;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.top += other.top;
        self.bottom += other.bottom;
        self.top_squared += other.top_squared;
        self.mixed += other.mixed;
        self.bottom_squared += other.bottom_squared;
    }

    pub(super) fn bottom(&self) -> u64 {
        self.bottom as u64
    }

    /// The ratio, and its standard error by the delta method.
    pub(super) fn estimate(&self) -> (f64, f64) {
        if self.bottom == 0 {
            return (0.0, 0.0);
        }
        let bottom = self.bottom as f64;
        let ratio = self.top as f64 / bottom;
        let residual = self.top_squared as f64 - 2.0 * ratio * self.mixed as f64
            + ratio * ratio * self.bottom_squared as f64;
        let n = self.cycles as f64;
        let unbiased = n / (n - 1.0).max(1.0);
        (ratio, (residual.max(0.0) * unbiased).sqrt() / bottom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_over_equal_cycles_is_a_mean() {
        let values = [3_u64, 5, 4, 8, 1, 9];
        let mut ratio = Ratio::default();
        values.iter().for_each(|v| ratio.add(*v, 1));
        let plain = Estimate::of(&values.map(|v| v as f64));
        let (mean, stderr) = ratio.estimate();
        assert!((mean - plain.mean).abs() < 1e-12 && (stderr - plain.stderr).abs() < 1e-12);
        let mut halves = (Ratio::default(), Ratio::default());
        values[..3].iter().for_each(|v| halves.0.add(*v, 1));
        values[3..].iter().for_each(|v| halves.1.add(*v, 1));
        halves.1.merge(&halves.0);
        assert_eq!(halves.1, ratio);
    }
}
