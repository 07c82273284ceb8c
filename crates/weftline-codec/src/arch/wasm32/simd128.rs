//! The WebAssembly SIMD128 kernel: registers of 16 bytes, products by table
//! look-up.
//!
//! A WebAssembly module with these instructions does not load where they are
//! missing, so this is compiled only for targets that have them.

use core::arch::wasm32::*;

use crate::arch::vector::vector_kernel;

/// Proof that the build has the SIMD128 instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Simd128(());

impl Simd128 {
    /// Never `None`: see above.
    pub(crate) fn new() -> Option<Self> {
        Some(Self(()))
    }
}

vector_kernel!(Simd128, "simd128", 16, 3 x 2);

type Register = v128;

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

#[target_feature(enable = "simd128")]
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

#[target_feature(enable = "simd128")]
#[inline]
fn split(x: Register) -> Split {
    Split {
        low: v128_and(x, u8x16_splat(0x0F)),
        high: u8x16_shr(x, 4),
    }
}

#[target_feature(enable = "simd128")]
#[inline]
fn product(multiplier: &Multiplier, x: &Split) -> Register {
    v128_xor(
        u8x16_swizzle(multiplier.low, x.low),
        u8x16_swizzle(multiplier.high, x.high),
    )
}

#[target_feature(enable = "simd128")]
#[inline]
fn zero() -> Register {
    u8x16_splat(0)
}

#[target_feature(enable = "simd128")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    v128_xor(a, b)
}

#[target_feature(enable = "simd128")]
#[inline]
fn and(a: Register, b: Register) -> Register {
    v128_and(a, b)
}

#[target_feature(enable = "simd128")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    unsafe { v128_load(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "simd128")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: Register) {
    // SAFETY: the reference covers the 16 bytes written; no alignment is asked.
    unsafe { v128_store(bytes.as_mut_ptr().cast(), x) }
}

#[target_feature(enable = "simd128")]
#[inline]
fn table(bytes: &[u8; 16]) -> Register {
    load(bytes)
}
