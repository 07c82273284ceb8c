#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod abandoned;
mod check;
mod clock;
mod config;
mod credit;
mod error;
mod event;
mod feedback;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod histogram;
mod limits;
mod log;
mod loss;
mod messages;
mod output;
mod path;
mod payload;
mod preset;
mod printable;
#[cfg(test)]
mod random;
mod ranges;
mod rate;
mod receiver;
mod rtt;
// Without the feature, the items that it exports are private, and some are unused.
#[cfg_attr(
    not(feature = "unstable-scheme"),
    allow(unreachable_pub, dead_code, unused_imports)
)]
mod sender;
mod session;
mod settings;
mod spare;
mod stats;
mod streams;
mod text;
mod time;
mod violation;
// For those who write tests of the wire, and for other implementations: not a stable interface.
#[doc(hidden)]
pub mod wire;

pub use check::ConfigError;
pub use config::{Config, RateControl};
pub use error::{OpenError, ReadError, SendMessageError, WriteError};
pub use event::{CloseReason, Event, Message, MessageId, Role, StreamId};
pub use feedback::Feedback;
pub use histogram::Histogram;
pub use limits::{Limits, MIN_DATAGRAM};
pub use log::{
    CodingVectorKind, DropReason, EndReason, EsiRun, Few, HoldReason, LogEntry, LogEvent,
    LogReport, RepairReason,
};
pub use output::Output;
pub use path::{AddPathError, MAX_PATHS, PathId, PathOptions, PathReport};
pub use preset::Preset;
pub use printable::printable;
pub use sender::EncodingWindow;
pub use sender::scheme::{
    Arq, Auto, Block, Measured, Rateless, Rest, RestShare, Scheme, Streaming, VectorHeader,
};
pub use session::Session;
pub use settings::{Settings, TextError};
pub use stats::{DroppedStats, PathStats, ReceivedStats, SentStats, Stats};
pub use time::Time;
pub use violation::Violation;

/// How to write a scheme outside of the engine, for research. It may change in any release.
///
/// A [`Rule`](scheme::Rule) sees the flow as a [`Situation`](scheme::Situation) and answers with an
/// [`Action`](scheme::Action). `Scheme::Custom` carries it into a configuration.
#[cfg(feature = "unstable-scheme")]
pub mod scheme {
    pub use crate::sender::scheme::{Custom, Redundancy, Report, Rule};
    pub use crate::sender::{Action, Room, Situation, Transmission};
}
