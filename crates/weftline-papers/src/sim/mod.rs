//! The papers' experiments in virtual time: deterministic, and faster than the clock.
//!
//! [`slots`] has the papers' own models, a packet a slot. [`fecframe`] is the study of block and
//! sliding-window codes for one-way flows.

mod cpu;
pub mod fecframe;
mod parallel;
pub mod slots;

pub use parallel::in_parallel;
