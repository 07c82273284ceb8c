#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod config;
mod counters;
mod link;
pub mod links;
mod loss;
mod pipe;
mod random;
mod sim;
mod text;
mod transmitter;
pub mod units;

pub use config::{LinkConfig, Queue, Reorder};
pub use counters::Counters;
pub use link::{Fate, Link};
pub use links::NamedLink;
pub use loss::{FromMeanError, GilbertElliott, LossModel, Losses};
pub use pipe::Pipe;
pub use sim::{MAX_EVENTS_PER_INSTANT, Node, RunEnd, Simulation};
pub use text::ParseLinkError;
pub use units::ValueError;
