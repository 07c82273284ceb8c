//! Weftline in WebAssembly, as `packaging/web` makes the npm package `weftline` from it.
//!
//! Nothing is implemented here: this is a thin layer over `weftline-codec` and `weftline-proto`. What a
//! class or a method does is said in their types, which TypeScript sees. Numbers of JavaScript hold whole
//! numbers up to 2^53; all that is larger, negative or has a fraction is refused where a count, an index or
//! a number of a symbol is expected.
#![forbid(unsafe_code)]

#[cfg(any(feature = "codec", feature = "session"))]
mod bytes;
#[cfg(feature = "codec")]
mod codec;
#[cfg(any(feature = "codec", feature = "session"))]
mod objects;
#[cfg(feature = "session")]
mod session;
#[cfg(any(feature = "codec", feature = "session"))]
mod whole;

#[cfg(feature = "codec")]
pub use codec::*;
#[cfg(feature = "session")]
pub use session::*;
