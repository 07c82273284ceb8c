//! The NEON kernel: registers of 16 bytes, products by table look-up.

use core::arch::aarch64::*;

use crate::arch::vector::vector_kernel;

/// Proof that the CPU has the NEON instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(());

impl Neon {
    pub(crate) fn new() -> Option<Self> {
        #[cfg(feature = "std")]
        let detected = std::arch::is_aarch64_feature_detected!("neon");
        #[cfg(not(feature = "std"))]
        let detected = cfg!(target_feature = "neon");
        detected.then_some(Self(()))
    }
}

vector_kernel!(Neon, "neon", 16);

/// The products of one coefficient with all low and all high nibbles.
struct Multiplier {
    low: uint8x16_t,
    high: uint8x16_t,
}

#[target_feature(enable = "neon")]
#[inline]
fn multiplier(tables: &Tables, c: u8) -> Multiplier {
    let nibbles = &tables.nibbles[usize::from(c)];
    Multiplier {
        low: load(&nibbles.low),
        high: load(&nibbles.high),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn product(multiplier: &Multiplier, x: uint8x16_t) -> uint8x16_t {
    let low = vandq_u8(x, vdupq_n_u8(0x0F));
    let high = vshrq_n_u8::<4>(x);
    veorq_u8(
        vqtbl1q_u8(multiplier.low, low),
        vqtbl1q_u8(multiplier.high, high),
    )
}

#[target_feature(enable = "neon")]
#[inline]
fn zero() -> uint8x16_t {
    vdupq_n_u8(0)
}

#[target_feature(enable = "neon")]
#[inline]
fn add(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    veorq_u8(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn and(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    vandq_u8(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> uint8x16_t {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: uint8x16_t) {
    // SAFETY: the reference covers the 16 bytes written; no alignment is asked.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), x) }
}
