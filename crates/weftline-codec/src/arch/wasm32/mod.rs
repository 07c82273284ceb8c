//! Kernels for WebAssembly.

pub(crate) mod simd128;
