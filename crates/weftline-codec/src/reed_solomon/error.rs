//! What can be wrong with a code's parameters or its shards.

use core::error::Error;
use core::fmt;

/// Why there is no such [`Code`](super::Code).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeError {
    /// A code needs a source shard.
    NoSources,
    /// A code needs a repair shard.
    NoRepairs,
    /// The field has not as many points.
    TooManyShards {
        /// Source shards asked for.
        sources: usize,
        /// Repair shards asked for.
        repairs: usize,
        /// The most there may be together.
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

/// Why shards were refused. All buffers are then as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardError {
    /// The encoder needs all source shards.
    Sources {
        /// Source shards given.
        got: usize,
        /// Source shards of the code.
        expected: usize,
    },
    /// The code has not as many repair shards.
    Repairs {
        /// Repair shards asked for.
        got: usize,
        /// Repair shards of the code.
        limit: usize,
    },
    /// There is no buffer, or more than one, for each wanted shard.
    Buffers {
        /// Buffers given.
        got: usize,
        /// Shards wanted.
        expected: usize,
    },
    /// A shard is not as long as the first one.
    Length {
        /// The shard's index.
        index: usize,
        /// Its bytes.
        got: usize,
        /// Bytes of the first one.
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
    /// A shard that was given was also asked for.
    NotMissing {
        /// Its index.
        index: usize,
    },
    /// Fewer shards than source shards were given.
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
                write!(f, "{got} source shards given, the code has {expected}")
            }
            Self::Repairs { got, limit } => write!(
                f,
                "{got} repair shards asked for, the code has {limit}; make one with more"
            ),
            Self::Buffers { got, expected } => write!(
                f,
                "{got} buffers given for {expected} wanted shards; each needs one"
            ),
            Self::Length {
                index,
                got,
                expected,
            } => write!(
                f,
                "shard {index} has {got} bytes, others {expected}; pad all to one length"
            ),
            Self::BrokenGroup { length, group } => write!(
                f,
                "shards of {length} bytes end within a group of {group}; pad them to whole groups"
            ),
            Self::OutOfRange { index, shards } => write!(
                f,
                "there is no shard {index}: the code has {shards}, counted from 0"
            ),
            Self::Duplicate { index } => write!(f, "shard {index} was given twice"),
            Self::NotMissing { index } => {
                write!(f, "shard {index} was both given and asked for")
            }
            Self::TooFew { got, needed } => {
                write!(f, "{got} shards given, any {needed} are needed")
            }
        }
    }
}

impl Error for ShardError {}
