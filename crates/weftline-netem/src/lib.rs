#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod config;
mod counters;
mod delays;
mod histogram;
mod link;
pub mod links;
mod loss;
mod outages;
mod pipe;
mod random;
mod sim;
mod text;
mod trace;
mod transmitter;
pub mod units;

pub use config::{LinkConfig, Queue, Reorder};
pub use counters::Counters;
pub use delays::{Bunch, Delays, Jitter, Policer, Steps};
pub use histogram::Histogram;
pub use link::{Fate, Link};
pub use links::NamedLink;
pub use loss::{FromMeanError, GilbertElliott, LossModel, Losses};
pub use outages::Outages;
pub use pipe::Pipe;
pub use sim::{MAX_EVENTS_PER_INSTANT, Node, RunEnd, Simulation};
pub use text::ParseLinkError;
pub use trace::{MAX_STEPS, Trace, TraceError, TraceProblem};
pub use units::ValueError;
