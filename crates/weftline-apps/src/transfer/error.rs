//! Why a transfer ended before every entry was dealt with.

use std::io;

use super::wire::WireError;

/// Why a transfer ended early. Entries that failed one by one are in the summary instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The stream failed: the connection is gone.
    #[error("the connection failed: {0}")]
    Stream(#[source] io::Error),
    /// The stream ended in the middle.
    #[error("the other end closed the stream in the middle of the transfer")]
    Ended,
    /// The peer gave up, and said why.
    #[error("the other end gave up: {0}")]
    Aborted(String),
    /// The peer sent bytes that are no frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The peer sent a frame that has no place here.
    #[error("the other end broke the transfer protocol: {0}")]
    Protocol(&'static str),
    /// The peer speaks another version.
    #[error("the other end speaks version {got} of the transfer protocol, this program {ours}")]
    Version {
        /// The peer's.
        got: u16,
        /// Ours.
        ours: u16,
    },
    /// The receiver cannot take what is offered.
    #[error("{0}")]
    Unacceptable(String),
    /// The local side failed in a way that concerns all entries.
    #[error("{0}")]
    Local(#[source] io::Error),
}
