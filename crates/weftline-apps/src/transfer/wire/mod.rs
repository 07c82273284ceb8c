//! The frames of the transfer protocol (`docs/reference/transfer-protocol.md`).
//!
//! A frame is a type byte, the body's length in four bytes, and the body; integers are big
//! endian. Parsing is a pure function over bytes and every length is bounded.

mod codec;

use bytes::Bytes;

pub use super::path::MAX_PATH;
pub use codec::fuzz_entry;

/// Protocol version in [`Frame::Offer`] and [`Frame::Accept`].
pub const VERSION: u16 = 2;
/// Most bytes of file data in one [`Frame::Data`].
pub const MAX_DATA: usize = 64 << 10;
/// Longest text for people, in bytes of UTF-8; [`Frame::encode`] truncates longer ones.
pub const MAX_TEXT: usize = 1024;
/// Most entries that may be announced but not started.
pub const MAX_PENDING: usize = 64;

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Sender: first frame; describes the transfer.
    Offer {
        /// The sender's [`VERSION`].
        version: u16,
        /// Number of entries that will be announced.
        entries: u32,
        /// Entries that cannot be announced: unreadable, or without a name that can be sent.
        left_out: u32,
        /// Bytes of all files, if every length is known.
        bytes: Option<u64>,
    },
    /// Receiver: first frame; accepts the transfer.
    Accept {
        /// The receiver's [`VERSION`].
        version: u16,
    },
    /// Sender: announces the next entry.
    Entry(Entry),
    /// Receiver: wants the data of a file from `offset` on; it holds the bytes before.
    Want {
        /// Number of the entry.
        id: u32,
        /// Bytes it holds.
        offset: u64,
        /// Their digest.
        prefix: Digest,
    },
    /// Receiver: this sender sent a whole file of this name before; is it the same?
    Have {
        /// Number of the entry.
        id: u32,
        /// Length of the existing file.
        size: u64,
        /// Its digest.
        digest: Digest,
    },
    /// Sender: answers [`Frame::Want`]; data from `offset` on follows. Again, with offset 0, when
    /// the file changed while it was sent.
    Start {
        /// Number of the entry.
        id: u32,
        /// The requested offset, or 0 when the receiver's prefix is not the beginning of this
        /// file.
        offset: u64,
        /// The file as it is now; the announcement may be older.
        meta: Meta,
    },
    /// Sender: answers [`Frame::Have`]; no data follows.
    Same {
        /// Number of the entry.
        id: u32,
        /// Whether the two files are equal.
        same: bool,
    },
    /// Sender: the next bytes of the file that was started.
    Data(Bytes),
    /// Sender: the file is complete.
    End {
        /// Length of the whole file.
        size: u64,
        /// Digest of the whole file.
        digest: Digest,
    },
    /// Sender: gives up the file that is started, or the next one.
    Fail {
        /// Number of the entry.
        id: u32,
        /// Why, for people.
        text: String,
    },
    /// Receiver: the verdict on an entry.
    Verdict {
        /// Number of the entry.
        id: u32,
        /// The verdict.
        verdict: Verdict,
        /// Details, for people.
        text: String,
    },
    /// Sender: every entry was handled.
    Done,
    /// Receiver: last frame; counts of all entries.
    Final {
        /// Entries that are in place.
        complete: u32,
        /// Entries that are not in place.
        failed: u32,
    },
    /// Either end: aborts the transfer.
    Abort {
        /// Why, for people.
        text: String,
    },
    /// Either end: it is busy with its own disk, or waits for its own input.
    Wait,
}

/// An entry's announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number: 0, 1, 2 and so on.
    pub id: u32,
    /// File or directory.
    pub kind: Kind,
    /// Length, time and permissions.
    pub meta: Meta,
    /// Relative path, its components joined by `/`. Untrusted.
    pub path: String,
}

/// What a file or directory is beside its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Length, if known.
    pub size: Option<u64>,
    /// Modification time: seconds since the Unix epoch, and nanoseconds.
    pub modified: Option<(i64, u32)>,
    /// Unix permissions: nine bits.
    pub mode: Option<u16>,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file, or standard input.
    File,
    /// A directory.
    Directory,
}

/// The verdict on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was received and verified, and is in place.
    Complete,
    /// An equal file already existed.
    AlreadyThere,
    /// The receiver does not want it.
    Refused,
    /// The digests differ.
    Corrupt,
    /// The receiver could not store it.
    Failed,
    /// The sender could not read it.
    NotSent,
}

impl Verdict {
    const ALL: [Verdict; 6] = [
        Verdict::Complete,
        Verdict::AlreadyThere,
        Verdict::Refused,
        Verdict::Corrupt,
        Verdict::Failed,
        Verdict::NotSent,
    ];

    /// The entry is in place with the right content.
    pub fn is_good(self) -> bool {
        matches!(self, Verdict::Complete | Verdict::AlreadyThere)
    }
}

/// The peer sent bytes that do not follow this protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The first bytes belong to another protocol.
    #[error("the peer does not speak the weftline transfer protocol")]
    Magic,
    /// No frame has this type.
    #[error("unknown frame type {0}; the peer may be newer than this program")]
    Type(u8),
    /// The body is longer than this type allows.
    #[error("frame type {kind} has {got} bytes; at most {limit} are allowed")]
    TooLong {
        /// The type byte.
        kind: u8,
        /// Its length.
        got: u32,
        /// The limit.
        limit: usize,
    },
    /// The body does not parse.
    #[error("malformed frame of type {0}")]
    Malformed(u8),
}
