//! Parameters for a latency budget, a bit rate and a loss.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::Serialize;
use weftline_fecframe::CodeRate;
use weftline_fecframe::sizing::{self, Rate, SizingError};
use weftline_netem::LossModel;

use super::run::run;
use super::{Code, Experiment, Outcome, StudyError, WindowCode};
use crate::sim::in_parallel;

/// Tried code rates, from the cheapest to the lowest that RFC 6363 allows.
const CODE_RATES: [(u32, u32); 8] = [
    (19, 20),
    (9, 10),
    (6, 7),
    (4, 5),
    (3, 4),
    (2, 3),
    (3, 5),
    (1, 2),
];
/// Tried encoding windows, in quarters of dw: those that are usually best come first.
const QUARTERS: [u32; 4] = [4, 3, 2, 1];
/// The default code rate of `cast`.
const USUAL: (u32, u32) = (2, 3);
/// Tried densities, from the sparsest.
const DENSITIES: [u8; 3] = [1, 3, 7];
/// Octets of a symbol: the residual loss does not depend on them.
const SYMBOL_SIZE: u16 = 16;

/// The requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// How late a datagram may be recovered.
    pub latency: Duration,
    /// Bit/s of the flow.
    pub rate: u64,
    /// Octets of its coded datagrams: an ADU plus 3.
    pub symbol_size: u16,
    /// The loss of the path.
    pub loss: LossModel,
    /// The share of datagrams that may stay lost.
    pub residual: f64,
}

/// The residual loss of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Left {
    /// Share of symbols not known within dw ticks.
    pub residual_loss: f64,
    /// Its standard error.
    pub stderr: f64,
    /// Mean added in-order latency, in ticks.
    pub latency: f64,
}

/// A window and its residual loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// ew: symbols that a repair covers.
    pub encoding_window: u16,
    /// Its residual loss.
    pub left: Left,
}

/// The cheapest setting, over GF(2^8) and dense, and the residual losses of others at the same
/// code rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// dw: the latency in symbols.
    pub decoding_window: u32,
    /// Whether its loss is within the limit; if not, it is the best setting of the lowest code
    /// rate.
    pub enough: bool,
    /// Source symbols as a share of all symbols.
    pub code_rate: String,
    /// ew: the best one tried.
    pub encoding_window: u16,
    /// Its residual loss.
    pub left: Left,
    /// All windows tried at this code rate, the shortest first.
    pub windows: Vec<Tried>,
    /// Residual loss of `weftline cast` by default: code rate 2/3, ew = dw / 2.
    pub usual: Left,
    /// The recommended setting over GF(2), half dense.
    pub binary: Left,
    /// The lowest of the density thresholds 1, 3 and 7 over GF(2^8) within the limit.
    pub sparsest: Option<u8>,
    /// Reed-Solomon in blocks of three quarters of dw, if such blocks exist.
    pub block: Option<Left>,
}

