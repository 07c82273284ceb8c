//! Loss models, and the patterns of losses that they give.

use std::sync::Arc;

use crate::random::Stream;

/// Which packets a link loses.
///
/// A probability outside 0 to 1 counts as the nearer bound, NaN as 0. The text
/// form (`FromStr`, `Display`) is listed in the crate documentation.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum LossModel {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost with probability `p`, independently of the others.
    Iid {
        /// Loss probability.
        p: f64,
    },
    /// Losses come in runs: a two-state Markov chain.
    GilbertElliott(GilbertElliott),
    /// After a packet that passed, with probability `chance`, the next 1 to `longest` packets are
    /// lost, each number with the same probability; a longest burst of 0 loses nothing.
    UniformBursts {
        /// Probability of a burst after a packet that passed.
        chance: f64,
        /// Packets of the longest burst.
        longest: u32,
    },
    /// Packets number n, 2n, 3n, ... are lost; 0 loses nothing.
    Periodic {
        /// Distance between losses, in packets.
        n: u64,
    },
    /// A recorded pattern, `true` for lost, which starts again when it ends. An
    /// empty pattern loses nothing.
    Trace(Arc<[bool]>),
}

impl LossModel {
    /// Independent losses with probability `p`.
    pub const fn iid(p: f64) -> Self {
        Self::Iid { p }
    }

    /// Bursts by mean loss rate and mean burst length; see [`GilbertElliott::from_mean`].
    pub fn bursts(mean_loss: f64, mean_burst: f64) -> Result<Self, FromMeanError> {
        GilbertElliott::from_mean(mean_loss, mean_burst).map(Self::GilbertElliott)
    }

    /// A recorded pattern, `true` for lost.
    pub fn trace(lost: impl IntoIterator<Item = bool>) -> Self {
        Self::Trace(lost.into_iter().collect())
    }

    /// Long-run share of packets lost, 0 to 1.
    pub fn mean_loss(&self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Iid { p } => probability(*p),
            Self::GilbertElliott(ge) => ge.mean_loss(),
            Self::UniformBursts { longest: 0, .. } => 0.0,
            Self::UniformBursts { chance, longest } => {
                let lost = probability(*chance) * f64::from(longest + 1) / 2.0;
                lost / (1.0 + lost)
            }
            Self::Periodic { n: 0 } => 0.0,
            Self::Periodic { n } => 1.0 / *n as f64,
            Self::Trace(lost) if lost.is_empty() => 0.0,
            Self::Trace(lost) => lost.iter().filter(|l| **l).count() as f64 / lost.len() as f64,
        }
    }
}

