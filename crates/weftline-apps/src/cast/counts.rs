//! What each end has carried and what it has not.

use serde::Serialize;
use weftline_fecframe::{ReceiverStats, SenderStats};

/// Datagrams and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// How many.
    pub datagrams: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Traffic {
    pub(super) fn add(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }
}

/// All that a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// What the FECFRAME sender counts.
    pub stats: SenderStats,
    /// Packets that left, the seal included.
    pub wire: Traffic,
    /// Datagrams too long to be protected, which were dropped.
    pub too_long: u64,
    /// Packets that the system did not take.
    pub not_sent: u64,
    /// Octets of the longest datagram.
    pub longest: usize,
}

/// All that a receiver counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Receiving {
    /// Source packets that came, refused ones too.
    pub source_packets: u64,
    /// Repair packets that came, refused ones too.
    pub repair_packets: u64,
    /// ADUs that came by themselves, in time.
    pub received: u64,
    /// ADUs that were decoded in time.
    pub recovered: u64,
    /// ADUs that came or were decoded when their time was over.
    pub late: u64,
    /// Source symbols that were unknown when their time was over.
    pub lost: u64,
    /// Repair symbols that told something new.
    pub repair_useful: u64,
    /// Repair symbols that told nothing new, which is most of them where nothing is lost.
    pub repair_useless: u64,
    /// Source packets of what was known: twice, or after it was recovered.
    pub duplicates: u64,
    /// Packets about what was given up.
    pub too_old: u64,
    /// Packets that are none, or contradict what came before.
    pub refused: u64,
    /// Packets too far away from the others.
    pub jumps: u64,
    /// Times that the sender has started again.
    pub restarts: u64,
    /// Packets that did not open with the group key.
    pub forged: u64,
    /// Sealed packets that came before, or of an earlier run of the sender.
    pub replayed: u64,
    /// Packets of another host than the one asked for.
    pub foreign: u64,
    /// ADUs handed to local programs.
    pub delivered: Traffic,
    /// ADUs that the system did not take.
    pub not_delivered: u64,
}

impl Receiving {
    /// These, and what a receiver has seen and done.
    pub(super) fn with(mut self, stats: &ReceiverStats) -> Self {
        self.source_packets += stats.source_packets;
        self.repair_packets += stats.repair_packets;
        self.received += stats.received;
        self.recovered += stats.recovered;
        self.late += stats.late;
        self.lost += stats.symbols_lost;
        self.repair_useful += stats.useful_repair;
        self.repair_useless += stats.redundant_repair;
        self.duplicates += stats.duplicates;
        self.too_old += stats.too_old;
        self.refused += stats.malformed
            + stats.unknown_flow
            + stats.conflicts
            + stats.implausible
            + stats.inconsistent;
        self.jumps += stats.jumps;
        self.restarts += stats.resyncs;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receivers_past_counts_too() {
        let mut stats = ReceiverStats::default();
        (stats.received, stats.symbols_lost, stats.jumps) = (5, 2, 1);
        let both = Receiving::default().with(&stats).with(&stats);
        assert_eq!((both.received, both.lost, both.jumps), (10, 4, 2));
    }
}
