//! The AVX2 kernel: registers of 32 bytes.

use core::arch::x86_64::*;

use super::detected;
use crate::arch::vector::vector_kernel;

/// Proof that the CPU has the AVX2 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn new() -> Option<Self> {
        detected!("avx2").then_some(Self(()))
    }
}

vector_kernel!(Avx2, "avx2", 32, 4 x 2);

type Register = __m256i;

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

#[target_feature(enable = "avx2")]
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

#[target_feature(enable = "avx2")]
#[inline]
fn split(x: Register) -> Split {
    let low = _mm256_and_si256(x, _mm256_set1_epi8(0x0F));
    Split {
        low,
        high: _mm256_srli_epi64::<4>(_mm256_xor_si256(x, low)),
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn product(multiplier: &Multiplier, x: &Split) -> Register {
    _mm256_xor_si256(
        _mm256_shuffle_epi8(multiplier.low, x.low),
        _mm256_shuffle_epi8(multiplier.high, x.high),
    )
}

#[target_feature(enable = "avx2")]
#[inline]
fn zero() -> Register {
    _mm256_setzero_si256()
}

#[target_feature(enable = "avx2")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    _mm256_xor_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn and(a: Register, b: Register) -> Register {
    _mm256_and_si256(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 32 bytes read; no alignment is asked.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: Register) {
    // SAFETY: the reference covers the 32 bytes written; no alignment is asked.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), x) }
}

/// The table in both halves of a register: a shuffle stays within its half.
#[target_feature(enable = "avx2")]
#[inline]
fn table(bytes: &[u8; 16]) -> Register {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    let half = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm256_broadcastsi128_si256(half)
}
