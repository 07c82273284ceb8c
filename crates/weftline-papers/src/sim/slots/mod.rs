//! Slot models: each paper's system as the paper defines it, without a protocol around it.
//!
//! A slot carries one packet, which the channel erases or not. *Genie* models count: a received repair
//! makes up for one loss, whichever. *Real* ones code and decode with `weftline-codec` and compare what
//! comes out. A model is repeatable from its seed to the bit, however many threads run it.

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

pub use delays::DelaySummary;
pub use estimate::Estimate;
pub use spread::{Progress, silent};

use crate::theory::TheoryError;

/// Which code a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// An ideal one: symbols are counted.
    Genie,
    /// Random coefficients, coded, decoded and compared.
    Real,
}

/// Why a model cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// A parameter makes no sense, or nothing would ever come to an end.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// A model grew beyond what it is for.
    #[error("{what} grew beyond {limit}: the channel loses too much for what is sent")]
    TooLarge {
        /// What grew.
        what: &'static str,
        /// How much of it there may be.
        limit: u64,
    },
    /// The decoder gave something that was not sent.
    #[error("symbol {esi} was decoded wrongly; this is a defect of the codec, please report it")]
    Wrong {
        /// Which symbol.
        esi: u64,
    },
}

/// `got` if `fits`, else the error that says what was expected.
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
