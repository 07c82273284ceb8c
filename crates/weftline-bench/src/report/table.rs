//! The report for people: a table for each contest, as soon as it is over.

use std::fmt::Write;

use super::{to_best_peer, to_ceiling, to_published};
use crate::machine::Machine;
use crate::measure::{Measurement, Outcome, Timing};

/// The machine and the method of measurement.
#[must_use]
pub fn heading(machine: &Machine, timing: Timing, no_cycles: Option<&str>) -> String {
    let cpu = machine.cpu.as_deref().unwrap_or("unknown CPU");
    let names: Vec<&str> = machine.kernels.iter().map(|kernel| kernel.name()).collect();
    let mut text = format!(
        "{cpu}, {} on {}; kernel {} of {}",
        machine.architecture,
        machine.os,
        machine.kernel,
        names.join(" ")
    );
    if let Some(load) = &machine.load {
        // Writing to a string cannot fail.
        let _ = write!(text, "; load {load}");
    }
    let _ = write!(
        text,
        "\nmedian of {} samples of {} ms or more (slow contenders have fewer, at least 5); contenders take turns; {}",
        timing.rounds,
        timing.sample.as_secs_f64() * 1e3,
        crate::clock::NAME
    );
    if let Some(reason) = no_cycles {
        let _ = write!(text, "\ncycles per byte are not available: {reason}");
    }
    text
}

/// The meaning of the columns.
#[must_use]
pub fn legend() -> &'static str {
    "GB/s: 10^9 bytes per second, counted as each workload says; +-: distance between the quartiles;\n\
     c/B: cycles per byte; x peer: speed divided by that of the fastest peer; x top: speed divided by \
     that of the first ceiling"
}

/// One contest.
#[must_use]
pub fn text(outcome: &Outcome) -> String {
    let case = &outcome.case;
    let mut text = format!("{}\n  ({})\n", case.id(), case.definition);
    let width = outcome.measurements.iter().map(|m| m.contender.len());
    let width = width.max().unwrap_or(0).max(20);
    let _ = writeln!(
        text,
        "  {:<width$} {:>8} {:>5} {:>6} {:>7} {:>6}",
        "", "GB/s", "+-", "c/B", "x peer", "x top"
    );
    for measurement in &outcome.measurements {
        let _ = writeln!(text, "{}", row(outcome, measurement, width));
    }
    for skipped in &outcome.skipped {
        let _ = writeln!(
            text,
            "  {:<width$} skipped: {}",
            skipped.contender, skipped.reason
        );
    }
    text
}

fn row(outcome: &Outcome, measurement: &Measurement, width: usize) -> String {
    let case = &outcome.case;
    let or_dash = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let gbps = measurement.gbps(case);
    let mut row = format!(
        "  {:<width$} {gbps:>8.*} {:>4.0}% {:>6} {:>7} {:>6}",
        measurement.contender,
        if gbps < 10.0 { 3 } else { 1 },
        measurement.nanos.spread() * 100.0,
        or_dash(measurement.cycles_per_byte(case), 3),
        or_dash(to_best_peer(outcome, measurement), 2),
        or_dash(to_ceiling(outcome, measurement), 2),
    );
    if let Some((sent, lost)) = measurement.residual {
        let _ = write!(row, "  residual {:.1} %", lost as f64 / sent as f64 * 100.0);
    }
    if let (Some(ratio), Some(published)) = (to_published(outcome, measurement), case.published) {
        let mbps = gbps * 8e3;
        let _ = write!(
            row,
            "  {mbps:.0} Mbit/s, x {ratio:.1} of {}",
            published.source
        );
    }
    row
}
