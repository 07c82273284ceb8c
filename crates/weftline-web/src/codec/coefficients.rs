//! Coding vectors, as JavaScript writes them.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_codec::coefficients::Coefficients as Codec;

use crate::objects::argument;
use crate::whole::small;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/**
 * The coding vector of a repair symbol: a coefficient for each symbol of its window. A number is the key of a
 * `nonZero` vector, which suits most uses in GF(2^8); use a new key for each repair symbol. A `Uint8Array` is the
 * vector itself.
 */
export type Coefficients =
    | number
    | Uint8Array
    | { kind: "nonZero" | "uniform"; key: number }
    | { kind: "sparse" | "rfc8681"; key: number; densityThreshold: number }
    | { kind: "fading"; key: number; dense: number };
"#;

#[wasm_bindgen]
extern "C" {
    type Described;
    #[wasm_bindgen(method, getter, structural)]
    fn kind(this: &Described) -> Option<String>;
    #[wasm_bindgen(method, getter, structural)]
    fn key(this: &Described) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural, js_name = densityThreshold)]
    fn density_threshold(this: &Described) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural)]
    fn dense(this: &Described) -> Option<f64>;
}

/// A coding vector, or how to derive it.
pub(super) enum Vector {
    Explicit(Vec<u8>),
    Derived(Codec<'static>),
}

impl Vector {
    /// Reads what JavaScript gave.
    pub(super) fn read(value: &JsValue) -> Result<Self, JsValue> {
        if let Some(key) = value.as_f64() {
            let key = small(key, "the key")?;
            return Ok(Vector::Derived(Codec::NonZero { key }));
        }
        if let Some(vector) = value.dyn_ref::<Uint8Array>() {
            return Ok(Vector::Explicit(vector.to_vec()));
        }
        if !value.is_object() {
            return Err(argument(
                "coefficients are a key, a Uint8Array, or an object with kind and key",
            ));
        }
        let described = value.unchecked_ref::<Described>();
        let given = |value: Option<f64>, what: &str| {
            value.ok_or_else(|| argument(format_args!("these coefficients need a {what}")))
        };
        let key = given(described.key(), "key")?;
        let threshold = || {
            let threshold = given(described.density_threshold(), "densityThreshold")?;
            small(threshold, "densityThreshold")
        };
        let kind = described.kind().unwrap_or_default();
        Ok(Vector::Derived(match kind.as_str() {
            "nonZero" => Codec::NonZero {
                key: small(key, "the key")?,
            },
            "uniform" => Codec::Uniform {
                key: small(key, "the key")?,
            },
            "sparse" => Codec::Sparse {
                key: small(key, "the key")?,
                density_threshold: threshold()?,
            },
            "fading" => Codec::Fading {
                key: small(key, "the key")?,
                dense: small(given(described.dense(), "dense")?, "dense")?,
            },
            "rfc8681" => Codec::Rfc8681 {
                repair_key: small(key, "the key")?,
                density_threshold: threshold()?,
            },
            _ => {
                return Err(argument(format_args!(
                    "there is no kind {kind:?} of coefficients: give nonZero, uniform, sparse, fading or rfc8681"
                )));
            }
        }))
    }

    pub(super) fn codec(&self) -> Codec<'_> {
        match self {
            Vector::Explicit(vector) => Codec::Explicit(vector),
            Vector::Derived(derived) => *derived,
        }
    }
}
