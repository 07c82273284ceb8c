//! Counts of the datagrams that one end of a relay has carried and dropped.

use serde::Serialize;
use weftline::{PathInfo, Stats};

use crate::flow::FlowInfo;

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

    fn merge(&mut self, more: &Traffic) {
        let Traffic { datagrams, bytes } = *more;
        self.datagrams += datagrams;
        self.bytes += bytes;
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

    fn merge(&mut self, more: &Dropped) {
        let Dropped {
            too_long,
            no_room,
            no_session,
            no_flow,
            late,
            not_taken,
            stray,
        } = *more;
        self.too_long += too_long;
        self.no_room += no_room;
        self.no_session += no_session;
        self.no_flow += no_flow;
        self.late += late;
        self.not_taken += not_taken;
        self.stray += stray;
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

/// What one flow has carried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    pub(super) sent: Traffic,
    pub(super) delivered: Traffic,
    /// Datagrams that went no further.
    pub(super) dropped: u64,
}

impl Carried {
    /// Bytes of both directions.
    pub(super) fn bytes(&self) -> u64 {
        self.sent.bytes + self.delivered.bytes
    }
}

impl Counts {
    /// Counts a datagram that the session has taken.
    pub(super) fn send(&mut self, flow: &mut Carried, bytes: usize) {
        self.sent.add(bytes);
        flow.sent.add(bytes);
    }

    /// Counts a datagram that a local program's socket accepted or refused.
    pub(super) fn deliver(&mut self, flow: &mut Carried, is_taken: bool, bytes: usize) {
        match is_taken {
            true => {
                self.delivered.add(bytes);
                flow.delivered.add(bytes);
            }
            false => {
                self.dropped.not_taken += 1;
                flow.dropped += 1;
            }
        }
    }

    /// Adds another client's counters.
    pub(super) fn merge(&mut self, other: &Counts) {
        let Counts {
            sent,
            delivered,
            dropped,
            flows,
            sessions,
        } = other;
        self.sent.merge(sent);
        self.delivered.merge(delivered);
        self.dropped.merge(dropped);
        self.flows += flows;
        self.sessions += sessions;
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
    /// The open flows that carried the most, at most [`BUSIEST`](crate::BUSIEST).
    pub busiest: Vec<FlowInfo>,
    /// Bytes of the longest datagram that fits in one piece, for any delivery.
    pub longest: Option<usize>,
    /// At the server's end: most flows of one client.
    pub client_limit: Option<usize>,
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
