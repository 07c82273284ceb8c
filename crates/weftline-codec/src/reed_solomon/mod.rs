//! Reed-Solomon codes: any k of k + m equally long shards recover all of them.
//!
//! A [`Code`] makes up to m *repair shards* from k *source shards* of the same
//! length; a [`Decoder`] makes missing shards from any k others. Unlike random
//! codes, these never fail with k shards (they are MDS, maximum distance
//! separable), but the field bounds k + m: see [`Construction`]. The codes are
//! systematic: source shards travel unchanged. Shards have the numbers that RFC
//! 6865 gives symbols: source shards 0..k, repair shards k..k + m.
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
//! Shard i has a point p_i of the field, different from all others, and a
//! weight w_i that is not 0; the [`Construction`] decides both. The shards c_i
//! form a codeword if a polynomial of degree below k exists that has, at each
//! p_i, the value `w_i c_i prod (p_i + p_m)`, where the product is over all
//! sources m except i. Any k values determine the polynomial. Put a repair
//! shard in the place of each missing source shard; Lagrange's formula then
//! gives every other shard t from the given shards g:
//!
//! ```text
//! c_t = sum over g of  s_g / (s_t (p_g + p_t))  c_g
//! s_i = w_i prod over missing sources x but i of (p_i + p_x)
//!         / prod over given repairs r but i of (p_i + p_r)
//! ```
//!
//! With nothing missing, `s_i = w_i`, and this is the encoder: in every
//! construction a Cauchy matrix with scaled rows and columns. A decoder inverts
//! no matrix: with e shards missing the coefficients take O(e k) look-ups, and
//! one pass over the k shards makes all wanted shards.

mod code;
mod construction;
mod decoder;
mod error;
mod points;

pub use code::Code;
pub use construction::Construction;
pub use decoder::Decoder;
pub use error::{CodeError, ShardError};
