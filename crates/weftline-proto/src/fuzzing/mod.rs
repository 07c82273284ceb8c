//! Entry points for fuzzing: bytes in, a panic only on a real bug.
//!
//! Each function turns any bytes into calls, and checks the answers against a small model of what
//! must be true. The fuzzer in `fuzz/` calls them, and so do the tests of this crate, with the
//! corpus in `fuzz/`. They are not part of the public API.

mod decoder;
mod hostile;
mod input;
mod model;
mod oracle;
mod session;
#[cfg(test)]
mod smoke;
mod wire;

pub use decoder::decoder;
pub use hostile::hostile;
pub use session::{paths, session};
pub use wire::{datagram, frames};
