//! The AVX-512 kernel: registers of 64 bytes, products by table look-up.

use core::arch::x86_64::*;

use super::detected;
use crate::arch::masked::masked_kernel;

/// Proof that the CPU has the AVX-512 instructions F and BW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn new() -> Option<Self> {
        detected!("avx512f", "avx512bw").then_some(Self(()))
    }
}

masked_kernel!(Avx512, "avx512f,avx512bw");

type Register = __m512i;

/// The products of one coefficient with all low and all high nibbles.
struct Multiplier {
    low: Register,
    high: Register,
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn multiplier(tables: &Tables, c: u8) -> Multiplier {
    let nibbles = &tables.nibbles[usize::from(c)];
    Multiplier {
        low: table(&nibbles.low),
        high: table(&nibbles.high),
    }
}

/// The low and the high nibbles of bytes.
struct Split {
    low: Register,
    high: Register,
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn split(x: Register) -> Split {
    let nibble = _mm512_set1_epi8(0x0F);
    Split {
        low: _mm512_and_si512(x, nibble),
        high: _mm512_and_si512(_mm512_srli_epi64::<4>(x), nibble),
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn product(multiplier: &Multiplier, x: &Split) -> Register {
    _mm512_xor_si512(
        _mm512_shuffle_epi8(multiplier.low, x.low),
        _mm512_shuffle_epi8(multiplier.high, x.high),
    )
}

/// The table in all quarters of a register: a shuffle stays within its own.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn table(bytes: &[u8; 16]) -> Register {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    let quarter = unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    _mm512_broadcast_i32x4(quarter)
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn zero() -> Register {
    _mm512_setzero_si512()
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    _mm512_xor_si512(a, b)
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 64 bytes read; no alignment is asked.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw")]
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

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn load_first(bytes: &[u8]) -> Register {
    // SAFETY: only bytes of the slice are in the mask, and others are not read.
    unsafe { _mm512_maskz_loadu_epi8(first(bytes.len()), bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn store_first(bytes: &mut [u8], x: Register) {
    let mask = first(bytes.len());
    // SAFETY: only bytes of the slice are in the mask, and others are not written.
    unsafe { _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask, x) }
}
