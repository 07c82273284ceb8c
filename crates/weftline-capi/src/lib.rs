//! The C ABI of Weftline: codec and session for programs that are not in Rust.
//!
//! `include/weftline.h` declares it, made from this crate by cbindgen; `docs/c-api.md` tells how to
//! build and use it. Nothing is implemented here: these are shims over [`weftline_codec`] and
//! [`weftline_proto`].
//!
//! # What holds for every function
//!
//! - Handles come from `..._new` and go back by `..._free`, once. NULL in place of a handle or of a
//!   result is an error ([`Status::Null`]), never a crash; freeing NULL does nothing.
//! - A handle may move between threads, but only one may use it at a time.
//! - Bytes are a pointer and a length; NULL is fine where the length is 0. Results are written
//!   only when the function returns [`Status::Ok`], except for lengths that a buffer would have
//!   needed ([`Status::BufferTooSmall`]).
//! - A function that fails changes nothing unless it says so, and leaves the reason in words with
//!   [`weftline_last_error`].
//! - No panic crosses the boundary: a bug of ours comes out as [`Status::Internal`], after which the
//!   handle is only good for freeing.
//!
//! # For readers of the code
//!
//! Handles and results arrive as `Option<&mut T>` and `Option<Box<T>>`, which have the layout of
//! C pointers that may be NULL, so that what is left of `unsafe` is in `raw`. The caller owes
//! what C always owes: pointers are NULL or valid, and not used elsewhere during the call.

// What a caller owes is the same everywhere and said above.
#![allow(clippy::missing_safety_doc)]

mod block;
mod coefficients;
mod guard;
mod raw;
mod recoder;
mod session;
mod status;
mod window;

pub use block::*;
pub use coefficients::*;
pub use recoder::*;
pub use session::*;
pub use status::*;
pub use window::*;
