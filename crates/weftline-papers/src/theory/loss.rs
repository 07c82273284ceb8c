//! The erasures of a slotted channel.

use core::fmt;
use core::str::FromStr;

use super::{TheoryError, within};

/// The erasures of a slotted channel, as the papers define them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlotLoss {
    /// Each slot independently.
    Iid {
        /// Probability of an erasure.
        loss: f64,
    },
    /// Karzand et al., equation 9: a bad state that always erases and a good one that never does.
    /// The state may change before each slot; it starts good.
    Markov {
        /// Long-run share of slots in the bad state, pi_B = gamma / (gamma + beta).
        bad_share: f64,
        /// Mean run of erasures in slots, 1 / beta.
        mean_burst: f64,
    },
}

impl SlotLoss {
    /// Long-run share of slots erased.
    pub fn rate(self) -> f64 {
        match self {
            Self::Iid { loss } => loss,
            Self::Markov { bad_share, .. } => bad_share,
        }
    }

    /// Probabilities to leave the good state (gamma) and the bad one (beta) before a slot.
    pub fn transitions(self) -> (f64, f64) {
        match self {
            Self::Iid { loss } => (loss, 1.0 - loss),
            Self::Markov {
                bad_share,
                mean_burst,
            } => (bad_share / (1.0 - bad_share) / mean_burst, 1.0 / mean_burst),
        }
    }

    /// Itself, if the parameters are valid.
    ///
    /// # Errors
    /// [`TheoryError::Range`].
    pub fn checked(self) -> Result<Self, TheoryError> {
        match self {
            Self::Iid { loss } => {
                let fits = (0.0..1.0).contains(&loss);
                within("loss", loss, fits, "at least 0 and below 1")?;
            }
            Self::Markov {
                bad_share,
                mean_burst,
            } => {
                let fits = (0.0..1.0).contains(&bad_share);
                within("the bad share", bad_share, fits, "at least 0 and below 1")?;
                let fits = mean_burst.is_finite() && mean_burst >= 1.0;
                within("the mean burst", mean_burst, fits, "at least 1 slot")?;
                let leave = self.transitions().0;
                let expected = "long enough: runs this short cannot add up to that share";
                within("the mean burst", mean_burst, leave <= 1.0, expected)?;
            }
        }
        Ok(self)
    }
}

impl FromStr for SlotLoss {
    type Err = String;

    /// `0.05`, `5%`, `iid:0.05` or `markov:PI_B,E_L`.
    fn from_str(text: &str) -> Result<Self, String> {
        let syntax = || format!("`{text}` is not a loss: give 0.05, iid:0.05 or markov:0.05,2");
        let number = |text: &str| {
            let (text, unit) = match text.trim().strip_suffix('%') {
                Some(percent) => (percent, 100.0),
                None => (text.trim(), 1.0),
            };
            text.parse::<f64>().map(|n| n / unit).map_err(|_| syntax())
        };
        let loss = match text.trim().split_once(':') {
            None => Self::Iid {
                loss: number(text)?,
            },
            Some(("iid", loss)) => Self::Iid {
                loss: number(loss)?,
            },
            Some(("markov", both)) => {
                let (share, burst) = both.split_once(',').ok_or_else(syntax)?;
                Self::Markov {
                    bad_share: number(share)?,
                    mean_burst: number(burst)?,
                }
            }
            Some(_) => return Err(syntax()),
        };
        loss.checked().map_err(|e| e.to_string())
    }
}

impl fmt::Display for SlotLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iid { loss } => write!(f, "iid:{loss}"),
            Self::Markov {
                bad_share,
                mean_burst,
            } => write!(f, "markov:{bad_share},{mean_burst}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_written() {
        for text in ["iid:0.05", "markov:0.1,4"] {
            assert_eq!(text.parse::<SlotLoss>().unwrap().to_string(), text);
        }
        assert_eq!("5%".parse(), Ok(SlotLoss::Iid { loss: 0.05 }));
        for bad in [
            "",
            "1",
            "-0.1",
            "NaN",
            "ge:1",
            "markov:0.1",
            "markov:0.9,2",
            "markov:0.1,0.5",
        ] {
            assert!(bad.parse::<SlotLoss>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_chain_has_the_requested_means() {
        let loss: SlotLoss = "markov:0.1,4".parse().unwrap();
        let (gamma, beta) = loss.transitions();
        assert!((gamma / (gamma + beta) - 0.1).abs() < 1e-15 && (1.0 / beta - 4.0).abs() < 1e-15);
    }
}
