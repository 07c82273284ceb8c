//! Packets of TCP flows that came before those sent earlier.
//!
//! A TCP receiver takes disorder for loss, and its sender would slow down for each repaired packet. So
//! a packet waits for those before it in its flow, but no longer than they can still come. Sans-IO: the
//! time is an argument.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::wire::Place;
use crate::order::Order;

/// Most bytes that wait in all flows together: several times what an honest sender has in flight.
const MOST_HELD: usize = 16 << 20;

/// What has happened to the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Packets that came too early and waited.
    pub(super) early: u64,
    /// Times that packets went on without one that did not come.
    pub(super) skipped: u64,
    /// Packets that came after the others had gone on.
    pub(super) late: u64,
}

/// Puts the packets of each flow of a session in order.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    /// At most [`super::wire::FLOWS`].
    flows: HashMap<u16, Order<Early>>,
    /// Flows with packets that wait.
    waiting: BTreeSet<u16>,
    held: usize,
    tally: Tally,
}

/// A packet that waits since it came.
#[derive(Debug)]
struct Early {
    packet: Bytes,
    since: Instant,
}

impl AsRef<[u8]> for Early {
    fn as_ref(&self) -> &[u8] {
        &self.packet
    }
}

impl Reorder {
    /// Bytes that wait.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// What has happened since this was last asked.
    pub(super) fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Takes a packet, and delivers it and those that waited for it, if none is missing before it.
    pub(super) fn insert(
        &mut self,
        place: Place,
        packet: Bytes,
        now: Instant,
        deliver: &mut impl FnMut(Bytes),
    ) {
        let order = self.flows.entry(place.flow).or_default();
        if order.pass(place.number) {
            deliver(packet);
            if order.len() > 0 {
                self.hand_on(place.flow, deliver);
            }
            return;
        }
        if order.is_past(place.number) {
            // Better late than sent again.
            self.tally.late += 1;
            deliver(packet);
            return;
        }
        let before = order.held();
        let early = Early { packet, since: now };
        if let Err(Early { packet, .. }) = order.insert(place.number, early) {
            // No honest sender is that far ahead, unless all before it was given up; or it is here.
            self.flush(place.flow, deliver);
            let order = self.flows.entry(place.flow).or_default();
            if !order.is_past(place.number) {
                order.go_on_at(place.number.wrapping_add(1));
            }
            self.tally.skipped += 1;
            deliver(packet);
            return;
        }
        self.held = self.held - before + order.held();
        self.tally.early += 1;
        self.waiting.insert(place.flow);
        if self.held > MOST_HELD {
            self.flush(place.flow, deliver);
        }
    }

    /// Delivers the packets that have waited for `patience`: those before them come no more.
    pub(super) fn expire(
        &mut self,
        now: Instant,
        patience: Duration,
        deliver: &mut impl FnMut(Bytes),
    ) {
        for flow in self.waiting.clone() {
            while self.is_due(flow, now, patience) {
                self.skip(flow, deliver);
            }
        }
    }

    fn is_due(&self, flow: u16, now: Instant, patience: Duration) -> bool {
        let first = self.flows.get(&flow).and_then(Order::first);
        first.is_some_and(|early| now >= early.since + patience)
    }

    fn flush(&mut self, flow: u16, deliver: &mut impl FnMut(Bytes)) {
        while self.waiting.contains(&flow) {
            self.skip(flow, deliver);
        }
    }

    fn skip(&mut self, flow: u16, deliver: &mut impl FnMut(Bytes)) {
        if let Some(order) = self.flows.get_mut(&flow) {
            order.skip();
            self.tally.skipped += 1;
        }
        self.hand_on(flow, deliver);
    }

    /// Delivers the packets of a flow before which none is missing.
    fn hand_on(&mut self, flow: u16, deliver: &mut impl FnMut(Bytes)) {
        let Some(order) = self.flows.get_mut(&flow) else {
            return;
        };
        let before = order.held();
        while let Some(early) = order.pop() {
            deliver(early.packet);
        }
        self.held = self.held - before + order.held();
        match order.first() {
            Some(_) => self.waiting.insert(flow),
            None => self.waiting.remove(&flow),
        };
    }
}
