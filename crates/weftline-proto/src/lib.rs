#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod abandoned;
mod channel;
mod clock;
mod config;
mod credit;
mod error;
mod event;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod loss;
mod messages;
mod payload;
mod policy;
mod ranges;
mod rate;
mod receiver;
mod rtt;
mod sender;
mod session;
mod stats;
mod streams;
mod time;
mod violation;
pub mod wire;

pub use config::{Config, Limits, RateControl};
pub use error::{OpenError, ReadError, SendMessageError, WriteError};
pub use event::{CloseReason, Event, Message, MessageId, Role, StreamId};
pub use policy::{
    Auto, Code, Compared, EncodingWindow, Feedback, Ingredients, Measured, Policies, Preset,
    RandomCode, Rateless, Redundancy, TopUp, UnknownPreset, VectorHeader,
};
pub use session::Session;
pub use stats::{DroppedStats, PathStats, ReceivedStats, SentStats, Stats};
pub use time::Time;
pub use violation::Violation;
