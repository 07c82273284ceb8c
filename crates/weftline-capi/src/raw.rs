//! Bytes and strings of the caller: all `unsafe` code of the crate, except for the names of symbols.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use crate::guard::Out;
use crate::status::{Failure, Status};

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
/// `pointer` is NULL or valid for writing `length` bytes for as long as the result is used, and
/// nobody else uses them.
pub(crate) unsafe fn buffer<'a>(
    pointer: *mut u8,
    length: usize,
) -> Result<&'a mut [MaybeUninit<u8>], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(pointer, length)?;
    // SAFETY: as in `bytes`, and `MaybeUninit` bytes are valid whatever they hold.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast(), length) })
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

/// The same bytes, all 0, for code that needs bytes with a value.
pub(crate) fn initialised(buffer: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    buffer.fill(MaybeUninit::new(0));
    // SAFETY: every byte was just written, and `MaybeUninit<u8>` has the layout of `u8`.
    unsafe { &mut *(std::ptr::from_mut(buffer) as *mut [u8]) }
}

/// Copies a result into the caller's buffer.
pub(crate) fn copy(made: &[u8], buffer: &mut [MaybeUninit<u8>]) -> Result<(), Failure> {
    let given = buffer.len();
    let place = buffer
        .get_mut(..made.len())
        .ok_or_else(|| Failure::too_small(made.len(), given))?;
    for (place, byte) in place.iter_mut().zip(made) {
        place.write(*byte);
    }
    Ok(())
}

/// Copies a result into the caller's buffer and writes its length, which is the length needed if the
/// buffer is too small.
pub(crate) fn copy_out(
    made: &[u8],
    buffer: &mut [MaybeUninit<u8>],
    length: Out<'_, usize>,
) -> Result<(), Failure> {
    crate::guard::given(length)?.write(made.len());
    copy(made, buffer)
}
