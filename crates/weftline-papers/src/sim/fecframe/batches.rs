//! Standard errors of values that are correlated with their neighbours.

/// Means of parts of a run, each long enough to be nearly independent of the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Batches {
    means: Vec<f64>,
}

/// Parts of a run.
pub(super) const BATCHES: u64 = 20;

impl Batches {
    pub(super) fn push(&mut self, mean: f64) {
        self.means.push(mean);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.means.extend_from_slice(&other.means);
    }

    /// The standard error of the mean of all.
    pub(super) fn stderr(&self) -> f64 {
        let n = self.means.len() as f64;
        if n < 2.0 {
            return f64::NAN;
        }
        let mean = self.means.iter().sum::<f64>() / n;
        let squares: f64 = self.means.iter().map(|m| (m - mean).powi(2)).sum();
        (squares / (n - 1.0) / n).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_the_textbook_one() {
        let mut batches = Batches::default();
        batches.push(1.0);
        assert!(batches.stderr().is_nan());
        let mut more = Batches::default();
        [2.0, 3.0, 6.0].into_iter().for_each(|mean| more.push(mean));
        batches.merge(&more);
        // Variance 14 / 3, of four values.
        assert!((batches.stderr() - (14.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    }
}
