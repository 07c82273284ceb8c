//! Option values that both ends share.

use std::time::Duration;

use crate::options::{DAY, SHORTEST, within};

/// Most flows of one end.
const MOST_FLOWS: usize = 60_000;

/// The time after which an idle flow is dropped.
pub(super) fn idle(text: &str) -> Result<Duration, String> {
    within(text, SHORTEST..=DAY)
}

/// A number of flows.
pub(super) fn most_flows(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_FLOWS).contains(n));
    number.ok_or_else(|| format!("`{text}` is not a number of flows: give 1 to {MOST_FLOWS}"))
}