/// The four-parameter Gilbert-Elliott channel (Elliott 1963; the simple channel
/// of Gilbert 1960 has `loss_good` 0 and, here, `loss_bad` 1).
///
/// Each packet meets the loss probability of the current state, then the state
/// may change. The first packet's state is drawn from the stationary distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability of going from good to bad, per packet.
    pub p: f64,
    /// Probability of going from bad to good, per packet.
    pub r: f64,
    /// Loss probability in the good state (Elliott's 1 - k).
    pub loss_good: f64,
    /// Loss probability in the bad state (Elliott's 1 - h).
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// The simple channel (bad always loses, good never) with the given mean loss
    /// rate and mean burst length in packets.
    ///
    /// A burst lasts 1/r packets on average and the bad state holds the share
    /// p/(p+r) of all packets, so r = 1/burst and p = r * loss / (1 - loss).
    /// Independent loss has bursts of 1/(1 - loss); shorter ones spread losses out
    /// more evenly than chance does, down to loss/(1 - loss), where p reaches 1.
    ///
    /// # Errors
    /// When no chain has these means.
    pub fn from_mean(loss: f64, burst: f64) -> Result<Self, FromMeanError> {
        if !(0.0..1.0).contains(&loss) {
            return Err(FromMeanError::Loss { loss });
        }
        if !(burst >= 1.0 && burst.is_finite()) {
            return Err(FromMeanError::Burst { burst });
        }
        let shortest = loss / (1.0 - loss);
        if burst < shortest {
            return Err(FromMeanError::TooShort {
                loss,
                burst,
                shortest,
            });
        }
        Ok(Self {
            p: (shortest / burst).min(1.0),
            r: 1.0 / burst,
            loss_good: 0.0,
            loss_bad: 1.0,
        })
    }

    /// Long-run share of packets spent in the bad state: p/(p+r), and 0 for a
    /// chain that never moves (it starts good).
    pub fn bad_share(&self) -> f64 {
        let (p, r) = (probability(self.p), probability(self.r));
        if p == 0.0 { 0.0 } else { p / (p + r) }
    }

    /// Long-run share of packets lost.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * probability(self.loss_bad) + (1.0 - bad) * probability(self.loss_good)
    }

    /// Mean length of a run of consecutive losses, in packets; `None` when runs
    /// never begin or never end. In stationarity runs end as often as they begin,
    /// so this is P(lost) / P(lost, and the next one is not).
    pub fn mean_burst(&self) -> Option<f64> {
        let (p, r) = (probability(self.p), probability(self.r));
        let (lg, lb) = (probability(self.loss_good), probability(self.loss_bad));
        let bad = self.bad_share();
        let after_good = (1.0 - p) * (1.0 - lg) + p * (1.0 - lb);
        let after_bad = (1.0 - r) * (1.0 - lb) + r * (1.0 - lg);
        let ends = (1.0 - bad) * lg * after_good + bad * lb * after_bad;
        (ends > 0.0).then(|| self.mean_loss() / ends)
    }
}

/// Why [`GilbertElliott::from_mean`] found no channel.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FromMeanError {
    /// The loss rate is outside 0 to 1 (1 excluded).
    #[error("mean loss must be at least 0 and below 1 (100%), got {loss}")]
    Loss {
        /// The value given.
        loss: f64,
    },
    /// A burst has at least one packet.
    #[error("mean burst must be a finite number of at least 1 packet, got {burst}")]
    Burst {
        /// The value given.
        burst: f64,
    },
    /// Bursts this short cannot add up to that much loss.
    #[error(
        "a mean burst of {burst} packets cannot reach a loss of {loss}: the gaps between bursts \
         have at least one packet; ask for bursts of at least {shortest:.3}"
    )]
    TooShort {
        /// The loss rate given.
        loss: f64,
        /// The burst length given.
        burst: f64,
        /// The shortest mean burst with this loss rate.
        shortest: f64,
    },
}

/// A loss model at work: an endless pattern of losses, which model and seed determine.
///
/// It is an iterator that never ends. A [`Link`](crate::Link) of the same seed
/// loses the same packets among those that pass its queue.
#[derive(Debug, Clone)]
pub struct Losses {
    model: LossModel,
    random: Stream,
    bad: bool,
    /// Packets decided so far; in a trace, the index of the next one; of uniform bursts, the
    /// packets that the present one still takes.
    position: u64,
}

impl Losses {
    /// Starts `model` from its stationary distribution.
    pub fn new(model: LossModel, seed: u64) -> Self {
        Self::with_stream(model, Stream::new(seed))
    }

    pub(crate) fn with_stream(model: LossModel, random: Stream) -> Self {
        let mut losses = Self {
            model: LossModel::None,
            random,
            bad: false,
            position: 0,
        };
        losses.set_model(model);
        losses
    }

    /// The model at work.
    pub fn model(&self) -> &LossModel {
        &self.model
    }

    /// Changes the model from the next packet on. The same model again keeps its state.
    pub fn set_model(&mut self, model: LossModel) {
        if model == self.model {
            return;
        }
        self.position = 0;
        self.bad = match &model {
            LossModel::GilbertElliott(ge) => self.random.chance(ge.bad_share()),
            _ => false,
        };
        self.model = model;
    }

