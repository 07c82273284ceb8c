//! `weftline-lab vectors`: checks whether this program computes the values of a file of test
//! vectors.

mod entry;
mod sections;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use weftline_cli::ui::{Exit, OutputOptions, output};

const EXAMPLES: &str = "\
Examples:
  weftline-lab vectors check rfc8681.json          lists errors, then N passed, M failed
  weftline-lab vectors check rfc8681.json --json   the same for scripts

The file holds JSON; docs/reference/fecframe.md describes its sections. Exit code 1 means that a
value is wrong, or that the file cannot be read.";

/// Largest file of test vectors in bytes.
const LARGEST: u64 = 64 << 20;

/// Check test vectors of FECFRAME's codes (RFC 8681, 8682, 5510)
#[derive(Args, Clone, Debug)]
pub struct VectorsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Derive every value of a file again and compare
    #[command(after_help = EXAMPLES)]
    Check {
        /// The vectors, in JSON
        file: PathBuf,
    },
}

/// The result of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries whose values are all correct.
    pub passed: usize,
    /// Entries with a wrong value, and the reason.
    pub failed: Vec<(String, String)>,
    /// Unknown sections.
    pub skipped: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// The file cannot be read, or is not a JSON object.
pub fn run(args: &VectorsArgs, output: OutputOptions) -> Result<Exit> {
    let What::Check { file } = &args.what;
    let read = || -> Result<Value> {
        let size = std::fs::metadata(file)?.len();
        anyhow::ensure!(
            size <= LARGEST,
            "the file has {size} bytes; at most {LARGEST} are read"
        );
        let vectors: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        anyhow::ensure!(
            vectors.is_object(),
            "a JSON object with sections is expected"
        );
        Ok(vectors)
    };
    let vectors = read().with_context(|| format!("reading vectors from {}", file.display()))?;
    let report = check(&vectors);
    if output.json {
        output::print(report.json());
    } else {
        report.tell(output.quiet);
    }
    Ok(if report.failed.is_empty() {
        Exit::Ok
    } else {
        Exit::General
    })
}

/// Derives all values again and compares.
pub fn check(vectors: &Value) -> Report {
    let mut report = Report::default();
    for (name, section) in vectors.as_object().into_iter().flatten() {
        if name == "about" {
            continue;
        }
        let Some(entries) = sections::check(name, section) else {
            report.skipped.push(name.clone());
            continue;
        };
        if entries.is_empty() {
            let reason = "it has no entries".to_owned();
            report.failed.push((name.clone(), reason));
        }
        for (entry, result) in entries {
            match result {
                Ok(()) => report.passed += 1,
                Err(reason) => report.failed.push((format!("{name}{entry}"), reason)),
            }
        }
    }
    report
}

impl Report {
    fn tell(&self, quiet: bool) {
        for (entry, reason) in &self.failed {
            output::print(format_args!("FAILED {entry}: {reason}"));
        }
        if !quiet {
            for section in &self.skipped {
                output::print(format_args!("skipped {section}: unknown section"));
            }
        }
        let (passed, failed) = (self.passed, self.failed.len());
        output::print(format_args!("{passed} passed, {failed} failed"));
    }

    fn json(&self) -> Value {
        let failures = self.failed.iter();
        let failures = failures.map(|(entry, reason)| json!({ "entry": entry, "reason": reason }));
        json!({
            "passed": self.passed,
            "failed": self.failed.len(),
            "failures": failures.collect::<Vec<_>>(),
            "skipped": self.skipped,
        })
    }
}
