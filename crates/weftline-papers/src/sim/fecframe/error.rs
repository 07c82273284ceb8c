//! Errors of an experiment.

use weftline_fecframe::{ConfigError, PacketError, SendError};

/// Why an experiment has no outcome.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A parameter is out of its range.
    #[error("{what} is {got}; it must be {expected}")]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// The given value.
        got: u64,
        /// The allowed values.
        expected: &'static str,
    },
    /// The sender or the receiver refuses the configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The sender refused an ADU.
    #[error("the sender refused symbol {symbol}: {error}")]
    Sender {
        /// Its number.
        symbol: u64,
        /// The error.
        error: SendError,
    },
    /// The receiver refused a packet of Weftline's own sender.
    #[error("the receiver refused a packet of tick {tick}: {error}")]
    Receiver {
        /// When the packet was received.
        tick: u64,
        /// The error.
        error: PacketError,
    },
    /// A trace is of a codec, and an ideal code has none.
    #[error("a trace is of a sender and a receiver, and {0} have none")]
    NoCodec(String),
    /// The output differs from the input: the codec is wrong.
    #[error("symbol {symbol} of the run with seed {seed} was delivered as {what}")]
    Wrong {
        /// Its number.
        symbol: u64,
        /// The seed of the run.
        seed: u64,
        /// The difference.
        what: &'static str,
    },
    /// The receiver found contradictory equations: the codec is wrong.
    #[error("{count} equations contradicted others in the run with seed {seed}")]
    Inconsistent {
        /// Number of equations.
        count: u64,
        /// The seed of the run.
        seed: u64,
    },
}
