//! The SSSE3 kernel: registers of 16 bytes.

use core::arch::x86_64::*;

use super::detected;
use crate::arch::vector::vector_kernel;

/// Proof that the CPU has the SSSE3 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ssse3(());

impl Ssse3 {
    pub(crate) fn new() -> Option<Self> {
        detected!("ssse3").then_some(Self(()))
    }
}

vector_kernel!(Ssse3, "ssse3", 16, 2 x 4);

type Register = __m128i;

/// The products of one coefficient with all low and all high nibbles.
#[derive(Clone, Copy)]
struct Multiplier {
    low: Register,
    high: Register,
}

type Entry = crate::tables::Nibbles;

#[inline(always)]
fn entry(tables: &Tables, c: u8) -> &'static Entry {
    &tables.nibbles[usize::from(c)]
}

#[target_feature(enable = "ssse3")]
#[inline]
fn multiplier(nibbles: &Entry) -> Multiplier {
    Multiplier {
        low: table(&nibbles.low),
        high: table(&nibbles.high),
    }
}

/// The low and the high nibbles of bytes.
#[derive(Clone, Copy)]
struct Split {
    low: Register,
    high: Register,
}

#[target_feature(enable = "ssse3")]
#[inline]
fn split(x: Register) -> Split {
    let nibble = _mm_set1_epi8(0x0F);
    Split {
        low: _mm_and_si128(x, nibble),
        high: _mm_and_si128(_mm_srli_epi64::<4>(x), nibble),
    }
}

#[target_feature(enable = "ssse3")]
#[inline]
fn product(multiplier: &Multiplier, x: &Split) -> Register {
    _mm_xor_si128(
        _mm_shuffle_epi8(multiplier.low, x.low),
        _mm_shuffle_epi8(multiplier.high, x.high),
    )
}

#[target_feature(enable = "ssse3")]
#[inline]
fn zero() -> Register {
    _mm_setzero_si128()
}

#[target_feature(enable = "ssse3")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    _mm_xor_si128(a, b)
}

#[target_feature(enable = "ssse3")]
#[inline]
fn and(a: Register, b: Register) -> Register {
    _mm_and_si128(a, b)
}

#[target_feature(enable = "ssse3")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "ssse3")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: Register) {
    // SAFETY: the reference covers the 16 bytes written; no alignment is asked.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "ssse3")]
#[inline]
fn table(bytes: &[u8; 16]) -> Register {
    load(bytes)
}
