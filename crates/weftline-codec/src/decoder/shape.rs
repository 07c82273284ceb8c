//! How long repair symbols are.

use crate::field::Arithmetic;
use crate::symbol::LENGTH_BYTES;

/// The lengths that a repair symbol may have, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// A length is a multiple of this: a whole number of field elements.
    pub(super) group: usize,
    /// The least and the greatest length.
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Shape {
    pub(super) fn new(field: Arithmetic, max_symbol_size: usize) -> Self {
        Self {
            group: field.group(),
            min: field.whole_groups(LENGTH_BYTES),
            max: field.whole_groups(LENGTH_BYTES + max_symbol_size),
        }
    }
}
