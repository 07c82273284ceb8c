//! Bytes of Python objects, without copies.
//!
//! `Py_buffer` belongs to the stable ABI only from Python 3.11 on, so PyO3 has it in no module for older ones. Its
//! layout is the same since Python 3.0, and the functions are exported by every CPython. Python 3.9 and 3.10 get no
//! further changes, and from 3.11 on the stable ABI keeps both: the declarations here hold for all that can load this
//! module.

use std::ffi::{c_char, c_int, c_void};
use std::pin::Pin;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi::{Py_ssize_t, PyBytes_AsString, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[repr(C)]
struct PyBuffer {
    buf: *mut c_void,
    obj: *mut PyObject,
    len: Py_ssize_t,
    itemsize: Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    suboffsets: *mut Py_ssize_t,
    internal: *mut c_void,
}

/// Contiguous bytes, without shape, strides and format.
const SIMPLE: c_int = 0;
const WRITABLE: c_int = 1;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut PyBuffer, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut PyBuffer);
}

/// What an object exports. The exporter may have pointers into it, so it must not move.
struct Export(PyBuffer);

impl Export {
    fn of(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Pin<Box<Self>>> {
        // SAFETY: pointers that are NULL and numbers.
        let mut export = Box::pin(Export(unsafe { std::mem::zeroed() }));
        // SAFETY: the object lives, the interpreter's lock is held, and the place has the layout that Python
        // writes.
        match unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut export.0, flags) } {
            0 => Ok(export),
            _ => {
                // Nothing was exported, so nothing is released.
                std::mem::forget(export);
                Err(PyErr::fetch(object.py()))
            }
        }
    }

    /// Where the bytes begin, and how many there are.
    fn bytes(&self) -> (*mut u8, usize) {
        match usize::try_from(self.0.len) {
            Ok(length) if length > 0 => (self.0.buf.cast(), length),
            // `buf` may be NULL then.
            _ => (std::ptr::NonNull::dangling().as_ptr(), 0),
        }
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        // Buffers are released where they were made: in a call from Python.
        Python::attach(|_| {
            // SAFETY: `of` has filled it, and nobody else releases it; the interpreter's lock is held.
            unsafe { PyBuffer_Release(&raw mut self.0) }
        });
    }
}

/// The bytes of an object with a C-contiguous buffer of any type (bytes, bytearray, memoryview, array, numpy), for
/// reading.
///
/// The object keeps its memory where it is as long as this lives. Another thread of Python must not write to it
/// meanwhile: what is computed from it would then be undefined bytes, as for `hashlib` and `zlib`, which
/// release the lock while they read, too.
pub(crate) struct Bytes(Pin<Box<Export>>);

// SAFETY: a buffer may be read from any thread; it is released under the interpreter's lock.
unsafe impl Send for Bytes {}
// SAFETY: as for `Send`; nothing changes through a shared reference.
unsafe impl Sync for Bytes {}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        let (start, length) = self.0.bytes();
        // SAFETY: the exporter keeps `length` bytes there until the buffer is released. That nobody writes to
        // them is what this type asks of callers.
        unsafe { std::slice::from_raw_parts(start, length) }
    }
}

impl<'py> FromPyObject<'_, 'py> for Bytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Bytes(Export::of(&object, SIMPLE)?))
    }
}

/// The bytes of an object with a writable C-contiguous buffer (bytearray, memoryview, array, numpy).
pub(crate) struct BytesMut(Pin<Box<Export>>);

// SAFETY: as for `Bytes`.
unsafe impl Send for BytesMut {}

impl BytesMut {
    /// The bytes of several buffers, which must not overlap each other nor what is read beside them.
    ///
    /// # Errors
    ///
    /// They overlap.
    pub(crate) fn apart<'a>(
        buffers: &'a mut [BytesMut],
        beside: &[impl AsRef<[u8]>],
    ) -> PyResult<Vec<&'a mut [u8]>> {
        let places = buffers.iter().map(|buffer| buffer.0.bytes());
        let mut ranges: Vec<_> = places
            .map(|(start, length)| (start.addr(), start.addr() + length, true))
            .chain(beside.iter().map(|bytes| {
                let bytes = bytes.as_ref().as_ptr_range();
                (bytes.start.addr(), bytes.end.addr(), false)
            }))
            .filter(|(start, end, _)| start < end)
            .collect();
        ranges.sort_unstable();
        // What is only read may overlap, so each is compared with the furthest end of either kind.
        let (mut read, mut write) = (0, 0);
        for (start, end, is_written) in ranges {
            if start < write || (is_written && start < read) {
                return Err(PyBufferError::new_err(
                    "buffers that are written to overlap each other, or those that are read",
                ));
            }
            match is_written {
                true => write = write.max(end),
                false => read = read.max(end),
            }
        }
        let slices = buffers.iter_mut().map(|buffer| {
            let (start, length) = buffer.0.bytes();
            // SAFETY: the exporter keeps `length` writable bytes there until the buffer is released, and no
            // other slice of this call overlaps them. As for `Bytes`, other threads must keep away.
            unsafe { std::slice::from_raw_parts_mut(start, length) }
        });
        Ok(slices.collect())
    }
}

impl<'py> FromPyObject<'_, 'py> for BytesMut {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(BytesMut(Export::of(&object, WRITABLE)?))
    }
}

/// New `bytes` that nobody but this call has seen, so it may still write to them.
pub(crate) struct NewBytes(Py<PyBytes>);

impl NewBytes {
    /// `length` zeros.
    ///
    /// # Errors
    ///
    /// There is no memory for them.
    pub(crate) fn zeros(py: Python<'_>, length: usize) -> PyResult<Self> {
        let zeros = PyBytes::new_with(py, length, |_| Ok(()))?;
        Ok(NewBytes(zeros.unbind()))
    }

    pub(crate) fn as_mut<'a>(&'a mut self, py: Python<'_>) -> &'a mut [u8] {
        let length = self.0.bind(py).as_bytes().len();
        // SAFETY: it is an object of type `bytes`, and the interpreter's lock is held.
        let start = unsafe { PyBytes_AsString(self.0.as_ptr()) };
        // SAFETY: Python allows writing to `bytes` that only their maker has a reference to (`PyBytes_FromStringAndSize`),
        // and `self` is that reference; it is borrowed for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), length) }
    }

    /// They do not change any more.
    pub(crate) fn done(self) -> Py<PyBytes> {
        self.0
    }
}