    /// Whether the next packet is lost.
    pub fn next_is_lost(&mut self) -> bool {
        match &self.model {
            LossModel::None => false,
            LossModel::Iid { p } => self.random.chance(*p),
            LossModel::GilbertElliott(ge) => {
                let (loss, change) = if self.bad {
                    (ge.loss_bad, ge.r)
                } else {
                    (ge.loss_good, ge.p)
                };
                let lost = self.random.chance(loss);
                self.bad ^= self.random.chance(change);
                lost
            }
            LossModel::UniformBursts { .. } if self.position > 0 => {
                self.position -= 1;
                true
            }
            LossModel::UniformBursts { chance, longest } => {
                if *longest > 0 && self.random.chance(*chance) {
                    self.position = 1 + self.random.whole(u64::from(*longest) - 1);
                }
                false
            }
            LossModel::Periodic { n } => {
                if self.position >= n.saturating_sub(1) {
                    self.position = 0;
                    *n != 0
                } else {
                    self.position += 1;
                    false
                }
            }
            LossModel::Trace(lost) => {
                let Some(&now) = lost.get(self.position as usize) else {
                    return false;
                };
                self.position = (self.position + 1) % lost.len() as u64;
                now
            }
        }
    }
}

impl Iterator for Losses {
    type Item = bool;

    fn next(&mut self) -> Option<bool> {
        Some(self.next_is_lost())
    }
}

