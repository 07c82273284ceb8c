//! From the command line to the exit code; both programs share this.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};
use clap_complete::Shell;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

use super::exit::{self, Exit, Failure};
use super::journal::{self, Events};
use super::output::{self, OutputOptions};
use super::terminal;

/// Parses the command line, runs the command, and reports errors. `words` are those of the command
/// line, the program's name first, or why there are none.
pub fn main<C: Parser>(
    words: Result<Vec<OsString>, Failure>,
    output: impl FnOnce(&C) -> OutputOptions,
    run: impl FnOnce(C) -> Result<ExitCode>,
) -> ExitCode {
    let words = match words {
        Ok(words) => words,
        Err(failure) => {
            output::line(&format!("error: {failure}"));
            terminal::flush();
            return failure.exit.into();
        }
    };
    // What only a command itself finds wrong is told without the general usage, which would hide it.
    let matches = C::command().try_get_matches_from(words);
    let cli = match matches.and_then(|matches| C::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            if journal::is_reading() {
                output::line(&error.to_string());
                terminal::flush();
            } else {
                // Nothing can be done about an output that is closed.
                let _ = error.print();
            }
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            }
            .into();
        }
    };
    log(output(&cli).verbose);
    let code = match run(cli) {
        Ok(code) => code,
        Err(error) => {
            output::line(&format!("error: {}", exit::text(&error)));
            Exit::of(&error).into()
        }
    };
    terminal::flush();
    code
}

/// Prints the completion script of a program for a shell.
pub fn completions<C: CommandFactory>(shell: Shell) -> Exit {
    let mut command = C::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end());
    Exit::Ok
}

/// Runs an asynchronous command on its own runtime.
///
/// # Errors
/// The errors of the command, or the runtime cannot be created.
pub fn on_runtime(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(command);
    // A thread that waits for standard input must not keep the program running.
    runtime.shutdown_background();
    result
}

fn log(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => tracing::Level::INFO,
        2 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    if journal::is_reading() {
        let level = LevelFilter::from_level(level);
        let events = Events(terminal::enter).with_filter(level);
        return tracing_subscriber::registry().with(events).init();
    }
    tracing_subscriber::fmt()
        .with_max_level(level)
        // The lines are made printable, and colours would not be.
        .with_ansi(false)
        .with_writer(|| terminal::Lines)
        .init();
}
