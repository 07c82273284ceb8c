//! Added latency in whole ticks.

/// Number of symbols with each latency; exact, because no latency is above dw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    counts: Vec<u64>,
}

impl Latencies {
    pub(super) fn add(&mut self, ticks: u32) {
        let at = ticks as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            *sum += more;
        }
    }

    /// The histogram: symbols by latency in ticks, from 0.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Symbols in all.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The smallest.
    pub fn min(&self) -> Option<u32> {
        self.counts.iter().position(|n| *n > 0).map(|at| at as u32)
    }

    /// The largest.
    pub fn max(&self) -> Option<u32> {
        self.counts.iter().rposition(|n| *n > 0).map(|at| at as u32)
    }

    /// The mean.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = (0u32..)
            .zip(&self.counts)
            .map(|(t, n)| f64::from(t) * *n as f64)
            .sum();
        let total = self.total();
        (total > 0).then(|| sum / total as f64)
    }

    /// The smallest latency that a share of all symbols do not exceed.
    pub fn quantile(&self, share: f64) -> Option<u32> {
        let wanted = (share * self.total() as f64).ceil().max(1.0) as u64;
        let mut sum = 0;
        let at = self.counts.iter().position(|n| {
            sum += n;
            sum >= wanted
        });
        at.map(|at| at as u32)
    }

    /// The cumulative distribution: for each latency the share of symbols that do not exceed it.
    pub fn cdf(&self) -> Vec<(u32, f64)> {
        let total = self.total().max(1) as f64;
        let mut sum = 0;
        (0u32..)
            .zip(&self.counts)
            .map(|(ticks, n)| {
                sum += n;
                (ticks, sum as f64 / total)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_match_hand_computed_ones() {
        let mut all = Latencies::default();
        assert_eq!(
            (all.mean(), all.max(), all.quantile(0.5)),
            (None, None, None)
        );
        for ticks in [1, 1, 1, 5] {
            all.add(ticks);
        }
        assert_eq!(
            (all.min(), all.max(), all.mean()),
            (Some(1), Some(5), Some(2.0))
        );
        assert_eq!((all.quantile(0.75), all.quantile(0.76)), (Some(1), Some(5)));
        assert_eq!(all.cdf()[1], (1, 0.75));
        let mut other = Latencies::default();
        other.add(9);
        all.merge(&other);
        assert_eq!((all.total(), all.max()), (5, Some(9)));
        assert_eq!(all.counts()[9], 1);
    }
}
