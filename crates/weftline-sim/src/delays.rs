//! Delays, with their mean and percentiles.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Precision of a percentile: 1 in 1000.
const DIGITS: u8 = 3;
/// The longest delay that is distinguished, in nanoseconds: a day.
const LONGEST: u64 = 86_400_000_000_000;
/// Shares at which a distribution is drawn, in addition to 0 to 99 %.
const TAIL: [f64; 9] = [
    0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995, 0.99999, 1.0,
];

/// Any number of delays in bounded memory. The mean and the largest are exact, percentiles within
/// 0.1 %.
pub struct Delays {
    histogram: Histogram<u64>,
    sum: i128,
    max: i64,
}

/// Statistics of delays, in milliseconds; `None` if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The median: half of the delays are this or shorter.
    pub p50: Option<f64>,
    /// 95 % are this or shorter.
    pub p95: Option<f64>,
    /// 99 % are this or shorter.
    pub p99: Option<f64>,
    /// 99.9 % are this or shorter.
    pub p999: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

impl Default for Delays {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS);
        Delays {
            histogram: histogram.expect("the bounds are constants that it accepts"),
            sum: 0,
            max: 0,
        }
    }
}

impl Delays {
    /// Counts a delay in nanoseconds; a negative one counts as 0.
    pub fn add(&mut self, delay: i64) {
        let delay = delay.max(0);
        self.sum += i128::from(delay);
        self.max = self.max.max(delay);
        self.histogram.saturating_record(delay as u64);
    }

    /// Number of delays.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether there are no delays.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Mean and percentiles.
    pub fn summary(&self) -> Summary {
        if self.is_empty() {
            return Summary::default();
        }
        Summary {
            mean: Some(millis(self.sum as f64 / self.len() as f64)),
            p50: Some(self.at(0.5)),
            p95: Some(self.at(0.95)),
            p99: Some(self.at(0.99)),
            p999: Some(self.at(0.999)),
            max: Some(millis(self.max as f64)),
        }
    }

    /// The distribution: shares, and the delay in milliseconds that this share does not exceed.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        if self.is_empty() {
            return Vec::new();
        }
        let shares = (0..=99).map(|percent| f64::from(percent) / 100.0);
        let shares = shares.chain(TAIL);
        shares.map(|share| (share, self.at(share))).collect()
    }

    /// The shortest delay that at least this share of all do not exceed, in milliseconds.
    fn at(&self, share: f64) -> f64 {
        let bucket = self.histogram.value_at_quantile(share);
        // A bucket is represented by its upper end, which may be above every delay in it.
        millis(bucket.min(self.max as u64) as f64)
    }
}

/// Nanoseconds in milliseconds, to the nanosecond.
pub fn millis(nanos: f64) -> f64 {
    nanos.round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: Option<f64>, expected: f64) {
        let got = got.unwrap();
        assert!(
            (got - expected).abs() <= expected * 0.001,
            "{got} is not {expected}"
        );
    }

    #[test]
    fn percentiles_of_one_to_ten_thousand_are_known() {
        let mut delays = Delays::default();
        // 1 to 10,000 ms, in a mixed order.
        for i in 0..10_000u64 {
            delays.add((i * 7919 % 10_000 + 1) as i64 * 1_000_000);
        }
        let summary = delays.summary();
        assert_eq!(summary.mean, Some(5000.5));
        near(summary.p50, 5000.0);
        near(summary.p95, 9500.0);
        near(summary.p99, 9900.0);
        near(summary.p999, 9990.0);
        assert_eq!(summary.max, Some(10_000.0));
    }

    #[test]
    fn a_single_outlier_changes_only_the_largest() {
        let mut delays = Delays::default();
        (0..9999).for_each(|_| delays.add(1_000_000));
        delays.add(500_000_000);
        let summary = delays.summary();
        near(summary.p999, 1.0);
        assert_eq!(summary.max, Some(500.0));
        assert_eq!(summary.mean, Some(1.0499));
    }

    #[test]
    fn a_curve_rises_to_the_largest() {
        let mut delays = Delays::default();
        (1..=1000).for_each(|i| delays.add(i * 10_000));
        let curve = delays.curve();
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert_eq!(curve.last(), Some(&(1.0, 10.0)));
        let median = curve.iter().find(|(share, _)| *share == 0.5);
        near(median.map(|(_, delay)| *delay), 5.0);
    }

    #[test]
    fn no_delays_have_no_mean() {
        assert_eq!(Delays::default().summary(), Summary::default());
        assert!(Delays::default().curve().is_empty());
    }

    #[test]
    fn clocks_that_disagree_do_not_wrap() {
        let mut delays = Delays::default();
        delays.add(-5);
        delays.add(i64::MAX);
        assert_eq!(delays.len(), 2);
        assert!(delays.summary().max.is_some());
    }
}
