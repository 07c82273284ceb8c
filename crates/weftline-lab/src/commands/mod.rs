//! The commands of the program, a module for each.

pub(crate) mod attack;
pub(crate) mod bench;
pub(crate) mod chaos;
pub(crate) mod lab;
mod links;
pub(crate) mod load;
pub(crate) mod repro;
pub(crate) mod sim;
pub(crate) mod theory;
pub mod vectors;
