#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod allowed;
mod carrier;
mod config;
mod connection;
mod driver;
mod endpoint;
mod error;
mod fingerprint;
mod identity;
mod known;
mod shared;
mod stream;

pub use weftline_codec as codec;
pub use weftline_proto as proto;

pub use allowed::Allowed;
pub use config::{Congestion, EndpointConfig};
pub use connection::Connection;
pub use endpoint::Endpoint;
pub use error::{BindError, ConnectError, Refusal, SendError, StreamError};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use identity::{Identity, IdentityError};
pub use known::KnownPeers;
pub use stream::{ReadHalf, Stream, WriteHalf};
pub use weftline_proto::{
    CloseReason, Config, Limits, Message, MessageId, Policies, Preset, RateControl, Stats, StreamId,
};
