//! UDP sockets that Python gives.

use std::net::UdpSocket;
#[cfg(unix)]
use std::os::fd::{BorrowedFd as Borrowed, RawFd as Raw};
#[cfg(windows)]
use std::os::windows::io::{BorrowedSocket as Borrowed, RawSocket as Raw};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use weftline::BindError;

use crate::errors::{self, ConfigError};

/// A duplicate of a bound `socket.socket`: each end closes its own.
///
/// # Errors
///
/// It is another object, closed, not bound, or not of UDP.
pub(crate) fn duplicate(socket: &Bound<'_, PyAny>) -> PyResult<UdpSocket> {
    let module = socket.py().import("socket")?;
    if !socket.is_instance(&module.getattr("socket")?)? {
        let name = socket.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "this is not a socket.socket but {name}"
        )));
    }
    let is = |what: &str, value: &str| socket.getattr(what)?.eq(module.getattr(value)?);
    if !is("type", "SOCK_DGRAM")? || !(is("family", "AF_INET")? || is("family", "AF_INET6")?) {
        let text = "the socket that was given is not of UDP";
        return Err(ConfigError::new_err(text));
    }
    let number: i64 = socket.call_method0("fileno")?.extract()?;
    let number = Raw::try_from(number).ok().filter(|_| number >= 0);
    let Some(number) = number else {
        return Err(ConfigError::new_err("the socket that was given is closed"));
    };
    let duplicate = duplicate_of(number).map_err(given)?;
    if duplicate.local_addr().map_err(given)?.port() == 0 {
        let text = "the socket that was given has no port: bind it first";
        return Err(ConfigError::new_err(text));
    }
    Ok(duplicate)
}

fn duplicate_of(number: Raw) -> std::io::Result<UdpSocket> {
    // SAFETY: the number is not -1, and the Python object that has it is open and borrowed by the caller, which holds the
    // interpreter's lock, so that nobody closes it meanwhile. A number that is not open is an error of the system.
    let borrowed = unsafe { Borrowed::borrow_raw(number) };
    Ok(borrowed.try_clone_to_owned()?.into())
}

/// The system refuses the socket.
pub(crate) fn given(error: std::io::Error) -> PyErr {
    errors::bind(BindError::Given(error))
}
