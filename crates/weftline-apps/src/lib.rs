#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod address;
mod allow;
pub mod cast;
pub mod close;
mod duration;
mod error;
mod flow;
pub mod forward;
pub mod host;
#[cfg(test)]
mod impaired;
#[cfg(test)]
mod killed;
mod line;
mod listen;
mod lock;
mod names;
mod on_drop;
mod order;
pub mod pairing;
pub mod protocol;
mod quota;
mod reconnect;
pub mod relay;
mod session;
#[cfg(test)]
mod soon;
mod stopper;
mod target;
pub mod transfer;
pub mod tun;
#[cfg(feature = "view")]
pub mod view;

pub use address::{Address, BadAddress, DEFAULT_PORT, UnknownHost, local_flow};
pub use allow::{Allow, BadAllow, Rules};
pub use error::SessionError;
pub use flow::{BUSIEST, FlowInfo};
pub use listen::{BadListen, Listen};
pub use lock::lock;
pub use protocol::Protocol;
pub use quota::{Budget, Limits, OverLimit, Place, Usage};
pub use session::{connect, farewell};
pub use stopper::Stopper;
pub use target::{BadTarget, Target};
pub use weftline::printable;
