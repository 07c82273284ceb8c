//! Packets that wait for the session: a fair queue with short delay (FQ-CoDel, RFC 8290).
//!
//! Each flow has a queue of its own, by the hash of its addresses and ports. A flow that sends less than
//! its share never waits behind the others. Sans-IO: the time is an argument.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{Duration, Instant};

use super::codel::{Aim, Codel};
use super::flows::Key;
use super::packet::{Header, mark_congestion};
use super::wire::{FLOWS, HEAD, Place};

/// Most bytes and packets that wait, and the bytes that a packet takes beside its own.
const MOST_BYTES: usize = 4 << 20;
const MOST_PACKETS: usize = 4096;
/// Packets dropped at once from the longest flow when there are too many (RFC 8290, section 4.1).
const BATCH: usize = 64;

/// A packet that waits.
#[derive(Debug)]
struct Waiting {
    frame: Vec<u8>,
    key: Key,
    /// Whether it must not overtake others of its flow.
    is_tcp: bool,
    since: Instant,
}

/// A packet that leaves the queue.
#[derive(Debug)]
pub(super) struct Leaving {
    /// Room for the head ([`HEAD`] bytes), then the packet.
    pub(super) frame: Vec<u8>,
    /// Its flow.
    pub(super) key: Key,
    /// Its place among those that have left, if it is a TCP segment: these must not overtake others of
    /// their flow.
    pub(super) place: Option<Place>,
    /// Its flow sends less than its share, or has just begun: it did not wait behind others.
    pub(super) is_sparse: bool,
    /// When it came.
    pub(super) since: Instant,
}

/// What the queue has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Dropped because the queue stood for too long.
    pub(super) stood: u64,
    /// Dropped because it was full.
    pub(super) full: u64,
    /// Marked instead of dropped.
    pub(super) marked: u64,
    /// How long the packets that left have waited together, and how many they are.
    pub(super) waited: Duration,
    pub(super) left: u64,
    /// The longest wait.
    pub(super) longest: Duration,
}

#[derive(Debug, Default)]
struct Flow {
    packets: VecDeque<Waiting>,
    bytes: usize,
    /// The number of the next TCP segment that leaves.
    number: u32,
    /// Bytes that it may send before the others have their turn.
    deficit: isize,
    codel: Codel,
    is_listed: bool,
}

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    mtu: usize,
    aim: Aim,
    /// Without its secret nobody can choose packets that share a flow with others'.
    hasher: RandomState,
    /// None before the first packet: most tunnels are idle.
    flows: Vec<Flow>,
    /// Flows that have begun to send, and the others that have packets.
    fresh: VecDeque<u16>,
    old: VecDeque<u16>,
    packets: usize,
    bytes: usize,
    tally: Tally,
    /// The flows of packets that were dropped, until they are taken.
    dropped: Vec<Key>,
}

