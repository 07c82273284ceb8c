//! The laboratory, and its program `weftline-lab`.
//!
//! [`load`] measures a transport from the application's side. [`compare`] runs loads of several
//! transports over emulated paths (`weftline-emulator`, Linux) and makes tables and charts of their
//! results. [`sim`] compares runs of the engine in virtual time (`weftline-sim`), [`chaos`] real programs that are
//! killed and starved, and [`why`] explains what was late in a session. The papers' formulas, simulators and figures are in
//! `weftline-papers`. The program
//! `weftline` does not depend on this crate.
#![deny(unsafe_code)]
// Use `output::print`: a reader may close the pipe.
#![deny(clippy::print_stdout)]

pub mod attack;
pub mod chaos;
mod cli;
pub mod commands;
pub mod compare;
pub mod load;
pub mod recordings;
pub mod sim;
pub mod why;

pub use cli::{command, main};
