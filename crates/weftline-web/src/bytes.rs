//! Bytes that JavaScript gives.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

use crate::objects::argument;

/// Memory for what a call reads, used again by the next one.
#[derive(Debug, Default)]
pub(crate) struct Input(Vec<u8>);

impl Input {
    /// A copy of the bytes of a `Uint8Array`. Nothing else is taken: an `ArrayBuffer` would look empty.
    pub(crate) fn read(&mut self, value: &JsValue) -> Result<&[u8], JsValue> {
        let given = array(value)?;
        let length = given.length() as usize;
        if self.0.len() < length {
            self.0.resize(length, 0);
        }
        given.copy_to(&mut self.0[..length]);
        Ok(&self.0[..length])
    }
}

/// A `Uint8Array`.
pub(crate) fn array(value: &JsValue) -> Result<&Uint8Array, JsValue> {
    value
        .dyn_ref()
        .ok_or_else(|| argument("bytes are a Uint8Array: make one of an ArrayBuffer or of a view"))
}
