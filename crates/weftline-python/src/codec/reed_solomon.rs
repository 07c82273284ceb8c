//! Reed-Solomon codes.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weftline_codec::reed_solomon::{Code, Construction, Decoder};

use super::field;
use crate::buffer::{Bytes, BytesMut, NewBytes};
use crate::errors;

/// A Reed-Solomon code: any ``sources`` of its shards recover all of them. Shards have the same length. Source shards
/// have the indices from 0, repair shards those from ``sources`` on.
///
/// :param sources: source shards, k.
/// :param repairs: repair shards, m; k + m is at most 256 in GF(2^8), and 255 for ``rfc5510``.
/// :param construction: ``cauchy``, or ``rfc5510``. Shards of different constructions cannot be combined.
/// :param field_bits: the code is over GF(2^field_bits), 1 to 8; shards are whole groups of it.
#[pyclass(frozen, module = "weftline.codec")]
pub(crate) struct ReedSolomon(Code);

#[pymethods]
impl ReedSolomon {
    #[new]
    #[pyo3(signature = (sources, repairs, *, construction = "cauchy", field_bits = 8))]
    fn new(sources: usize, repairs: usize, construction: &str, field_bits: u32) -> PyResult<Self> {
        let construction = match construction {
            "cauchy" => Construction::Cauchy,
            "rfc5510" => Construction::Rfc5510,
            other => {
                return Err(errors::codec(format_args!(
                    "there is no construction {other:?}: use 'cauchy' or 'rfc5510'"
                )));
            }
        };
        Code::with_field(construction, field(field_bits)?, sources, repairs)
            .map(ReedSolomon)
            .map_err(errors::codec)
    }

    /// Source shards, k.
    #[getter]
    fn sources(&self) -> usize {
        self.0.sources()
    }

    /// Repair shards, m.
    #[getter]
    fn repairs(&self) -> usize {
        self.0.repairs()
    }

    /// All repair shards of these source shards.
    ///
    /// Raises ``CodecError``: their number or their lengths are not possible.
    fn encode(&self, py: Python<'_>, sources: Vec<Bytes>) -> PyResult<Vec<Py<PyBytes>>> {
        let length = sources.first().map_or(0, |shard| shard.as_ref().len());
        let mut out = zeros(py, self.0.repairs(), length)?;
        let slices = out.iter_mut().map(|bytes| bytes.as_mut(py)).collect();
        self.make(py, &sources, slices)?;
        Ok(out.into_iter().map(NewBytes::done).collect())
    }

    /// Write the first repair shards into writable buffers, which must not overlap. Nothing is copied.
    ///
    /// Raises ``CodecError`` as ``encode``, and ``BufferError``.
    fn encode_into(
        &self,
        py: Python<'_>,
        sources: Vec<Bytes>,
        mut repairs: Vec<BytesMut>,
    ) -> PyResult<()> {
        let slices = BytesMut::apart(&mut repairs, &sources)?;
        self.make(py, &sources, slices)
    }

    /// Make missing shards from any ``sources`` others.
    ///
    /// :param received: shards by their indices.
    /// :param wanted: indices of the shards to make; all missing source shards if not given.
    /// :returns: the shards that were made, by their indices.
    ///
    /// Raises ``CodecError``: there are too few, an index is not possible, or lengths differ.
    #[pyo3(signature = (received, wanted = None))]
    fn reconstruct(
        &self,
        py: Python<'_>,
        received: BTreeMap<usize, Bytes>,
        wanted: Option<Vec<usize>>,
    ) -> PyResult<BTreeMap<usize, Py<PyBytes>>> {
        let missing = || (0..self.0.sources()).filter(|index| !received.contains_key(index));
        let wanted = wanted.unwrap_or_else(|| missing().collect());
        let length = received
            .values()
            .next()
            .map_or(0, |shard| shard.as_ref().len());
        let mut out = zeros(py, wanted.len(), length)?;
        let slices = out.iter_mut().map(|bytes| bytes.as_mut(py)).collect();
        self.recover(py, &received, &wanted, slices)?;
        Ok(wanted
            .into_iter()
            .zip(out.into_iter().map(NewBytes::done))
            .collect())
    }

    /// As ``reconstruct``, into writable buffers by their indices, which must not overlap. Nothing is copied.
    ///
    /// Raises as ``reconstruct``, and ``BufferError``.
    fn reconstruct_into(
        &self,
        py: Python<'_>,
        received: BTreeMap<usize, Bytes>,
        wanted: BTreeMap<usize, BytesMut>,
    ) -> PyResult<()> {
        let (indices, mut buffers): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
        let read: Vec<_> = received.values().collect();
        let slices = BytesMut::apart(&mut buffers, &read)?;
        self.recover(py, &received, &indices, slices)
    }

    fn __repr__(&self) -> String {
        let (sources, repairs) = (self.0.sources(), self.0.repairs());
        format!("<ReedSolomon {sources} + {repairs}>")
    }
}

/// Buffers for as many shards.
fn zeros(py: Python<'_>, shards: usize, length: usize) -> PyResult<Vec<NewBytes>> {
    (0..shards).map(|_| NewBytes::zeros(py, length)).collect()
}

impl ReedSolomon {
    fn make(&self, py: Python<'_>, sources: &[Bytes], mut out: Vec<&mut [u8]>) -> PyResult<()> {
        let sources: Vec<_> = sources.iter().map(AsRef::as_ref).collect();
        py.detach(|| self.0.encode(&sources, &mut out))
            .map_err(errors::codec)
    }

    fn recover(
        &self,
        py: Python<'_>,
        received: &BTreeMap<usize, Bytes>,
        wanted: &[usize],
        mut out: Vec<&mut [u8]>,
    ) -> PyResult<()> {
        let received = received
            .iter()
            .map(|(index, shard)| (*index, shard.as_ref()));
        // It has the memory for its matrix only.
        let mut decoder = Decoder::new(self.0.clone());
        py.detach(|| decoder.reconstruct(received, wanted, &mut out))
            .map_err(errors::codec)
    }
}
