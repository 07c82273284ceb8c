//! What can be wrong with an experiment.

use weftline_fecframe::{ConfigError, PacketError, SendError};

/// Why an experiment has no outcome.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A parameter is out of its range.
    #[error("{what} is {got}; it must be {expected}")]
    Parameter {
        /// Which.
        what: &'static str,
        /// What was asked for.
        got: u64,
        /// What would do.
        expected: &'static str,
    },
    /// The sender or the receiver has no such configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The sender refused an ADU.
    #[error("the sender refused symbol {symbol}: {error}")]
    Sender {
        /// Its number.
        symbol: u64,
        /// Why.
        error: SendError,
    },
    /// The receiver refused a packet of our own sender.
    #[error("the receiver refused a packet of tick {tick}: {error}")]
    Receiver {
        /// When it was received.
        tick: u64,
        /// Why.
        error: PacketError,
    },
    /// What came out is not what went in: the codec is wrong.
    #[error("symbol {symbol} of the run with seed {seed} came out as {what}")]
    Wrong {
        /// Its number.
        symbol: u64,
        /// The run.
        seed: u64,
        /// What was wrong with it.
        what: &'static str,
    },
    /// The receiver met equations that contradict each other: the codec is wrong.
    #[error("{count} equations contradicted others in the run with seed {seed}")]
    Inconsistent {
        /// How many.
        count: u64,
        /// The run.
        seed: u64,
    },
}
