#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod repro;
pub mod sim;
pub mod theory;
