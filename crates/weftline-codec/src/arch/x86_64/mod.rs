//! Kernels for x86-64: a byte shuffle looks sixteen products up at once, or an
//! affine instruction computes them.

pub(crate) mod avx2;
pub(crate) mod avx512;
pub(crate) mod gfni256;
pub(crate) mod gfni512;
mod masked;
pub(crate) mod ssse3;

/// Whether the CPU has all of these features: asked at run time with `std`,
/// known at compile time without.
macro_rules! detected {
    ($($feature:tt),+) => {{
        #[cfg(feature = "std")]
        let detected = $(std::arch::is_x86_feature_detected!($feature))&&+;
        #[cfg(not(feature = "std"))]
        let detected = cfg!(all($(target_feature = $feature),+));
        detected
    }};
}

use detected;
