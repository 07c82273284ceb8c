//! The AVX-512 kernel: registers of 64 bytes, products by table look-up.

use core::arch::x86_64::*;

use super::detected;
use super::masked::masked_kernel;

/// Proof that the CPU has the AVX-512 instructions F and BW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn new() -> Option<Self> {
        detected!("avx512f", "avx512bw").then_some(Self(()))
    }
}

masked_kernel!(Avx512, "avx512f,avx512bw");

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
#[derive(Clone, Copy)]
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
