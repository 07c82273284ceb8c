#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod links;
#[cfg(target_os = "linux")]
mod path;

pub use links::{Links, UnreadableLink};
#[cfg(target_os = "linux")]
pub use path::{
    Delay, DirectionReport, Ended, Lab, Outcome, PathConfig, PathError, Programs, Report, Side,
    Stop, running,
};
