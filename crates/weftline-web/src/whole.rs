//! Whole numbers: JavaScript has only numbers with 53 bits and a fraction.

use wasm_bindgen::JsValue;

use crate::objects::argument;

/// The largest number up to which JavaScript holds all whole ones.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A whole number, 0 to 2^53 - 1.
pub(crate) fn whole(value: f64, what: &str) -> Result<u64, JsValue> {
    if (0.0..=MOST).contains(&value) && value.fract() == 0.0 {
        Ok(value as u64)
    } else {
        Err(argument(format_args!(
            "{what} is {value}: give a whole number from 0 to 2^53 - 1"
        )))
    }
}

/// A whole number that fits the type of what it counts.
pub(crate) fn small<T: TryFrom<u64>>(value: f64, what: &str) -> Result<T, JsValue> {
    let number = whole(value, what)?;
    T::try_from(number)
        .map_err(|_| argument(format_args!("{what} is {number}, which is too large")))
}
