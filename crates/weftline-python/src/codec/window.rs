//! Sliding-window codes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weftline_codec as codec;
use weftline_codec::DecoderConfig;

use super::coefficients::Given;
use super::{Shared, bounded, field, innovative, size, work};
use crate::buffer::Bytes;
use crate::errors;

/// Source symbols, numbered by their ESI (encoding symbol id) from 0. It makes repair symbols over any window of the
/// symbols that it still holds.
///
/// :param capacity: symbols that it holds at most, 1 to 8192.
/// :param max_symbol_size: bytes of the longest payload, at most 65535.
/// :param field_bits: the code is over GF(2^field_bits), 1 to 8.
/// :param evicting: a full encoder drops its oldest symbol for a new one, instead of refusing the new one.
#[pyclass(frozen, module = "weftline.codec")]
pub(crate) struct WindowEncoder {
    inner: Shared<Encoder>,
    max_symbol_size: usize,
}

struct Encoder {
    window: codec::WindowEncoder,
    /// The last repair symbol, for its memory.
    repair: Vec<u8>,
}

#[pymethods]
impl WindowEncoder {
    #[new]
    #[pyo3(signature = (capacity, max_symbol_size, *, field_bits = 8, evicting = false))]
    fn new(
        capacity: usize,
        max_symbol_size: usize,
        field_bits: u32,
        evicting: bool,
    ) -> PyResult<Self> {
        let (capacity, max_symbol_size) = (bounded(capacity)?, size(max_symbol_size)?);
        let window =
            codec::WindowEncoder::with_field(capacity, max_symbol_size, field(field_bits)?);
        let window = match evicting {
            true => window.evicting(),
            false => window,
        };
        let repair = Vec::new();
        Ok(WindowEncoder {
            inner: Shared::new(Encoder { window, repair }),
            max_symbol_size,
        })
    }

    /// Add a copy of the next source symbol. Returns its ESI.
    ///
    /// Raises ``CodecError``: the payload is too long, or the encoder is full.
    fn push(&self, py: Python<'_>, payload: Bytes) -> PyResult<u64> {
        let payload = payload.as_ref();
        let pushed = work(py, payload.len(), || {
            self.inner.with(|inner| inner.window.push(payload))
        });
        pushed.map_err(errors::codec)
    }

    /// The repair symbol over the symbols from ``first`` up to and without ``end``: 2 bytes more than their longest
    /// payload, rounded up to whole groups of the field.
    ///
    /// Raises ``CodecError``: the window is empty or not held, or there are no such coefficients.
    fn repair<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        end: u64,
        coefficients: Given,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let repair = work(py, self.bytes(first, end), || {
            self.inner.with(|inner| {
                // Another thread may want the memory before this one has copied it.
                let mut repair = std::mem::take(&mut inner.repair);
                repair.clear();
                let made = inner
                    .window
                    .repair(first..end, coefficients.vector(), &mut repair);
                made.map(|()| repair)
            })
        });
        let repair = repair.map_err(errors::codec)?;
        let bytes = PyBytes::new(py, &repair);
        self.inner.with(|inner| inner.repair = repair);
        Ok(bytes)
    }

    /// Several repair symbols over one window, faster than one after the other.
    ///
    /// Raises as ``repair``.
    fn repairs<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        end: u64,
        coefficients: Vec<Given>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut repairs = vec![Vec::new(); coefficients.len()];
        let vectors = Given::vectors(&coefficients);
        let made = py.detach(|| {
            self.inner
                .with(|inner| inner.window.repairs(first..end, &vectors, &mut repairs))
        });
        made.map_err(errors::codec)?;
        let bytes = repairs.iter().map(|repair| PyBytes::new(py, repair));
        Ok(bytes.collect())
    }

    /// The payload of a symbol that the encoder holds, else ``None``.
    fn symbol<'py>(&self, py: Python<'py>, esi: u64) -> Option<Bound<'py, PyBytes>> {
        self.inner.with(|inner| {
            let payload = inner.window.symbol(esi)?;
            Some(PyBytes::new(py, payload))
        })
    }

    /// The symbols that the encoder holds: the first ESI, and the ESI after the last.
    #[getter]
    fn held(&self) -> (u64, u64) {
        self.inner.with(|inner| {
            let held = inner.window.held();
            (held.start, held.end)
        })
    }

    /// Discard all symbols below ``esi``: the receiver has them.
    fn discard_before(&self, py: Python<'_>, esi: u64) {
        py.detach(|| self.inner.with(|inner| inner.window.discard_before(esi)));
    }

    fn __len__(&self) -> usize {
        self.inner.with(|inner| inner.window.len())
    }
}

impl WindowEncoder {
    /// Bytes that a repair symbol over this window may need to read.
    fn bytes(&self, first: u64, end: u64) -> usize {
        let symbols = usize::try_from(end.saturating_sub(first)).unwrap_or(usize::MAX);
        symbols.saturating_mul(self.max_symbol_size)
    }
}

