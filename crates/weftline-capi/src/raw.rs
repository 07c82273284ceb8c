//! Bytes and strings of the caller: all `unsafe` code of the crate, except for the names of symbols.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::guard::Out;
use crate::status::{Failure, Status};

/// A place of the caller's for a result, which C does not initialise. It is no reference: the caller
/// may give one place for two results, or a place within a buffer, and then finds the last one that
/// was written.
pub(crate) struct Place<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<T> Place<'_, T> {
    pub(crate) fn write(self, value: T) {
        // SAFETY: valid for writing by the contract of `place`. Nothing says that it is aligned or
        // that nobody else knows it.
        unsafe { self.0.write_unaligned(value) }
    }
}

/// The caller's place for a result; `None` for NULL.
///
/// # Safety
///
/// `pointer` is NULL or valid for writing for as long as the result is used.
pub(crate) unsafe fn place<'a, T>(pointer: *mut T) -> Out<'a, T> {
    Some(Place(NonNull::new(pointer)?, PhantomData))
}

/// A buffer of the caller's, which need not be initialised. It is no reference, as [`Place`].
pub(crate) struct Buffer<'a> {
    bytes: *mut u8,
    length: usize,
    lifetime: PhantomData<&'a mut [u8]>,
}

impl Buffer<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The buffer with all bytes 0, for code that needs bytes with a value.
    pub(crate) fn initialised(&mut self) -> &mut [u8] {
        if self.is_empty() {
            return &mut [];
        }
        // SAFETY: not NULL, of a possible length, and valid for writing by the contract of `buffer`.
        // Nothing else of the caller's is read or written while the result is used.
        unsafe {
            self.bytes.write_bytes(0, self.length);
            std::slice::from_raw_parts_mut(self.bytes, self.length)
        }
    }
}

fn check<T>(pointer: *const T, length: usize) -> Result<(), Failure> {
    if pointer.is_null() {
        let reason = format!("{length} bytes at NULL");
        return Err(Failure::new(Status::Null, reason));
    }
    // No object is larger (the documentation of `slice::from_raw_parts`).
    if isize::try_from(length).is_err() {
        let reason = format!("a length of {length} bytes is more than memory has");
        return Err(Failure::argument(reason));
    }
    Ok(())
}

/// The caller's bytes.
///
/// # Safety
///
/// `pointer` is NULL or valid for reading `length` bytes for as long as the result is used, and
/// nobody writes to them.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, length: usize) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check(pointer, length)?;
    // SAFETY: not NULL, of a possible length, and valid by the contract of this function; bytes
    // have no alignment.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// The caller's buffer, which need not be initialised.
///
/// # Safety
///
/// `pointer` is NULL or valid for writing `length` bytes for as long as the result is used.
pub(crate) unsafe fn buffer<'a>(pointer: *mut u8, length: usize) -> Result<Buffer<'a>, Failure> {
    if length > 0 {
        check(pointer, length)?;
    }
    Ok(Buffer {
        bytes: pointer,
        length,
        lifetime: PhantomData,
    })
}

/// The caller's string.
///
/// # Safety
///
/// `pointer` is NULL or a string that ends with a zero, which nobody writes to while the result is
/// used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::new(Status::Null, "a string is NULL"));
    }
    // SAFETY: not NULL, and ends with a zero by the contract of this function.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| Failure::argument("a string is not UTF-8"))
}

/// Copies a result into the caller's buffer.
pub(crate) fn copy(made: &[u8], buffer: Buffer<'_>) -> Result<(), Failure> {
    if made.len() > buffer.length {
        return Err(Failure::too_small(made.len(), buffer.length));
    }
    if !made.is_empty() {
        // SAFETY: the buffer has room, is not NULL, and is valid for writing by the contract of
        // `buffer`. What was made is this crate's, so the two do not overlap.
        unsafe {
            buffer
                .bytes
                .copy_from_nonoverlapping(made.as_ptr(), made.len())
        };
    }
    Ok(())
}

/// Copies a result into the caller's buffer and writes its length, which is the length needed if the
/// buffer is too small.
pub(crate) fn copy_out(
    made: &[u8],
    buffer: Buffer<'_>,
    length: Out<'_, usize>,
) -> Result<(), Failure> {
    crate::guard::given(length)?.write(made.len());
    copy(made, buffer)
}
