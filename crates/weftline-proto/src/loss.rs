//! Loss rate and burst length of the path, from the fate of each numbered datagram.

/// The estimator remembers about this many datagrams: at 1 % loss that is ten losses, enough for an
/// estimate.
const MEMORY: f64 = 1000.0;

/// The share of a count that is not forgotten yet. Next to nothing is nothing: processors take a hundred times as long
/// for numbers that are nearly zero.
pub(crate) fn kept(count: f64, share: f64) -> f64 {
    let kept = count * share;
    if kept < 1e-12 { 0.0 } else { kept }
}

/// Counts the fates of datagrams in the order in which they were sent, with forgetting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossEstimator {
    total: f64,
    lost: f64,
    runs: f64,
    last_lost: bool,
}

impl LossEstimator {
    /// The next datagram in order of sending arrived or was lost.
    pub(crate) fn record(&mut self, lost: bool) {
        // A run of any length is one event. Nothing is forgotten while it lasts, or its length would
        // outgrow its weight.
        let keep = match lost && self.last_lost {
            true => 1.0,
            false => 1.0 - 1.0 / MEMORY,
        };
        self.total = self.total * keep + 1.0;
        self.lost = kept(self.lost, keep);
        self.runs = kept(self.runs, keep);
        if lost {
            self.lost += 1.0;
            if !self.last_lost {
                self.runs += 1.0;
            }
        }
        self.last_lost = lost;
    }

    /// Share of recent datagrams that were lost.
    pub(crate) fn rate(&self) -> f64 {
        if self.total > 0.0 {
            self.lost / self.total
        } else {
            0.0
        }
    }

    /// Loss rate to plan with. It assumes one loss in a hundred, with the weight of twenty datagrams,
    /// so that the first loss of a session does not look like a dead path.
    pub(crate) fn expected(&self) -> f64 {
        (self.lost + 0.2) / (self.total + 20.0)
    }

    /// Mean length of a run of lost datagrams; 0 before the first.
    pub(crate) fn mean_burst(&self) -> f64 {
        if self.runs > 0.0 {
            self.lost / self.runs
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_long_ago_are_forgotten_whole() {
        let mut estimator = LossEstimator::default();
        (0..100_000).for_each(|i| estimator.record(i == 0));
        assert_eq!((estimator.rate(), estimator.mean_burst()), (0.0, 0.0));
    }

    #[test]
    fn a_long_outage_does_not_look_longer_than_it_is() {
        let mut estimator = LossEstimator::default();
        for i in 0..3000 {
            estimator.record((1000..2600).contains(&i));
        }
        let burst = estimator.mean_burst();
        assert!((1599.0..1601.0).contains(&burst), "{estimator:?}");
    }

    #[test]
    fn the_first_loss_does_not_look_like_a_dead_path() {
        let mut estimator = LossEstimator::default();
        estimator.record(true);
        assert_eq!(estimator.rate(), 1.0);
        assert!(estimator.expected() < 0.06, "{}", estimator.expected());
    }

    #[test]
    fn rate_and_burst_follow_a_known_pattern() {
        let mut estimator = LossEstimator::default();
        for i in 0..20_000 {
            estimator.record(i % 40 < 4);
        }
        assert!((estimator.rate() - 0.1).abs() < 0.005, "{estimator:?}");
        assert!((estimator.mean_burst() - 4.0).abs() < 0.2, "{estimator:?}");
    }
}
