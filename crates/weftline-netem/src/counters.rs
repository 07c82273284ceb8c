//! What happened on a link so far.

use core::time::Duration;

use crate::histogram::Histogram;

/// What one direction has counted since it was created. Every offered packet is in exactly
/// one of `delivered_packets`, `lost`, `queue_drops` and `too_big`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Packets given to the link.
    pub offered_packets: u64,
    /// Bytes given to the link.
    pub offered_bytes: u64,
    /// Packets that arrive, second copies not counted.
    pub delivered_packets: u64,
    /// Bytes that arrive, second copies not counted.
    pub delivered_bytes: u64,
    /// Packets that the loss model dropped.
    pub lost: u64,
    /// Runs of consecutive losses among packets that passed the queue.
    pub loss_runs: u64,
    /// Packets dropped because the queue was full or the link was down.
    pub queue_drops: u64,
    /// Packets longer than the MTU.
    pub too_big: u64,
    /// Packets that arrive twice.
    pub duplicated: u64,
    /// Packets that arrive after one sent later (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Packets that arrive with a congestion mark set by this link.
    pub marked: u64,
    /// How long each packet that passed the queue waited for the transmitter.
    pub queue_delay: Histogram,
}

impl Counters {
    /// Packets that passed the queue.
    pub fn transmitted(&self) -> u64 {
        self.delivered_packets + self.lost
    }

    /// Share of transmitted packets that were lost, 0 to 1; 0 before the first.
    pub fn loss_rate(&self) -> f64 {
        ratio(self.lost, self.transmitted())
    }

    /// Mean length of a run of losses, in packets; 0 before the first.
    pub fn mean_loss_run(&self) -> f64 {
        ratio(self.lost, self.loss_runs)
    }

    /// Mean wait for the transmitter; zero before the first packet.
    pub fn queue_delay_mean(&self) -> Duration {
        self.queue_delay.mean()
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
