//! The kernels, one per instruction set: all the `unsafe` of the crate.
//!
//! A kernel is a zero-sized value that only its `new` makes, and `new` returns
//! `None` on a CPU without the instructions, so code that holds a kernel may
//! run it. The methods of all kernels are the same; [`crate::kernel`] checks
//! their arguments and is the only caller.

#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64;
pub(crate) mod scalar;
#[cfg(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "wasm32", target_feature = "simd128")
))]
mod vector;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) mod wasm32;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

/// What sums are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onto {
    /// What the destination holds.
    All,
    /// Nothing: the destination is not read, and overwritten.
    Nothing,
}

impl Onto {
    /// Makes a part of a destination what sums may be added to in any case.
    #[inline(always)]
    pub(crate) fn prepare(self, dst: &mut [u8]) {
        if self == Self::Nothing {
            dst.fill(0);
        }
    }
}
