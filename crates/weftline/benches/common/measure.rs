//! What the system tells of a process and of the machine.

use std::fs;

/// User and system time of this process. The kernel's part of loopback is mostly the sender's:
/// it carries a packet up to the receiving socket.
pub(crate) fn cpu_seconds() -> Option<f64> {
    /// Linux counts in hundredths of a second here on every machine (`USER_HZ`).
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name and may contain anything, also brackets.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks = |n: usize| fields.split_whitespace().nth(n)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

/// Processes that want to run: mean of a minute.
pub(crate) fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}
