//! Counts of the datagrams that one end of a relay has carried and dropped.

use serde::Serialize;
use weftline::{PathInfo, Stats};

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

/// Dropped datagrams, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Longer than the peer takes, even in pieces.
    pub too_long: u64,
    /// The session's send queue was full.
    pub no_room: u64,
    /// There was no session.
    pub no_session: u64,
    /// The table of flows was full, or the system gave no further socket.
    pub no_flow: u64,
    /// Not sent, or not complete, by their deadline.
    pub late: u64,
    /// The local program's socket refused them.
    pub not_taken: u64,
    /// The peer sent datagrams that belong to no flow.
    pub stray: u64,
}

impl Dropped {
    /// All together.
    pub fn total(&self) -> u64 {
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
pub struct Counts {
    /// From local programs to the peer.
    pub sent: Traffic,
    /// From the peer to local programs.
    pub delivered: Traffic,
    /// What went no further.
    pub dropped: Dropped,
    /// Flows that began here.
    pub flows: u64,
    /// Sessions that were opened.
    pub sessions: u64,
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
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counters.
    pub counts: Counts,
    /// Number of flows.
    pub open: usize,
    /// The current session, or one of them.
    pub session: Option<Stats>,
    /// Its paths.
    pub paths: Vec<PathInfo>,
    /// Bytes of the longest datagram that fits in one piece, for any delivery.
    pub longest: Option<usize>,
}

/// Datagrams that the session gave up because they were late or would be.
pub(super) fn late(stats: &Stats) -> u64 {
    stats.sent.expired_messages + stats.received.late_messages
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let json = serde_json::to_value(all).unwrap();
        assert_eq!(json["dropped"]["stray"], 4);
    }
}
