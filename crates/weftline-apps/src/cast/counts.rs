//! Counters of the carried and the dropped datagrams of each end.

use serde::Serialize;
use weftline_fecframe::{ReceiverStats, SenderStats};

/// Datagrams and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Number of datagrams.
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

/// All counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// What the FECFRAME sender counts.
    pub stats: SenderStats,
    /// Packets that were sent, the seal included.
    pub wire: Traffic,
    /// Datagrams too long to be protected; they were dropped.
    pub too_long: u64,
    /// Packets that the system refused.
    pub not_sent: u64,
    /// Octets of the longest datagram.
    pub longest: usize,
}

/// All counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Receiving {
    /// Source packets received, refused ones too.
    pub source_packets: u64,
    /// Repair packets received, refused ones too.
    pub repair_packets: u64,
    /// ADUs received in time.
    pub received: u64,
    /// ADUs decoded in time.
    pub recovered: u64,
    /// ADUs received or decoded after their deadline.
    pub late: u64,
    /// Source symbols still unknown at their deadline.
    pub lost: u64,
    /// Innovative repair symbols.
    pub repair_useful: u64,
    /// Repair symbols that were not innovative; without losses, that is most of them.
    pub repair_useless: u64,
    /// Source packets of known symbols: duplicates, or received after their recovery.
    pub duplicates: u64,
    /// Packets about symbols that were given up.
    pub too_old: u64,
    /// Invalid packets, or packets that contradict earlier ones.
    pub refused: u64,
    /// Packets too far away from the others.
    pub jumps: u64,
    /// Number of times the sender has restarted.
    pub restarts: u64,
    /// Packets that the group key did not open.
    pub forged: u64,
    /// Duplicates of sealed packets, or sealed packets of an earlier run of the sender.
    pub replayed: u64,
    /// Packets from another host than the chosen one.
    pub foreign: u64,
    /// ADUs delivered to local programs.
    pub delivered: Traffic,
    /// ADUs that the system refused.
    pub not_delivered: u64,
}

impl Receiving {
    /// These counters, with those of a receiver added.
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
    fn counts_of_earlier_receivers_are_included() {
        let mut stats = ReceiverStats::default();
        (stats.received, stats.symbols_lost, stats.jumps) = (5, 2, 1);
        let both = Receiving::default().with(&stats).with(&stats);
        assert_eq!((both.received, both.lost, both.jumps), (10, 4, 2));
    }
}
