//! Redundancy by the measured loss rate: [`Redundancy::Measured`](crate::Redundancy::Measured).

use crate::policy::Measured;
use crate::time::Time;

/// A moving average of the packet error rate, and the spacing that follows from it.
///
/// In the paper the receiver measures and reports it. The sender knows the fate of each
/// transmission from the same reports, and needs no field for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    policy: Measured,
    began: Time,
    total: u32,
    lost: u32,
    rate: Option<f64>,
}

impl Measure {
    pub(super) fn new(policy: Measured, now: Time) -> Self {
        Measure {
            policy,
            began: now,
            total: 0,
            lost: 0,
            rate: None,
        }
    }

    /// The next transmission in order arrived, or did not.
    pub(super) fn resolved(&mut self, lost: bool) {
        self.total += 1;
        self.lost += u32::from(lost);
    }

    /// Ends an interval whose time has come.
    pub(super) fn reported(&mut self, now: Time) {
        if now.since(self.began) < self.policy.interval || self.total == 0 {
            return;
        }
        let newest = f64::from(self.lost) / f64::from(self.total);
        let weight = self.policy.weight.clamp(0.0, 1.0);
        let rate = self
            .rate
            .map_or(newest, |rate| weight * newest + (1.0 - weight) * rate);
        *self = Measure {
            rate: Some(rate),
            ..Measure::new(self.policy, now)
        };
    }

    /// The estimate; before the first interval has ended, what it has so far.
    fn rate(&self) -> f64 {
        let so_far = f64::from(self.lost) / f64::from(self.total.max(1));
        self.rate.unwrap_or(so_far).clamp(0.0, 0.8)
    }

    /// Repairs for each source symbol: one after `floor(1/R)`, R itself where that is more than one.
    pub(super) fn share(&self) -> f64 {
        let rate = self.rate();
        let needed = 1.0 / (1.0 - rate) - 1.0;
        let apart = (1.0 / needed.max(1e-9) + 1e-9).floor();
        let most = f64::from(self.policy.most_apart.max(1));
        if apart < 1.0 {
            needed
        } else {
            1.0 / apart.min(most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rates: &[(u32, u32)]) -> Measure {
        let mut measure = Measure::new(Measured::default(), Time::ZERO);
        for (second, (lost, total)) in (3u64..).step_by(3).zip(rates) {
            for number in 0..*total {
                measure.resolved(number < *lost);
            }
            measure.reported(Time::from_micros(second * 1_000_000));
        }
        measure
    }

    #[test]
    fn the_papers_table_iii_has_these_spacings() {
        // R of 15, 20 and 30 % are packet error rates of R / (1 + R).
        for (share, apart) in [(0.15, 6.0), (0.2, 5.0), (0.3, 3.0)] {
            let mut measure = measured(&[]);
            measure.rate = Some(share / (1.0 + share));
            assert_eq!(measure.share(), 1.0 / apart, "R {share}");
        }
    }

    #[test]
    fn a_path_that_loses_nothing_has_a_repair_after_each_hundred() {
        assert_eq!(measured(&[(0, 500)]).share(), 0.01);
    }

    #[test]
    fn the_newest_interval_has_four_fifths_of_the_weight() {
        let rate = measured(&[(10, 100), (20, 100)]).rate();
        assert!((rate - 0.18).abs() < 1e-12, "{rate}");
    }

    #[test]
    fn where_more_than_half_is_lost_there_is_more_than_one_repair_for_each_symbol() {
        let share = measured(&[(60, 100)]).share();
        assert!((share - 1.5).abs() < 1e-12, "{share}");
    }
}
