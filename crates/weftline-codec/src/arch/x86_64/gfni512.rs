//! The AVX-512 GFNI kernel: registers of 64 bytes, a product in one
//! instruction.
//!
//! The affine instruction multiplies by any bit matrix. The one for products
//! is of no use here: it is tied to the polynomial 0x11B.

use core::arch::x86_64::*;

use super::detected;
use crate::arch::masked::masked_kernel;

/// Proof that the CPU has the GFNI and the AVX-512 instructions F and BW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gfni512(());

impl Gfni512 {
    pub(crate) fn new() -> Option<Self> {
        detected!("gfni", "avx512f", "avx512bw").then_some(Self(()))
    }
}

masked_kernel!(Gfni512, "gfni,avx512f,avx512bw");

type Register = __m512i;
type Multiplier = Register;

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiplier(tables: &Tables, c: u8) -> Multiplier {
    _mm512_set1_epi64(tables.matrices[usize::from(c)].cast_signed())
}

/// Nothing is to be taken apart here.
#[inline(always)]
fn split(x: Register) -> Register {
    x
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn product(multiplier: &Multiplier, x: &Register) -> Register {
    _mm512_gf2p8affine_epi64_epi8::<0>(*x, *multiplier)
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn zero() -> Register {
    _mm512_setzero_si512()
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    _mm512_xor_si512(a, b)
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 64 bytes read; no alignment is asked.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: Register) {
    // SAFETY: the reference covers the 64 bytes written; no alignment is asked.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), x) }
}

/// A one for each of the first `length` bytes.
#[inline(always)]
fn first(length: usize) -> __mmask64 {
    // No shift is by 64: an empty slice gives no mask.
    if length == 0 {
        0
    } else {
        u64::MAX >> (WIDTH - length.min(WIDTH))
    }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn load_first(bytes: &[u8]) -> Register {
    // SAFETY: only bytes of the slice are in the mask, and others are not read.
    unsafe { _mm512_maskz_loadu_epi8(first(bytes.len()), bytes.as_ptr().cast()) }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn store_first(bytes: &mut [u8], x: Register) {
    let mask = first(bytes.len());
    // SAFETY: only bytes of the slice are in the mask, and others are not written.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask, x) }
}
