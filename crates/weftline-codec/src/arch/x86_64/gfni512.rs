//! The AVX-512 GFNI kernel: registers of 64 bytes, a product in one
//! instruction.
//!
//! The affine instruction multiplies by any bit matrix. The instruction for
//! products cannot be used: it is fixed to the polynomial 0x11B.

use core::arch::x86_64::*;

use super::detected;
use super::masked::masked_kernel;

/// Proof that the CPU has the GFNI and the AVX-512 instructions F and BW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gfni512(());

impl Gfni512 {
    pub(crate) fn new() -> Option<Self> {
        detected!("gfni", "avx512f", "avx512bw").then_some(Self(()))
    }
}

masked_kernel!(Gfni512, "gfni,avx512f,avx512bw");

type Multiplier = Register;

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiplier(tables: &Tables, c: u8) -> Multiplier {
    _mm512_set1_epi64(tables.matrices[usize::from(c)].cast_signed())
}

/// This instruction needs no split.
#[inline(always)]
fn split(x: Register) -> Register {
    x
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn product(multiplier: &Multiplier, x: &Register) -> Register {
    _mm512_gf2p8affine_epi64_epi8::<0>(*x, *multiplier)
}
