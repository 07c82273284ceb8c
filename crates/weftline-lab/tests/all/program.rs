//! The program, run to its end.

use std::process::{Command, Output};

/// What it does with these words.
pub(crate) fn lab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline-lab"));
    command.args(arguments).output().unwrap()
}

/// What it prints. It must succeed.
pub(crate) fn printed(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout.clone()).unwrap()
}
