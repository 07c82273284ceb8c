//! Experiments in virtual time: deterministic, and faster than the clock.
//!
//! [`engine`] runs the real engine over simulated links, with the applications of
//! [`load`](crate::load), so that an experiment can be made both ways. [`slots`] has the papers'
//! own models, with a packet in each slot. [`fecframe`] is the study of block and sliding-window
//! codes for one-way flows.

mod cpu;
pub mod engine;
pub mod fecframe;
pub mod slots;
