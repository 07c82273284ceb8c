//! Block codes: a fixed set of source symbols, protected together.
//!
//! A block is a window that covers all of its symbols: a window decoder takes
//! the symbols of a [`BlockEncoder`], and a block decoder those of a window
//! encoder.

mod decoder;
mod encoder;
mod equations;
mod known;

pub use decoder::BlockDecoder;
pub use encoder::BlockEncoder;
