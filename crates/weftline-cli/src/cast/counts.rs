//! Counters of the carried and the dropped datagrams of each end.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use weftline_fecframe::{ReceiverStats, SenderStats};

use crate::report::Standing;
use crate::reporter::{megabits, size};

/// Datagrams and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Traffic {
    pub(super) datagrams: u64,
    pub(super) bytes: u64,
}

impl Traffic {
    pub(super) fn add(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }
}

/// All counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) stats: SenderStats,
    /// Packets that were sent, the seal included.
    pub(super) wire: Traffic,
    /// Datagrams too long to be protected; they were dropped.
    pub(super) too_long: u64,
    /// Packets that the system refused.
    pub(super) not_sent: u64,
    /// Octets of the longest datagram.
    pub(super) longest: usize,
}

impl Standing for Sending {
    fn bytes(&self) -> u64 {
        self.stats.source_octets
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let adus = self.stats.adus - since.stats.adus;
        let bytes = self.stats.source_octets - since.stats.source_octets;
        format!(
            "{:.0}/s {:.1} Mbit/s, on the wire {:.1} Mbit/s, {} repair packets, {} dropped",
            adus as f64 / time.as_secs_f64().max(1e-6),
            megabits(bytes, time),
            megabits(self.wire.bytes - since.wire.bytes, time),
            self.stats.repair_packets,
            self.too_long + self.not_sent
        )
    }

    fn sentence(&self, time: Duration) -> String {
        let mut text = format!(
            "sent {} datagrams ({}) and {} repair packets in {:.0} s",
            self.stats.adus,
            size(self.stats.source_octets),
            self.stats.repair_packets,
            time.as_secs_f64()
        );
        for (count, what) in [
            (self.too_long, "datagrams too long"),
            (self.not_sent, "packets refused by the system"),
            (self.stats.capped, "repairs held back by the bandwidth cap"),
        ] {
            if count > 0 {
                text += &format!("; {count} {what}");
            }
        }
        text
    }

    fn json(&self) -> Value {
        let SenderStats {
            adus,
            source_octets,
            source_symbols,
            repair_packets,
            repair_octets,
            capped,
            useless,
            expired,
            ..
        } = self.stats;
        json!({
            "source": Traffic { datagrams: adus, bytes: source_octets },
            "source_symbols": source_symbols,
            "repair": Traffic { datagrams: repair_packets, bytes: repair_octets },
            "wire": self.wire,
            "capped": capped,
            "useless": useless,
            "expired": expired,
            "too_long": self.too_long,
            "not_sent": self.not_sent,
            "longest_datagram": self.longest,
        })
    }
}

/// All counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Receiving {
    /// Source packets received, refused ones too.
    pub(super) source_packets: u64,
    /// Repair packets received, refused ones too.
    pub(super) repair_packets: u64,
    /// ADUs received in time.
    pub(super) received: u64,
    /// ADUs decoded in time.
    pub(super) recovered: u64,
    /// ADUs received or decoded after their deadline.
    pub(super) late: u64,
    /// Source symbols still unknown at their deadline.
    pub(super) lost: u64,
    /// Innovative repair symbols.
    pub(super) repair_useful: u64,
    /// Repair symbols that were not innovative; without losses, that is most of them.
    pub(super) repair_useless: u64,
    /// Source packets of known symbols: duplicates, or received after their recovery.
    pub(super) duplicates: u64,
    /// Packets about symbols that were given up.
    pub(super) too_old: u64,
    /// Invalid packets, or packets that contradict earlier ones.
    pub(super) refused: u64,
    /// Packets too far away from the others.
    pub(super) jumps: u64,
    /// Number of times the sender has restarted.
    pub(super) restarts: u64,
    /// Packets that the group key did not open.
    pub(super) forged: u64,
    /// Duplicates of sealed packets, or sealed packets of an earlier run of the sender.
    pub(super) replayed: u64,
    /// Packets from another host than the chosen one.
    pub(super) foreign: u64,
    /// ADUs delivered to local programs.
    pub(super) delivered: Traffic,
    /// ADUs that the system refused.
    pub(super) not_delivered: u64,
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

impl Standing for Receiving {
    fn bytes(&self) -> u64 {
        self.delivered.bytes
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let datagrams = self.delivered.datagrams - since.delivered.datagrams;
        format!(
            "{:.0}/s {:.1} Mbit/s, {} received, {} recovered, {} late, {} lost",
            datagrams as f64 / time.as_secs_f64().max(1e-6),
            megabits(self.delivered.bytes - since.delivered.bytes, time),
            self.received,
            self.recovered,
            self.late,
            self.lost
        )
    }

    fn sentence(&self, time: Duration) -> String {
        let mut text = format!(
            "delivered {} datagrams ({}) in {:.0} s: {} received, {} recovered; {} late, {} lost",
            self.delivered.datagrams,
            size(self.delivered.bytes),
            time.as_secs_f64(),
            self.received,
            self.recovered,
            self.late,
            self.lost
        );
        for (count, what) in [
            (self.forged, "packets did not open with the group key"),
            (self.replayed, "packets were replayed"),
            (self.foreign, "packets of other hosts"),
            (self.refused + self.jumps, "packets refused"),
            (self.not_delivered, "datagrams refused by the system"),
        ] {
            if count > 0 {
                text += &format!("; {count} {what}");
            }
        }
        text
    }

    fn json(&self) -> Value {
        // Numbers and names always have a JSON form.
        serde_json::to_value(self).unwrap_or_default()
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
        let text = both.sentence(Duration::ZERO);
        assert!(text.ends_with("4 lost; 2 packets refused"), "{text}");
        assert_eq!(both.json()["received"], json!(10));
    }
}
