//! Option values that both ends share.

use std::time::Duration;

use weftline_netem::units;

/// Most flows of one end.
const MOST_FLOWS: usize = 60_000;

/// The time after which an idle flow is dropped.
pub(super) fn idle(text: &str) -> Result<Duration, String> {
    let time = units::parse_duration(text).map_err(|e| e.to_string())?;
    let accepted = Duration::from_millis(100)..=Duration::from_secs(86_400);
    match accepted.contains(&time) {
        true => Ok(time),
        false => Err("give 100ms to 86400s".into()),
    }
}

/// A number of flows.
pub(super) fn most_flows(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_FLOWS).contains(n));
    number.ok_or_else(|| format!("`{text}` is not a number of flows: give 1 to {MOST_FLOWS}"))
}
