//! Measures a transport from the application's side: `weftline-lab load`.
//!
//! A sender and a receiver run on one machine, so that they share a clock: in one network
//! namespace, or in two that an emulated path joins. `docs/reference/load.md` specifies the
//! interface for external programs.

mod arrivals;
mod clock;
mod error;
mod ext;
mod filler;
#[cfg(target_os = "linux")]
mod os;
mod request;
mod schedule;
mod transport;
mod workload;

pub use clock::now;
pub use error::{Failed, LoadError};
pub use ext::{External, NotExternal};
pub use request::{Mode, Request, Side, UnknownMode};
pub use transport::NAMES;

/// The first line of a receiver's standard output, printed when a sender may start.
pub const LISTENING: &str = r#"{"listening":true}"#;
