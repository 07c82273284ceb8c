//! The AVX2 GFNI kernel: registers of 32 bytes, a product in one instruction.
//!
//! See [`gfni512`](super::gfni512) on the choice of instruction.

use core::arch::x86_64::*;

use super::detected;
use crate::arch::vector::vector_kernel;

/// Proof that the CPU has the GFNI and AVX2 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gfni256(());

impl Gfni256 {
    pub(crate) fn new() -> Option<Self> {
        detected!("gfni", "avx2").then_some(Self(()))
    }
}

vector_kernel!(Gfni256, "gfni,avx2", 32, 2 x 4);

type Register = __m256i;
type Multiplier = Register;

/// A bit matrix.
type Entry = u64;

#[inline(always)]
fn entry(tables: &Tables, c: u8) -> &'static Entry {
    &tables.matrices[usize::from(c)]
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn multiplier(matrix: &Entry) -> Multiplier {
    _mm256_set1_epi64x(matrix.cast_signed())
}

/// This instruction needs no split.
#[inline(always)]
fn split(x: Register) -> Register {
    x
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn product(multiplier: &Multiplier, x: &Register) -> Register {
    _mm256_gf2p8affine_epi64_epi8::<0>(*x, *multiplier)
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn zero() -> Register {
    _mm256_setzero_si256()
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    _mm256_xor_si256(a, b)
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn and(a: Register, b: Register) -> Register {
    _mm256_and_si256(a, b)
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 32 bytes read; no alignment is asked.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "gfni,avx2")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: Register) {
    // SAFETY: the reference covers the 32 bytes written; no alignment is asked.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), x) }
}
