//! Block codes: a fixed set of source symbols, protected together.
//!
//! On the wire a block is a window that covers all of it: what a [`BlockEncoder`]
//! makes, a window decoder can take, and the other way round.

mod decoder;
mod encoder;
mod equations;
mod known;

pub use decoder::BlockDecoder;
pub use encoder::BlockEncoder;
