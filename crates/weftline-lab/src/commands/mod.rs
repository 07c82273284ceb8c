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
pub(crate) mod why;

use std::io;
use std::path::PathBuf;

/// The program `weftline` to test: the given one, or the one beside this program.
fn program(given: Option<PathBuf>) -> io::Result<PathBuf> {
    match given {
        Some(program) => Ok(program),
        None => Ok(std::env::current_exe()?.with_file_name("weftline")),
    }
}