fn probability(p: f64) -> f64 {
    if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 1_000_000;

    /// Loss rate and mean run length of a million packets.
    fn measure(model: LossModel, seed: u64) -> (f64, f64) {
        let (mut lost, mut runs, mut before) = (0u64, 0u64, false);
        for l in Losses::new(model, seed).take(N) {
            lost += u64::from(l);
            runs += u64::from(l && !before);
            before = l;
        }
        (lost as f64 / N as f64, lost as f64 / runs as f64)
    }

    #[test]
    fn iid_loses_its_share_in_runs_of_chance() {
        for p in [0.001, 0.1, 0.2, 0.5] {
            let (rate, run) = measure(LossModel::iid(p), 7);
            let sigma = (p * (1.0 - p) / N as f64).sqrt();
            assert!((rate - p).abs() < 4.0 * sigma, "{rate} for {p}");
            // Runs are geometric: mean 1/(1-p), standard deviation sqrt(p)/(1-p).
            let runs = N as f64 * p * (1.0 - p);
            let sigma = p.sqrt() / (1.0 - p) / runs.sqrt();
            assert!((run - 1.0 / (1.0 - p)).abs() < 4.0 * sigma, "{run} for {p}");
        }
    }

    #[test]
    fn simple_gilbert_has_the_asked_means() {
        for (loss, burst) in [(0.01, 3.0), (0.1, 4.0), (0.2, 1.25), (0.3, 20.0)] {
            let ge = GilbertElliott::from_mean(loss, burst).unwrap();
            assert!((ge.mean_loss() - loss).abs() < 1e-12);
            assert!((ge.mean_burst().unwrap() - burst).abs() < 1e-9);
            let (rate, run) = measure(LossModel::GilbertElliott(ge), 11);
            // Variance of a two-state chain's mean: iid's times (1+c)/(1-c), where
            // c = 1-p-r is the correlation of neighbours.
            let c = 1.0 - ge.p - ge.r;
            let sigma = (loss * (1.0 - loss) / N as f64 * (1.0 + c) / (1.0 - c)).sqrt();
            assert!(
                (rate - loss).abs() < 4.0 * sigma,
                "{rate} for {loss}, {burst}"
            );
            let runs = N as f64 * loss * ge.r;
            let sigma = burst * (1.0 - ge.r).sqrt() / runs.sqrt();
            assert!(
                (run - burst).abs() < 4.0 * sigma,
                "{run} for {loss}, {burst}"
            );
        }
    }

    #[test]
    fn uniform_bursts_have_the_asked_mean() {
        let model = LossModel::UniformBursts {
            chance: 0.01,
            longest: 20,
        };
        let mean = model.mean_loss();
        assert!((mean - 10.5 / 110.5).abs() < 1e-12);
        let (rate, run) = measure(model, 5);
        // 9050 bursts of 1 to 20: each burst's length has a deviation of 5.8, and so has their number.
        assert!(
            (rate - mean).abs() < 0.005 && (run - 10.5).abs() < 0.3,
            "{rate} {run}"
        );
        let none = LossModel::UniformBursts {
            chance: 0.5,
            longest: 0,
        };
        assert_eq!(measure(none, 5).0, 0.0);
    }

    #[test]
    fn four_parameter_chain_matches_its_formulas() {
        let ge = GilbertElliott {
            p: 0.02,
            r: 0.2,
            loss_good: 0.01,
            loss_bad: 0.7,
        };
        let (rate, run) = measure(LossModel::GilbertElliott(ge), 3);
        // By hand: bad share 1/11, loss (0.7 + 10 * 0.01)/11.
        assert!((ge.mean_loss() - 0.8 / 11.0).abs() < 1e-12);
        // Neighbouring states correlate by 0.78; four sigma is below 0.003.
        assert!((rate - ge.mean_loss()).abs() < 0.003, "{rate}");
        assert!((run - ge.mean_burst().unwrap()).abs() < 0.03, "{run}");
    }

    #[test]
    fn the_first_packet_is_lost_as_often_as_any() {
        let model = LossModel::bursts(0.2, 10.0).unwrap();
        let lost = |seed: &u64| Losses::new(model.clone(), *seed).next_is_lost();
        let first = (0..10_000).filter(lost).count();
        // Four standard deviations of a binomial are 160.
        assert!(first.abs_diff(2000) < 160, "{first}");
    }

    #[test]
    fn equal_states_are_independent_loss() {
        let ge = GilbertElliott {
            p: 0.3,
            r: 0.1,
            loss_good: 0.25,
            loss_bad: 0.25,
        };
        assert!((ge.mean_loss() - 0.25).abs() < 1e-12);
        assert!((ge.mean_burst().unwrap() - 1.0 / 0.75).abs() < 1e-12);
    }

    #[test]
    fn impossible_means_are_refused_by_name() {
        let from = GilbertElliott::from_mean;
        assert!(matches!(from(1.0, 4.0), Err(FromMeanError::Loss { .. })));
        assert!(matches!(
            from(f64::NAN, 4.0),
            Err(FromMeanError::Loss { .. })
        ));
        assert!(matches!(from(0.1, 0.5), Err(FromMeanError::Burst { .. })));
        assert!(matches!(
            from(0.1, f64::INFINITY),
            Err(FromMeanError::Burst { .. })
        ));
        assert!(matches!(
            from(0.8, 3.0),
            Err(FromMeanError::TooShort { .. })
        ));
        // The edge itself: every gap is exactly one packet.
        assert_eq!(from(0.75, 3.0).unwrap().p, 1.0);
        assert_eq!(from(0.0, 3.0).unwrap().p, 0.0);
    }

    #[test]
    fn periodic_and_trace_are_exact() {
        let lost = |m: LossModel| -> Vec<usize> {
            let pattern = Losses::new(m, 0).take(12).enumerate();
            pattern.filter(|(_, l)| *l).map(|(i, _)| i + 1).collect()
        };
        assert_eq!(lost(LossModel::Periodic { n: 5 }), [5, 10]);
        assert_eq!(lost(LossModel::Periodic { n: 1 }).len(), 12);
        assert!(lost(LossModel::Periodic { n: 0 }).is_empty());
        let trace = LossModel::trace([false, true, true, false, false]);
        assert_eq!(trace.mean_loss(), 0.4);
        assert_eq!(lost(trace), [2, 3, 7, 8, 12]);
        assert!(lost(LossModel::trace([])).is_empty());
    }

    #[test]
    fn setting_the_same_model_keeps_its_place() {
        let mut losses = Losses::new(LossModel::Periodic { n: 3 }, 0);
        losses.next_is_lost();
        losses.next_is_lost();
        losses.set_model(LossModel::Periodic { n: 3 });
        assert!(losses.next_is_lost());
    }
}
