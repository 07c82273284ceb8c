//! The counters of an end of a cast, for people and for programs.

use std::time::Duration;

use serde_json::{Value, json};
use weftline_apps::cast::{Receiving, SenderStats, Sending, Traffic};

use crate::ui::progress::{megabits, size};
use crate::ui::report::Standing;

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
    fn a_receiver_names_what_it_lost_and_refused() {
        let mut receiving = Receiving::default();
        (receiving.received, receiving.lost, receiving.jumps) = (10, 4, 2);
        let text = receiving.sentence(Duration::ZERO);
        assert!(text.ends_with("4 lost; 2 packets refused"), "{text}");
        assert_eq!(receiving.json()["received"], json!(10));
    }
}
