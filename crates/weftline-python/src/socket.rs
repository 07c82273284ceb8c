//! UDP sockets that Python gives.

use std::net::UdpSocket;
#[cfg(unix)]
use std::os::fd::{BorrowedFd as Borrowed, RawFd as Raw};
#[cfg(windows)]
use std::os::windows::io::{BorrowedSocket as Borrowed, RawSocket as Raw};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use socket2::{SockRef, Type};
use weftline::BindError;

use crate::errors::{self, ConfigError};

/// A duplicate of a bound `socket.socket`: each end closes its own.
///
/// # Errors
///
/// It is another object, closed, not bound, connected, or not of UDP.
pub(crate) fn duplicate(socket: &Bound<'_, PyAny>) -> PyResult<UdpSocket> {
    let module = socket.py().import("socket")?;
    if !socket.is_instance(&module.getattr("socket")?)? {
        let name = socket.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "this is not a socket.socket but {name}"
        )));
    }
    let number: i64 = socket.call_method0("fileno")?.extract()?;
    let number = Raw::try_from(number).ok().filter(|_| number >= 0);
    let Some(number) = number else {
        return Err(ConfigError::new_err("the socket that was given is closed"));
    };
    let duplicate = duplicate_of(number).map_err(given)?;
    match problem(&duplicate).map_err(given)? {
        Some(what) => Err(ConfigError::new_err(format!(
            "the socket that was given {what}"
        ))),
        None => Ok(duplicate),
    }
}

/// Why an endpoint cannot use it. The system is asked, since Python knows only what the socket was made with.
fn problem(socket: &UdpSocket) -> std::io::Result<Option<&'static str>> {
    let is_of_datagrams = SockRef::from(socket).r#type()? == Type::DGRAM;
    Ok(match socket.local_addr() {
        Ok(_) if !is_of_datagrams => Some("is not of UDP"),
        // Of another family.
        Err(_) => Some("is not of UDP"),
        Ok(at) if at.port() == 0 => Some("has no port: bind it first"),
        Ok(_) if socket.peer_addr().is_ok() => Some("is connected"),
        Ok(_) => None,
    })
}

fn duplicate_of(number: Raw) -> std::io::Result<UdpSocket> {
    // SAFETY: the number is not -1, and the Python object that has it is borrowed by the caller, which holds the interpreter's
    // lock. At worst other code has closed it: then the number is not open, which is an error of the system, or of another
    // file, which is looked at like any other.
    let borrowed = unsafe { Borrowed::borrow_raw(number) };
    Ok(borrowed.try_clone_to_owned()?.into())
}

/// The system refuses the socket.
pub(crate) fn given(error: std::io::Error) -> PyErr {
    errors::bind(BindError::Given(error))
}
