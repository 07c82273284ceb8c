//! The `weftline` program, a module for each command.
//!
//! The binary only calls [`cli::main`]. The library exists for tests and fuzzing;
//! applications build on the `weftline` crate instead.
#![forbid(unsafe_code)]

pub mod address;
pub mod bench;
pub mod cast;
pub mod cli;
pub mod console;
pub mod demo;
pub mod exit;
pub mod forward;
pub mod home;
pub mod key;
pub mod lab;
pub mod load;
pub mod options;
pub mod output;
pub mod preset;
pub mod recv;
pub mod relay;
mod report;
pub mod reporter;
pub mod repro;
pub mod send;
pub mod session;
pub mod sim;
pub mod theory;
pub mod transfer;
pub mod vectors;
