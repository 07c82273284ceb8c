//! Durations counted by size.

use core::time::Duration;

/// Bits of a value that are kept: a bucket is at most 1/64 of its values wide.
const BITS: u32 = 6;
const LINEAR: u64 = 1 << (BITS + 1);

/// How often each duration occurred. A bucket is at most 1.6 % as wide as its values,
/// and below 128 ns every nanosecond has a bucket. Count, sum and largest value are
/// exact. A histogram takes at most 30 kB.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    total: Duration,
    max: Duration,
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, value: Duration) {
        let bucket = bucket_of(nanos(value));
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.total = self.total.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// Adds everything that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        self.max = self.max.max(other.max);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest; zero before the first.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The sum.
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The mean; zero before the first.
    pub fn mean(&self) -> Duration {
        let mean = self.total.as_nanos() / u128::from(self.count.max(1));
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The smallest duration that at least the share `q` (0 to 1) of all does not
    /// exceed, rounded up to the end of its bucket; zero before the first.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(largest_in(bucket)).min(self.max);
            }
        }
        self.max
    }
}

fn nanos(value: Duration) -> u64 {
    u64::try_from(value.as_nanos()).unwrap_or(u64::MAX)
}

/// Each value below [`LINEAR`] has a bucket; above it, each doubling has 64.
fn bucket_of(nanos: u64) -> usize {
    let shift = (nanos | (LINEAR - 1)).ilog2() - BITS;
    (u64::from(shift) << BITS) as usize + (nanos >> shift) as usize
}

fn largest_in(bucket: usize) -> u64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    let upper = bucket as u128 - ((shift as u128) << BITS) + 1;
    u64::try_from((upper << shift) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_gap_and_stay_narrow() {
        let mut next = 0u64;
        for bucket in 0.. {
            assert_eq!(bucket_of(next), bucket, "{next}");
            let last = largest_in(bucket);
            assert_eq!(bucket_of(last), bucket, "{last}");
            assert!((last - next) as f64 <= next as f64 / 64.0);
            let Some(after) = last.checked_add(1) else {
                assert!(bucket < 3776);
                break;
            };
            next = after;
        }
    }

    #[test]
    fn quantiles_of_a_known_series_are_within_a_bucket() {
        let mut h = Histogram::default();
        assert_eq!(
            (h.quantile(0.99), h.mean()),
            (Duration::ZERO, Duration::ZERO)
        );
        for us in 1..=1000 {
            h.record(Duration::from_micros(us));
        }
        for (q, us) in [(0.0, 1.0), (0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let got = h.quantile(q).as_secs_f64() * 1e6;
            assert!(
                got >= us && got <= us * (1.0 + 1.0 / 64.0),
                "{got} for {us}"
            );
        }
        assert_eq!(h.mean(), Duration::from_nanos(500_500));
        assert_eq!((h.max(), h.count()), (Duration::from_millis(1), 1000));
    }

    #[test]
    fn merged_histograms_are_that_of_both_series() {
        let (mut a, mut b, mut both) = Default::default();
        for us in 0..500u64 {
            let value = Duration::from_micros(us * us);
            Histogram::record(if us % 3 == 0 { &mut a } else { &mut b }, value);
            Histogram::record(&mut both, value);
        }
        a.merge(&b);
        assert_eq!(a, both);
        Histogram::default().merge(&both);
    }

    #[test]
    fn the_longest_duration_is_counted_too() {
        let mut h = Histogram::default();
        h.record(Duration::MAX);
        h.record(Duration::MAX);
        assert_eq!(h.max(), Duration::MAX);
        assert_eq!(h.quantile(0.5), Duration::from_nanos(u64::MAX));
    }
}
