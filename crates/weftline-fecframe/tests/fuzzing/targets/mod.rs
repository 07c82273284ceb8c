//! Entry points for a fuzzer, which panic only on a real bug. Each turns bytes into
//! calls and checks every answer.
//!
//! The tests next to this folder run them on generated inputs; the fuzzer in `fuzz/`
//! includes the folder.
#![allow(unused_imports, reason = "the fuzzer looks at no sums")]

mod input;
mod receiver;

pub(crate) use receiver::{Seen, receiver};