/// Why there is no recommendation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WishError {
    /// Latency, rate and symbol size give no window.
    #[error(transparent)]
    Sizing(#[from] SizingError),
    /// A simulation failed.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// Finds settings by simulating `symbols` symbols of each candidate, with one seed for all;
/// requirements with the same candidates are simulated once.
///
/// Code rates are searched from 19/20 to 1/2. The first one in which a window of a quarter, half,
/// three quarters or all of dw is within the limit is chosen, with the best of them.
///
/// # Errors
/// A latency has room for fewer than two symbols or for too many, or a codec is wrong.
pub fn recommend(
    wishes: &[Wish],
    symbols: u64,
    seed: u64,
    jobs: NonZeroUsize,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<Vec<Recommendation>, WishError> {
    let mut searches: Vec<Search> = Vec::new();
    let mut places = Vec::new();
    for wish in wishes {
        let rate = Rate::ConstantInput(wish.rate);
        let sizes = sizing::sizes(wish.latency, rate, wish.symbol_size, 128)?;
        let search = Search {
            decoding_window: sizes.decoding_window,
            loss: wish.loss.clone(),
            residual: wish.residual,
            symbols,
            seed,
        };
        let known = searches.iter().position(|other| *other == search);
        places.push(known.unwrap_or(searches.len()));
        if known.is_none() {
            searches.push(search);
        }
    }
    let found = in_parallel(&searches, jobs.get(), progress, Search::run)?;
    Ok(places.into_iter().map(|at| found[at].clone()).collect())
}

#[derive(Clone, Debug, PartialEq)]
struct Search {
    decoding_window: u32,
    loss: LossModel,
    residual: f64,
    symbols: u64,
    seed: u64,
}

impl Search {
    fn run(&self) -> Result<Recommendation, StudyError> {
        let rates = CODE_RATES.map(|(source, total)| CodeRate::new(source, total));
        // Less repair than loss cannot be enough.
        let most = 1.0 - self.loss.mean_loss();
        let possible = |rate: &CodeRate| rate.source() * 2 == rate.total() || rate.as_f64() < most;
        let rates: Vec<CodeRate> = rates.into_iter().flatten().filter(possible).collect();
        // The cheapest rate that is enough, if more repair never leaves more loss.
        let (mut low, mut high) = (0, rates.len() - 1);
        while low < high {
            let middle = (low + high) / 2;
            match self.try_windows(rates[middle], true)?.1 {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        let rate = rates[low];
        let (mut tried, enough) = self.try_windows(rate, false)?;
        let better = |a: &&Tried, b: &&Tried| {
            let losses = a.left.residual_loss.total_cmp(&b.left.residual_loss);
            losses.then(a.left.latency.total_cmp(&b.left.latency))
        };
        let best = tried.iter().min_by(better).copied().unwrap_or(tried[0]);
        tried.reverse();
        let dense = WindowCode::new(best.encoding_window, self.decoding_window);
        let mut sparsest = None;
        for density_threshold in DENSITIES {
            let sparse = WindowCode {
                density_threshold,
                ..dense
            };
            let left = self.simulate(Code::Window(sparse), rate)?;
            if left.residual_loss <= self.residual {
                sparsest = Some(density_threshold);
                break;
            }
        }
        let binary = self.simulate(Code::Window(dense.binary()), rate)?;
        let half = (self.decoding_window / 2).clamp(1, 4095) as u16;
        let usual = Code::Window(WindowCode::new(half, self.decoding_window));
        let usual_rate = CodeRate::new(USUAL.0, USUAL.1).unwrap_or(rate);
        let usual = self.simulate(usual, usual_rate)?;
        let block = u16::try_from(self.decoding_window * 3 / 4).map(Code::Block);
        let block = block.ok().filter(|block| block.check(rate).is_ok());
        Ok(Recommendation {
            decoding_window: self.decoding_window,
            enough,
            code_rate: rate.to_string(),
            encoding_window: best.encoding_window,
            left: best.left,
            windows: tried,
            usual,
            binary,
            sparsest,
            block: block.map(|block| self.simulate(block, rate)).transpose()?,
        })
    }

    /// Tries windows at a code rate, the longest first, and says whether one is within the limit.
    /// With `hasty`, stops after that one.
    fn try_windows(&self, rate: CodeRate, hasty: bool) -> Result<(Vec<Tried>, bool), StudyError> {
        let (mut tried, mut enough) = (Vec::<Tried>::new(), false);
        for quarters in QUARTERS {
            let window = (self.decoding_window * quarters / 4).clamp(1, 4095) as u16;
            if tried.iter().any(|other| other.encoding_window == window) {
                continue;
            }
            let code = WindowCode::new(window, self.decoding_window);
            let left = self.simulate(Code::Window(code), rate)?;
            tried.push(Tried {
                encoding_window: window,
                left,
            });
            enough |= left.residual_loss <= self.residual;
            if enough && hasty {
                break;
            }
        }
        Ok((tried, enough))
    }

    fn simulate(&self, code: Code, code_rate: CodeRate) -> Result<Left, StudyError> {
        let experiment = Experiment {
            code,
            code_rate,
            decoding_window: self.decoding_window,
            loss: self.loss.clone(),
            symbols: self.symbols,
            symbol_size: SYMBOL_SIZE,
        };
        experiment.check()?;
        let outcome = Outcome::new(&experiment, &[(self.seed, run(&experiment, self.seed)?)]);
        Ok(Left {
            residual_loss: outcome.residual_loss,
            stderr: outcome.on_time.stderr,
            latency: outcome.latency.mean,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(latency: u64, loss: &str) -> Wish {
        Wish {
            latency: Duration::from_millis(latency),
            rate: 4_000_000,
            symbol_size: 1250,
            loss: loss.parse().unwrap(),
            residual: 0.002,
        }
    }

    #[test]
    fn more_loss_needs_more_repair_and_more_time_needs_less() {
        let jobs = NonZeroUsize::MIN;
        let wishes = [
            wish(100, "iid:1%"),
            wish(100, "iid:10%"),
            wish(25, "iid:10%"),
            wish(100, "iid:60%"),
        ];
        let found = recommend(&wishes, 20_000, 1, jobs, |_, _| {}).unwrap();
        let rate = |i: usize| found[i].code_rate.parse::<CodeRate>().unwrap().as_f64();
        assert_eq!(found[0].decoding_window, 40);
        assert!(rate(0) > rate(1) && rate(1) > rate(2), "{found:#?}");
        assert!(
            found[..3]
                .iter()
                .all(|f| f.enough && f.left.residual_loss <= 0.002)
        );
        // The loss is greater than repair can recover.
        assert!(!found[3].enough && rate(3) == 0.5 && found[3].left.residual_loss > 0.1);
        // Other windows and GF(2) are no better, if repair can recover the losses at all.
        for found in &found[..3] {
            let (left, binary) = (found.left, found.binary);
            let windows: Vec<u16> = found.windows.iter().map(|w| w.encoding_window).collect();
            let quarters = [1, 2, 3, 4].map(|n| (found.decoding_window * n / 4) as u16);
            assert_eq!(windows, quarters);
            let best = |w: &Tried| w.left.residual_loss >= left.residual_loss;
            assert!(found.windows.iter().all(best));
            let spread = binary.stderr.hypot(left.stderr);
            assert!(binary.residual_loss + 4.0 * spread >= left.residual_loss);
        }
    }

    #[test]
    fn a_latency_without_room_for_symbols_is_refused() {
        let refused = recommend(&[wish(1, "iid:1%")], 1000, 1, NonZeroUsize::MIN, |_, _| {});
        assert!(matches!(refused, Err(WishError::Sizing(_))));
    }
}
