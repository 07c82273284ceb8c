//! What all benches read from the command line.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::{Result, bail};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// As asked for.
    Full,
    /// `cargo bench` without arguments.
    Short,
    /// `cargo test` of all targets.
    Smoke,
}

impl Form {
    /// The form, and the arguments that are meant for a bench.
    pub(crate) fn read(args: impl Iterator<Item = String>) -> (Self, Vec<String>) {
        let mut args: Vec<String> = args.collect();
        // Cargo says `--bench` for benchmarks only; other arguments are then meant for tests.
        let bench = args.iter().any(|arg| arg == "--bench");
        args.retain(|arg| arg != "--bench");
        match (bench, args.is_empty()) {
            (true, false) => (Form::Full, args),
            (true, true) => (Form::Short, args),
            (false, _) => (Form::Smoke, Vec::new()),
        }
    }
}

pub(crate) fn number<N: FromStr + PartialOrd + Display>(
    text: &str,
    least: N,
    most: N,
) -> Result<N> {
    match text.parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => bail!("expected a whole number from {least} to {most}, got `{text}`"),
    }
}
