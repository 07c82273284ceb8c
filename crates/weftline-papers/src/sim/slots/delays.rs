//! A histogram of delays.

use serde::Serialize;

/// Delays below this are counted exactly, others in steps of 1/2048 of their value.
const EXACT: u64 = 1 << 16;
const STEPS: u64 = 2048;
/// Most bins of a printed histogram.
const MOST_BINS: usize = 1000;

/// A histogram of delays in slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

/// Statistics of a histogram, in slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DelaySummary {
    /// The median.
    pub p50: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

impl Delays {
    #[inline]
    pub(super) fn add(&mut self, delay: u64) {
        self.add_times(delay, 1);
    }

    #[inline]
    pub(super) fn add_times(&mut self, delay: u64, times: u64) {
        let place = place(delay);
        if place >= self.counts.len() {
            self.counts.resize(place + 1 + place / 2, 0);
        }
        self.counts[place] += times;
        self.total += times;
        self.longest = self.longest.max(delay);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The mean, exact but for delays beyond 65536.
    pub(super) fn mean(&self) -> f64 {
        let counts = self.counts.iter().enumerate();
        let sum: f64 = counts
            .map(|(place, n)| *n as f64 * least(place) as f64)
            .sum();
        sum / (self.total as f64).max(1.0)
    }

    /// The share of delays of at most this many slots, at most 65535.
    pub(super) fn within(&self, slots: u64) -> f64 {
        let counted: u64 = self.counts.iter().take(slots as usize + 1).sum();
        counted as f64 / (self.total as f64).max(1.0)
    }

    /// The share of delays in each bin of this many slots, from 0 on: at most [`MOST_BINS`], the last
    /// of which has all longer delays, too.
    pub(super) fn bins(&self, width: f64) -> Vec<f64> {
        let mut bins = Vec::new();
        for (place, count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let bin = (least(place) as f64 / width) as usize;
            let bin = bin.min(MOST_BINS - 1);
            if bin >= bins.len() {
                bins.resize(bin + 1, 0.0);
            }
            bins[bin] += *count as f64 / self.total as f64;
        }
        bins
    }

    pub(super) fn summary(&self) -> DelaySummary {
        DelaySummary {
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.longest,
        }
    }

    /// The smallest delay, those that 1 %, 2 %, ... 99 % do not exceed, and the longest.
    pub(super) fn percentiles(&self) -> Vec<u64> {
        let inner = (0..100).map(|percent| self.quantile((f64::from(percent) / 100.0).max(1e-12)));
        inner.chain([self.longest]).collect()
    }

    fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.total as f64).ceil() as u64;
        let mut sum = 0;
        let place = self.counts.iter().position(|count| {
            sum += count;
            sum >= wanted
        });
        place.map_or(0, least)
    }
}

#[inline]
fn place(delay: u64) -> usize {
    if delay < EXACT {
        return delay as usize;
    }
    let doublings = u64::from(delay.ilog2() - EXACT.ilog2());
    let step = (delay >> (doublings + u64::from(EXACT.ilog2() - STEPS.ilog2()))) - STEPS;
    (EXACT + doublings * STEPS + step) as usize
}

/// The least delay that is counted at a place.
fn least(place: usize) -> u64 {
    let place = place as u64;
    if place < EXACT {
        return place;
    }
    let (doublings, step) = ((place - EXACT) / STEPS, (place - EXACT) % STEPS);
    (STEPS + step) << (doublings + u64::from(EXACT.ilog2() - STEPS.ilog2()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delay_is_counted_at_its_place() {
        for delay in [
            0,
            1,
            65_535,
            65_536,
            65_537,
            100_000,
            131_071,
            131_072,
            1 << 40,
            u64::MAX >> 1,
        ] {
            let least = least(place(delay));
            assert!(
                least <= delay && delay - least <= delay / STEPS,
                "{delay}: {least}"
            );
        }
        let mut last = 0;
        for delay in (60_000..1_000_000).step_by(7) {
            assert!(place(delay) >= last, "{delay}");
            last = place(delay);
        }
    }

    #[test]
    fn quantiles_match_the_added_delays() {
        let mut delays = Delays::default();
        (1..=1000).for_each(|delay| delays.add(delay));
        let mut more = Delays::default();
        more.add_times(0, 1000);
        delays.merge(&more);
        let summary = delays.summary();
        assert_eq!(
            (summary.p50, summary.p95, summary.p999, summary.max),
            (0, 900, 998, 1000)
        );
        assert!((delays.mean() - 250.25).abs() < 1e-9 && delays.total() == 2000);
        assert_eq!(delays.within(100), 0.55);
        let bins = delays.bins(100.5);
        assert_eq!(bins.len(), 10, "of 0 to 100, 101 to 200, ... 1000");
        assert!((bins[0] - 0.55).abs() < 1e-12 && (bins[1] - 0.05).abs() < 1e-12);
        let percentiles = delays.percentiles();
        assert_eq!(percentiles.len(), 101);
        assert_eq!(
            [0, 50, 51, 75, 100].map(|percent| percentiles[percent]),
            [0, 0, 20, 500, 1000]
        );
    }
}
