//! The kernels, one per instruction set. All `unsafe` code of the crate is
//! here.
//!
//! A kernel is a zero-sized value that only its `new` makes. `new` returns
//! `None` on a CPU without the instructions, so code that holds a kernel may
//! run it. All kernels have the same methods; [`crate::kernel`] checks the
//! arguments and is the only caller.

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

/// Where sums go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onto {
    /// They are added to the destination.
    All,
    /// They overwrite the destination, which is not read.
    Nothing,
}

impl Onto {
    /// Prepares a part of a destination for sums that are added to it.
    #[inline(always)]
    pub(crate) fn prepare(self, dst: &mut [u8]) {
        if self == Self::Nothing {
            dst.fill(0);
        }
    }
}

/// A source of a sum, with or without a coefficient.
pub(crate) trait Term<'a>: Copy {
    /// Whether the coefficient is always 1, so that nothing is multiplied.
    const PLAIN: bool;

    fn new(coefficient: u8, source: &'a [u8]) -> Self;
    fn coefficient(self) -> u8;
    fn source(self) -> &'a [u8];
}

impl<'a> Term<'a> for &'a [u8] {
    const PLAIN: bool = true;

    #[inline(always)]
    fn new(_: u8, source: &'a [u8]) -> Self {
        source
    }

    #[inline(always)]
    fn coefficient(self) -> u8 {
        1
    }

    #[inline(always)]
    fn source(self) -> &'a [u8] {
        self
    }
}

impl<'a> Term<'a> for (u8, &'a [u8]) {
    const PLAIN: bool = false;

    #[inline(always)]
    fn new(coefficient: u8, source: &'a [u8]) -> Self {
        (coefficient, source)
    }

    #[inline(always)]
    fn coefficient(self) -> u8 {
        self.0
    }

    #[inline(always)]
    fn source(self) -> &'a [u8] {
        self.1
    }
}
