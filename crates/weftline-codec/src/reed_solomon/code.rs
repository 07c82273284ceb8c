//! A Reed-Solomon code, and its encoder.

use alloc::vec;
use alloc::vec::Vec;

use super::construction::Construction;
use super::error::{CodeError, ShardError};
use super::points::Points;
use crate::field::{Arithmetic, Field, Gf2};

/// A Reed-Solomon code: its numbers of shards, its field and its construction.
/// Makes the repair shards.
///
/// Holds k x m coefficients. It never changes, so threads may share one.
#[derive(Clone, Debug)]
pub struct Code {
    construction: Construction,
    pub(super) points: Points,
    /// The coefficients of the repair shards, a row for each.
    matrix: Vec<u8>,
}

impl Code {
    /// A code over GF(2^8) with `sources` source shards (k) and at most
    /// `repairs` repair shards (m). Repair shards do not depend on m. O(k (k + m)).
    ///
    /// # Errors
    ///
    /// When `sources` or `repairs` is 0, or their sum exceeds
    /// [`Construction::max_shards`].
    pub fn new(
        construction: Construction,
        sources: usize,
        repairs: usize,
    ) -> Result<Self, CodeError> {
        Self::with_field(construction, Arithmetic::default(), sources, repairs)
    }

    /// As [`new`](Self::new), over another field. Shards hold elements as
    /// [`field`](crate::field) describes, and must consist of whole
    /// [groups](Arithmetic::group).
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_field(
        construction: Construction,
        field: Arithmetic,
        sources: usize,
        repairs: usize,
    ) -> Result<Self, CodeError> {
        if sources == 0 {
            return Err(CodeError::NoSources);
        }
        if repairs == 0 {
            return Err(CodeError::NoRepairs);
        }
        let limit = construction.max_shards(field);
        if sources.saturating_add(repairs) > limit {
            return Err(CodeError::TooManyShards {
                sources,
                repairs,
                limit,
            });
        }
        let points = Points::new(construction, field, sources, repairs);
        let mut matrix = vec![0; repairs * sources];
        points
            .nothing_missing()
            .rows((sources..sources + repairs).zip(matrix.chunks_exact_mut(sources)));
        Ok(Self {
            construction,
            points,
            matrix,
        })
    }

    /// The construction.
    #[must_use]
    pub fn construction(&self) -> Construction {
        self.construction
    }

    /// The field.
    #[must_use]
    pub fn field(&self) -> Arithmetic {
        self.points.field()
    }

    /// Source shards, k.
    #[must_use]
    pub fn sources(&self) -> usize {
        self.points.sources()
    }

    /// Repair shards, m.
    #[must_use]
    pub fn repairs(&self) -> usize {
        self.shards() - self.sources()
    }

    /// All shards, k + m.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.points.len()
    }

    /// The k coefficients of repair shard `repair` (0..m), one to a byte;
    /// `None` if it does not exist.
    #[must_use]
    pub fn coefficients(&self, repair: usize) -> Option<&[u8]> {
        self.matrix.chunks_exact(self.sources()).nth(repair)
    }

    /// Makes the first `repairs.len()` repair shards from all source shards,
    /// overwriting `repairs`. O(k x `repairs.len()` x bytes of a shard); each
    /// source is read once for several repair shards.
    ///
    /// # Errors
    ///
    /// When the number of sources is not k, there are more than m repairs, or
    /// lengths differ or are not whole groups. `repairs` is then unchanged.
    pub fn encode(&self, sources: &[&[u8]], repairs: &mut [&mut [u8]]) -> Result<(), ShardError> {
        if repairs.len() > self.repairs() {
            return Err(ShardError::Repairs {
                got: repairs.len(),
                limit: self.repairs(),
            });
        }
        let length = self.check_sources(sources)?;
        for (index, repair) in repairs.iter().enumerate() {
            check_length(self.sources() + index, repair.len(), length)?;
        }
        let rows = &self.matrix[..repairs.len() * self.sources()];
        combine(self.field(), repairs, sources, rows);
        Ok(())
    }

    /// Makes repair shard `repair` (0..m) from all source shards, overwriting
    /// `out`. O(k x bytes of a shard).
    ///
    /// # Errors
    ///
    /// When the number of sources is not k, the repair shard does not exist, or
    /// lengths differ or are not whole groups. `out` is then unchanged.
    pub fn encode_one(
        &self,
        repair: usize,
        sources: &[&[u8]],
        out: &mut [u8],
    ) -> Result<(), ShardError> {
        let Some(row) = self.coefficients(repair) else {
            return Err(ShardError::OutOfRange {
                index: self.sources().saturating_add(repair),
                shards: self.shards(),
            });
        };
        let length = self.check_sources(sources)?;
        check_length(self.sources() + repair, out.len(), length)?;
        combine(self.field(), &mut [out], sources, row);
        Ok(())
    }

    /// The length of all source shards.
    fn check_sources(&self, sources: &[&[u8]]) -> Result<usize, ShardError> {
        if sources.len() != self.sources() {
            return Err(ShardError::Sources {
                got: sources.len(),
                expected: self.sources(),
            });
        }
        let length = sources[0].len();
        check_groups(self.field(), length)?;
        for (index, source) in sources.iter().enumerate() {
            check_length(index, source.len(), length)?;
        }
        Ok(length)
    }
}

pub(super) fn check_length(index: usize, got: usize, expected: usize) -> Result<(), ShardError> {
    if got == expected {
        return Ok(());
    }
    Err(ShardError::Length {
        index,
        got,
        expected,
    })
}

pub(super) fn check_groups(field: Arithmetic, length: usize) -> Result<(), ShardError> {
    let group = field.group();
    if length.is_multiple_of(group) {
        return Ok(());
    }
    Err(ShardError::BrokenGroup { length, group })
}

/// Sets every `dsts[d]` to the sum of `rows[d * srcs.len() + s] * srcs[s]`; all
/// are of one length.
pub(super) fn combine(field: Arithmetic, dsts: &mut [&mut [u8]], srcs: &[&[u8]], rows: &[u8]) {
    // XOR is the same in all fields.
    let only_ones = dsts.len() == 1 && rows.iter().all(|&c| c == 1);
    let field = if only_ones { Gf2::arithmetic() } else { field };
    field.dot_matrix(dsts, srcs, rows);
}
