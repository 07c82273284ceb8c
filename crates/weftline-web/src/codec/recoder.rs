//! Recoding at relays.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_codec as codec;
use weftline_codec::RepairError;

use super::coefficients::Vector;
use super::{CodeOptions, bounded, field_of, innovative, size};
use crate::bytes::Input;
use crate::objects::argument;
use crate::whole::{small, whole};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A repair symbol of a relay, over the symbols from `first` up to and without `end`. */
export interface Recoded extends Span {
    /** The coding vector, an element for each symbol: it travels with the symbol. */
    vector: Uint8Array;
    data: Uint8Array;
}
"#;

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    fn recoded(first: f64, end: f64, vector: Uint8Array, data: Uint8Array) -> JsValue;
}

/// Makes new repair symbols from the symbols that reach a relay, without decoding them.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Recoder {
    recoder: codec::Recoder,
    vector: Vec<u8>,
    data: Vec<u8>,
    input: Input,
}

#[wasm_bindgen]
impl Recoder {
    /// A relay that holds at most `maxSymbols` symbols of at most `maxSymbolSize` bytes, and combines at most
    /// `maxSpan` consecutive ESIs.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(js_name = maxSymbols)] max_symbols: f64,
        #[wasm_bindgen(js_name = maxSpan)] max_span: f64,
        #[wasm_bindgen(js_name = maxSymbolSize)] max_symbol_size: f64,
        options: Option<CodeOptions>,
    ) -> Result<Recoder, JsValue> {
        let symbols = bounded(max_symbols, "maxSymbols")?;
        let most = bounded(max_span, "maxSpan")?;
        let field = field_of(options.as_ref())?;
        let size = size(max_symbol_size)?;
        Ok(Recoder {
            recoder: codec::Recoder::with_field(symbols, most, size, field),
            vector: Vec::new(),
            data: Vec::new(),
            input: Input::default(),
        })
    }

    /// Gives the relay a source symbol that it received. Returns whether it told the relay something new.
    pub fn source(
        &mut self,
        esi: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] payload: &JsValue,
    ) -> Result<bool, JsValue> {
        innovative(
            self.recoder
                .source(whole(esi, "the ESI")?, self.input.read(payload)?),
        )
    }

    /// Gives the relay a repair symbol that it received, over the symbols from `first` up to and without `end`.
    /// Returns whether it told the relay something new. Throws `late` if it covers symbols that the relay has
    /// forgotten and needs them.
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
            self.recoder
                .repair(window, vector.codec(), self.input.read(data)?),
        )
    }

    /// A new repair symbol; `undefined` while the relay holds nothing. Use a new key for each.
    #[wasm_bindgen(unchecked_return_type = "Recoded | undefined")]
    pub fn recode(&mut self, key: f64) -> Result<JsValue, JsValue> {
        let key = small(key, "the key")?;
        self.vector.clear();
        self.data.clear();
        let made = (self.recoder).recode(key, &mut self.vector, &mut self.data);
        match made {
            Ok(window) => Ok(recoded(
                window.start as f64,
                window.end as f64,
                Uint8Array::from(&self.vector[..]),
                Uint8Array::from(&self.data[..]),
            )),
            Err(RepairError::EmptyWindow) => Ok(JsValue::UNDEFINED),
            Err(refused) => Err(argument(refused)),
        }
    }

    /// How many symbols the relay holds. They are independent of each other.
    #[wasm_bindgen(getter)]
    pub fn rank(&self) -> usize {
        self.recoder.rank()
    }

    /// Forgets all symbols below `esi`, and keeps what is known about the others without them.
    #[wasm_bindgen(js_name = forgetBefore)]
    pub fn forget_before(&mut self, esi: f64) -> Result<(), JsValue> {
        self.recoder.forget_before(whole(esi, "the ESI")?);
        Ok(())
    }
}
