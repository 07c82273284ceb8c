//! The block codes of peers.

mod erasure;
mod intel;
mod raptor;
mod simd;

use super::{Block, Way};
use crate::contest::{Contest, Error};

pub(super) fn enter<'a>(
    contest: &mut Contest<'a>,
    block: &'a Block,
    way: Way,
) -> Result<(), Error> {
    simd::enter(contest, block, way)?;
    erasure::enter(contest, block, way)?;
    raptor::enter(contest, block, way)?;
    intel::enter(contest, block, way)
}

/// The reason if a code over GF(2^8) cannot do this block.
fn too_large(block: &Block) -> Option<String> {
    let symbols = block.k() + block.repairs;
    (symbols > 256).then(|| format!("{symbols} symbols are more than GF(2^8) has elements"))
}