impl Queue {
    /// An empty queue for packets of up to `mtu` bytes.
    pub(super) fn new(mtu: u16) -> Self {
        Queue {
            mtu: usize::from(mtu),
            aim: Aim::new(Duration::ZERO),
            hasher: RandomState::new(),
            flows: Vec::new(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            tally: Tally::default(),
            dropped: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The path's round trip, for the length that a queue may have.
    pub(super) fn set_round_trip(&mut self, round_trip: Duration) {
        self.aim = Aim::new(round_trip);
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// The flows of the packets that were dropped since the last call, once for each of them.
    pub(super) fn take_dropped(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.dropped)
    }

    /// Drops what waits, and numbers what comes anew; returns how many packets waited.
    pub(super) fn clear(&mut self) -> usize {
        self.flows = Vec::new();
        self.fresh = VecDeque::new();
        self.old = VecDeque::new();
        self.bytes = 0;
        std::mem::take(&mut self.packets)
    }

    /// Adds a packet with this header; `frame` has room for the head before it.
    pub(super) fn push(&mut self, frame: Vec<u8>, header: &Header, now: Instant) {
        let key = Key::of_sent(header);
        if self.flows.is_empty() {
            self.flows = (0..FLOWS).map(|_| Flow::default()).collect();
        }
        let index = (self.hasher.hash_one(key) % u64::from(FLOWS)) as u16;
        let flow = &mut self.flows[usize::from(index)];
        let bytes = frame.len() - HEAD;
        flow.packets.push_back(Waiting {
            frame,
            key,
            is_tcp: header.is_tcp(),
            since: now,
        });
        flow.bytes += bytes;
        self.bytes += bytes;
        self.packets += 1;
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = self.mtu as isize;
            self.fresh.push_back(index);
        }
        if self.packets > MOST_PACKETS || self.bytes > MOST_BYTES {
            self.drop_of_longest();
        }
    }

    /// Takes the packet whose turn it is.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Leaving> {
        loop {
            let is_fresh = !self.fresh.is_empty();
            let list = if is_fresh {
                &mut self.fresh
            } else {
                &mut self.old
            };
            let index = *list.front()?;
            let flow = &mut self.flows[usize::from(index)];
            if flow.deficit <= 0 {
                flow.deficit += self.mtu as isize;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let Some(packet) = self.next_of(index, now) else {
                let list = if is_fresh {
                    &mut self.fresh
                } else {
                    &mut self.old
                };
                list.pop_front();
                // A flow that was fresh has a turn among the others first, lest it be fresh again at
                // once (RFC 8290, section 4.2).
                if is_fresh && !self.old.is_empty() {
                    self.old.push_back(index);
                } else {
                    self.flows[usize::from(index)].is_listed = false;
                }
                continue;
            };
            let flow = &mut self.flows[usize::from(index)];
            flow.deficit -= (packet.frame.len() - HEAD) as isize;
            let place = packet.is_tcp.then_some(Place {
                flow: index,
                number: flow.number,
            });
            flow.number = flow.number.wrapping_add(u32::from(packet.is_tcp));
            let waited = now.saturating_duration_since(packet.since);
            self.tally.left += 1;
            self.tally.waited += waited;
            self.tally.longest = self.tally.longest.max(waited);
            return Some(Leaving {
                frame: packet.frame,
                key: packet.key,
                place,
                is_sparse: is_fresh,
                since: packet.since,
            });
        }
    }

    /// The next packet of a flow that CoDel does not drop.
    fn next_of(&mut self, index: u16, now: Instant) -> Option<Waiting> {
        loop {
            let mut packet = self.take_of(index)?;
            let flow = &mut self.flows[usize::from(index)];
            let waited = now.saturating_duration_since(packet.since);
            let is_last = flow.bytes < self.mtu;
            if !flow.codel.should_drop(now, waited, is_last, self.aim) {
                return Some(packet);
            }
            if mark_congestion(&mut packet.frame[HEAD..]) {
                self.tally.marked += 1;
                return Some(packet);
            }
            self.tally.stood += 1;
            self.dropped.push(packet.key);
        }
    }

    fn take_of(&mut self, index: u16) -> Option<Waiting> {
        let flow = &mut self.flows[usize::from(index)];
        let packet = flow.packets.pop_front()?;
        let bytes = packet.frame.len() - HEAD;
        flow.bytes -= bytes;
        self.bytes -= bytes;
        self.packets -= 1;
        Some(packet)
    }

    /// Makes room: drops the oldest half of the flow that has the most bytes.
    fn drop_of_longest(&mut self) {
        let listed = self.fresh.iter().chain(&self.old);
        let longest = listed.max_by_key(|index| self.flows[usize::from(**index)].bytes);
        let Some(&index) = longest else { return };
        let half = self.flows[usize::from(index)].bytes / 2;
        for _ in 0..BATCH {
            if let Some(packet) = self.take_of(index) {
                self.tally.full += 1;
                self.dropped.push(packet.key);
            }
            if self.flows[usize::from(index)].bytes <= half {
                return;
            }
        }
    }
}
