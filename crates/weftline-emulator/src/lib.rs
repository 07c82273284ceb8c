#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod event;
mod links;
#[cfg(target_os = "linux")]
mod path;

pub use event::{Event, NotAnEvent};
pub use links::{Links, UnreadableLink};
#[cfg(target_os = "linux")]
pub use path::{
    Delay, DirectionReport, Ended, Lab, LinkReport, MAX_LINKS, Outcome, PathConfig, PathError,
    Programs, Report, Script, Side, Stop, running,
};
