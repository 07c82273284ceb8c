//! `weftline-lab run`.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use weftline_cli::ui::progress::size;
use weftline_cli::ui::{OutputOptions, output};
use weftline_emulator::{DirectionReport, Lab, PathConfig, PathError, Programs, Report};

use super::signals::Signals;
use super::{NOT_FOUND, RunArgs, exists, or_shell};
use crate::commands::links::several;

/// Runs the commands on a new path and reports the path's counters.
pub(super) fn run(args: &RunArgs, output: OutputOptions) -> Result<ExitCode> {
    let mut links = several(args.paths.as_deref(), &args.link, &args.back)?.into_iter();
    let first = links.next().context("--link is needed")?;
    let mut config = PathConfig::new(first);
    config.links.extend(links);
    config.seed = args.seed;
    config.mtu = args.mtu;
    config.pcap = args.pcap.clone();
    config.devices_go_down = !args.at.is_empty();
    let programs = Programs {
        a: or_shell(&args.command),
        b: args.b.clone(),
        ready: args.ready,
        linger: args.linger,
        events: args.at.clone(),
    };
    if let Some(program) = programs.a.first().filter(|program| !exists(program)) {
        output::line(&format!(
            "error: there is no command `{}`",
            program.display()
        ));
        return Ok(ExitCode::from(NOT_FOUND));
    }
    // From here on a signal must not end the process before everything is removed.
    let signals = Signals::listen()?;
    let lab = Lab::open(&config).map_err(|error| match error {
        PathError::NotRoot | PathError::NoTun { .. } => {
            anyhow!("{error}; `weftline demo` shows a lossy path without any of this")
        }
        error => error.into(),
    })?;
    if !output.quiet && !lab.leftovers().is_empty() {
        let names = lab.leftovers().join(", ");
        output::line(&format!("removed the remains of a killed lab: {names}"));
    }
    let ended = programs.run(&lab, || signals.received());
    let report = lab.close();
    let ended = ended?;
    tell(&report?, args, output)?;
    if let Some(status) = ended.b.filter(|status| !status.success()) {
        output::line(&format!("error: the command on side b failed: {status}"));
    }
    if let Some(status) = ended.event {
        output::line(&format!("error: a command of --at failed: {status}"));
    }
    if ended.to_come > 0 {
        let count = ended.to_come;
        output::line(&format!(
            "the command ended before {count} of --at were due"
        ));
    }
    Ok(ExitCode::from(ended.code()))
}

fn tell(report: &Report, args: &RunArgs, output: OutputOptions) -> Result<()> {
    let json = serde_json::to_string(report)?;
    if let Some(file) = &args.counters {
        fs::write(file, format!("{json}\n")).with_context(|| file.display().to_string())?;
    }
    if output.json {
        output::print(json);
    } else if args.counters.is_none() && !output.quiet {
        let first = (&report.a_to_b, &report.b_to_a);
        let more = report.more.iter().map(|link| (&link.a_to_b, &link.b_to_a));
        for (n, (to, back)) in [first].into_iter().chain(more).enumerate() {
            let device = match report.more.is_empty() {
                true => String::new(),
                false => format!("lab{n} "),
            };
            output::line(&line(&format!("{device}a -> b"), to));
            output::line(&line(&format!("{device}b -> a"), back));
        }
    }
    if !report.valid {
        let problems = report.problems.join("; ");
        output::line(&format!("WARNING: this run is not valid: {problems}"));
    }
    if report.capture_missed > 0 {
        let missed = report.capture_missed;
        output::line(&format!(
            "WARNING: the disk was slow: {missed} packets are not in the capture"
        ));
    }
    Ok(())
}

/// The counters of a direction, for people.
fn line(name: &str, report: &DirectionReport) -> String {
    let wait = &report.queue_delay_ms;
    let mut line = format!(
        "{name}: {} packets ({}), {} lost ({:.1} %), {} dropped by the queue, which kept them {:.1} ms (median; 99 %: {:.1} ms)",
        report.packets,
        size(report.bytes),
        report.losses,
        100.0 * report.loss_rate,
        report.queue_drops,
        wait.p50,
        wait.p99,
    );
    for (count, what) in [
        (report.too_big, "too big"),
        (report.duplicates, "delivered twice"),
        (report.reordered, "overtaken"),
        (report.marked, "marked"),
    ] {
        if count > 0 {
            line += &format!(", {count} {what}");
        }
    }
    line
}
