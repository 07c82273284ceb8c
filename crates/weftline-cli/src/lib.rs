//! The `weftline` program, a module for each command.
//!
//! The binary only calls [`main`]. The applications are in `weftline-apps`; embed that crate
//! instead. This library exists for [`ui`], which the program `weftline-lab` shares.
#![forbid(unsafe_code)]
// Use `output::print`: a reader may close the pipe.
#![deny(clippy::print_stdout)]

mod book;
mod cast;
mod cli;
mod config;
mod demo;
mod event_logs;
mod forward;
mod home;
mod inbox;
mod key;
mod listed;
mod listen;
mod monitor;
mod nearby;
mod offer;
mod options;
mod peer;
mod peers;
mod placed;
mod places;
mod preset;
mod recv;
mod relay;
mod send;
mod serve;
mod supervise;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod tun;
pub mod ui;
mod view;

pub use cli::{command, main};
