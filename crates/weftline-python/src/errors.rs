//! Errors of Rust as exceptions of `weftline.errors`.

use pyo3::prelude::*;
use weftline::CloseReason;

/// The exceptions, as functions that make them.
macro_rules! exceptions {
    ($($name:ident),*) => { $( pyo3::import_exception!(weftline.errors, $name); )* };
}

exceptions!(
    BindError,
    CodecError,
    ConfigError,
    ConnectError,
    ConnectionClosed,
    ConnectTimeoutError,
    DeliveryError,
    EndpointClosed,
    FingerprintError,
    IdentityError,
    KeyingMaterialError,
    MessageExpired,
    MessageTooLong,
    ModelError,
    NoRoomError,
    PairingError,
    PathError,
    PeerBusy,
    PeerMismatch,
    PeerRefused,
    StreamClosed,
    StreamReset,
    StreamStopped
);

/// What `ConnectionClosed` is made of: kind, code, text.
pub(crate) fn reason(reason: &CloseReason) -> (&'static str, u64, String) {
    let text = reason.to_string();
    match reason {
        CloseReason::Local => ("local", 0, text),
        CloseReason::Peer { code, reason } => ("peer", *code, reason.clone()),
        CloseReason::TimedOut { .. } => ("timed-out", 0, text),
        CloseReason::Violation(_) => ("violation", 0, text),
        CloseReason::Refused(_) => ("refused", 0, text),
        // The carrier failed.
        _ => ("carrier", 0, text),
    }
}

pub(crate) fn closed(closed: CloseReason) -> PyErr {
    let (kind, code, text) = reason(&closed);
    ConnectionClosed::new_err((closed.to_string(), kind, code, text))
}

pub(crate) fn bind(error: weftline::BindError) -> PyErr {
    let text = error.to_string();
    match error {
        weftline::BindError::Socket { source, .. }
        | weftline::BindError::Given(source)
        | weftline::BindError::EventLogs { source, .. } => {
            // An OSError has its number first.
            BindError::new_err((source.raw_os_error(), text))
        }
        weftline::BindError::NoRuntime | weftline::BindError::Tls(_) => {
            BindError::new_err((None::<i32>, text))
        }
        _ => ConfigError::new_err(text),
    }
}

pub(crate) fn connect(error: weftline::ConnectError) -> PyErr {
    use weftline::ConnectError as E;
    let (text, retryable) = (error.to_string(), error.is_retryable());
    match error {
        E::PeerMismatch { .. } => PeerMismatch::new_err(text),
        E::Refused { .. } => PeerRefused::new_err(text),
        E::Busy { .. } => PeerBusy::new_err((text, retryable)),
        E::TimedOut { .. } => ConnectTimeoutError::new_err((text, retryable)),
        E::EndpointClosed => EndpointClosed::new_err(text),
        _ => ConnectError::new_err((text, retryable)),
    }
}

pub(crate) fn stream(error: weftline::StreamError) -> PyErr {
    use weftline::StreamError as E;
    let text = error.to_string();
    match error {
        E::Reset(code) => StreamReset::new_err((text, code)),
        E::Stopped(code) => StreamStopped::new_err((text, code)),
        E::Closed(reason) => closed(reason),
        _ => StreamClosed::new_err(text),
    }
}

pub(crate) fn send(error: weftline::SendError) -> PyErr {
    use weftline::SendError as E;
    let text = error.to_string();
    match error {
        E::TooLong { limit, .. } => MessageTooLong::new_err((text, limit)),
        E::Closed(reason) => closed(reason),
        _ => NoRoomError::new_err(text),
    }
}

pub(crate) fn undelivered(error: weftline::Undelivered) -> PyErr {
    use weftline::Undelivered as E;
    match error {
        E::Closed(reason) => closed(reason),
        expired => MessageExpired::new_err(expired.to_string()),
    }
}

pub(crate) fn path(error: weftline::PathError) -> PyErr {
    use weftline::PathError as E;
    match error {
        E::Closed(reason) => closed(reason),
        E::Connect(error) => connect(error),
        other => PathError::new_err(other.to_string()),
    }
}

pub(crate) fn pairing(error: weftline_apps::pairing::PairingError) -> PyErr {
    use weftline_apps::SessionError as S;
    use weftline_apps::pairing::PairingError as E;
    let text = error.to_string();
    let kind = match error {
        E::WrongCode => "wrong-code",
        E::Impostor => "impostor",
        E::NoCode(_) => "no-code",
        E::Silent => "silent",
        E::Session(S::Bind(error)) => return bind(error),
        E::Session(S::Connect(error)) => return connect(error),
        E::Session(S::Closed(reason)) => return closed(reason),
        E::Session(error) => return ConnectError::new_err((text, error.is_transient())),
        _ => "protocol",
    };
    PairingError::new_err((text, kind))
}

/// What the codec refuses.
pub(crate) fn codec(error: impl std::fmt::Display) -> PyErr {
    CodecError::new_err(error.to_string())
}

/// What a formula or a model refuses.
pub(crate) fn model(error: impl std::fmt::Display) -> PyErr {
    ModelError::new_err(error.to_string())
}
