//! Coding vectors.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weftline_codec::coefficients::Coefficients as Vector;

use super::{bounded, field};
use crate::buffer::Bytes;
use crate::errors;

/// How to derive the coding vector of a repair symbol, which has one coefficient for each symbol of its window.
///
/// Give each repair symbol over a window another key. Where a call takes coefficients, a number is the key of
/// ``non_zero``, and bytes are the vector itself, one element a byte.
#[pyclass(frozen, module = "weftline.codec")]
#[derive(Clone, Copy)]
pub(crate) struct Coefficients(Vector<'static>);

#[pymethods]
impl Coefficients {
    /// A random coefficient other than 0 for every symbol. In GF(2) that is the plain sum for every key.
    #[staticmethod]
    fn non_zero(key: u32) -> Self {
        Coefficients(Vector::NonZero { key })
    }

    /// Any element of the field, also 0, for every symbol.
    #[staticmethod]
    fn uniform(key: u32) -> Self {
        Coefficients(Vector::Uniform { key })
    }

    /// A random coefficient other than 0 for each symbol with a probability of (``density_threshold`` + 1) / 16;
    /// the threshold is 0 to 15.
    #[staticmethod]
    fn sparse(key: u32, density_threshold: u8) -> Self {
        Coefficients(Vector::Sparse {
            key,
            density_threshold,
        })
    }

    /// A random coefficient other than 0 for the ``dense`` newest symbols, and for fewer of the older ones.
    #[staticmethod]
    fn fading(key: u32, dense: u16) -> Self {
        Coefficients(Vector::Fading { key, dense })
    }

    /// The vectors of RFC 8681, section 3.6, in GF(2) and GF(2^8); the threshold DT is 0 to 15.
    #[staticmethod]
    fn rfc8681(repair_key: u16, density_threshold: u8) -> Self {
        Coefficients(Vector::Rfc8681 {
            repair_key,
            density_threshold,
        })
    }

    /// The vector over a window of ``length`` symbols in GF(2^``field_bits``): ``length`` bytes, an element each.
    ///
    /// Raises ``CodecError``: there is no such vector.
    #[pyo3(signature = (length, *, field_bits = 8))]
    fn vector<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        field_bits: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let field = field(field_bits)?;
        PyBytes::new_with(py, bounded(length)?, |out| {
            self.0.fill(field, out).map_err(errors::codec)
        })
    }

    fn __repr__(&self) -> String {
        format!("<Coefficients {:?}>", self.0)
    }
}

/// What a call takes as coefficients.
pub(super) enum Given {
    Derived(Vector<'static>),
    Explicit(Bytes),
}

impl Given {
    pub(super) fn vector(&self) -> Vector<'_> {
        match self {
            Given::Derived(vector) => *vector,
            Given::Explicit(bytes) => Vector::Explicit(bytes.as_ref()),
        }
    }

    /// Several of them.
    pub(super) fn vectors(given: &[Given]) -> Vec<Vector<'_>> {
        given.iter().map(Given::vector).collect()
    }
}

impl<'py> FromPyObject<'_, 'py> for Given {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(coefficients) = object.cast::<Coefficients>() {
            return Ok(Given::Derived(coefficients.get().0));
        }
        if object.is_instance_of::<pyo3::types::PyInt>() {
            let key = object.extract()?;
            return Ok(Given::Derived(Vector::NonZero { key }));
        }
        object.extract().map(Given::Explicit)
    }
}
