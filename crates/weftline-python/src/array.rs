//! Arrays of numpy, which is imported when the first is made.

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A number that numpy has a type for.
pub(crate) trait Number: Copy {
    const DTYPE: &'static str;
    fn bytes(self) -> [u8; 8];
}

impl Number for f64 {
    const DTYPE: &'static str = "=f8";
    fn bytes(self) -> [u8; 8] {
        self.to_ne_bytes()
    }
}

impl Number for u64 {
    const DTYPE: &'static str = "=u8";
    fn bytes(self) -> [u8; 8] {
        self.to_ne_bytes()
    }
}

/// A one-dimensional array of these numbers.
pub(crate) fn array<'py, T: Number>(
    py: Python<'py>,
    numbers: impl IntoIterator<Item = T>,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy").map_err(|_| {
        PyImportError::new_err(
            "this function returns an array of numpy: pip install weftline[numpy]",
        )
    })?;
    let bytes: Vec<u8> = numbers.into_iter().flat_map(T::bytes).collect();
    numpy.call_method1("frombuffer", (PyByteArray::new(py, &bytes), T::DTYPE))
}
