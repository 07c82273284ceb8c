//! How long something took, counted by ranges.

use core::time::Duration;

/// How often something took how long. Counts only ever rise, and those of two sessions add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Histogram {
    /// The first entry counts what took at most the first of [`Histogram::BOUNDS`], the next one what
    /// took longer but at most the second, and so on; the last one what took longer than all.
    pub counts: [u64; 14],
    /// What all of them took together, in microseconds.
    pub total_us: u64,
}

impl Histogram {
    /// The upper ends of the ranges.
    pub const BOUNDS: [Duration; 13] = [
        Duration::from_millis(1),
        Duration::from_millis(2),
        Duration::from_millis(5),
        Duration::from_millis(10),
        Duration::from_millis(20),
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(200),
        Duration::from_millis(500),
        Duration::from_secs(1),
        Duration::from_secs(2),
        Duration::from_secs(5),
        Duration::from_secs(10),
    ];

    pub(crate) fn record(&mut self, took: Duration) {
        let range = Self::BOUNDS.partition_point(|bound| *bound < took);
        self.counts[range] += 1;
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.total_us = self.total_us.saturating_add(us);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The upper end of the range in which this share of them, 0 to 1, has ended; `None` if there were
    /// none, or if it is longer than all bounds.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (share * self.count() as f64).ceil().max(1.0);
        let mut seen = 0;
        let bounds = Self::BOUNDS.iter().zip(&self.counts);
        bounds
            .map(|(bound, count)| {
                seen += count;
                (bound, seen)
            })
            .find(|(_, seen)| *seen as f64 >= wanted)
            .map(|(bound, _)| *bound)
    }

    /// Adds what another one has counted.
    pub(crate) fn add(&mut self, other: &Histogram) {
        for (all, more) in self.counts.iter_mut().zip(other.counts) {
            *all += more;
        }
        self.total_us = self.total_us.saturating_add(other.total_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn each_time_is_counted_in_its_range() {
        let mut histogram = Histogram::default();
        for took in [Duration::ZERO, ms(1), ms(2), ms(3), ms(10_000), ms(10_001)] {
            histogram.record(took);
        }
        let mut counts = [0; 14];
        (counts[0], counts[1], counts[2], counts[12], counts[13]) = (2, 1, 1, 1, 1);
        assert_eq!((histogram.counts, histogram.count()), (counts, 6));
        assert_eq!(histogram.total_us, 20_007_000);
    }

    #[test]
    fn a_quantile_is_the_end_of_its_range() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (0..98).for_each(|_| histogram.record(ms(3)));
        histogram.record(ms(40));
        histogram.record(ms(11_000));
        assert_eq!(histogram.quantile(0.5), Some(ms(5)));
        assert_eq!(histogram.quantile(0.99), Some(ms(50)));
        assert_eq!(histogram.quantile(1.0), None);
    }
}
