//! What the commands of the slot models share.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use weftline_cli::ui::{Exit, Failure, OutputOptions};
use weftline_papers::sim::slots::block::Answer;
use weftline_papers::sim::slots::{Code, DelaySummary, Progress, SlotError};

use crate::commands::theory::show::{Computed, short};

/// Settings of a model's run.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Run")]
pub(super) struct RunOptions {
    /// Seed: the same seed gives the same result, on any number of threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
}

/// Whether symbols are counted or coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CodeName {
    /// Ideal: symbols are counted
    Genie,
    /// Random coefficients: coded, decoded and compared
    Real,
}

impl From<CodeName> for Code {
    fn from(name: CodeName) -> Self {
        match name {
            CodeName::Genie => Self::Genie,
            CodeName::Real => Self::Real,
        }
    }
}

impl RunOptions {
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs a model with this many threads, and shows progress on a terminal.
    pub(super) fn run<T>(
        &self,
        output: OutputOptions,
        model: impl FnOnce(usize, Progress<'_>) -> Result<T, SlotError>,
    ) -> Result<(T, Duration)> {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.map_or_else(available, |n| n as usize);
        let start = Instant::now();
        let line = Line {
            shown: !output.quiet && std::io::stderr().is_terminal(),
            start,
            last: Mutex::new(None),
        };
        let result = model(threads, &|done, of| line.progress(done, of));
        line.clear();
        let value = result.map_err(|error| Failure::new(exit(&error), error.to_string()))?;
        Ok((value, start.elapsed()))
    }
}

fn exit(error: &SlotError) -> Exit {
    match error {
        SlotError::Theory(_) => Exit::Usage,
        _ => Exit::General,
    }
}

/// A line on a terminal that shows the progress of a long run.
struct Line {
    shown: bool,
    start: Instant,
    last: Mutex<Option<Instant>>,
}

impl Line {
    /// Nothing for short runs, and no more updates than a terminal can show.
    const FIRST: Duration = Duration::from_secs(1);
    const NEXT: Duration = Duration::from_millis(250);

    fn progress(&self, done: u64, of: u64) {
        let passed = self.start.elapsed();
        if !self.shown || passed < Self::FIRST {
            return;
        }
        // One thread draws for all.
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        if last.is_some_and(|at| at.elapsed() < Self::NEXT) {
            return;
        }
        *last = Some(Instant::now());
        let share = done as f64 / of.max(1) as f64;
        let left = passed.as_secs_f64() * (1.0 / share.max(1e-9) - 1.0);
        // Nothing can be done about a closed standard error.
        let _ = write!(
            std::io::stderr(),
            "\r{:3.0} %, {left:.0} s to go \x1b[K",
            share * 100.0
        );
    }

    fn clear(&self) {
        if self.last.lock().is_ok_and(|last| last.is_some()) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// The value of an option in seconds.
///
/// # Errors
/// Says which values are allowed.
pub(super) fn seconds(name: &str, secs: f64) -> Result<Duration, Failure> {
    let fits = (0.0..=86_400.0).contains(&secs);
    fits.then(|| Duration::from_secs_f64(secs)).ok_or_else(|| {
        let message = format!("--{name} is in seconds, 0 to 86400, not {secs}");
        Failure::usage(message)
    })
}

/// How many packets answer feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AnswerName {
    /// As many as the receiver lacks
    Missing,
    /// As many as must be sent for that number to arrive on average
    Expected,
    /// As `expected`, but to half a packet, and for a block as soon as each loss is known: the rule
    /// of the engine's presets
    Known,
}

impl From<AnswerName> for Answer {
    fn from(name: AnswerName) -> Self {
        match name {
            AnswerName::Missing => Self::Missing,
            AnswerName::Expected => Self::Expected,
            AnswerName::Known => Self::Known,
        }
    }
}

/// Prints lines about delays in slots.
pub(super) fn delays(out: &mut Computed, mean: f64, stderr: f64, delays: &DelaySummary) {
    out.line(format!(
        "{:>14}  slots of mean in-order delay, +- {}",
        short(mean),
        short(stderr)
    ));
    for (name, delay) in [
        ("p50", delays.p50),
        ("p95", delays.p95),
        ("p99", delays.p99),
        ("p99.9", delays.p999),
        ("the longest", delays.max),
    ] {
        out.line(format!("{delay:>14}  slots of in-order delay, {name}"));
    }
}
