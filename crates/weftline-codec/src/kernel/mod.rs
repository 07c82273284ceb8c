//! The inner loops of every code, and the choice of the fastest implementation
//! for this CPU.
//!
//! The free functions use one kernel per process: the best that the CPU has, or
//! the one that the environment variable [`ENVIRONMENT`] names
//! ([`Kernel::name`]), to test whether a kernel is at fault or to measure what
//! it gains. [`selection`] tells which kernel was chosen and whether a request
//! was ignored. Tests and benchmarks run a particular kernel through
//! [`Kernel::ops`].
//!
//! Without the `std` feature the target features decide at compile time, and
//! the environment is not read.

mod ops;
mod selection;

pub use ops::{Kernel, Ops};
pub use selection::{ENVIRONMENT, Ignored, Selection, selection};

pub(crate) use ops::{Terms, assert_fits};
pub(crate) use selection::active_ops;

/// `dst ^= src`, where `src` may be shorter than `dst`.
///
/// # Panics
///
/// When `src` is longer than `dst`.
#[inline]
pub fn xor(dst: &mut [u8], src: &[u8]) {
    active_ops().xor(dst, src);
}

/// `dst = c * dst`.
#[inline]
pub fn mul(dst: &mut [u8], c: u8) {
    active_ops().mul(dst, c);
}

/// `dst ^= c * src`, where `src` may be shorter than `dst`.
///
/// # Panics
///
/// When `src` is longer than `dst`.
#[inline]
pub fn mul_add(dst: &mut [u8], src: &[u8], c: u8) {
    active_ops().mul_add(dst, src, c);
}

/// `dst ^= c * src` for every `(c, src)`, where any `src` may be shorter than
/// `dst`; faster than one [`mul_add`] after another, because `dst` stays in
/// registers.
///
/// # Panics
///
/// When a `src` is longer than `dst`.
#[inline]
pub fn mul_add_multi(dst: &mut [u8], terms: &[(u8, &[u8])]) {
    active_ops().mul_add_multi(dst, terms);
}

/// `dst ^= src` for every `src`, any of which may be shorter than `dst`; faster
/// than one [`xor`] after another.
///
/// # Panics
///
/// When a `src` is longer than `dst`.
#[inline]
pub fn xor_multi(dst: &mut [u8], srcs: &[&[u8]]) {
    active_ops().xor_multi(dst, srcs);
}

/// `dst = ` the sum of every `src`, any of which may be shorter than `dst`: as
/// [`xor_multi`], but `dst` is overwritten without being read.
///
/// # Panics
///
/// When a `src` is longer than `dst`.
#[inline]
pub fn sum(dst: &mut [u8], srcs: &[&[u8]]) {
    active_ops().sum(dst, srcs);
}

/// Several destinations from the same sources: `dsts[d] ^= sum of matrix[d *
/// srcs.len() + s] * srcs[s]`, where any source may be shorter than the
/// destinations. Faster than a [`mul_add_multi`] for each destination, because
/// each source is read and split once for up to four of them.
///
/// # Panics
///
/// When the matrix does not have `dsts.len() * srcs.len()` elements, the
/// destinations differ in length, or a source is longer than they are.
#[inline]
pub fn mul_add_matrix(dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8]) {
    active_ops().mul_add_matrix(dsts, srcs, matrix);
}

/// `dst = ` the sum of every `c * src`, any of which may be shorter than `dst`:
/// as [`mul_add_multi`], but `dst` is overwritten without being read.
///
/// # Panics
///
/// When a `src` is longer than `dst`.
#[inline]
pub fn dot(dst: &mut [u8], terms: &[(u8, &[u8])]) {
    active_ops().dot(dst, terms);
}

/// Several destinations from the same sources: `dsts[d] = sum of matrix[d *
/// srcs.len() + s] * srcs[s]`, where any source may be shorter than the
/// destinations: as [`mul_add_matrix`], but the destinations are overwritten
/// without being read.
///
/// # Panics
///
/// As [`mul_add_matrix`].
#[inline]
pub fn dot_matrix(dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8]) {
    active_ops().dot_matrix(dsts, srcs, matrix);
}
