//! Round-trip time as RFC 9002, section 5, estimates it.

use core::time::Duration;

/// Smoothed round-trip time, its variation and its minimum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    smoothed: Duration,
    variation: Duration,
    min: Option<Duration>,
    latest: Duration,
}

/// Hardly a path is that long by itself: datagrams were held back, as in an outage or by a modem's queue. Once a
/// round trip takes less than a quarter of it, those samples say nothing any more.
const HELD_BACK: Duration = Duration::from_secs(1);

/// The timers of the runtime are no finer than this (RFC 9002, kGranularity).
const GRANULARITY: Duration = Duration::from_millis(1);

impl RttEstimator {
    pub(crate) fn new(initial: Duration) -> Self {
        RttEstimator {
            smoothed: initial,
            variation: initial / 2,
            min: None,
            latest: initial,
        }
    }

    /// A report acknowledged a datagram sent `elapsed` ago; the receiver had delayed the report by
    /// `delay`.
    pub(crate) fn sample(&mut self, elapsed: Duration, delay: Duration) {
        let Some(min) = self.min else {
            self.min = Some(elapsed);
            self.begin(elapsed);
            return;
        };
        // The delay that the receiver claims must not push the sample below the minimum.
        let min = min.min(elapsed);
        self.min = Some(min);
        let sample = if elapsed >= min + delay {
            elapsed - delay
        } else {
            elapsed
        };
        if self.smoothed >= HELD_BACK && sample < self.smoothed / 4 {
            self.begin(sample);
            return;
        }
        self.latest = sample;
        self.variation = (self.variation * 3 + self.smoothed.abs_diff(sample)) / 4;
        self.smoothed = (self.smoothed * 7 + sample) / 8;
    }

    /// The estimate is this one sample.
    fn begin(&mut self, sample: Duration) {
        self.latest = sample;
        self.smoothed = sample;
        self.variation = sample / 2;
    }

    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// The mean deviation of the samples.
    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    /// The newest sample.
    pub(crate) fn latest(&self) -> Duration {
        self.latest
    }

    /// The smallest sample, or the initial guess.
    pub(crate) fn min(&self) -> Duration {
        self.min.unwrap_or(self.smoothed)
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.min.is_some()
    }

    /// The time after which a datagram older than an acknowledged one counts as lost.
    pub(crate) fn loss_delay(&self) -> Duration {
        (self.smoothed.max(self.latest) * 9 / 8).max(GRANULARITY)
    }

    /// How long to wait for a report before asking again (RFC 9002, section 6.2.1).
    pub(crate) fn probe_timeout(&self, feedback_delay: Duration) -> Duration {
        self.smoothed + (self.variation * 4).max(GRANULARITY) + feedback_delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_steady_path_is_learned_and_the_receivers_delay_is_subtracted() {
        let mut rtt = RttEstimator::new(100 * MS);
        rtt.sample(60 * MS, Duration::ZERO);
        for _ in 0..100 {
            rtt.sample(65 * MS, 5 * MS);
        }
        assert_eq!(rtt.min(), 60 * MS);
        assert!(rtt.smoothed().abs_diff(60 * MS) < MS / 10, "{rtt:?}");
        assert!(rtt.probe_timeout(Duration::ZERO) < 62 * MS);
    }

    #[test]
    fn what_was_held_back_for_seconds_is_soon_forgotten() {
        let mut rtt = RttEstimator::new(100 * MS);
        rtt.sample(60 * MS, Duration::ZERO);
        for _ in 0..20 {
            rtt.sample(4000 * MS, Duration::ZERO);
        }
        assert!(rtt.smoothed() > 3000 * MS);
        rtt.sample(70 * MS, 10 * MS);
        assert_eq!(rtt.smoothed(), 60 * MS);
        assert_eq!(rtt.variation(), 30 * MS);
        // Shorter delays are averaged: they may be those of the path.
        for _ in 0..20 {
            rtt.sample(900 * MS, Duration::ZERO);
        }
        rtt.sample(60 * MS, Duration::ZERO);
        assert!(rtt.smoothed() > 700 * MS, "{rtt:?}");
    }

    #[test]
    fn a_false_delay_cannot_push_the_estimate_below_the_minimum() {
        let mut rtt = RttEstimator::new(100 * MS);
        for _ in 0..50 {
            rtt.sample(60 * MS, Duration::from_secs(5));
        }
        assert_eq!(rtt.smoothed(), 60 * MS);
    }
}
