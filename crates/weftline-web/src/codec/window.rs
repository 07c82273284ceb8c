//! Sliding-window codes.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_codec as codec;
use weftline_codec::DecoderConfig;

use super::coefficients::Vector;
use super::{CodeOptions, bounded, field_of, innovative, push_error, size, span};
use crate::bytes::Input;
use crate::objects::argument;
use crate::whole::whole;

#[wasm_bindgen]
extern "C" {
    /// Options of a [`WindowEncoder`].
    #[wasm_bindgen(extends = CodeOptions, typescript_type = "WindowOptions")]
    pub type WindowOptions;
    #[wasm_bindgen(method, getter, structural)]
    fn evict(this: &WindowOptions) -> Option<bool>;
}

/// Source symbols, numbered by their ESI (encoding symbol id). It makes repair symbols over any window of the
/// symbols that it still holds.
#[wasm_bindgen]
#[derive(Debug)]
pub struct WindowEncoder {
    window: codec::WindowEncoder,
    repair: Vec<u8>,
    input: Input,
}

#[wasm_bindgen]
impl WindowEncoder {
    /// An empty encoder that holds at most `capacity` symbols (8192 at most) of at most `maxSymbolSize` bytes
    /// (65,535 at most).
    #[wasm_bindgen(constructor)]
    pub fn new(
        capacity: f64,
        #[wasm_bindgen(js_name = maxSymbolSize)] max_symbol_size: f64,
        options: Option<WindowOptions>,
    ) -> Result<WindowEncoder, JsValue> {
        let (capacity, size) = (bounded(capacity, "capacity")?, size(max_symbol_size)?);
        let field = field_of(options.as_deref())?;
        let mut window = codec::WindowEncoder::with_field(capacity, size, field);
        if options.and_then(|options| options.evict()) == Some(true) {
            window = window.evicting();
        }
        Ok(WindowEncoder {
            window,
            repair: Vec::new(),
            input: Input::default(),
        })
    }

    /// Adds a copy of the next source symbol, and returns its ESI. Throws `full` while the encoder holds as many
    /// symbols as it may.
    pub fn push(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] payload: &JsValue,
    ) -> Result<f64, JsValue> {
        let esi = self
            .window
            .push(self.input.read(payload)?)
            .map_err(push_error)?;
        Ok(esi as f64)
    }

    /// Which symbols the encoder holds.
    #[wasm_bindgen(getter, unchecked_return_type = "Span")]
    pub fn held(&self) -> JsValue {
        span(&self.window.held())
    }

    /// Discards all symbols below `esi`: call this for symbols that the receiver has.
    #[wasm_bindgen(js_name = discardBefore)]
    pub fn discard_before(&mut self, esi: f64) -> Result<(), JsValue> {
        self.window.discard_before(whole(esi, "the ESI")?);
        Ok(())
    }

    /// The repair symbol over the symbols from `first` up to and without `end`: 2 bytes more than their longest
    /// payload, rounded up to whole groups of the field.
    pub fn repair(
        &mut self,
        first: f64,
        end: f64,
        #[wasm_bindgen(unchecked_param_type = "Coefficients")] coefficients: &JsValue,
    ) -> Result<Uint8Array, JsValue> {
        let window = whole(first, "first")?..whole(end, "end")?;
        let vector = Vector::read(coefficients)?;
        self.repair.clear();
        let made = self.window.repair(window, vector.codec(), &mut self.repair);
        made.map_err(argument)?;
        Ok(Uint8Array::from(&self.repair[..]))
    }
}

/// Recovers source symbols from repair symbols, each as soon as the symbols that arrived determine it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct WindowDecoder {
    decoder: codec::WindowDecoder,
    input: Input,
}

#[wasm_bindgen]
impl WindowDecoder {
    /// A decoder that keeps at most `maxSpan` symbols, known or missing, of at most `maxSymbolSize` bytes, and
    /// accepts repair symbols over at most as many.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(js_name = maxSpan)] max_span: f64,
        #[wasm_bindgen(js_name = maxSymbolSize)] max_symbol_size: f64,
        options: Option<CodeOptions>,
    ) -> Result<WindowDecoder, JsValue> {
        let (most, size) = (bounded(max_span, "maxSpan")?, size(max_symbol_size)?);
        let config = DecoderConfig::new(most, size, most, most);
        let field = field_of(options.as_ref())?;
        Ok(WindowDecoder {
            decoder: codec::WindowDecoder::with_field(config, field),
            input: Input::default(),
        })
    }

    /// Gives the decoder a source symbol, which it copies. Returns whether the symbol was new to it. Throws `full`
    /// for a symbol too far above the oldest one that the decoder keeps: forget older symbols.
    pub fn source(
        &mut self,
        esi: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] payload: &JsValue,
    ) -> Result<bool, JsValue> {
        innovative(
            self.decoder
                .source(whole(esi, "the ESI")?, self.input.read(payload)?),
        )
    }

    /// Gives the decoder a repair symbol over the symbols from `first` up to and without `end`. Returns whether it
    /// told the decoder something new. Throws `late` if it covers symbols that the decoder has forgotten and needs
    /// them: drop the repair symbol and continue. Throws `inconsistent` if repair symbols contradict each other; the
    /// decoder goes on without them.
    pub fn repair(
        &mut self,
        first: f64,
        end: f64,
        #[wasm_bindgen(unchecked_param_type = "Coefficients")] coefficients: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] data: &JsValue,
    ) -> Result<bool, JsValue> {
        let window = whole(first, "first")?..whole(end, "end")?;
        let vector = Vector::read(coefficients)?;
        innovative(
            self.decoder
                .repair(window, vector.codec(), self.input.read(data)?),
        )
    }

    /// The ESI of the next symbol that became known, received or recovered, each symbol once; `undefined` when
    /// there is none now.
    #[wasm_bindgen(js_name = nextKnown)]
    pub fn next_known(&mut self) -> Option<f64> {
        self.decoder.next_known().map(|esi| esi as f64)
    }

    /// The payload of a known symbol; `undefined` for another one.
    pub fn symbol(&self, esi: f64) -> Result<Option<Uint8Array>, JsValue> {
        let symbol = self.decoder.symbol(whole(esi, "the ESI")?);
        Ok(symbol.map(Uint8Array::from))
    }

    /// The in-order edge: the lowest ESI that is not known.
    #[wasm_bindgen(getter)]
    pub fn contiguous(&self) -> f64 {
        self.decoder.contiguous() as f64
    }

    /// How many symbols are missing.
    #[wasm_bindgen(getter)]
    pub fn missing(&self) -> usize {
        self.decoder.unknowns()
    }

    /// How many more innovative symbols the decoder needs until nothing is missing.
    #[wasm_bindgen(getter)]
    pub fn deficit(&self) -> usize {
        self.decoder.deficit()
    }

    /// Forgets all symbols below `esi`, and gives up those of them that are missing.
    #[wasm_bindgen(js_name = forgetBefore)]
    pub fn forget_before(&mut self, esi: f64) -> Result<(), JsValue> {
        self.decoder.forget_before(whole(esi, "the ESI")?);
        Ok(())
    }
}
