//! The link of a REST stream: which of its packets are lost.

use super::super::channel::{Channel, Draws, threshold};
use super::super::{SlotError, within};
use crate::theory::SlotLoss;

/// The loss model of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Slots of a channel.
    Slots(SlotLoss),
    /// The paper's bursty link of Figs 4 to 8: after a packet that arrived, with probability
    /// `chance`, the next 1 to `longest` packets are lost, each number with the same probability.
    Bursts {
        /// Probability of a burst after a packet that arrived.
        chance: f64,
        /// Packets of the longest burst.
        longest: u32,
    },
    /// The paper's sinusoid of Fig. 4: packets are lost independently, with a probability that
    /// swings between two values and begins at their mean, rising.
    Sine {
        /// The least probability.
        lowest: f64,
        /// The greatest probability.
        highest: f64,
        /// Seconds of a whole wave.
        period_s: f64,
    },
}

impl Loss {
    pub(super) fn check(self) -> Result<(), SlotError> {
        match self {
            Loss::Slots(loss) => {
                let rate = loss.checked()?.rate();
                within("the loss", rate, rate <= 0.95, "at most 0.95")
            }
            Loss::Bursts { chance, longest } => {
                let fits = (0.0..=0.5).contains(&chance);
                within("the chance of a burst", chance, fits, "from 0 to 0.5")?;
                let fits = (1..=10_000).contains(&longest);
                within("the longest burst", longest, fits, "from 1 to 10000")
            }
            Loss::Sine {
                lowest,
                highest,
                period_s,
            } => {
                let fits = (0.0..=highest).contains(&lowest);
                within("the lowest loss", lowest, fits, "from 0 to the highest")?;
                let fits = highest <= 0.95;
                within("the highest loss", highest, fits, "at most 0.95")?;
                let fits = (0.01..=86_400.0).contains(&period_s);
                within("the period", period_s, fits, "from 0.01 to 86400 s")
            }
        }
    }

    /// The mean share of packets that are lost.
    pub fn mean(self) -> f64 {
        match self {
            Loss::Slots(loss) => loss.rate(),
            Loss::Bursts { chance, longest } => {
                let lost = chance * f64::from(longest + 1) / 2.0;
                lost / (1.0 + lost)
            }
            Loss::Sine {
                lowest, highest, ..
            } => (lowest + highest) / 2.0,
        }
    }
}

/// A link that loses packets.
pub(super) struct Link {
    loss: Loss,
    slots: Option<Channel>,
    draws: Draws,
    /// Packets that the present burst still takes.
    left: u64,
}

impl Link {
    pub(super) fn new(loss: Loss, draws: Draws) -> Self {
        let slots = match loss {
            Loss::Slots(loss) => Some(Channel::new(loss, draws.clone())),
            _ => None,
        };
        Self {
            loss,
            slots,
            draws,
            left: 0,
        }
    }

    /// Whether the next packet, sent at `now` seconds, is lost.
    pub(super) fn next_is_lost(&mut self, now: f64) -> bool {
        if let Some(slots) = &mut self.slots {
            return slots.next_is_lost();
        }
        match self.loss {
            Loss::Slots(_) => false,
            Loss::Bursts { .. } if self.left > 0 => {
                self.left -= 1;
                true
            }
            Loss::Bursts { chance, longest } => {
                if self.draws.chance(threshold(chance)) {
                    self.left = 1 + self.draws.below(longest.into());
                }
                false
            }
            Loss::Sine {
                lowest,
                highest,
                period_s,
            } => {
                let wave = (std::f64::consts::TAU * now / period_s).sin();
                let p = lowest + (highest - lowest) * (1.0 + wave) / 2.0;
                self.draws.chance(threshold(p))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Loss, packets: u32) -> Vec<bool> {
        let mut link = Link::new(loss, Draws::new(1, 0));
        (0..packets)
            .map(|n| link.next_is_lost(f64::from(n) * 0.008))
            .collect()
    }

    #[test]
    fn every_link_loses_its_mean_share() {
        let sine = Loss::Sine {
            lowest: 0.0,
            highest: 0.2,
            period_s: 8.0,
        };
        let bursts = Loss::Bursts {
            chance: 0.01,
            longest: 20,
        };
        for loss in [Loss::Slots("0.15".parse().unwrap()), bursts, sine] {
            let all = lost(loss, 400_000);
            let share = all.iter().filter(|l| **l).count() as f64 / all.len() as f64;
            // The bursty link's mean has a standard deviation of 0.0016.
            assert!((share - loss.mean()).abs() < 0.006, "{loss:?}: {share}");
        }
        assert!((bursts.mean() - 10.5 / 110.5).abs() < 1e-12);
    }

    #[test]
    fn the_sinusoid_swings_between_its_bounds() {
        let sine = Loss::Sine {
            lowest: 0.0,
            highest: 0.2,
            period_s: 8.0,
        };
        // A wave has 1000 packets: its crest is packet 250, its trough packet 750.
        let all = lost(sine, 200_000);
        let near = |middle: usize| {
            let of = |wave: &[bool]| {
                wave[middle - 50..middle + 50]
                    .iter()
                    .filter(|l| **l)
                    .count()
            };
            all.chunks_exact(1000).map(of).sum::<usize>() as f64 / 20_000.0
        };
        assert!((near(250) - 0.2).abs() < 0.02 && near(750) < 0.01);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let sine = |lowest, highest, period_s| Loss::Sine {
            lowest,
            highest,
            period_s,
        };
        assert!(sine(0.0, 0.2, 10.0).check().is_ok());
        assert!(sine(0.3, 0.2, 10.0).check().is_err());
        assert!(sine(0.0, 0.99, 10.0).check().is_err());
        assert!(sine(0.0, 0.2, 0.0).check().is_err());
        let bursts = Loss::Bursts {
            chance: 0.6,
            longest: 20,
        };
        assert!(bursts.check().is_err());
    }
}
