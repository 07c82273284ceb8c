//! `weftline-lab why`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use weftline_cli::ui::{Exit, Failure, OutputOptions, output};
use weftline_netem::units;

use crate::why::{Checked, Direction, Explanation, Logs};

const HELP: &str = "\
Give the log of a simulation, which has both ends, or the logs of both ends of one session, which
`--log-dir` of weftline's commands writes. Only what the ends logged is used.

A symbol is late if the time from when its data was written until it could be read exceeds the
smallest such time by more than --late. If it had to wait for an earlier symbol of its stream, the
cause is that one's, and it counts as \"behind\".

The clocks of two hosts are aligned by the smallest one-way delays both ways. What that may be wrong by
is said; it changes no cause.

Examples:
  weftline-lab sim engine --link 'rate=25mbit delay=30ms loss=iid:5%' --events exchange.sqlog
  weftline-lab why exchange.sqlog
  weftline-lab why exchange.sqlog --late 50ms --check
  weftline-lab why client.sqlog server.sqlog --json";

/// Right causes that `--check` demands.
const ENOUGH: f64 = 0.99;

/// Name the cause of everything that was late, from event logs
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(crate) struct WhyArgs {
    /// The log of both ends, or of each end
    #[arg(value_name = "LOG", required = true, num_args = 1..=2)]
    logs: Vec<PathBuf>,
    /// What took this much longer than the smallest time is late
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = late)]
    late: Duration,
    /// Compare the causes with what the simulated links did, and fail if less than 99 % are right
    #[arg(long)]
    check: bool,
}

fn late(text: &str) -> Result<Duration, String> {
    units::parse_duration(text).map_err(|error| error.to_string())
}

pub(crate) fn run(args: &WhyArgs, output: OutputOptions) -> Result<Exit> {
    let logs = Logs::read(&args.logs).map_err(|e| Failure::usage(e.to_string()))?;
    let late_us = i64::try_from(args.late.as_micros()).unwrap_or(i64::MAX / 2);
    let explanation = logs
        .explain(late_us)
        .map_err(|e| Failure::usage(e.to_string()))?;
    let checked = match args.check {
        false => None,
        true => Some(explanation.check(&logs).ok_or_else(|| {
            Failure::usage(
                "--check needs the log of a simulation, with what the links did".to_owned(),
            )
        })?),
    };
    match output.json {
        true => {
            let mut object = json!(explanation);
            if let Some(checked) = &checked {
                object["check"] = json!(checked);
            }
            output::print(object);
        }
        false => print(&explanation, checked.as_ref()),
    }
    Ok(match checked {
        Some(checked) if checked.share() < ENOUGH => Exit::General,
        _ => Exit::Ok,
    })
}

fn print(explanation: &Explanation, checked: Option<&Checked>) {
    if let Some(clocks) = explanation.clocks {
        output::print(format_args!(
            "the second end's clock is {} ahead, give or take {}",
            millis(clocks.ahead_us),
            millis(clocks.error_us)
        ));
    }
    if explanation.missing > 0 {
        output::print(format_args!(
            "{} entries are missing in the logs: causes may be wrong",
            explanation.missing
        ));
    }
    if explanation.unknown > 0 {
        output::print(format_args!(
            "{} entries of a later version were not understood: causes may be wrong",
            explanation.unknown
        ));
    }
    for direction in &explanation.directions {
        print_direction(direction);
    }
    if let Some(checked) = checked {
        output::print(format_args!(
            "{} of {} causes agree with what the links did ({:.2} %)",
            checked.right,
            checked.late,
            checked.share() * 1e2
        ));
    }
}

fn print_direction(direction: &Direction) {
    output::print(format_args!(
        "{} to {}: {} symbols, of which {} were late by more than {}; the smallest time is {}",
        direction.from,
        direction.to,
        direction.symbols,
        direction.late.len(),
        millis(direction.late_us),
        millis(direction.smallest_us)
    ));
    if direction.never > 0 {
        output::print(format_args!(
            "{} could never be read: given up, or not there when the log ended",
            direction.never
        ));
    }
    if direction.causes.is_empty() {
        return;
    }
    output::print(format_args!(
        "  {:>7} {:>7} {:>10} {:>10}  {:<52} example",
        "symbols", "share", "in all", "worst", "cause"
    ));
    for sum in &direction.causes {
        let behind = if sum.is_behind { "behind: " } else { "" };
        let waited = match sum.example.behind {
            Some(other) => format!(" behind {other}"),
            None => String::new(),
        };
        output::print(format_args!(
            "  {:>7} {:>5.1} % {:>10} {:>10}  {:<52} {}{waited}, written at {:.3} s",
            sum.count,
            sum.share * 1e2,
            millis(sum.total_us),
            millis(sum.worst_us),
            format!("{behind}{}", sum.cause),
            sum.example.esi,
            sum.example.written_us as f64 / 1e6
        ));
    }
}

fn millis(micros: i64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}
