//! What a session keeps for one path besides its sender and its receiver.

use super::long::Pace;
use super::pieces::{Cutter, Joiner};
use crate::config::Config;
use crate::path::PathId;
use crate::rate::Pacer;
use crate::stats::SentStats;
use crate::time::Time;

#[derive(Debug)]
pub(super) struct Path {
    pub(super) id: PathId,
    pub(super) pacer: Pacer,
    /// How fast data arrives.
    pub(super) pace: Pace,
    /// The longest datagram that the path takes.
    pub(super) largest_datagram: usize,
    pub(super) cutter: Cutter,
    pub(super) joiner: Joiner,
    /// Length of the repair after which no source datagram was sent yet.
    pub(super) last_repair: usize,
    /// Source datagrams since the last repair.
    pub(super) since_repair: u32,
    /// The session is to be asked again then: pacing holds a datagram back, or one was left to another
    /// path.
    pub(super) paced_until: Option<Time>,
    /// Since when something has been left to this path by another.
    pub(super) left: Option<Time>,
    /// Pacing holds a probe of a size back until then.
    pub(super) size_probe_at: Option<Time>,
    pub(super) last_sent: Time,
    /// A probe keeps the path alive.
    pub(super) probe_due: bool,
    /// Such probes since something was heard on it.
    pub(super) asked: u8,
    pub(super) carried: Carried,
}

/// What a path has carried, or paths together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    /// Without what the sender and the payload count: losses and data.
    pub(super) sent: SentStats,
    pub(super) received: u64,
    pub(super) received_bytes: u64,
    /// Of those received.
    pub(super) reports: u64,
}

impl Carried {
    /// Adds what another path has carried. `lost` is its number of datagrams taken for lost, and of those among
    /// them that arrived after all.
    pub(super) fn add(&mut self, other: &Carried, lost: [u64; 2]) {
        self.sent.add(&other.sent);
        self.sent.lost_datagrams += lost[0];
        self.sent.spurious_losses += lost[1];
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.reports += other.reports;
    }
}

impl Path {
    pub(super) fn new(id: PathId, config: &Config, now: Time) -> Self {
        Path {
            id,
            pacer: Pacer::new(config, now),
            pace: Pace::default(),
            largest_datagram: usize::MAX,
            cutter: Cutter::default(),
            joiner: Joiner::default(),
            last_repair: 0,
            since_repair: 0,
            paced_until: None,
            left: None,
            size_probe_at: None,
            last_sent: now,
            probe_due: false,
            asked: 0,
            carried: Carried::default(),
        }
    }
}
