//! Recoding at relays.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weftline_codec as codec;

use super::coefficients::Given;
use super::{Shared, bounded, field, innovative, size};
use crate::buffer::Bytes;
use crate::errors;

/// A relay that makes new repair symbols from those that it received, without decoding.
///
/// :param max_symbols: symbols that it holds at most, 1 to 8192.
/// :param max_span: consecutive ESIs that it combines at most, 1 to 8192.
/// :param max_symbol_size: bytes of the longest payload, at most 65535.
/// :param field_bits: the code is over GF(2^field_bits), 1 to 8.
#[pyclass(frozen, module = "weftline.codec")]
pub(crate) struct Recoder(Shared<codec::Recoder>);

#[pymethods]
impl Recoder {
    #[new]
    #[pyo3(signature = (max_symbols, max_span, max_symbol_size, *, field_bits = 8))]
    fn new(
        max_symbols: usize,
        max_span: usize,
        max_symbol_size: usize,
        field_bits: u32,
    ) -> PyResult<Self> {
        let recoder = codec::Recoder::with_field(
            bounded(max_symbols)?,
            bounded(max_span)?,
            size(max_symbol_size)?,
            field(field_bits)?,
        );
        Ok(Recoder(Shared::new(recoder)))
    }

    /// Take a copy of a source symbol. Returns whether it was new.
    ///
    /// Raises ``CodecError``: the payload is too long.
    fn source(&self, py: Python<'_>, esi: u64, payload: Bytes) -> PyResult<bool> {
        let payload = payload.as_ref();
        innovative(py.detach(|| self.0.with(|relay| relay.source(esi, payload))))
    }

    /// Take a repair symbol of an encoder or another relay, over the symbols from ``first`` up to and without ``end``.
    /// Returns whether it told the relay something new.
    ///
    /// Raises ``CodecError``: its length or window is not possible, or it needs symbols that were forgotten.
    fn repair(
        &self,
        py: Python<'_>,
        first: u64,
        end: u64,
        coefficients: Given,
        data: Bytes,
    ) -> PyResult<bool> {
        let data = data.as_ref();
        let outcome = py.detach(|| {
            self.0
                .with(|relay| relay.repair(first..end, coefficients.vector(), data))
        });
        innovative(outcome)
    }

    /// A new repair symbol from all that is held: the first ESI of its window and the ESI after its last, its coding
    /// vector (one element a byte), and its data. Use another key each time; keys do not travel.
    ///
    /// Raises ``CodecError``: nothing is held.
    #[allow(clippy::type_complexity)]
    fn recode<'py>(
        &self,
        py: Python<'py>,
        key: u32,
    ) -> PyResult<(u64, u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (mut vector, mut data) = (Vec::new(), Vec::new());
        let window = py.detach(|| {
            self.0
                .with(|relay| relay.recode(key, &mut vector, &mut data))
        });
        let window = window.map_err(errors::codec)?;
        let (vector, data) = (PyBytes::new(py, &vector), PyBytes::new(py, &data));
        Ok((window.start, window.end, vector, data))
    }

    /// How many symbols are held, all of them independent of each other.
    #[getter]
    fn rank(&self) -> usize {
        self.0.with(|relay| relay.rank())
    }

    /// The symbols in what is held: the lowest ESI, and the one after the highest.
    #[getter]
    fn window(&self) -> (u64, u64) {
        self.0.with(|relay| {
            let window = relay.window();
            (window.start, window.end)
        })
    }

    /// Make no more combinations with symbols below ``esi``: the receivers have them, or gave them up.
    fn forget_before(&self, py: Python<'_>, esi: u64) {
        py.detach(|| self.0.with(|relay| relay.forget_before(esi)));
    }
}
