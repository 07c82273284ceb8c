//! Entry points for a fuzzer: bytes in, a panic only on a real bug. Each turns bytes into calls
//! and checks every answer against what must be true.
//!
//! The tests beside this run them on generated inputs; the fuzzer in `fuzz/` includes this
//! folder.
#![allow(unused_imports, reason = "the fuzzer looks at no sums")]

mod input;
mod receiver;

pub(crate) use receiver::{Seen, receiver};
