//! The counters of an end of a tunnel, for people and for programs.

use std::time::Duration;

use serde_json::{Value, json};
use weftline_apps::forward;
use weftline_apps::tun::{Counts, Dropped, Snapshot, Traffic};

use crate::forward::standing::{carried, own};
use crate::ui::progress::{megabits, size};
use crate::ui::report::Standing;
use crate::ui::stats;

impl Standing for Snapshot {
    fn bytes(&self) -> u64 {
        let lane = self.lane.as_ref().map_or(0, Standing::bytes);
        self.counts.sent.bytes + self.counts.delivered.bytes + lane
    }

    fn has_served(&self) -> bool {
        self.counts.sessions > 0
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let rate = |now: Traffic, before: Traffic| {
            let packets = now.packets.saturating_sub(before.packets) as f64;
            format!(
                "{:.0}/s {:.1} Mbit/s",
                packets / time.as_secs_f64().max(1e-6),
                megabits(now.bytes.saturating_sub(before.bytes), time)
            )
        };
        let (now, before) = (&self.counts, &since.counts);
        let session = stats::paths(&self.paths, &since.paths, time)
            .unwrap_or_else(|| stats::path(self.session.as_ref()));
        let mut text = format!(
            "{session}, out {}, in {}, {} dropped, {} waiting",
            rate(now.sent, before.sent),
            rate(now.delivered, before.delivered),
            now.dropped.total(),
            size(self.waiting as u64)
        );
        if let (Some(lane), Some(before)) = (lane(self), &since.lane) {
            text += &format!(", TCP {}", carried(lane, before, time));
        }
        text
    }

    fn sentence(&self, time: Duration) -> String {
        let Counts {
            sent,
            delivered,
            dropped,
            marked,
            ..
        } = &self.counts;
        let dropped = stats::dropped(&reasons(dropped));
        let mut text = format!(
            "carried {} packets out ({}) and {} in ({}) in {:.0} s; {dropped}; {marked} marked instead; wait in the queue: {:.1} ms on average",
            sent.packets,
            size(sent.bytes),
            delivered.packets,
            size(delivered.bytes),
            time.as_secs_f64(),
            self.counts.mean_wait().as_secs_f64() * 1e3
        );
        if let Some(lane) = lane(self) {
            text += &format!("; {}", lane.sentence(time));
        }
        text
    }

    fn json(&self) -> Value {
        let mut own = json!({
            "connected": self.session.is_some(),
            "clients": self.clients,
            "waiting_bytes": self.waiting,
            "mean_wait_ms": self.counts.mean_wait().as_secs_f64() * 1e3,
            stats::BUSIEST: stats::flows(&self.busiest, true),
            "lane": self.lane.as_ref().map(own),
        });
        stats::limit(&mut own, "client_tunnels", self.client_limit);
        let session = self.session.as_ref();
        let session = session.map(|stats| stats::session(stats, &self.paths));
        stats::record(own, &self.counts, session)
    }
}

/// The counters of the TCP connections that end at both hosts, if there were any.
fn lane(snapshot: &Snapshot) -> Option<&forward::Snapshot> {
    snapshot.lane.as_ref().filter(|lane| lane.total > 0)
}

fn reasons(dropped: &Dropped) -> [(u64, &'static str); 8] {
    [
        (dropped.queue, "to keep the queue short"),
        (dropped.no_room, "for a full queue"),
        (dropped.no_session, "without a session"),
        (dropped.late, "late"),
        (dropped.not_taken, "refused by the device"),
        (dropped.malformed, "malformed"),
        (dropped.forbidden, "of foreign addresses"),
        (dropped.no_peer, "for no peer"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_and_the_json_name_each_reason() {
        let mut snapshot = Snapshot::default();
        let dropped = &mut snapshot.counts.dropped;
        (dropped.queue, dropped.forbidden) = (3, 1);
        let text = snapshot.sentence(Duration::from_secs(1));
        let words = "dropped: 3 to keep the queue short, 1 of foreign addresses;";
        assert!(text.contains(words), "{text}");
        assert_eq!(snapshot.json()["dropped"]["queue"], json!(3));
        let sum: u64 = reasons(&snapshot.counts.dropped).iter().map(|r| r.0).sum();
        assert_eq!(sum, snapshot.counts.dropped.total());
        assert!(!text.contains("connections"), "{text}");
        let connections = forward::Snapshot {
            total: 2,
            done: 2,
            ..forward::Snapshot::default()
        };
        snapshot.lane = Some(connections);
        let text = snapshot.sentence(Duration::from_secs(1));
        assert!(text.contains("forwarded 2 connections"), "{text}");
        assert_eq!(snapshot.json()["lane"]["connections"]["total"], json!(2));
    }
}
