//! What one end of a relay has carried and what it has not.

use serde::Serialize;
use weftline::Stats;

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

/// Datagrams that went no further, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Longer than what passes.
    pub too_long: u64,
    /// More came than the session takes.
    pub no_room: u64,
    /// There was no session.
    pub no_session: u64,
    /// There were as many flows as there may be, or the system gave no further socket.
    pub no_flow: u64,
    /// They were not sent, or not complete, by their deadline.
    pub late: u64,
    /// The local program's socket refused them.
    pub not_taken: u64,
    /// The other end sent what belongs to no flow.
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

/// All that one end counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// From local programs to the other end.
    pub sent: Traffic,
    /// From the other end to local programs.
    pub delivered: Traffic,
    /// What went no further.
    pub dropped: Dropped,
    /// Flows that began here.
    pub flows: u64,
    /// Sessions that were opened.
    pub sessions: u64,
}

impl Counts {
    /// Counts a datagram that a local program's socket took, or not.
    pub(super) fn deliver(&mut self, is_taken: bool, bytes: usize) {
        match is_taken {
            true => self.delivered.add(bytes),
            false => self.dropped.not_taken += 1,
        }
    }

    /// Counts another client's with these.
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

/// How an end stands at some moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Counters.
    pub counts: Counts,
    /// Flows that there are.
    pub open: usize,
    /// The session of the moment, or one of them.
    pub session: Option<Stats>,
    /// Bytes of the longest datagram that passes in one piece, whatever its delivery.
    pub longest: Option<usize>,
}

/// Datagrams that the session gave up because they would be, or were, late.
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
