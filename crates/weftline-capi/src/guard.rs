//! Every function runs its body here: no panic crosses the boundary, and each failure leaves a reason.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use weftline_codec::{DecodeError, Outcome};

use crate::raw::Place;
use crate::status::{Failure, Status, remember};

/// Runs the body of a function.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    // The documentation says that a handle is only freed after a panic, and no state of safe types
    // is undefined.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(Status::Internal, "a bug in Weftline: free the handle"),
    };
    remember(&failure);
    failure.status
}

/// Runs the body of a function that makes a handle; NULL if it fails.
pub(crate) fn make<T>(body: impl FnOnce() -> Result<T, Failure>) -> Option<Box<T>> {
    let mut made = None;
    guard(|| {
        made = Some(Box::new(body()?));
        Ok(())
    });
    made
}

/// Frees a handle.
pub(crate) fn free<T>(handle: Option<Box<T>>) {
    guard(|| {
        drop(handle);
        Ok(())
    });
}

/// Runs the body of a function that only reads a handle; 0 for a handle that is NULL.
pub(crate) fn look<T: Default, H>(handle: Option<&H>, body: impl FnOnce(&H) -> T) -> T {
    let mut seen = T::default();
    guard(|| {
        seen = body(given(handle)?);
        Ok(())
    });
    seen
}

/// The handle or the place for a result, unless it is NULL.
pub(crate) fn given<T>(pointer: Option<T>) -> Result<T, Failure> {
    pointer.ok_or_else(|| Failure::new(Status::Null, "a handle or a place for a result is NULL"))
}

/// A place for a result, unless it is NULL.
pub(crate) type Out<'a, T> = Option<Place<'a, T>>;

/// Writes a result that the caller may not want.
pub(crate) fn put<T>(out: Out<'_, T>, value: T) {
    if let Some(out) = out {
        out.write(value);
    }
}

/// Writes whether a symbol brought anything new.
pub(crate) fn put_outcome(
    innovative: Out<'_, bool>,
    outcome: Result<Outcome, DecodeError>,
) -> Result<(), Failure> {
    let outcome = outcome.map_err(|error| {
        let status = match error {
            DecodeError::Inconsistent { .. } => Status::Inconsistent,
            DecodeError::TooManyUnknowns { .. } | DecodeError::OutOfSpan { .. } => Status::Full,
            DecodeError::NotHeld { .. } => Status::Late,
            _ => Status::Argument,
        };
        Failure::new(status, error)
    })?;
    put(innovative, outcome == Outcome::Innovative);
    Ok(())
}

/// Writes where the payload of symbol `number` is, if it is known.
pub(crate) fn put_symbol(
    number: impl Display,
    symbol: Option<&[u8]>,
    payload: Out<'_, *const u8>,
    length: Out<'_, usize>,
) -> Result<(), Failure> {
    let missing = || Failure::new(Status::Missing, format!("symbol {number} is not known"));
    let symbol = symbol.ok_or_else(missing)?;
    let (payload, length) = (given(payload)?, given(length)?);
    payload.write(symbol.as_ptr());
    length.write(symbol.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;
    use crate::status::weftline_last_error;

    #[test]
    fn a_panic_becomes_a_status_with_its_reason() {
        // The panic's own message goes to standard error, as ever.
        assert_eq!(guard(|| panic!("a bug")), Status::Internal);
        assert!(make::<u8>(|| panic!("a bug")).is_none());
        assert_eq!(look(Some(&1), |_| -> usize { panic!("a bug") }), 0);
        // SAFETY: a string that ends with a zero, of this thread.
        let reason = unsafe { CStr::from_ptr(weftline_last_error()) };
        assert!(reason.to_string_lossy().contains("free the handle"));
    }

    #[test]
    fn null_is_an_error_and_no_crash() {
        assert_eq!(guard(|| given(None::<&u8>).map(drop)), Status::Null);
        assert_eq!(look(None::<&u8>, |value| *value), 0);
        free(None::<Box<u8>>);
    }
}
