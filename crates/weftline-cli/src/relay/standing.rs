//! The counters of an end of a relay, for people and for programs.

use std::time::Duration;

use serde_json::{Value, json};
use weftline_apps::relay::{Counts, Snapshot, Traffic};

use crate::ui::progress::{megabits, size};
use crate::ui::report::Standing;
use crate::ui::stats;

impl Standing for Snapshot {
    fn bytes(&self) -> u64 {
        self.counts.sent.bytes + self.counts.delivered.bytes
    }

    fn has_served(&self) -> bool {
        self.counts.sessions > 0
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let rate = |now: Traffic, before: Traffic| {
            let datagrams = (now.datagrams - before.datagrams) as f64;
            format!(
                "{:.0}/s {:.1} Mbit/s",
                datagrams / time.as_secs_f64().max(1e-6),
                megabits(now.bytes - before.bytes, time)
            )
        };
        let (now, before) = (&self.counts, &since.counts);
        let session = stats::paths(&self.paths, &since.paths, time)
            .unwrap_or_else(|| stats::path(self.session.as_ref()));
        format!(
            "{session}, {} flows, out {}, in {}, {} dropped",
            self.open,
            rate(now.sent, before.sent),
            rate(now.delivered, before.delivered),
            now.dropped.total()
        )
    }

    fn sentence(&self, time: Duration) -> String {
        let Counts {
            sent,
            delivered,
            dropped,
            flows,
            ..
        } = &self.counts;
        let dropped = stats::dropped(&[
            (dropped.too_long, "too long"),
            (dropped.no_room, "for a full queue"),
            (dropped.no_session, "without a session"),
            (dropped.no_flow, "of too many flows"),
            (dropped.late, "late"),
            (dropped.not_taken, "refused by the local program"),
            (dropped.stray, "of no flow"),
        ]);
        format!(
            "relayed {} datagrams out ({}) and {} in ({}) of {flows} flows in {:.0} s; {dropped}",
            sent.datagrams,
            size(sent.bytes),
            delivered.datagrams,
            size(delivered.bytes),
            time.as_secs_f64()
        )
    }

    fn json(&self) -> Value {
        let mut own = json!({
            "open_flows": self.open,
            "connected": self.session.is_some(),
            "longest_datagram": self.longest,
            stats::BUSIEST: stats::flows(&self.busiest, true),
        });
        stats::limit(&mut own, "client_flows", self.client_limit);
        let session = self.session.as_ref();
        let session = session.map(|stats| stats::session(stats, &self.paths));
        stats::record(own, &self.counts, session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_each_reason() {
        let mut snapshot = Snapshot::default();
        snapshot.counts.sent = Traffic {
            datagrams: 1,
            bytes: 100,
        };
        assert!(snapshot.sentence(Duration::ZERO).ends_with("none dropped"));
        snapshot.counts.dropped.late = 2;
        snapshot.counts.dropped.too_long = 1;
        let text = snapshot.sentence(Duration::from_secs(1));
        assert!(text.ends_with("dropped: 1 too long, 2 late"), "{text}");
    }

    #[test]
    fn the_json_has_each_reason() {
        let mut snapshot = Snapshot::default();
        snapshot.counts.dropped.stray = 4;
        assert_eq!(snapshot.json()["dropped"]["stray"], json!(4));
    }
}
