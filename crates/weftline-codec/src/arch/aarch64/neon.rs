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

vector_kernel!(Neon, "neon", 16, 4 x 4);

type Register = uint8x16_t;

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

#[target_feature(enable = "neon")]
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

#[target_feature(enable = "neon")]
#[inline]
fn split(x: Register) -> Split {
    Split {
        low: vandq_u8(x, vdupq_n_u8(0x0F)),
        high: vshrq_n_u8::<4>(x),
    }
}

#[target_feature(enable = "neon")]
#[inline]
fn product(multiplier: &Multiplier, x: &Split) -> Register {
    veorq_u8(
        vqtbl1q_u8(multiplier.low, x.low),
        vqtbl1q_u8(multiplier.high, x.high),
    )
}

#[target_feature(enable = "neon")]
#[inline]
fn zero() -> Register {
    vdupq_n_u8(0)
}

#[target_feature(enable = "neon")]
#[inline]
fn add(a: Register, b: Register) -> Register {
    veorq_u8(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn and(a: Register, b: Register) -> Register {
    vandq_u8(a, b)
}

#[target_feature(enable = "neon")]
#[inline]
fn load(bytes: &[u8; WIDTH]) -> Register {
    // SAFETY: the reference covers the 16 bytes read; no alignment is asked.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn store(bytes: &mut [u8; WIDTH], x: Register) {
    // SAFETY: the reference covers the 16 bytes written; no alignment is asked.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), x) }
}

#[target_feature(enable = "neon")]
#[inline]
fn table(bytes: &[u8; 16]) -> Register {
    load(bytes)
}
