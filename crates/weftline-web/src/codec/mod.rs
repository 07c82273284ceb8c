//! The erasure codec.

mod block;
mod coefficients;
mod recoder;
mod reed_solomon;
mod window;

use wasm_bindgen::prelude::*;
use weftline_codec as codec;
use weftline_codec::field::Arithmetic;
use weftline_codec::{DecodeError, Outcome, PushError};

use crate::objects::{argument, error};
use crate::whole::small;

pub use block::*;
pub use recoder::*;
pub use reed_solomon::*;
pub use window::*;

/// The most symbols of a block, of a window and of a recoder. A decoder needs memory for the square of its
/// symbols.
const MAX_SYMBOLS: usize = 8192;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Options of a code. */
export interface CodeOptions {
    /** The field GF(2^bits), 1 to 8; 8 unless given. Small fields cost less work and need more repair symbols. */
    bits?: number;
}

/** Options of a `WindowEncoder`. */
export interface WindowOptions extends CodeOptions {
    /** A full encoder discards its oldest symbol for a new one, instead of refusing it. */
    evict?: boolean;
}

/** The first symbol of a window, and the one after its last. */
export interface Span {
    first: number;
    end: number;
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Options of a code.
    #[wasm_bindgen(typescript_type = "CodeOptions")]
    pub type CodeOptions;
    #[wasm_bindgen(method, getter, structural)]
    fn bits(this: &CodeOptions) -> Option<f64>;
}

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    #[wasm_bindgen(js_name = span)]
    fn span_object(first: f64, end: f64) -> JsValue;
}

/// Which kernel computes: `simd128` in the package, unless it was built without.
#[wasm_bindgen]
pub fn kernel() -> String {
    codec::kernel::Kernel::active().to_string()
}

/// The longest payload, in bytes, whose repair symbols have at most `room` bytes: a repair symbol is 2 bytes
/// longer than the payload, rounded up to whole groups of the field (1 to 8 bits; 8 unless given). 0 if there is
/// none.
#[wasm_bindgen(js_name = longestPayload)]
pub fn longest_payload(room: f64, bits: Option<f64>) -> Result<f64, JsValue> {
    let (room, group): (usize, usize) = (small(room, "room")?, field(bits)?.group());
    let longest = (room / group * group).saturating_sub(codec::LENGTH_BYTES);
    Ok(longest.min(codec::MAX_SYMBOL_SIZE) as f64)
}

fn span(window: &std::ops::Range<u64>) -> JsValue {
    span_object(window.start as f64, window.end as f64)
}

/// The field that the options name.
fn field_of(options: Option<&CodeOptions>) -> Result<Arithmetic, JsValue> {
    field(options.and_then(CodeOptions::bits))
}

fn field(bits: Option<f64>) -> Result<Arithmetic, JsValue> {
    let bits = bits.map_or(Ok(8), |bits| small(bits, "bits"))?;
    Arithmetic::with_bits(bits).ok_or_else(|| {
        argument(format_args!(
            "there is no field GF(2^{bits}) here: give 1 to 8 bits"
        ))
    })
}

/// A number of symbols that is not 0 and within [`MAX_SYMBOLS`].
fn bounded(symbols: f64, what: &str) -> Result<usize, JsValue> {
    match small(symbols, what)? {
        count @ 1..=MAX_SYMBOLS => Ok(count),
        count => Err(argument(format_args!(
            "{what} is {count}: give 1 to {MAX_SYMBOLS}"
        ))),
    }
}

/// A symbol size that can be coded.
fn size(bytes: f64) -> Result<usize, JsValue> {
    match small(bytes, "the symbol size")? {
        size @ 0..=codec::MAX_SYMBOL_SIZE => Ok(size),
        size => Err(argument(format_args!(
            "symbols of {size} bytes are too long: give at most {}",
            codec::MAX_SYMBOL_SIZE
        ))),
    }
}

fn push_error(refused: PushError) -> JsValue {
    match refused {
        PushError::Full { .. } => error("full", refused),
        _ => argument(refused),
    }
}

/// Whether a symbol brought anything new.
fn innovative(outcome: Result<Outcome, DecodeError>) -> Result<bool, JsValue> {
    match outcome {
        Ok(outcome) => Ok(outcome == Outcome::Innovative),
        Err(refused) => Err(match refused {
            DecodeError::Inconsistent { .. } => error("inconsistent", refused),
            DecodeError::TooManyUnknowns { .. } | DecodeError::OutOfSpan { .. } => {
                error("full", refused)
            }
            DecodeError::NotHeld { .. } => error("late", refused),
            _ => argument(refused),
        }),
    }
}
