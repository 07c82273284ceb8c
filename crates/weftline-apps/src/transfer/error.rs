//! Why a transfer ended before every entry was handled.

use std::io;

use super::patience::Stalled;
use super::wire::WireError;

/// Why a transfer ended early. Entries that failed one by one are in the summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The stream failed: the connection is gone.
    #[error("the connection failed: {0}")]
    Stream(#[source] io::Error),
    /// The session stands, but the peer neither sent nor accepted anything.
    #[error("the peer made no progress for {seconds} s")]
    Stalled {
        /// The longest time without progress.
        seconds: u64,
    },
    /// The stream ended in the middle.
    #[error("the peer closed the stream in the middle of the transfer")]
    Ended,
    /// The peer gave up and gave a reason.
    #[error("the peer gave up: {0}")]
    Aborted(String),
    /// The peer sent bytes that are not a frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The peer sent a frame that is not allowed at this point.
    #[error("the peer broke the transfer protocol: {0}")]
    Protocol(&'static str),
    /// The peer speaks another version.
    #[error("the peer speaks version {got} of the transfer protocol, this program speaks {ours}")]
    Version {
        /// The peer's version.
        got: u16,
        /// This program's version.
        ours: u16,
    },
    /// The receiver cannot accept the offer.
    #[error("{0}")]
    Unacceptable(String),
    /// A local failure that concerns all entries.
    #[error("{0}")]
    Local(#[source] io::Error),
}

impl TransferError {
    /// Why a stream failed.
    pub(super) fn stream(error: io::Error) -> Self {
        let stalled = error.get_ref().and_then(|e| e.downcast_ref::<Stalled>());
        match stalled {
            Some(Stalled(patience)) => TransferError::Stalled {
                seconds: patience.as_secs(),
            },
            None => TransferError::Stream(error),
        }
    }
}
