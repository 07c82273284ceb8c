//! What the rate control learns from a report.

use core::time::Duration;

use crate::time::Time;

/// The news in the newest report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The newest transmission that it acknowledges, and when that transmission left; `None` if a later
    /// one was acknowledged before.
    pub(crate) newest: Option<(u64, Time)>,
    /// Transmissions that it acknowledges and that no report before it did.
    pub(crate) count: u64,
    /// The time since they left, added up.
    pub(crate) waited: Duration,
    /// The newest round trip without the peer's own delay.
    pub(crate) rtt: Duration,
    /// The delay of the datagram that arrived last, beyond the smallest delay.
    pub(crate) queue: Duration,
    /// Bytes that arrived, and bytes that were lost, since the session began.
    pub(crate) arrived: u64,
    pub(crate) lost: u64,
    /// Mean length of a run of losses.
    pub(crate) burst: f64,
    /// The number of the next transmission.
    pub(crate) next: u64,
}