/// Recovers source symbols from repair symbols, each as soon as the symbols that arrived determine it.
///
/// :param max_span: symbols, known or missing, that it keeps at most, 1 to 8192.
/// :param max_symbol_size: bytes of the longest payload, at most 65535.
/// :param max_unknowns: symbols that may be missing at once, ``max_span`` if not given.
/// :param max_window: symbols that a repair symbol may cover, ``max_span`` if not given.
/// :param field_bits: the code is over GF(2^field_bits), 1 to 8.
#[pyclass(frozen, module = "weftline.codec")]
pub(crate) struct WindowDecoder(Shared<codec::WindowDecoder>);

#[pymethods]
impl WindowDecoder {
    #[new]
    #[pyo3(signature = (max_span, max_symbol_size, *, max_unknowns = None, max_window = None, field_bits = 8))]
    fn new(
        max_span: usize,
        max_symbol_size: usize,
        max_unknowns: Option<usize>,
        max_window: Option<usize>,
        field_bits: u32,
    ) -> PyResult<Self> {
        let config = DecoderConfig::new(
            bounded(max_span)?,
            size(max_symbol_size)?,
            bounded(max_unknowns.unwrap_or(max_span))?,
            bounded(max_window.unwrap_or(max_span))?,
        );
        let decoder = codec::WindowDecoder::with_field(config, field(field_bits)?);
        Ok(WindowDecoder(Shared::new(decoder)))
    }

    /// Take a copy of a source symbol. Returns whether it was new.
    ///
    /// Raises ``CodecError``: it is too long, or too far above the oldest symbol that the decoder keeps.
    fn source(&self, py: Python<'_>, esi: u64, payload: Bytes) -> PyResult<bool> {
        let payload = payload.as_ref();
        innovative(py.detach(|| self.0.with(|decoder| decoder.source(esi, payload))))
    }

    /// Take copies of several source symbols, pairs of ESI and payload. Returns how many were new.
    ///
    /// Raises as ``source``, for the first symbol that is refused; those before it were taken.
    fn sources(&self, py: Python<'_>, symbols: Vec<(u64, Bytes)>) -> PyResult<usize> {
        py.detach(|| {
            self.0.with(|decoder| {
                let mut new = 0;
                for (esi, payload) in &symbols {
                    new += usize::from(innovative(decoder.source(*esi, payload.as_ref()))?);
                }
                Ok(new)
            })
        })
    }

    /// Take a repair symbol over the symbols from ``first`` up to and without ``end``, made with these coefficients.
    /// Returns whether it told the decoder something new.
    ///
    /// Raises ``CodecError``: it needs symbols that were forgotten, its length or window is not possible, or it
    /// contradicts what is known.
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
                .with(|decoder| decoder.repair(first..end, coefficients.vector(), data))
        });
        innovative(outcome)
    }

    /// The symbols that became known since the last call, received or recovered, as pairs of ESI and payload, in the
    /// order in which they became known.
    fn take_known<'py>(&self, py: Python<'py>) -> Vec<(u64, Bound<'py, PyBytes>)> {
        self.0.with(|decoder| {
            let mut known = Vec::new();
            decoder.each_known(|esi, payload| known.push((esi, PyBytes::new(py, payload))));
            known
        })
    }

    /// The payload of a known symbol, else ``None``.
    fn symbol<'py>(&self, py: Python<'py>, esi: u64) -> Option<Bound<'py, PyBytes>> {
        self.0.with(|decoder| {
            let payload = decoder.symbol(esi)?;
            Some(PyBytes::new(py, payload))
        })
    }

    /// All symbols below this ESI are forgotten.
    #[getter]
    fn first(&self) -> u64 {
        self.0.with(|decoder| decoder.first())
    }

    /// The in-order edge: the lowest ESI that is not known.
    #[getter]
    fn contiguous(&self) -> u64 {
        self.0.with(|decoder| decoder.contiguous())
    }

    /// One past the highest ESI heard of.
    #[getter]
    fn end(&self) -> u64 {
        self.0.with(|decoder| decoder.end())
    }

    /// How many symbols are missing.
    #[getter]
    fn unknowns(&self) -> usize {
        self.0.with(|decoder| decoder.unknowns())
    }

    /// How many more innovative symbols the decoder needs until nothing is missing.
    #[getter]
    fn deficit(&self) -> usize {
        self.0.with(|decoder| decoder.deficit())
    }

    /// The missing symbols as ranges, ascending: the first ESI of each, and the ESI after its last.
    fn missing(&self) -> Vec<(u64, u64)> {
        self.0.with(|decoder| {
            let ranges = decoder.missing();
            ranges.map(|range| (range.start, range.end)).collect()
        })
    }

    /// Say that all symbols below ``end`` exist: those that the decoder has not heard of become missing.
    ///
    /// Raises ``CodecError``: they would be too many.
    fn expect(&self, py: Python<'_>, end: u64) -> PyResult<()> {
        py.detach(|| self.0.with(|decoder| decoder.expect(end)))
            .map_err(errors::codec)
    }

    /// Forget all symbols below ``esi``, and give up those of them that are missing.
    fn forget_before(&self, py: Python<'_>, esi: u64) {
        py.detach(|| self.0.with(|decoder| decoder.forget_before(esi)));
    }

    /// Forget all symbols below ``esi``, also those that the decoder has not heard of: after an outage.
    fn skip_to(&self, py: Python<'_>, esi: u64) {
        py.detach(|| self.0.with(|decoder| decoder.skip_to(esi)));
    }
}
