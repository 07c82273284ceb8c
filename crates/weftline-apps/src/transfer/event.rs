//! What a transfer tells while it goes on.

/// What a transfer tells while it goes on. Paths and texts of the other end have no control
/// characters in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Receiver: this many bytes are coming; `None` if the sender does not know.
    Expected {
        /// Bytes of all files.
        bytes: Option<u64>,
    },
    /// This file is next.
    File {
        /// Its path.
        path: &'a str,
    },
    /// Bytes were sent or received.
    Advanced {
        /// How many since the last such event.
        bytes: u64,
    },
    /// A file goes on where an earlier transfer stopped.
    Resumed {
        /// Its path.
        path: &'a str,
        /// Bytes that are not sent again.
        bytes: u64,
    },
    /// Receiver: what an earlier transfer left of a file is not the beginning of it.
    StartedAgain {
        /// Its path.
        path: &'a str,
    },
    /// A file was there before.
    AlreadyThere {
        /// Its path.
        path: &'a str,
    },
    /// An entry is not in place.
    Failed {
        /// Its path.
        path: &'a str,
        /// Why, for people.
        reason: &'a str,
    },
}

/// Takes events as they come. It must not block.
pub type OnEvent<'a> = &'a (dyn Fn(Event<'_>) + Send + Sync);
