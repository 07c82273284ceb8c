//! Reed-Solomon codes: any k of k + m equal shards give back all of them.
//!
//! A [`Code`] turns k *source shards* into up to m *repair shards* of the same
//! length; a [`Decoder`] makes whatever is missing from any k that are left.
//! Unlike a random code these never fail with k shards (they are MDS, maximum
//! distance separable), but k + m is bounded by the field: see
//! [`Construction`]. The codes are systematic: source shards travel as they
//! are. Shards are numbered as RFC 6865 numbers symbols, the source shards
//! 0..k, the repair shards k..k + m.
//!
//! ```
//! use weftline_codec::reed_solomon::{Code, Construction, Decoder};
//!
//! let code = Code::new(Construction::Cauchy, 3, 2)?;
//! let sources: [&[u8]; 3] = [b"warp", b"weft", b"loom"];
//! let (mut first, mut second) = ([0; 4], [0; 4]);
//! code.encode(&sources, &mut [&mut first, &mut second])?;
//!
//! // Shards 0 and 2 are lost; 1 and both repair shards arrive.
//! let received = [(1, &b"weft"[..]), (3, &first), (4, &second)];
//! let (mut warp, mut loom) = ([0; 4], [0; 4]);
//! let mut decoder = Decoder::new(code);
//! decoder.reconstruct(received, &[0, 2], &mut [&mut warp, &mut loom])?;
//! assert_eq!((&warp, &loom), (b"warp", b"loom"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The maths
//!
//! Shard i has a point p_i of the field, which no other shard has, and a weight
//! w_i that is not 0; the [`Construction`] decides both. The shards c_i of a
//! codeword are those for which a polynomial of degree below k exists that at
//! each p_i has the value `w_i c_i prod (p_i + p_m)`, the product over all
//! sources m but i. Any k values determine such a polynomial. With a repair
//! shard in the place of each source shard that is missing, Lagrange's formula
//! then gives every other shard t from those given, g:
//!
//! ```text
//! c_t = sum over g of  s_g / (s_t (p_g + p_t))  c_g
//! s_i = w_i prod over missing sources x but i of (p_i + p_x)
//!         / prod over given repairs r but i of (p_i + p_r)
//! ```
//!
//! With nothing missing, `s_i = w_i`, and this is the encoder: a Cauchy matrix
//! with scaled rows and columns, whichever the construction. A decoder has
//! nothing to invert: with e shards missing the coefficients take O(e k)
//! look-ups, and one pass over the k shards makes all that is wanted.

mod decoder;
mod error;
mod points;

pub use decoder::Decoder;
pub use error::{CodeError, ShardError};

use alloc::vec;
use alloc::vec::Vec;

use crate::field::{Arithmetic, Field, Gf2};
use points::Points;

/// Where the points and weights of a [`Code`] come from. Repair shards of
/// different constructions do not mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Construction {
    /// RFC 5510, section 8: the generator matrix `V(k,k)^-1 V(k,n)`, where
    /// `V(i,j)` is a^(i j) and a is the element 2. Shard i has the point a^i and
    /// such a weight that the polynomial has the value c_i there. k + m is at
    /// most 2^q - 1, and q at least 2.
    ///
    /// This is the formula as the RFC prints it, with points a^0, a^1, a^2, ...
    /// A family of widely used libraries (Rizzo's `fec`, `zfec` and what was
    /// made from them) takes 0, a^0, a^1, ... instead, and their repair shards
    /// differ: for k = 3 the first has the coefficients 8, 14, 7 here and
    /// 15, 8, 6 there.
    Rfc5510,
    /// A Cauchy matrix scaled so that the first repair shard is the XOR of the
    /// sources: the coefficient of source i in repair j is x / (x + j), with
    /// x = 2^q - 1 - i (as integers; x + j is the sum in the field). Source i has
    /// the point i and the weight x, repair j the point 2^q - 1 - j and the
    /// weight 1. k + m is at most 2^q.
    ///
    /// Making the first repair shard, and recovering one lost source from it,
    /// is as fast as XOR.
    Cauchy,
}

impl Construction {
    /// The most shards, k + m, that it has points for in this field.
    #[must_use]
    pub fn max_shards(self, field: Arithmetic) -> usize {
        match self {
            Self::Rfc5510 => field.order() - 1,
            Self::Cauchy => field.order(),
        }
    }
}

/// A Reed-Solomon code: how many shards, over which field, by which
/// construction. Makes the repair shards.
///
/// Holds its k x m coefficients. Nothing in it changes with use, so threads may
/// share one.
#[derive(Clone, Debug)]
pub struct Code {
    construction: Construction,
    points: Points,
    /// The coefficients of all repair shards: a row each.
    matrix: Vec<u8>,
}

impl Code {
    /// A code over GF(2^8) with `sources` source shards (k) and at most
    /// `repairs` repair shards (m). Repair shards do not depend on m. O(k (k + m)).
    ///
    /// # Errors
    ///
    /// When there are none of one kind, or together more than
    /// [`Construction::max_shards`].
    pub fn new(
        construction: Construction,
        sources: usize,
        repairs: usize,
    ) -> Result<Self, CodeError> {
        Self::with_field(construction, Arithmetic::default(), sources, repairs)
    }

    /// As [`new`](Self::new), over another field. Shards hold elements as
    /// [`field`](crate::field) says, and must be whole
    /// [groups](Arithmetic::group) long.
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

    /// The k coefficients of repair shard `repair` (0..m), one a byte; `None`
    /// if there is no such repair shard.
    #[must_use]
    pub fn coefficients(&self, repair: usize) -> Option<&[u8]> {
        self.matrix.chunks_exact(self.sources()).nth(repair)
    }

    /// Makes the first `repairs.len()` repair shards from all source shards,
    /// overwriting `repairs`. O(k x `repairs.len()` x bytes of a shard), the
    /// sources being read once for several repair shards.
    ///
    /// # Errors
    ///
    /// When there are not k sources or more than m repairs, or lengths differ or
    /// are not whole groups; `repairs` is then as before.
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
    /// When there are not k sources or no such repair shard, or lengths differ
    /// or are not whole groups; `out` is then as before.
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

fn check_length(index: usize, got: usize, expected: usize) -> Result<(), ShardError> {
    if got == expected {
        return Ok(());
    }
    Err(ShardError::Length {
        index,
        got,
        expected,
    })
}

fn check_groups(field: Arithmetic, length: usize) -> Result<(), ShardError> {
    let group = field.group();
    if length.is_multiple_of(group) {
        return Ok(());
    }
    Err(ShardError::BrokenGroup { length, group })
}

/// Sets every `dsts[d]` to the sum of `rows[d * srcs.len() + s] * srcs[s]`; all
/// are of one length.
fn combine(field: Arithmetic, dsts: &mut [&mut [u8]], srcs: &[&[u8]], rows: &[u8]) {
    // XOR is the same in all fields.
    let only_ones = dsts.len() == 1 && rows.iter().all(|&c| c == 1);
    let field = if only_ones { Gf2::arithmetic() } else { field };
    field.dot_matrix(dsts, srcs, rows);
}
