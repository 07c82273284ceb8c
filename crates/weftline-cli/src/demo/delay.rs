//! Delays of messages and their statistics.

use serde::Serialize;

/// Summary of delays, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct DelaySummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// In-order delivery delays of a run's messages, in milliseconds, by their number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Delays {
    by_time: Vec<(f64, f64)>,
    sorted: Vec<f64>,
}

impl Delays {
    /// The delays of messages, each given as seconds since the run's start and milliseconds of
    /// delay.
    pub(super) fn new(by_time: Vec<(f64, f64)>) -> Self {
        let mut sorted: Vec<f64> = by_time.iter().map(|(_, delay)| *delay).collect();
        sorted.sort_by(f64::total_cmp);
        Delays { by_time, sorted }
    }

    /// Mean, percentiles and maximum; `None` without messages.
    pub(super) fn summary(&self) -> Option<DelaySummary> {
        let max = *self.sorted.last()?;
        let mean = self.sorted.iter().sum::<f64>() / self.sorted.len() as f64;
        let at = |p| self.percentile(p);
        Some(DelaySummary {
            mean,
            p50: at(50.0),
            p95: at(95.0),
            p99: at(99.0),
            max,
        })
    }

    /// The delay that `percent` % of the messages do not exceed (nearest rank).
    pub(super) fn percentile(&self, percent: f64) -> f64 {
        let rank = (percent / 100.0 * self.sorted.len() as f64).ceil() as usize;
        self.sorted
            .get(rank.clamp(1, self.sorted.len().max(1)) - 1)
            .copied()
            .unwrap_or(0.0)
    }

    /// The share of messages within each delay, at no more than `points` delays.
    pub(super) fn distribution(&self, points: usize) -> Vec<(f64, f64)> {
        let n = self.sorted.len();
        let step = n.div_ceil(points.max(1)).max(1);
        let last = n.checked_sub(1);
        let picked = (0..n).step_by(step).chain(last);
        picked
            .map(|i| (self.sorted[i], (i + 1) as f64 / n as f64))
            .collect()
    }

    /// The largest delay in each of at most `points` intervals.
    pub(super) fn timeline(&self, points: usize) -> Vec<(f64, f64)> {
        let step = self.by_time.len().div_ceil(points.max(1)).max(1);
        let stretches = self.by_time.chunks(step);
        stretches
            .filter_map(|s| s.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays: impl IntoIterator<Item = u32>) -> Delays {
        Delays::new(
            delays
                .into_iter()
                .enumerate()
                .map(|(i, d)| (i as f64, f64::from(d)))
                .collect(),
        )
    }

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let summary = of((1..=100).rev()).summary().unwrap();
        let expected = DelaySummary {
            mean: 50.5,
            p50: 50.0,
            p95: 95.0,
            p99: 99.0,
            max: 100.0,
        };
        assert_eq!(summary, expected);
        assert_eq!(of([7]).summary().unwrap().p50, 7.0);
        assert_eq!(of([]).summary(), None);
    }

    #[test]
    fn curves_are_thinned_but_keep_their_extremes() {
        let delays = of((0..1000).map(|i| if i == 500 { 99 } else { 1 }));
        let curve = delays.distribution(50);
        assert!(curve.len() <= 51);
        assert_eq!(curve.last(), Some(&(99.0, 1.0)));
        let timeline = delays.timeline(50);
        assert!(timeline.len() <= 50 && timeline.contains(&(500.0, 99.0)));
    }
}
