//! Tests of the laboratory. They are one binary: each one takes seconds to link. `lab` is beside it, as it
//! measures time.
#![allow(clippy::unwrap_used)]

mod bench;
mod compare;
#[cfg(target_os = "linux")]
mod compare_command;
mod documents;
#[cfg(target_os = "linux")]
mod helpers;
mod load;
mod load_command;
mod program;
mod repro;
mod sim_engine;
mod sim_paths;
mod sim_slots;
mod theory;
mod vectors;
mod why;
