//! The Ssse3 kernel: registers of 16 bytes.

use core::arch::x86_64::*;

use super::detected;
use crate::arch::vector::vector_kernel;

/// Proof that the CPU has the Ssse3 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ssse3(());

impl Ssse3 {
    pub(crate) fn new() -> Option<Self> {
        detected!("ssse3").then_some(Self(()))
    }
}

vector_kernel!(Ssse3, "ssse3", 16);

/// The products of one coefficient with all low and all high nibbles.
struct Multiplier {
    low: __m128i,
    high: __m128i,
}

#[target_feature(enable = "ssse3")]
#[inline]
fn multiplier(tables: &Tables, c: u8) -> Multiplier {
    let nibbles = &tables.nibbles[usize::from(c)];
    Multiplier {
        low: table(&nibbles.low),
        high: table(&nibbles.high),
    }
}

#[target_feature(enable = "ssse3")]
#[inline]
fn product(multiplier: &Multiplier, x: __m128i) -> __m128i {
    let nibble = _mm_set1_epi8(0x0F);
    let low = _mm_and_si128(x, nibble);
    let high = _mm_and_si128(_mm_srli_epi64::<4>(x), nibble);
    _mm_xor_si128(
        _mm_shuffle_epi8(multiplier.low, low),
        _mm_shuffle_epi8(multiplier.high, high),
    )
}

#[target_feature(enable = "ssse3")]
#[inline]
fn zero() -> __m128i {
    _mm_setzero_si128()
}

#[target_feature(enable = "ssse3")]
#[inline]
fn add(a: __m128i, b: __m128i) -> __m128i {
    _mm_xor_si128(a, b)
}

#[target_feature(enable = "ssse3")]
#[inline]
fn and(a: __m128i, b: __m128i) -> __m128i {
    _mm_and_si128(a, b)
}

#[target_feature(enable = "ssse3")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> __m128i {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "ssse3")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: __m128i) {
    // SAFETY: the reference covers the 16 bytes written; no alignment is asked.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "ssse3")]
#[inline]
fn table(bytes: &[u8; 16]) -> __m128i {
    load(bytes)
}
