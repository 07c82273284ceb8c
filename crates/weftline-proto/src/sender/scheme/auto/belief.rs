//! What the sender believes about the receiver: how many equations it lacks.
//!
//! The last report states the deficit at its time. Datagrams sent since then may have arrived or not.
//! The belief is the probability of each deficit together with the state of the path after the last
//! datagram. It is computed, not learned.

use super::channel::Losses;

/// Larger deficits are counted as this.
const LARGEST: usize = 64;
/// Probabilities below this are dropped.
const NEGLIGIBLE: f64 = 1e-9;

/// Probability of each deficit and state of the path.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// For each deficit, the probabilities that the last datagram arrived and that it was lost.
    at: [[f64; 2]; LARGEST + 1],
    /// Deficits above this have no probability.
    top: usize,
}

/// What a datagram does to the deficit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// It raises the deficit if it is lost: it has a new source symbol.
    pub(super) is_source: bool,
    /// By how much it lowers the deficit if it arrives: repair symbols, or a source symbol sent again.
    pub(super) repairs: usize,
}

impl Belief {
    /// The receiver certainly lacks `deficit` equations.
    pub(super) fn certain(deficit: u64) -> Self {
        let top = deficit.min(LARGEST as u64) as usize;
        let mut at = [[0.0; 2]; LARGEST + 1];
        at[top][0] = 1.0;
        Belief { at, top }
    }

    /// A datagram with this effect was sent.
    pub(super) fn step(&mut self, effect: Effect, losses: &Losses) {
        // In place: what a deficit becomes is never above the next one.
        let mut raised = 0.0;
        for deficit in 0..=self.top {
            let [good, bad] = self.at[deficit];
            let lost = good * losses.after_arrival + bad * losses.after_loss;
            let arrived = good + bad - lost;
            let stays = match effect.is_source {
                true => core::mem::replace(&mut raised, lost),
                false => lost,
            };
            self.at[deficit] = [0.0, stays];
            self.at[deficit.saturating_sub(effect.repairs)][0] += arrived;
        }
        self.at[(self.top + 1).min(LARGEST)][1] += raised;
        if effect.is_source {
            self.top = (self.top + 1).min(LARGEST);
        }
        while self.top > 0 && self.at[self.top][0] + self.at[self.top][1] < NEGLIGIBLE {
            // Moves it to the next lower deficit, so that the probabilities still add up to one.
            let [good, bad] = core::mem::take(&mut self.at[self.top]);
            self.top -= 1;
            self.at[self.top][0] += good;
            self.at[self.top][1] += bad;
        }
    }

    /// The next datagram takes another path, where the last one was lost with this probability.
    pub(super) fn change_path(&mut self, lost: f64) {
        for [good, bad] in &mut self.at[..=self.top] {
            let sum = *good + *bad;
            (*good, *bad) = (sum * (1.0 - lost), sum * lost);
        }
    }

    /// The worth of one more repair symbol: the probability that it arrives and is needed, weighted
    /// by how much the wait grows with the deficit (a stream that lacks d equations waits in
    /// proportion to d squared, so the d-th repair saves 2d - 1). `others` share its datagram.
    pub(super) fn worth(&self, losses: &Losses, others: usize) -> f64 {
        let arrives = [1.0 - losses.after_arrival, 1.0 - losses.after_loss];
        let deficits = self.at[..=self.top].iter().skip(others).enumerate().skip(1);
        deficits
            .map(|(deficit, [good, bad])| {
                (good * arrives[0] + bad * arrives[1]) * (2 * deficit - 1) as f64
            })
            .sum()
    }

    /// Probability that the receiver lacks something, that the last datagram was lost, and that the next one
    /// arrives.
    pub(super) fn unheard(&self, losses: &Losses) -> f64 {
        let lost: f64 = self.at[1..=self.top].iter().map(|[_, bad]| bad).sum();
        lost * (1.0 - losses.after_loss)
    }

    /// Probability that the receiver lacks anything.
    #[cfg(test)]
    pub(super) fn short(&self) -> f64 {
        self.at[1..=self.top].iter().flatten().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Effect = Effect {
        is_source: true,
        repairs: 0,
    };
    const REPAIR: Effect = Effect {
        is_source: false,
        repairs: 1,
    };

    #[test]
    fn a_source_and_a_repair_change_the_belief_as_probability_theory_says() {
        let losses = Losses::independent(0.1);
        let mut belief = Belief::certain(0);
        assert_eq!(belief.worth(&losses, 0), 0.0);
        belief.step(SOURCE, &losses);
        assert!((belief.short() - 0.1).abs() < 1e-12);
        assert!((belief.worth(&losses, 0) - 0.09).abs() < 1e-12);
        belief.step(REPAIR, &losses);
        assert!((belief.short() - 0.01).abs() < 1e-12);
        // Two source symbols and one repair: the deficit is zero if enough of them arrive.
        belief.step(SOURCE, &losses);
        let short = 0.01 + 0.99 * 0.1;
        assert!((belief.short() - short).abs() < 1e-12);
    }

    #[test]
    fn a_repair_that_rides_is_lost_with_its_source_symbol() {
        let losses = Losses::independent(0.1);
        let mut belief = Belief::certain(1);
        let riding = Effect {
            is_source: true,
            repairs: 2,
        };
        // It arrives, and one of the two repairs is needed; or the deficit is 2.
        belief.step(riding, &losses);
        assert!((belief.short() - 0.1).abs() < 1e-12);
        assert!((belief.worth(&losses, 0) - 0.09 * 3.0).abs() < 1e-12);
        // One of two in the same datagram is left for the second equation.
        assert!((belief.worth(&losses, 1) - 0.09).abs() < 1e-12);
        assert_eq!(belief.worth(&losses, 2), 0.0);
    }

    #[test]
    fn after_a_loss_the_next_datagram_of_a_bursty_path_is_doubtful() {
        let losses = Losses {
            rate: 0.1,
            mean: 0.1,
            after_arrival: 0.03,
            after_loss: 0.75,
            spread: 6.0,
        };
        let mut belief = Belief::certain(0);
        belief.step(SOURCE, &losses);
        belief.step(SOURCE, &losses);
        let both = 0.03 * 0.75;
        let one = 0.03 * 0.25 + 0.97 * 0.03;
        assert!((belief.short() - both - one).abs() < 1e-12);
        // The last one was lost, and a third arrives.
        let last = (both + 0.97 * 0.03) * 0.25;
        assert!((belief.unheard(&losses) - last).abs() < 1e-12);
    }

    #[test]
    fn probabilities_add_up_to_one_after_any_datagrams() {
        let losses = Losses::independent(0.3);
        let mut belief = Belief::certain(60);
        for i in 0..5000 {
            let effect = match i % 7 {
                0..4 => SOURCE,
                4 => Effect::default(),
                _ => REPAIR,
            };
            belief.step(effect, &losses);
            let sum: f64 = belief.at.iter().flatten().sum();
            assert!((sum - 1.0).abs() < 1e-6, "{sum} after {i}");
        }
    }
}
