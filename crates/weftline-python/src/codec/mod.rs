//! The erasure codes, on buffers of Python.
//!
//! Each object has a lock of its own, so threads may share it. It is held only while the codec works, with the
//! interpreter's lock released where that may take long.

mod block;
mod coefficients;
mod recoder;
mod reed_solomon;
mod window;

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, MAX_SYMBOL_SIZE, Outcome};

use crate::errors;

pub(crate) use block::{BlockDecoder, BlockEncoder};
pub(crate) use coefficients::Coefficients;
pub(crate) use recoder::Recoder;
pub(crate) use reed_solomon::ReedSolomon;
pub(crate) use window::{WindowDecoder, WindowEncoder};

/// The most symbols of a block, of a window and of a recoder. A decoder needs memory for the square of its
/// symbols.
const MAX_SYMBOLS: usize = 8192;
/// Bytes to work on that take long: several microseconds. Releasing the interpreter's lock takes a tenth of one, and
/// longer when another thread takes it.
const LONG: usize = 256 << 10;

/// Works with the interpreter's lock released, if it may take long.
fn work<T: Send>(py: Python<'_>, bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    match bytes < LONG {
        true => work(),
        false => py.detach(work),
    }
}

/// What threads share, one at a time. Boxed: Python aligns its objects to 16 bytes, and the codec's types need more.
struct Shared<T>(Mutex<Box<T>>);

impl<T> Shared<T> {
    fn new(inner: T) -> Self {
        Shared(Mutex::new(Box::new(inner)))
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The field GF(2^bits).
fn field(bits: u32) -> PyResult<Arithmetic> {
    Arithmetic::with_bits(bits).ok_or_else(|| {
        errors::codec(format_args!(
            "there is no field GF(2^{bits}) here: use 1 to 8 bits"
        ))
    })
}

/// A number of symbols that is not 0 and within [`MAX_SYMBOLS`].
fn bounded(symbols: usize) -> PyResult<usize> {
    match (1..=MAX_SYMBOLS).contains(&symbols) {
        true => Ok(symbols),
        false => Err(errors::codec(format_args!(
            "the number of symbols is {symbols}: use 1 to {MAX_SYMBOLS}"
        ))),
    }
}

/// A symbol size that can be coded.
fn size(bytes: usize) -> PyResult<usize> {
    match bytes <= MAX_SYMBOL_SIZE {
        true => Ok(bytes),
        false => Err(errors::codec(format_args!(
            "symbols of {bytes} bytes are too long: use at most {MAX_SYMBOL_SIZE}"
        ))),
    }
}

/// Whether the symbol was new to the decoder.
fn innovative(outcome: Result<Outcome, DecodeError>) -> PyResult<bool> {
    outcome
        .map(|outcome| outcome == Outcome::Innovative)
        .map_err(errors::codec)
}
