//! Reed-Solomon codes.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

use super::{CodeOptions, field_of};
use crate::objects::{argument, error};
use crate::whole::small;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Options of a `ReedSolomon` code. */
export interface ReedSolomonOptions extends CodeOptions {
    /**
     * `cauchy` (unless given): the first repair shard is the XOR of the sources. `rfc5510`: as RFC 5510 prints it.
     * Repair shards of the two cannot be combined.
     */
    construction?: "cauchy" | "rfc5510";
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Options of a [`ReedSolomon`] code.
    #[wasm_bindgen(extends = CodeOptions, typescript_type = "ReedSolomonOptions")]
    pub type ReedSolomonOptions;
    #[wasm_bindgen(method, getter, structural)]
    fn construction(this: &ReedSolomonOptions) -> Option<String>;
}

/// A Reed-Solomon code: any `sources` of the `sources + repairs` shards of a block give all others. All shards of
/// a block are equally long.
#[wasm_bindgen]
#[derive(Debug)]
pub struct ReedSolomon {
    decoder: Decoder,
    /// The shards given, one after the other, and the shards made; longer ones may have been here.
    given: Vec<u8>,
    made: Vec<u8>,
}

#[wasm_bindgen]
impl ReedSolomon {
    /// A code with `sources` source shards and `repairs` repair shards, together at most 256 (in smaller fields and
    /// with `rfc5510` fewer).
    #[wasm_bindgen(constructor)]
    pub fn new(
        sources: f64,
        repairs: f64,
        options: Option<ReedSolomonOptions>,
    ) -> Result<ReedSolomon, JsValue> {
        let field = field_of(options.as_deref())?;
        let name = options.and_then(|options| options.construction());
        let construction = match name.as_deref() {
            None | Some("cauchy") => Construction::Cauchy,
            Some("rfc5510") => Construction::Rfc5510,
            Some(name) => {
                return Err(argument(format_args!(
                    "there is no construction {name:?}: give cauchy or rfc5510"
                )));
            }
        };
        let (sources, repairs) = (small(sources, "sources")?, small(repairs, "repairs")?);
        let code = Code::with_field(construction, field, sources, repairs).map_err(argument)?;
        Ok(ReedSolomon {
            decoder: Decoder::new(code),
            given: Vec::new(),
            made: Vec::new(),
        })
    }

    /// The repair shards of these source shards.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array[]")]
    pub fn encode(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "ArrayLike<Uint8Array>")] sources: &JsValue,
    ) -> Result<Array, JsValue> {
        let sources = list(sources)?;
        let code = self.decoder.code();
        let (k, m) = (code.sources(), code.repairs());
        if sources.length() as usize != k {
            return Err(argument(format_args!(
                "{} source shards are given: give {k}",
                sources.length()
            )));
        }
        let mut taking = Taking::new(&mut self.given);
        for (index, shard) in sources.iter().enumerate() {
            taking.take(index, &shard)?;
        }
        let length = taking.length();
        let given = cut(&self.given, length, k);
        let mut made = cut_mut(&mut self.made, length, m);
        code.encode(&given, &mut made).map_err(argument)?;
        Ok(made
            .iter()
            .map(|shard| Uint8Array::from(&**shard))
            .collect())
    }

    /// The source shards, from at least as many shards of any kind: `shards` has the source shards and then the
    /// repair shards in their order, with `undefined` or `null` for each that is missing. Shards that were not missing
    /// are returned as they were given. Throws `missing` when there are too few.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array[]")]
    pub fn reconstruct(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "ArrayLike<Uint8Array | null | undefined>")]
        shards: &JsValue,
    ) -> Result<Array, JsValue> {
        let shards = list(shards)?;
        let code = self.decoder.code();
        let (k, all) = (code.sources(), code.shards());
        if shards.length() as usize > all {
            return Err(argument(format_args!(
                "{} shards are given: give at most {all}",
                shards.length()
            )));
        }
        let sources: Array = (0..k as u32).map(|index| shards.get(index)).collect();
        let (mut received, mut wanted) = (Vec::new(), Vec::new());
        let mut taking = Taking::new(&mut self.given);
        for index in 0..all {
            let shard = shards.get(index as u32);
            if shard.is_undefined() || shard.is_null() {
                if index < k {
                    wanted.push(index);
                }
            } else if received.len() < k {
                taking.take(index, &shard)?;
                received.push(index);
            }
        }
        if received.len() < k {
            return Err(error(
                "missing",
                format_args!("{} shards are here: {k} are needed", received.len()),
            ));
        }
        let length = taking.length();
        let given = cut(&self.given, length, received.len());
        let mut made = cut_mut(&mut self.made, length, wanted.len());
        let received = received.into_iter().zip(given);
        let done = self.decoder.reconstruct(received, &wanted, &mut made);
        done.map_err(argument)?;
        for (index, shard) in wanted.into_iter().zip(made) {
            sources.set(index as u32, Uint8Array::from(&*shard).into());
        }
        Ok(sources)
    }
}

fn list(value: &JsValue) -> Result<Array, JsValue> {
    match value.dyn_ref::<Array>() {
        Some(array) => Ok(array.clone()),
        None => Err(argument("shards are an array of Uint8Array")),
    }
}

/// Copies shards, one after the other; the first one says how long all are.
struct Taking<'a> {
    memory: &'a mut Vec<u8>,
    length: Option<usize>,
    count: usize,
}

impl<'a> Taking<'a> {
    fn new(memory: &'a mut Vec<u8>) -> Self {
        Taking {
            memory,
            length: None,
            count: 0,
        }
    }

    /// Takes shard `index` of the code.
    fn take(&mut self, index: usize, shard: &JsValue) -> Result<(), JsValue> {
        let Some(shard) = shard.dyn_ref::<Uint8Array>() else {
            return Err(argument(format_args!("shard {index} is not a Uint8Array")));
        };
        let bytes = shard.length() as usize;
        let length = *self.length.get_or_insert(bytes);
        if bytes != length {
            return Err(argument(format_args!(
                "shard {index} has {bytes} bytes, and those before it {length}: give equal ones"
            )));
        }
        let start = self.count * length;
        room(self.memory, start + length);
        shard.copy_to(&mut self.memory[start..start + length]);
        self.count += 1;
        Ok(())
    }

    fn length(&self) -> usize {
        self.length.unwrap_or(0)
    }
}

/// Makes the memory long enough. What is there is not cleared: it is overwritten.
fn room(memory: &mut Vec<u8>, bytes: usize) {
    if memory.len() < bytes {
        memory.resize(bytes, 0);
    }
}

/// `count` shards of `length` bytes, which may be 0.
fn cut(memory: &[u8], length: usize, count: usize) -> Vec<&[u8]> {
    (0..count)
        .map(|index| &memory[index * length..][..length])
        .collect()
}

fn cut_mut(memory: &mut Vec<u8>, length: usize, count: usize) -> Vec<&mut [u8]> {
    room(memory, length * count);
    let mut memory = &mut memory[..];
    let mut cut = Vec::with_capacity(count);
    for _ in 0..count {
        let (shard, rest) = memory.split_at_mut(length);
        cut.push(shard);
        memory = rest;
    }
    cut
}
