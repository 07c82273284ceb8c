//! Experiments in virtual time: deterministic, and faster than the clock.
//!
//! [`engine`] runs the real engine over simulated links, with the applications that
//! [`load`](crate::load) has, so that an experiment can be made either way. [`slots`] has
//! the papers' own models, a packet a slot. [`fecframe`] is the study of block and sliding-window
//! codes for one-way flows.

mod cpu;
pub mod engine;
pub mod fecframe;
pub mod slots;
