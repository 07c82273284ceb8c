//! The errors of codes and their shards.

use core::error::Error;
use core::fmt;

/// Why a [`Code`](super::Code) does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeError {
    /// There are no source shards.
    NoSources,
    /// There are no repair shards.
    NoRepairs,
    /// The field has too few points.
    TooManyShards {
        /// Source shards asked for.
        sources: usize,
        /// Repair shards asked for.
        repairs: usize,
        /// The largest sum of both.
        limit: usize,
    },
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSources => f.write_str("a code needs at least one source shard"),
            Self::NoRepairs => f.write_str("a code needs at least one repair shard"),
            Self::TooManyShards {
                sources,
                repairs,
                limit,
            } => write!(
                f,
                "{sources} source and {repairs} repair shards exceed the {limit} shards \
                 of this construction and field"
            ),
        }
    }
}

impl Error for CodeError {}

/// Why shards were refused. All buffers are then unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardError {
    /// The number of source shards is wrong.
    Sources {
        /// Source shards given.
        got: usize,
        /// Source shards of the code.
        expected: usize,
    },
    /// The code has fewer repair shards.
    Repairs {
        /// Repair shards asked for.
        got: usize,
        /// Repair shards of the code.
        limit: usize,
    },
    /// The number of buffers differs from the number of wanted shards.
    Buffers {
        /// Buffers given.
        got: usize,
        /// Shards wanted.
        expected: usize,
    },
    /// A shard is not as long as the first.
    Length {
        /// The shard's index.
        index: usize,
        /// Its bytes.
        got: usize,
        /// Bytes of the first shard.
        expected: usize,
    },
    /// The shards end within a group of elements.
    BrokenGroup {
        /// Bytes of a shard.
        length: usize,
        /// Bytes of a group.
        group: usize,
    },
    /// The code has no shard with this index.
    OutOfRange {
        /// The index.
        index: usize,
        /// Shards of the code.
        shards: usize,
    },
    /// A shard was given twice.
    Duplicate {
        /// Its index.
        index: usize,
    },
    /// A shard was both given and wanted.
    NotMissing {
        /// Its index.
        index: usize,
    },
    /// Fewer than k shards were given.
    TooFew {
        /// Shards given.
        got: usize,
        /// Shards needed.
        needed: usize,
    },
}

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sources { got, expected } => {
                write!(
                    f,
                    "{got} source shards were given, but the code has {expected}"
                )
            }
            Self::Repairs { got, limit } => write!(
                f,
                "{got} repair shards were asked for, but the code has {limit}; make a code with more"
            ),
            Self::Buffers { got, expected } => write!(
                f,
                "{got} buffers were given for {expected} wanted shards; give one for each"
            ),
            Self::Length {
                index,
                got,
                expected,
            } => write!(
                f,
                "shard {index} has {got} bytes, others have {expected}; pad all to one length"
            ),
            Self::BrokenGroup { length, group } => write!(
                f,
                "shards of {length} bytes end within a group of {group}; pad them to whole groups"
            ),
            Self::OutOfRange { index, shards } => write!(
                f,
                "there is no shard {index}: the code has {shards} shards, counted from 0"
            ),
            Self::Duplicate { index } => write!(f, "shard {index} was given twice"),
            Self::NotMissing { index } => {
                write!(f, "shard {index} was both given and wanted")
            }
            Self::TooFew { got, needed } => {
                write!(f, "{got} shards were given, but any {needed} are needed")
            }
        }
    }
}

impl Error for ShardError {}
