//! Experiments in virtual time that need recordings or compare several runs: [`traces`] compares two
//! configurations on recorded links, [`paths`] one path with two. What runs the engine itself is
//! `weftline-sim`.

mod parallel;
pub mod paths;
pub mod traces;
