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

mod code;
mod construction;
mod decoder;
mod error;
mod points;

pub use code::Code;
pub use construction::Construction;
pub use decoder::Decoder;
pub use error::{CodeError, ShardError};
