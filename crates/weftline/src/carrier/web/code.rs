//! Close codes: WebTransport's have 32 bits, Weftline's 60.

use std::time::Duration;

use quinn::ApplicationClose;
use web_transport_proto::{error_from_http3, error_to_http3};
use weftline_proto::{CloseReason, printable};

use super::super::RESERVED_CODES;
use super::super::quic::closed_by_peer;

/// All went well, for HTTP/3 (RFC 9114, section 8.1).
pub(super) const NO_ERROR: u32 = 0x100;

/// From here on they are the runtime's own.
const RESERVED: u32 = 0xffff_fff0;

/// A close code as pages see it. One that does not fit becomes the largest of its kind.
pub(super) fn to_page(code: u64) -> u32 {
    let fit = |code: u64| u32::try_from(code).unwrap_or(u32::MAX);
    match code.checked_sub(RESERVED_CODES) {
        Some(own) => RESERVED.saturating_add(fit(own)),
        None => fit(code).min(RESERVED - 1),
    }
}

/// And back.
fn from_page(code: u32) -> u64 {
    match code.checked_sub(RESERVED) {
        Some(own) => RESERVED_CODES + u64::from(own),
        None => code.into(),
    }
}

/// What it means that a page has closed its session with this code.
pub(super) fn closed_by_page(code: u32, reason: &str, idle: Duration) -> CloseReason {
    closed_by_peer(from_page(code), reason.as_bytes(), idle)
}

/// What it means that a page's end has closed the connection with an error code of HTTP/3.
pub(super) fn connection_closed(close: &ApplicationClose, idle: Duration) -> CloseReason {
    let code = close.error_code.into_inner();
    let reason = String::from_utf8_lossy(&close.reason);
    match error_from_http3(code) {
        Some(code) => closed_by_page(code, &reason, idle),
        None if code == u64::from(NO_ERROR) => closed_by_page(0, &reason, idle),
        None => CloseReason::Carrier(printable(&format!(
            "the page ended the connection with HTTP/3's error {code:#x}: {reason}"
        ))),
    }
}

/// This close code as an error code of HTTP/3, for the connection.
pub(super) fn to_http3(code: u32) -> u64 {
    error_to_http3(code)
}
