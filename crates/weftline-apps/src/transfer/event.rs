//! Events of a transfer.

/// An event of a transfer. Paths and texts of the peer have no control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Receiver: the size of the transfer; `None` if the sender does not know it.
    Expected {
        /// Bytes of all files.
        bytes: Option<u64>,
    },
    /// The transfer of a file starts.
    File {
        /// Its path.
        path: &'a str,
    },
    /// Bytes were sent or received.
    Advanced {
        /// Number of bytes since the last such event.
        bytes: u64,
    },
    /// The receiver has a file already: its bytes are not sent.
    Passed {
        /// Number of bytes.
        bytes: u64,
    },
    /// A file resumes where an earlier transfer stopped.
    Resumed {
        /// Its path.
        path: &'a str,
        /// Bytes that are not sent again.
        bytes: u64,
    },
    /// Receiver: the part of an earlier transfer does not match the file.
    StartedAgain {
        /// Its path.
        path: &'a str,
    },
    /// The file changed while it was sent; it is sent again.
    Changed {
        /// Its path.
        path: &'a str,
    },
    /// The receiver has the entry: it arrived, or was there already.
    InPlace,
    /// The receiver already has the file.
    AlreadyThere {
        /// Its path.
        path: &'a str,
    },
    /// An entry was not transferred. Told of the first ones only, as many as
    /// [`Summary::failed`](super::Summary::failed) keeps.
    Failed {
        /// Its path.
        path: &'a str,
        /// The reason, for people.
        reason: &'a str,
    },
}

/// Handles events. It must not block.
pub type OnEvent<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);
