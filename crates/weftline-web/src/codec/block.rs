//! Block codes.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_codec as codec;

use super::coefficients::Vector;
use super::{CodeOptions, bounded, field_of, innovative, push_error, size};
use crate::bytes::Input;
use crate::objects::argument;
use crate::whole::small;

/// A block of source symbols, which makes repair symbols over all of them. Send the source symbols and then repair
/// symbols (systematic), or only repair symbols.
#[wasm_bindgen]
#[derive(Debug)]
pub struct BlockEncoder {
    block: codec::BlockEncoder,
    repair: Vec<u8>,
    input: Input,
}

#[wasm_bindgen]
impl BlockEncoder {
    /// An empty block for at most `maxSymbols` symbols (8192 at most) of at most `maxSymbolSize` bytes (65,535 at
    /// most).
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(js_name = maxSymbols)] max_symbols: f64,
        #[wasm_bindgen(js_name = maxSymbolSize)] max_symbol_size: f64,
        options: Option<CodeOptions>,
    ) -> Result<BlockEncoder, JsValue> {
        let (symbols, size) = (bounded(max_symbols, "maxSymbols")?, size(max_symbol_size)?);
        let field = field_of(options.as_ref())?;
        let block = codec::BlockEncoder::with_field(symbols, size, field);
        Ok(BlockEncoder {
            block,
            repair: Vec::new(),
            input: Input::default(),
        })
    }

    /// Adds a copy of the next source symbol to the block, and returns its index. Throws `full` when the block has
    /// all its symbols.
    pub fn push(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] payload: &JsValue,
    ) -> Result<usize, JsValue> {
        self.block
            .push(self.input.read(payload)?)
            .map_err(push_error)
    }

    /// How many symbols the block has.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.block.len()
    }

    /// The repair symbol with these coefficients over the whole block: 2 bytes more than its longest payload,
    /// rounded up to whole groups of the field.
    pub fn repair(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Coefficients")] coefficients: &JsValue,
    ) -> Result<Uint8Array, JsValue> {
        let vector = Vector::read(coefficients)?;
        self.repair.clear();
        let made = self.block.repair(vector.codec(), &mut self.repair);
        made.map_err(argument)?;
        Ok(Uint8Array::from(&self.repair[..]))
    }

    /// Removes all symbols, so that the next block can begin. The memory is used again.
    pub fn clear(&mut self) {
        self.block.clear();
    }
}

/// Recovers a block from as many of its symbols as suffice, whichever they are.
#[wasm_bindgen]
#[derive(Debug)]
pub struct BlockDecoder {
    decoder: codec::BlockDecoder,
    input: Input,
}

#[wasm_bindgen]
impl BlockDecoder {
    /// A decoder for a block of `symbols` symbols of at most `maxSymbolSize` bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(
        symbols: f64,
        #[wasm_bindgen(js_name = maxSymbolSize)] max_symbol_size: f64,
        options: Option<CodeOptions>,
    ) -> Result<BlockDecoder, JsValue> {
        let (symbols, size) = (bounded(symbols, "symbols")?, size(max_symbol_size)?);
        let field = field_of(options.as_ref())?;
        Ok(BlockDecoder {
            decoder: codec::BlockDecoder::with_field(symbols, size, field),
            input: Input::default(),
        })
    }

    /// Gives the decoder a source symbol, which it copies. Returns whether the symbol was new to it.
    pub fn source(
        &mut self,
        index: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] payload: &JsValue,
    ) -> Result<bool, JsValue> {
        innovative(
            self.decoder
                .source(small(index, "the index")?, self.input.read(payload)?),
        )
    }

    /// Gives the decoder a repair symbol that was made with these coefficients. Returns whether it told the decoder
    /// something new. The block is solved as soon as that is possible. Throws `inconsistent` if repair symbols
    /// contradict each other; the decoder goes on without them.
    pub fn repair(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Coefficients")] coefficients: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] data: &JsValue,
    ) -> Result<bool, JsValue> {
        let vector = Vector::read(coefficients)?;
        innovative(self.decoder.repair(vector.codec(), self.input.read(data)?))
    }

    /// How many more innovative symbols the decoder needs; 0 when every symbol is known.
    #[wasm_bindgen(getter)]
    pub fn deficit(&self) -> usize {
        self.decoder.deficit()
    }

    /// How many source symbols are missing.
    #[wasm_bindgen(getter)]
    pub fn missing(&self) -> usize {
        self.decoder.unknowns()
    }

    /// The payload of a known symbol; `undefined` for another one.
    pub fn symbol(&self, index: f64) -> Result<Option<Uint8Array>, JsValue> {
        let symbol = self.decoder.symbol(small(index, "the index")?);
        Ok(symbol.map(Uint8Array::from))
    }

    /// Forgets everything, so that the next block of the same number of symbols can begin. The memory is used
    /// again.
    pub fn clear(&mut self) {
        self.decoder.clear();
    }
}
