//! The portable kernel: table look-ups, and the reference for the others.

use crate::arch::{Onto, Term};
use crate::tables::Tables;

/// Runs everywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

impl Scalar {
    pub(crate) fn xor(self, dst: &mut [u8], src: &[u8]) {
        xor(dst, src);
    }

    pub(crate) fn mul(self, tables: &Tables, dst: &mut [u8], c: u8) {
        mul(tables, dst, c);
    }

    pub(crate) fn mul_add(self, tables: &Tables, dst: &mut [u8], src: &[u8], c: u8) {
        mul_add(tables, dst, src, c);
    }

    pub(crate) fn combine<'a, T: Term<'a>>(
        self,
        tables: &Tables,
        dst: &mut [u8],
        terms: &[T],
        onto: Onto,
    ) {
        onto.prepare(dst);
        for term in terms {
            if T::PLAIN {
                xor(dst, term.source());
            } else {
                mul_add(tables, dst, term.source(), term.coefficient());
            }
        }
    }

    pub(crate) fn mul_add_matrix(
        self,
        tables: &Tables,
        dsts: &mut [&mut [u8]],
        srcs: &[&[u8]],
        matrix: &[u8],
        onto: Onto,
    ) {
        for (dst, row) in dsts.iter_mut().zip(matrix.chunks_exact(srcs.len())) {
            onto.prepare(dst);
            for (src, &c) in srcs.iter().zip(row) {
                mul_add(tables, dst, src, c);
            }
        }
    }
}

/// Adds `src` to the start of `dst`. Inlined into the vector kernels, where
/// the compiler widens it to their registers.
#[inline(always)]
pub(super) fn xor(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// Multiplies `dst` by `c` in place.
pub(super) fn mul(tables: &Tables, dst: &mut [u8], c: u8) {
    let products = tables.row(c);
    for d in dst {
        *d = products.with(*d);
    }
}

/// Adds `c * src` to the start of `dst`.
pub(super) fn mul_add(tables: &Tables, dst: &mut [u8], src: &[u8], c: u8) {
    let products = tables.row(c);
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= products.with(*s);
    }
}
