//! Slot models: each paper's system as the paper defines it, without a protocol around it.
//!
//! A slot carries one packet, which the channel erases or not. *Genie* models count: a received
//! repair replaces any one loss. *Real* models code and decode with `weftline-codec` and compare
//! the output. A model is exactly repeatable from its seed, on any number of threads.

pub mod answered;
pub mod arq;
pub mod block;
mod channel;
pub mod coded;
mod delays;
mod estimate;
mod rank;
pub mod rest;
pub mod rlc_block;
mod spread;
pub mod streaming;
pub mod udp_rc;
pub mod worked_example;

pub use delays::DelaySummary;
pub use estimate::Estimate;
pub use spread::{Progress, silent};

use crate::theory::TheoryError;

/// The code of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// An ideal code: symbols are counted.
    Genie,
    /// Random coefficients: symbols are coded, decoded and compared.
    Real,
}

/// Why a model cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// A parameter is out of its range, or the run would never end.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// A model grew beyond its limit.
    #[error("{what} grew beyond {limit}: the channel loses too much for what is sent")]
    TooLarge {
        /// The quantity that grew.
        what: &'static str,
        /// Its limit.
        limit: u64,
    },
    /// The decoder returned a wrong symbol.
    #[error("symbol {esi} was decoded wrongly; this is a defect of the codec, please report it")]
    Wrong {
        /// The symbol.
        esi: u64,
    },
}

/// `got` if `fits`, else the error with the expected values.
fn within(
    name: &'static str,
    got: impl Into<f64>,
    fits: bool,
    expected: &'static str,
) -> Result<(), SlotError> {
    let got = got.into();
    let error = TheoryError::Range {
        name,
        expected,
        got,
    };
    if fits { Ok(()) } else { Err(error.into()) }
}
