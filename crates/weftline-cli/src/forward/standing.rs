//! The counters of an end of `forward`, for people and for programs.

use std::time::Duration;

use serde_json::{Value, json};
use weftline_apps::forward::Snapshot;

use crate::ui::progress::{megabits, size};
use crate::ui::report::Standing;
use crate::ui::stats;

impl Standing for Snapshot {
    fn bytes(&self) -> u64 {
        self.sent + self.delivered
    }

    fn has_served(&self) -> bool {
        self.sessions > 0
    }

    fn line(&self, since: &Self, time: Duration) -> String {
        let session = stats::paths(&self.paths, &since.paths, time)
            .unwrap_or_else(|| stats::path(self.session.as_ref()));
        format!("{session}, {}", carried(self, since, time))
    }

    fn sentence(&self, time: Duration) -> String {
        let mut text = format!(
            "forwarded {} connections in {:.0} s: {} out, {} in",
            self.total,
            time.as_secs_f64(),
            size(self.sent),
            size(self.delivered),
        );
        for (count, what) in [(self.broken, "failed"), (self.refused, "refused")] {
            if count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        text
    }

    fn json(&self) -> Value {
        let mut record = own(self);
        let session = self.session.as_ref();
        let session = session.map(|stats| stats::session(stats, &self.paths));
        record["connected"] = session.is_some().into();
        record["sessions"] = self.sessions.into();
        record["session"] = json!(session);
        record
    }
}

/// What connections have carried since these counters, for people.
pub(crate) fn carried(now: &Snapshot, since: &Snapshot, time: Duration) -> String {
    format!(
        "{} connections, out {:.1} Mbit/s, in {:.1} Mbit/s",
        now.open,
        megabits(now.sent - since.sent, time),
        megabits(now.delivered - since.delivered, time),
    )
}

/// The counters of connections, for programs.
pub(crate) fn own(of: &Snapshot) -> Value {
    let mut own = json!({
        "connections": {
            "open": of.open,
            "total": of.total,
            "done": of.done,
            "broken": of.broken,
            "left": of.left,
            "refused": of.refused,
        },
        "sent_bytes": of.sent,
        "delivered_bytes": of.delivered,
        stats::BUSIEST: stats::flows(&of.busiest, false),
    });
    stats::limit(&mut own, "client_connections", of.client_limit);
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_connections_is_told() {
        let mut now = Snapshot::default();
        (now.total, now.done, now.broken, now.refused) = (3, 1, 1, 1);
        let text = now.sentence(Duration::from_secs(1));
        assert!(text.ends_with("1 failed, 1 refused"), "{text}");
        assert_eq!(now.json()["connections"]["total"], 3);
    }
}
