//! What a report tells the rate control.

use core::time::Duration;

use crate::time::Time;

/// The newest report's news.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The newest transmission, reported for the first time, and when it left.
    pub(crate) number: u64,
    pub(crate) sent: Time,
    /// Its round trip without the peer's own delay.
    pub(crate) rtt: Duration,
    /// What its way there took beyond the least.
    pub(crate) queue: Duration,
    /// Bytes that arrived and that were lost, since the session began.
    pub(crate) arrived: u64,
    pub(crate) lost: u64,
    /// Mean length of a run of losses.
    pub(crate) burst: f64,
    /// The number that the next transmission gets.
    pub(crate) next: u64,
}
