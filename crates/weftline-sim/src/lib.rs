#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod crowd;
mod delays;
pub mod engine;
mod fairness;
pub mod first_repair;
mod pace;
pub mod schemes;

pub use delays::{Delays, Summary, millis};
pub use fairness::jain;
pub use pace::Pace;
