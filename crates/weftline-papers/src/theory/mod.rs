//! The papers' formulas as functions.
//!
//! Each item's documentation names the paper and the equation. Where a paper errs, the function gives
//! what is true, and what is printed has a name of its own that begins with `printed`. Besides, what
//! the papers lack: exact in-order delays instead of bounds, busy periods when losses come in runs,
//! and the floors under any code.
//!
//! | module | paper |
//! | --- | --- |
//! | [`streaming`], [`markov`] | Karzand, Leith, Cloud, Medard: Design of FEC for Low Delay in 5G |
//! | [`rlnc`], [`dcf`] | Garrido et al.: Providing Reliable Services over Wireless Networks Using a Low Overhead RLC Scheme; Bianchi 2000 |
//! | [`fecframe`] | Roca et al.: Block or Convolutional AL-FEC Codes?; RFC 8681, appendix C |
//! | [`rest`], [`floor`] | Brulatout et al.: Reliable Streaming Protocol for Lossy Networks; limits for any code |

mod binomial;
pub mod dcf;
pub mod fecframe;
pub mod floor;
mod loss;
pub mod markov;
mod matrix;
pub mod rest;
pub mod rlnc;
pub mod streaming;

pub use loss::SlotLoss;

/// Why a formula has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TheoryError {
    /// An argument is outside of what the formula is for.
    #[error("{name} must be {expected}, not {got}")]
    Range {
        /// The argument.
        name: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it was.
        got: f64,
    },
    /// More is lost than the repairs make up for: the wait grows without end.
    #[error(
        "unstable: {lost:.4} symbols are lost for each repair symbol that is sent, losses of repairs \
         included; below 1 is needed: send repairs more often (a smaller spacing, a larger share)"
    )]
    Overloaded {
        /// Spacing times loss rate.
        lost: f64,
    },
    /// No such sizes of a FECFRAME window.
    #[error(transparent)]
    Sizing(#[from] weftline_fecframe::sizing::SizingError),
    /// No such code rate.
    #[error(transparent)]
    CodeRate(#[from] weftline_fecframe::CodeRateError),
}

/// `got` if `fits`, else the error that says what was expected.
fn within<T: Copy + Into<f64>>(
    name: &'static str,
    got: T,
    fits: bool,
    expected: &'static str,
) -> Result<T, TheoryError> {
    let error = TheoryError::Range {
        name,
        expected,
        got: got.into(),
    };
    if fits { Ok(got) } else { Err(error) }
}
