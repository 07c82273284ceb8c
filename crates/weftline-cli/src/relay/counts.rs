//! Counts of the datagrams that one end of a relay has carried and dropped.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use weftline::Stats;

use crate::report::{self, Standing};
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

/// Dropped datagrams, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Dropped {
    /// Longer than the path carries.
    pub(super) too_long: u64,
    /// The session's send queue was full.
    pub(super) no_room: u64,
    /// There was no session.
    pub(super) no_session: u64,
    /// The table of flows was full, or the system gave no further socket.
    pub(super) no_flow: u64,
    /// Not sent, or not complete, by their deadline.
    pub(super) late: u64,
    /// The local program's socket refused them.
    pub(super) not_taken: u64,
    /// The peer sent datagrams that belong to no flow.
    pub(super) stray: u64,
}

impl Dropped {
    fn total(&self) -> u64 {
        let Dropped {
            too_long,
            no_room,
            no_session,
            no_flow,
            late,
            not_taken,
            stray,
        } = *self;
        too_long + no_room + no_session + no_flow + late + not_taken + stray
    }
}

/// All counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// From local programs to the peer.
    pub(super) sent: Traffic,
    /// From the peer to local programs.
    pub(super) delivered: Traffic,
    pub(super) dropped: Dropped,
    /// Flows that began here.
    pub(super) flows: u64,
    /// Sessions that were opened.
    pub(super) sessions: u64,
}

impl Counts {
    /// Counts a datagram that a local program's socket accepted or refused.
    pub(super) fn deliver(&mut self, is_taken: bool, bytes: usize) {
        match is_taken {
            true => self.delivered.add(bytes),
            false => self.dropped.not_taken += 1,
        }
    }

    /// Adds another client's counters.
    pub(super) fn merge(&mut self, other: &Counts) {
        for (all, more) in [
            (&mut self.sent, other.sent),
            (&mut self.delivered, other.delivered),
        ] {
            all.datagrams += more.datagrams;
            all.bytes += more.bytes;
        }
        let (all, more) = (&mut self.dropped, &other.dropped);
        all.too_long += more.too_long;
        all.no_room += more.no_room;
        all.no_session += more.no_session;
        all.no_flow += more.no_flow;
        all.late += more.late;
        all.not_taken += more.not_taken;
        all.stray += more.stray;
        self.flows += other.flows;
        self.sessions += other.sessions;
    }
}

/// Counters of one end at some moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    pub(super) counts: Counts,
    /// Number of flows.
    pub(super) open: usize,
    /// The current session, or one of them.
    pub(super) session: Option<Stats>,
    /// Bytes of the longest datagram that fits in one piece, for any delivery.
    pub(super) longest: Option<usize>,
}

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
        let session = report::path(self.session.as_ref());
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
        let reasons: Vec<String> = [
            (dropped.too_long, "too long"),
            (dropped.no_room, "for a full queue"),
            (dropped.no_session, "without a session"),
            (dropped.no_flow, "of too many flows"),
            (dropped.late, "late"),
            (dropped.not_taken, "refused by the local program"),
            (dropped.stray, "of no flow"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
        let dropped = match reasons.is_empty() {
            true => "none dropped".to_owned(),
            false => format!("dropped: {}", reasons.join(", ")),
        };
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
        let mut object = json!({
            "open_flows": self.open,
            "connected": self.session.is_some(),
            "longest_datagram": self.longest,
        });
        if let (Value::Object(all), Ok(Value::Object(counts))) =
            (&mut object, serde_json::to_value(self.counts))
        {
            all.extend(counts);
            let session = self.session.map(|stats| {
                let mut session = report::session(&stats);
                session["abandoned_symbols"] = json!(stats.received.abandoned_symbols);
                session
            });
            all.insert("session".to_owned(), json!(session));
        }
        object
    }
}

/// Datagrams that the session gave up because they were late or would be.
pub(super) fn late(stats: &Stats) -> u64 {
    stats.sent.expired_messages + stats.received.late_messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_each_reason() {
        let mut snapshot = Snapshot::default();
        snapshot.counts.sent.add(100);
        assert!(snapshot.sentence(Duration::ZERO).ends_with("none dropped"));
        snapshot.counts.dropped.late = 2;
        snapshot.counts.dropped.too_long = 1;
        let text = snapshot.sentence(Duration::from_secs(1));
        assert!(text.ends_with("dropped: 1 too long, 2 late"), "{text}");
    }

    #[test]
    fn counts_of_two_clients_add_up() {
        let mut one = Counts::default();
        one.delivered.add(5);
        one.dropped.stray = 2;
        one.sessions = 1;
        let mut all = one;
        all.merge(&one);
        assert_eq!((all.delivered.bytes, all.dropped.stray), (10, 4));
        assert_eq!((all.sessions, all.dropped.total()), (2, 4));
        let json = Snapshot {
            counts: all,
            ..Snapshot::default()
        };
        let json = json.json();
        assert_eq!(json["dropped"]["stray"], json!(4));
    }
}
