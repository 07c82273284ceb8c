//! Entry points for a fuzzer, which panic only on a real bug. Each turns bytes
//! into calls and checks every answer.
//!
//! The tests next to this folder run them on generated inputs; the fuzzer in
//! `fuzz/` includes the folder.
#![allow(
    dead_code,
    unused_imports,
    reason = "each fuzz target calls one of them"
)]

mod block;
#[allow(clippy::unwrap_used, reason = "as in the tests it is for")]
#[path = "../../dense/mod.rs"]
mod dense;
mod input;
mod recoder;
mod shards;
mod window;

use std::sync::OnceLock;

use weftline_codec::field::Arithmetic;

pub(crate) use block::block;
pub(crate) use recoder::recoder;
pub(crate) use shards::shards;
pub(crate) use window::window;

/// The reference for a field, made once: its tables take longer than most
/// inputs.
fn judge(field: Arithmetic) -> &'static dense::Dense {
    static JUDGES: [OnceLock<dense::Dense>; 8] = [const { OnceLock::new() }; 8];
    JUDGES[field.bits() as usize - 1].get_or_init(|| dense::Dense::new(field))
}
