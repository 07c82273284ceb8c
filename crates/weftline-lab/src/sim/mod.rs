//! Experiments in virtual time: deterministic, and faster than the clock.
//!
//! [`engine`] runs the real engine over simulated links, with the applications of
//! [`load`](crate::load), so that an experiment can be made both ways; [`crowd`] runs several flows of
//! it over one bottleneck, [`traces`] compares two configurations on recorded links,
//! [`paths`] one path with two. [`first_repair`]
//! takes a datagram of it apart.

pub mod crowd;
pub mod engine;
pub mod first_repair;
mod parallel;
pub mod paths;
pub mod traces;
