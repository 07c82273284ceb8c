//! The two families of Reed-Solomon codes.

use crate::field::Arithmetic;

/// The points and weights of a [`Code`](super::Code). Repair shards of
/// different constructions cannot be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Construction {
    /// RFC 5510, section 8: the generator matrix `V(k,k)^-1 V(k,n)`, where
    /// `V(i,j)` is a^(i j) and a is the element 2. Shard i has the point a^i,
    /// and its weight makes the polynomial's value there c_i. k + m is at most
    /// 2^q - 1, and q at least 2.
    ///
    /// This is the formula as the RFC prints it, with points a^0, a^1, a^2, ...
    /// A family of widely used libraries (Rizzo's `fec`, `zfec` and their
    /// descendants) uses 0, a^0, a^1, ... instead, and its repair shards
    /// differ: for k = 3 the first has the coefficients 8, 14, 7 here and 15,
    /// 8, 6 there.
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
    /// The largest k + m in this field.
    #[must_use]
    pub fn max_shards(self, field: Arithmetic) -> usize {
        match self {
            Self::Rfc5510 => field.order() - 1,
            Self::Cauchy => field.order(),
        }
    }
}
