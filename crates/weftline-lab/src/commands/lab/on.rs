//! `weftline-lab on`.

use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result};
use weftline_cli::ui::output;
use weftline_emulator::{Side, running};

use super::{NOT_FOUND, OnArgs, SideName, exists, or_shell};

/// Replaces this process by the command, on one side of a lab.
pub(super) fn run(args: &OnArgs) -> Result<ExitCode> {
    let words = or_shell(&args.command);
    if let Some(program) = words.first().filter(|program| !exists(program)) {
        output::line(&format!(
            "error: there is no command `{}`",
            program.display()
        ));
        return Ok(ExitCode::from(NOT_FOUND));
    }
    let side = match args.side {
        SideName::A => Side::A,
        SideName::B => Side::B,
    };
    // It returns only if it fails.
    let error = running(side)?.args(words).exec();
    Err(error).context("cannot start `ip`")
}
