//! The `weftline` program.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    weftline_cli::main()
}
