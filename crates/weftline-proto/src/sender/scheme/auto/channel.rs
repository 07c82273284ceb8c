//! The path's losses as a two-state chain, estimated from the fate of each numbered datagram.
//!
//! The estimate is biased upwards on purpose. Redundancy for too high a loss rate moves along the
//! curve of delay against overhead; redundancy for too low a loss rate falls off it.

use crate::loss::kept;

/// The shares that the two counters forget with each datagram.
const SLOW: f64 = 1.0 / 1000.0;
const FAST: f64 = 1.0 / 64.0;
/// The highest loss rate to plan with: more repairs than sources do not help a path that looks dead.
const HIGHEST: f64 = 0.6;
/// Lower bound of the recovery probability: the mean run is taken to be no longer than 1 / this.
const LEAST_RECOVERY: f64 = 0.05;

/// Counts losses, and steps from lost to arrived, with forgetting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    slow: Share,
    fast: Share,
    /// The share of datagrams that arrived after a lost one.
    after_loss: Share,
    last_lost: bool,
}

/// Hits among weighted trials.
#[derive(Clone, Copy, Debug)]
struct Share {
    trials: f64,
    hits: f64,
}

impl Share {
    fn add(&mut self, hit: bool, forget: f64) {
        self.trials = self.trials * (1.0 - forget) + 1.0;
        self.hits = kept(self.hits, 1.0 - forget) + f64::from(u8::from(hit));
    }

    fn value(self) -> f64 {
        self.hits / self.trials
    }
}

/// What one decision assumes about the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Losses {
    /// Share of datagrams that are lost, biased upwards.
    pub(crate) rate: f64,
    /// The share of datagrams that are lost, without bias.
    pub(crate) mean: f64,
    /// Probability that a datagram is lost after one that arrived.
    pub(crate) after_arrival: f64,
    /// Probability that a datagram is lost after one that was lost.
    pub(crate) after_loss: f64,
    /// How much runs inflate the variance of the number of losses: 1 when there are none.
    pub(crate) spread: f64,
}

impl Losses {
    /// Independent losses.
    pub(crate) fn independent(rate: f64) -> Self {
        Losses {
            rate,
            mean: rate,
            after_arrival: rate,
            after_loss: rate,
            spread: 1.0,
        }
    }

    /// The losses of datagrams of which the share `part` meets these, and the others meet `others`.
    pub(crate) fn mixed(&self, part: f64, others: &Losses) -> Self {
        let mix = |mine: f64, other: f64| part * mine + (1.0 - part) * other;
        Losses {
            rate: mix(self.rate, others.rate),
            mean: mix(self.mean, others.mean),
            after_arrival: mix(self.after_arrival, others.after_arrival),
            after_loss: mix(self.after_loss, others.after_loss),
            spread: mix(self.spread, others.spread),
        }
    }

    /// Mean length of a run of losses.
    pub(crate) fn mean_run(&self) -> f64 {
        1.0 / (1.0 - self.after_loss)
    }
}

impl Default for Channel {
    /// Assumes one loss in a hundred, with the weight of a hundred datagrams.
    fn default() -> Self {
        Channel {
            slow: Share {
                trials: 100.0,
                hits: 1.0,
            },
            fast: Share {
                trials: 1.0,
                hits: 0.01,
            },
            after_loss: Share {
                trials: 1.0,
                hits: 1.0,
            },
            last_lost: false,
        }
    }
}

impl Channel {
    /// The next datagram in order of sending arrived or was lost.
    pub(crate) fn record(&mut self, lost: bool) {
        self.slow.add(lost, SLOW);
        self.fast.add(lost, FAST);
        if self.last_lost {
            self.after_loss.add(!lost, SLOW);
        }
        self.last_lost = lost;
    }

    /// The losses to plan with. The slow counter is raised by half its standard deviation. The fast
    /// counter takes over if it is higher even when lowered by two of its own.
    pub(crate) fn losses(&self) -> Losses {
        let slow = self.slow.value();
        let recovery = self
            .after_loss
            .value()
            .max(LEAST_RECOVERY)
            .min((1.0 - slow).max(LEAST_RECOVERY));
        let correlation = (1.0 - recovery * slow / (1.0 - slow).max(1e-9) - recovery).max(0.0);
        let spread = (1.0 + correlation) / (1.0 - correlation).max(1e-9);
        let raised = slow + 0.5 * (spread * slow * (1.0 - slow) * SLOW).sqrt();
        let fast = self.fast.value();
        let lowered = fast - 2.0 * (spread * (fast + 0.005) * (1.0 - fast).max(0.0) * FAST).sqrt();
        let rate = raised.max(lowered).min(HIGHEST);
        Losses {
            rate,
            mean: slow,
            after_arrival: (recovery * rate / (1.0 - rate)).min(0.9),
            after_loss: 1.0 - recovery,
            spread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    #[test]
    fn independent_losses_are_seen_as_such_and_somewhat_overestimated() {
        let (mut channel, mut state, mut sum) = (Channel::default(), 1, 0.0);
        for i in 0..200_000 {
            channel.record(random(&mut state) < 0.1);
            if i > 10_000 {
                sum += channel.losses().rate / 190_000.0;
            }
        }
        assert!((0.10..0.115).contains(&sum), "{sum}");
        let losses = channel.losses();
        assert!(losses.spread < 1.3, "{losses:?}");
    }

    #[test]
    fn runs_are_told_from_single_losses() {
        let (mut channel, mut state, mut bad) = (Channel::default(), 7, false);
        for _ in 0..50_000 {
            let x = random(&mut state);
            bad = if bad { x >= 0.25 } else { x < 0.25 / 9.0 };
            channel.record(bad);
        }
        let losses = channel.losses();
        assert!((3.0..5.5).contains(&losses.mean_run()), "{losses:?}");
        assert!((4.0..9.0).contains(&losses.spread), "{losses:?}");
    }

    #[test]
    fn a_rising_rate_is_noticed_within_a_hundred_datagrams() {
        let mut channel = Channel::default();
        (0..5000).for_each(|_| channel.record(false));
        let before = channel.losses().rate;
        (0..100).for_each(|i| channel.record(i % 4 == 0));
        let after = channel.losses().rate;
        assert!(before < 0.003 && after > 0.08, "{before} {after}");
    }

    #[test]
    fn losses_of_long_ago_are_forgotten_whole() {
        let mut channel = Channel::default();
        channel.record(true);
        (0..100_000).for_each(|_| channel.record(false));
        let losses = channel.losses();
        assert_eq!((losses.rate, losses.mean), (0.0, 0.0));
    }

    #[test]
    fn a_dead_path_gives_finite_numbers() {
        let mut channel = Channel::default();
        (0..100_000).for_each(|_| channel.record(true));
        let losses = channel.losses();
        assert!(
            losses.rate <= HIGHEST && losses.spread.is_finite(),
            "{losses:?}"
        );
        assert!(losses.after_loss < 1.0 && losses.after_arrival <= 0.9);
    }
}
