#![doc = include_str!("../README.md")]
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[allow(unsafe_code)]
mod arch;
mod block;
mod buffers;
pub mod coefficients;
mod decoder;
mod echelon;
mod encoding_window;
mod error;
mod esi;
pub mod field;
pub mod kernel;
#[doc = include_str!("../docs/maths.md")]
pub mod maths {}
mod recode;
pub mod reed_solomon;
mod references;
mod store;
mod symbol;
mod system;
mod tables;
pub mod tinymt32;
mod window;

pub use block::{BlockDecoder, BlockEncoder};
pub use decoder::{DecoderConfig, DecoderStats, Outcome, Skipped, WindowDecoder};
pub use encoding_window::EncodingWindow;
pub use error::{DecodeError, PushError, RepairError};
pub use esi::{Esi, expand_esi};
pub use recode::Recoder;
pub use symbol::{LENGTH_BYTES, MAX_SYMBOL_SIZE};
pub use window::WindowEncoder;
