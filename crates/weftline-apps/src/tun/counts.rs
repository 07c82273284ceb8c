//! Counts of the packets that one end of a tunnel has carried and dropped.

use std::time::Duration;

use serde::Serialize;
use weftline::{PathInfo, Stats};

use super::{queue, reorder};
use crate::flow::FlowInfo;
use crate::forward;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Traffic {
    pub(super) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }

    fn merge(&mut self, more: &Traffic) {
        let Traffic { packets, bytes } = *more;
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// Dropped packets, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The queue had stood for too long, and the sender had to learn that.
    pub queue: u64,
    /// The queue was full.
    pub no_room: u64,
    /// There was no session.
    pub no_session: u64,
    /// Not sent, or not complete, by their deadline.
    pub late: u64,
    /// The device did not take them.
    pub not_taken: u64,
    /// They are not valid IP packets.
    pub malformed: u64,
    /// The peer may not send them: they are from an address that is not its own, or to one that is not
    /// this host's.
    pub forbidden: u64,
    /// They are for no peer: this host sent them into the tunnel by mistake.
    pub no_peer: u64,
}

impl Dropped {
    /// All together.
    pub fn total(&self) -> u64 {
        let Dropped {
            queue,
            no_room,
            no_session,
            late,
            not_taken,
            malformed,
            forbidden,
            no_peer,
        } = *self;
        queue + no_room + no_session + late + not_taken + malformed + forbidden + no_peer
    }

    fn merge(&mut self, more: &Dropped) {
        let Dropped {
            queue,
            no_room,
            no_session,
            late,
            not_taken,
            malformed,
            forbidden,
            no_peer,
        } = *more;
        self.queue += queue;
        self.no_room += no_room;
        self.no_session += no_session;
        self.late += late;
        self.not_taken += not_taken;
        self.malformed += malformed;
        self.forbidden += forbidden;
        self.no_peer += no_peer;
    }
}

/// All counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// From this host to the peer.
    pub sent: Traffic,
    /// From the peer to this host.
    pub delivered: Traffic,
    /// What went no further.
    pub dropped: Dropped,
    /// Packets marked with "congestion experienced" instead of being dropped.
    pub marked: u64,
    /// Packets that waited for an earlier one of their TCP flow.
    pub reordered: u64,
    /// Times that they went on without it.
    pub skipped: u64,
    /// Packets that came when the later ones of their TCP flow had gone on.
    pub overtaken: u64,
    /// Packets that left the queue to be sent; some of them may be dropped later.
    pub left_queue: u64,
    /// Microseconds that those have waited in the queue, all together.
    pub waited_us: u64,
    /// The longest wait, in microseconds.
    pub longest_wait_us: u64,
    /// Sessions that were opened.
    pub sessions: u64,
}

impl Counts {
    /// The mean wait in the queue.
    pub fn mean_wait(&self) -> Duration {
        Duration::from_micros(self.waited_us / self.left_queue.max(1))
    }

    pub(super) fn add_queue(&mut self, tally: queue::Tally) {
        self.dropped.queue += tally.stood;
        self.dropped.no_room += tally.full;
        self.marked += tally.marked;
        self.left_queue += tally.left;
        self.waited_us += micros(tally.waited);
        self.longest_wait_us = self.longest_wait_us.max(micros(tally.longest));
    }

    pub(super) fn add_order(&mut self, tally: reorder::Tally) {
        self.reordered += tally.early;
        self.skipped += tally.skipped;
        self.overtaken += tally.late;
    }

    /// Counts a packet that the device took or refused.
    pub(super) fn deliver(&mut self, is_taken: bool, bytes: usize) {
        match is_taken {
            true => self.delivered.add(bytes),
            false => self.dropped.not_taken += 1,
        }
    }

    /// Adds another client's counters.
    pub(super) fn merge(&mut self, other: &Counts) {
        let Counts {
            sent,
            delivered,
            dropped,
            marked,
            reordered,
            skipped,
            overtaken,
            left_queue,
            waited_us,
            longest_wait_us,
            sessions,
        } = other;
        self.sent.merge(sent);
        self.delivered.merge(delivered);
        self.dropped.merge(dropped);
        self.marked += marked;
        self.reordered += reordered;
        self.skipped += skipped;
        self.overtaken += overtaken;
        self.left_queue += left_queue;
        self.waited_us += waited_us;
        self.longest_wait_us = self.longest_wait_us.max(*longest_wait_us);
        self.sessions += sessions;
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Counters of one end at some moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Counters.
    pub counts: Counts,
    /// Number of clients that have a session; at the client's end 1 or 0.
    pub clients: usize,
    /// Bytes that wait in the queues to be sent.
    pub waiting: usize,
    /// The current session, or one of them.
    pub session: Option<Stats>,
    /// Its paths.
    pub paths: Vec<PathInfo>,
    /// The flows inside that carried something in the last minute, those with the most bytes.
    pub busiest: Vec<FlowInfo>,
    /// TCP connections that end at both hosts, where there may be some.
    pub lane: Option<forward::Snapshot>,
    /// At the server's end: most tunnels of one client.
    pub client_limit: Option<u32>,
}

/// Messages that the session gave up because they were late or would be.
pub(super) fn late(stats: &Stats) -> u64 {
    stats.sent.expired_messages + stats.received.late_messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_wait_is_that_of_the_packets_that_have_waited() {
        let mut one = Counts::default();
        one.add_queue(queue::Tally {
            left: 2,
            waited: Duration::from_millis(8),
            ..queue::Tally::default()
        });
        // One of the two found no session.
        one.sent.add(100);
        one.dropped.no_session = 1;
        assert_eq!(one.mean_wait(), Duration::from_millis(4));
        let mut all = one;
        all.merge(&one);
        assert_eq!(all.mean_wait(), Duration::from_millis(4));
        assert_eq!((all.dropped.total(), all.sent.packets), (2, 2));
    }
}
