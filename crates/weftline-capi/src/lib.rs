#![doc = include_str!("../README.md")]
// The caller owes the same everywhere; the README says what.
#![allow(clippy::missing_safety_doc)]

mod block;
mod close;
mod coefficients;
mod config;
mod guard;
mod message;
mod output;
mod raw;
mod recoder;
mod session;
mod stats;
mod status;
mod stream;
mod window;

pub use block::*;
pub use close::*;
pub use coefficients::*;
pub use config::*;
pub use message::*;
pub use output::*;
pub use recoder::*;
pub use session::*;
pub use stats::*;
pub use status::*;
pub use stream::*;
pub use window::*;
