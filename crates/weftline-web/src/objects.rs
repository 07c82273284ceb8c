//! What JavaScript makes for this crate: plain objects and errors (`js/objects.js`).

use std::fmt::Display;

use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    /// An error with a code that programs read, and words that people read.
    #[wasm_bindgen(js_name = weftlineError)]
    fn weftline_error(code: &str, words: &str) -> JsValue;
}

/// An error of JavaScript: `code` is one of `ErrorCode` in `js/objects.js`.
pub(crate) fn error(code: &str, words: impl Display) -> JsValue {
    weftline_error(code, &words.to_string())
}

/// An argument makes no sense.
pub(crate) fn argument(words: impl Display) -> JsValue {
    error("argument", words)
}
