//! The papers' formulas as functions.
//!
//! Each item's documentation names the paper and the equation. If a paper is wrong, the function
//! gives the correct value, and the printed version is a separate item whose name begins with
//! `printed`. In addition there are results that the papers lack: exact in-order delays instead of
//! bounds, busy periods with losses in runs, and the floors of any code.
//!
//! | module | paper |
//! | --- | --- |
//! | [`streaming`], [`markov`], [`block`] | Karzand, Leith, Cloud, Medard: Design of FEC for Low Delay in 5G |
//! | [`rlnc`], [`dcf`] | Garrido et al.: Providing Reliable Services over Wireless Networks Using a Low Overhead RLC Scheme; Bianchi 2000 |
//! | [`fecframe`] | Roca et al.: Block or Convolutional AL-FEC Codes?; RFC 8681, appendix C |
//! | [`rest`], [`floor`] | Brulatout et al.: Reliable Streaming Protocol for Lossy Networks; limits for any code |

mod binomial;
pub mod block;
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

/// Why a formula has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TheoryError {
    /// An argument is outside the range of the formula.
    #[error("{name} must be {expected}, not {got}")]
    Range {
        /// The argument.
        name: &'static str,
        /// The allowed values.
        expected: &'static str,
        /// The given value.
        got: f64,
    },
    /// The losses exceed the repairs: the wait grows without bound.
    #[error(
        "unstable: {lost:.4} symbols are lost for each repair symbol sent, with losses of repairs \
         included; below 1 is needed: send repairs more often (a smaller spacing, a larger share)"
    )]
    Overloaded {
        /// Spacing times loss rate.
        lost: f64,
    },
    /// These sizes of a FECFRAME window are invalid.
    #[error(transparent)]
    Sizing(#[from] weftline_fecframe::sizing::SizingError),
    /// The code rate is invalid.
    #[error(transparent)]
    CodeRate(#[from] weftline_fecframe::CodeRateError),
}

/// `got` if `fits`, else the error with the expected values.
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
