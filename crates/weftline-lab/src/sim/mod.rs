//! Experiments in virtual time: deterministic, and faster than the clock.
//!
//! [`engine`] runs the real engine over simulated links, with the applications that
//! [`load`](crate::load) has, so that an experiment can be made either way.

pub mod engine;
