//! Block codes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weftline_codec as codec;

use super::coefficients::Given;
use super::{Shared, bounded, field, innovative, size, work};
use crate::buffer::Bytes;
use crate::errors;

/// A block of source symbols, which makes repair symbols over all of them.
///
/// :param max_symbols: symbols that it holds at most, 1 to 8192.
/// :param max_symbol_size: bytes of the longest payload, at most 65535.
/// :param field_bits: the code is over GF(2^field_bits), 1 to 8.
#[pyclass(frozen, module = "weftline.codec")]
pub(crate) struct BlockEncoder {
    inner: Shared<codec::BlockEncoder>,
    /// Bytes that a full block has at most.
    bytes: usize,
}

#[pymethods]
impl BlockEncoder {
    #[new]
    #[pyo3(signature = (max_symbols, max_symbol_size, *, field_bits = 8))]
    fn new(max_symbols: usize, max_symbol_size: usize, field_bits: u32) -> PyResult<Self> {
        let (symbols, size) = (bounded(max_symbols)?, size(max_symbol_size)?);
        let block = codec::BlockEncoder::with_field(symbols, size, field(field_bits)?);
        Ok(BlockEncoder {
            inner: Shared::new(block),
            bytes: symbols * size,
        })
    }

    /// Add a copy of the next source symbol to the block. Returns its index.
    ///
    /// Raises ``CodecError``: the payload is too long, or the block has all its symbols.
    fn push(&self, py: Python<'_>, payload: Bytes) -> PyResult<usize> {
        let payload = payload.as_ref();
        let pushed = work(py, payload.len(), || {
            self.inner.with(|block| block.push(payload))
        });
        pushed.map_err(errors::codec)
    }

    /// The repair symbol with these coefficients over the whole block: 2 bytes more than the longest payload, rounded
    /// up to whole groups of the field.
    ///
    /// Raises ``CodecError``: the block is empty, or there are no such coefficients.
    fn repair<'py>(&self, py: Python<'py>, coefficients: Given) -> PyResult<Bound<'py, PyBytes>> {
        let repair = work(py, self.bytes, || {
            self.inner.with(|block| {
                let mut repair = Vec::new();
                block
                    .repair(coefficients.vector(), &mut repair)
                    .map(|()| repair)
            })
        });
        Ok(PyBytes::new(py, &repair.map_err(errors::codec)?))
    }

    /// Several repair symbols, faster than one after the other.
    ///
    /// Raises as ``repair``.
    fn repairs<'py>(
        &self,
        py: Python<'py>,
        coefficients: Vec<Given>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut repairs = vec![Vec::new(); coefficients.len()];
        let vectors = Given::vectors(&coefficients);
        let made = py.detach(|| {
            self.inner
                .with(|block| block.repairs_with(&vectors, &mut repairs))
        });
        made.map_err(errors::codec)?;
        let bytes = repairs.iter().map(|repair| PyBytes::new(py, repair));
        Ok(bytes.collect())
    }

    /// The payload of a source symbol, else ``None``.
    fn symbol<'py>(&self, py: Python<'py>, index: usize) -> Option<Bound<'py, PyBytes>> {
        self.inner.with(|block| {
            let payload = block.symbol(index)?;
            Some(PyBytes::new(py, payload))
        })
    }

    /// Empty the block for the next one.
    fn clear(&self) {
        self.inner.with(|block| block.clear());
    }

    fn __len__(&self) -> usize {
        self.inner.with(|block| block.len())
    }
}

/// Recovers a block from as many of its symbols as suffice, whichever they are.
///
/// :param symbols: source symbols of the block, 1 to 8192.
/// :param max_symbol_size: bytes of the longest payload, at most 65535.
/// :param field_bits: the code is over GF(2^field_bits), 1 to 8.
#[pyclass(frozen, module = "weftline.codec")]
pub(crate) struct BlockDecoder(Shared<codec::BlockDecoder>);

#[pymethods]
impl BlockDecoder {
    #[new]
    #[pyo3(signature = (symbols, max_symbol_size, *, field_bits = 8))]
    fn new(symbols: usize, max_symbol_size: usize, field_bits: u32) -> PyResult<Self> {
        let (symbols, size) = (bounded(symbols)?, size(max_symbol_size)?);
        let block = codec::BlockDecoder::with_field(symbols, size, field(field_bits)?);
        Ok(BlockDecoder(Shared::new(block)))
    }

    /// Take a copy of the source symbol with this index. Returns whether it was new.
    ///
    /// Raises ``CodecError``: there is no such index, or the payload is too long.
    fn source(&self, py: Python<'_>, index: usize, payload: Bytes) -> PyResult<bool> {
        let payload = payload.as_ref();
        innovative(py.detach(|| self.0.with(|block| block.source(index, payload))))
    }

    /// Take a repair symbol that was made with these coefficients. Returns whether it told the decoder something new.
    /// The block is solved as soon as that is possible.
    ///
    /// Raises ``CodecError``: its length is not possible, there are no such coefficients, or it contradicts what is
    /// known.
    fn repair(&self, py: Python<'_>, coefficients: Given, data: Bytes) -> PyResult<bool> {
        let data = data.as_ref();
        let outcome = py.detach(|| {
            self.0
                .with(|block| block.repair(coefficients.vector(), data))
        });
        innovative(outcome)
    }

    /// The payload of a known symbol, else ``None``.
    fn symbol<'py>(&self, py: Python<'py>, index: usize) -> Option<Bound<'py, PyBytes>> {
        self.0.with(|block| {
            let payload = block.symbol(index)?;
            Some(PyBytes::new(py, payload))
        })
    }

    /// All payloads in order, or ``None`` while one is missing.
    fn symbols<'py>(&self, py: Python<'py>) -> Option<Vec<Bound<'py, PyBytes>>> {
        self.0.with(|block| {
            let symbols = block.symbols()?;
            Some(symbols.map(|payload| PyBytes::new(py, payload)).collect())
        })
    }

    /// The indices of the missing symbols, ascending.
    fn missing(&self) -> Vec<usize> {
        self.0.with(|block| block.missing().collect())
    }

    /// Whether every source symbol is known.
    #[getter]
    fn is_complete(&self) -> bool {
        self.0.with(|block| block.is_complete())
    }

    /// How many more innovative symbols complete the block.
    #[getter]
    fn deficit(&self) -> usize {
        self.0.with(|block| block.deficit())
    }

    /// Forget everything, for the next block of the same number of symbols.
    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.0.with(|block| block.clear()));
    }

    fn __len__(&self) -> usize {
        self.0.with(|block| block.len())
    }
}
