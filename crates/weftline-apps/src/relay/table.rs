//! The flows of one end, and the session that carries them now.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use weftline::{Connection, SendError};

use super::counts::{Carried, Counts, Snapshot, late};
use super::delivery::Delivery;
use super::event::InPieces;
use super::wire::{HEAD, Head, NUMBERED_HEAD};
use crate::flow::{self, FlowInfo, busiest};
use crate::order::Order;

/// A flow that was used more recently than this is not dropped for a new one.
const YOUNG: Duration = Duration::from_secs(10);
/// Most bytes that may be held back in all to restore the order: several times what an honest sender
/// has in flight.
const MOST_HELD: usize = 32 << 20;
/// Time in which a session discovers the path MTU: until then it is no news that datagrams travel in
/// pieces.
const SETTLING: Duration = Duration::from_secs(5);
/// Send queue until then: longer than later, when it would only delay the flow, because a session
/// begins with the size that every path carries.
const WAITING_AT_FIRST: usize = 1 << 20;
const WAITING: usize = 256 << 10;
/// Datagrams of a flow that are delivered at once. If more are held back, the fraction of them
/// that is delivered at once: the datagrams behind a lost one would overflow the buffer of a
/// program that does not read at this moment.
const BURST: usize = 16;
/// Bytes that WireGuard adds to a packet: 16 of header and 16 of authentication.
const WIREGUARD: usize = 32;

/// A flow: datagrams between one local socket address and one target.
#[derive(Debug)]
struct Flow<E> {
    /// Where this end delivers its datagrams.
    exit: E,
    rule: u8,
    delivery: Delivery,
    used: Instant,
    /// Datagrams sent in this session.
    sent: u32,
    order: Order,
    /// Among the flows of this process.
    number: u64,
    carried: Carried,
}

/// All flows of one end. `E` is where this end delivers a flow's datagrams.
#[derive(Debug)]
pub(super) struct Table<E> {
    flows: HashMap<u32, Flow<E>>,
    most: usize,
    /// Bytes held back in all flows.
    held: usize,
    /// Flows that have more datagrams to deliver.
    ready: BTreeSet<u32>,
    session: Option<Connection>,
    /// End of the time in which the session discovers the path MTU.
    settled: Option<Instant>,
    counts: Counts,
    /// Whether the application has been told about datagrams in pieces.
    told: bool,
    message: Vec<u8>,
}

/// The peer sends data that no honest peer would send.
#[derive(Debug)]
pub(super) struct Hostile;

impl<E> Table<E> {
    /// A table for `most` flows at once.
    pub(super) fn new(most: usize) -> Self {
        Table {
            flows: HashMap::new(),
            most,
            held: 0,
            ready: BTreeSet::new(),
            session: None,
            settled: None,
            counts: Counts::default(),
            told: false,
            message: Vec::new(),
        }
    }

    /// Attaches a new session, in which all flows count from the start.
    pub(super) fn attach(&mut self, session: Connection) {
        self.detach();
        self.settled = Some(Instant::now() + SETTLING);
        session.set_message_buffer(WAITING_AT_FIRST);
        self.session = Some(session);
        self.counts.sessions += 1;
    }

    /// Detaches the session and returns it. What is held back was waiting for datagrams of it.
    pub(super) fn detach(&mut self) -> Option<Connection> {
        self.held = 0;
        self.ready.clear();
        for flow in self.flows.values_mut() {
            flow.sent = 0;
            flow.order = Order::default();
        }
        let session = self.session.take()?;
        self.counts.dropped.late += late(&session.stats());
        Some(session)
    }

    /// Bytes held back in all flows.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Bounds the number of flows.
    pub(super) fn limit(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// Current counters. `ends` says of a flow and its rule who began it, and its target.
    pub(super) fn snapshot(&self, ends: impl Fn(&E, u8) -> [String; 2]) -> Snapshot {
        let session = self.session.as_ref().map(Connection::stats);
        let mut counts = self.counts;
        counts.dropped.late += session.as_ref().map_or(0, late);
        Snapshot {
            counts,
            open: self.flows.len(),
            session,
            paths: self
                .session
                .as_ref()
                .map(Connection::paths)
                .unwrap_or_default(),
            busiest: self.busiest(ends),
            longest: self.session.as_ref().map(|s| longest(s, Delivery::InOrder)),
            client_limit: None,
        }
    }

    fn busiest(&self, ends: impl Fn(&E, u8) -> [String; 2]) -> Vec<FlowInfo> {
        let named = |flow: &Flow<E>| {
            let [from, to] = ends(&flow.exit, flow.rule);
            let Carried {
                sent,
                delivered,
                dropped,
            } = flow.carried;
            FlowInfo {
                number: flow.number,
                from,
                to,
                sent_datagrams: sent.datagrams,
                sent_bytes: sent.bytes,
                delivered_datagrams: delivered.datagrams,
                delivered_bytes: delivered.bytes,
                dropped_datagrams: dropped,
            }
        };
        let flows = busiest(self.flows.values(), |flow| flow.carried.bytes());
        flows.into_iter().map(named).collect()
    }

    pub(super) fn session(&self) -> Option<&Connection> {
        self.session.as_ref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(super) fn is_attached(&self) -> bool {
        self.session.is_some()
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        self.flows.contains_key(&id)
    }

    /// Counts a datagram that belongs to no flow.
    pub(super) fn stray(&mut self) {
        self.counts.dropped.stray += 1;
    }

    /// Counts a datagram for which there can be no flow.
    pub(super) fn refuse(&mut self) {
        self.counts.dropped.no_flow += 1;
    }

    /// Makes room for one more flow: the flow that was idle for longest is removed and returned.
    /// An error if every flow is too young.
    pub(super) fn make_room(&mut self, now: Instant) -> Result<Option<(u32, E)>, ()> {
        if self.flows.len() < self.most {
            return Ok(None);
        }
        let oldest = self.flows.iter().min_by_key(|(_, f)| f.used);
        let oldest = oldest.map(|(id, f)| (*id, now.saturating_duration_since(f.used)));
        match oldest {
            Some((id, idle)) if idle >= YOUNG => Ok(self.remove(id).map(|exit| (id, exit))),
            _ => Err(()),
        }
    }

    /// Adds a flow; there must be room.
    pub(super) fn insert(&mut self, id: u32, rule: u8, delivery: Delivery, exit: E, now: Instant) {
        let flow = Flow {
            exit,
            rule,
            delivery,
            used: now,
            sent: 0,
            order: Order::default(),
            number: flow::number(),
            carried: Carried::default(),
        };
        self.flows.insert(id, flow);
        self.counts.flows += 1;
    }

    /// Ends a flow.
    pub(super) fn remove(&mut self, id: u32) -> Option<E> {
        let flow = self.flows.remove(&id)?;
        self.held -= flow.order.held();
        Some(flow.exit)
    }

    /// Ends all flows.
    pub(super) fn clear(&mut self) {
        self.flows.clear();
        self.ready.clear();
        self.held = 0;
    }

    /// Ends the flows that were idle for `idle`.
    pub(super) fn expire(&mut self, now: Instant, idle: Duration) -> Vec<(u32, E)> {
        let is_idle = |f: &Flow<E>| now.saturating_duration_since(f.used) >= idle;
        let ended = self.flows.iter().filter(|(_, f)| is_idle(f));
        let ended: Vec<u32> = ended.map(|(id, _)| *id).collect();
        ended
            .into_iter()
            .filter_map(|id| Some((id, self.remove(id)?)))
            .collect()
    }

    /// Sends a local program's datagram to the peer, or counts the reason for dropping it. Returns
    /// the first datagram that travels in pieces.
    pub(super) fn send(&mut self, id: u32, datagram: &[u8], now: Instant) -> Option<InPieces> {
        let Some(flow) = self.flows.get_mut(&id) else {
            self.stray();
            return None;
        };
        flow.used = now;
        let dropped = &mut self.counts.dropped;
        let Some(session) = &self.session else {
            dropped.no_session += 1;
            flow.carried.dropped += 1;
            return None;
        };
        if self.settled.take_if(|at| *at <= now).is_some() {
            session.set_message_buffer(WAITING);
        }
        let number = (flow.delivery == Delivery::InOrder).then_some(flow.sent);
        let head = Head {
            rule: flow.rule,
            flow: id,
            number,
        };
        self.message.clear();
        head.put(&mut self.message);
        self.message.extend_from_slice(datagram);
        let deadline = flow.delivery.deadline();
        let message = Bytes::copy_from_slice(&self.message);
        let mut in_pieces = None;
        let mut sent = session.try_send_message_alone(message.clone(), deadline);
        if let Err(SendError::TooLong { limit, .. }) = sent {
            in_pieces = Some(InPieces {
                bytes: datagram.len(),
                longest: limit.saturating_sub(NUMBERED_HEAD),
            });
            sent = session.try_send_message(message, deadline);
        }
        match sent {
            Ok(_) => {
                flow.sent = flow.sent.wrapping_add(1);
                self.counts.send(&mut flow.carried, datagram.len());
            }
            Err(error) => {
                flow.carried.dropped += 1;
                match error {
                    SendError::TooLong { .. } => dropped.too_long += 1,
                    SendError::Closed(_) => dropped.no_session += 1,
                    _ => dropped.no_room += 1,
                }
            }
        }
        let is_news = self.settled.is_none() && !self.told;
        let in_pieces = in_pieces.filter(|_| is_news);
        self.told |= in_pieces.is_some();
        in_pieces
    }

    /// Receives a datagram from the peer for an existing flow, and delivers what is due: `deliver`
    /// says whether the local program's socket accepted it. [`Table::hand_on`] delivers the rest.
    pub(super) fn receive(
        &mut self,
        head: Head,
        datagram: Bytes,
        now: Instant,
        mut deliver: impl FnMut(&E, &[u8]) -> bool,
    ) -> Result<(), Hostile> {
        let Some(flow) = self.flows.get_mut(&head.flow) else {
            self.stray();
            return Ok(());
        };
        if head.rule != flow.rule || head.number.is_some() != (flow.delivery == Delivery::InOrder) {
            self.stray();
            return Ok(());
        }
        flow.used = now;
        let Some(number) = head.number else {
            let taken = deliver(&flow.exit, &datagram);
            (self.counts).deliver(&mut flow.carried, taken, datagram.len());
            return Ok(());
        };
        if flow.order.pass(number) {
            let taken = deliver(&flow.exit, &datagram);
            (self.counts).deliver(&mut flow.carried, taken, datagram.len());
        } else {
            let before = flow.order.held();
            let held = flow.order.insert(number, datagram);
            self.held = self.held - before + flow.order.held();
            if held.is_err() {
                self.stray();
            }
        }
        if !self.ready.contains(&head.flow) {
            self.hand_on_of(head.flow, &mut deliver);
        }
        if self.held > MOST_HELD {
            return Err(Hostile);
        }
        Ok(())
    }

    /// Delivers more of the waiting datagrams; false if there are no more.
    pub(super) fn hand_on(&mut self, mut deliver: impl FnMut(&E, &[u8]) -> bool) -> bool {
        for id in std::mem::take(&mut self.ready) {
            self.hand_on_of(id, &mut deliver);
        }
        self.has_ready()
    }

    /// Whether [`Table::hand_on`] has datagrams to deliver.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    fn hand_on_of(&mut self, id: u32, deliver: &mut impl FnMut(&E, &[u8]) -> bool) {
        let Some(flow) = self.flows.get_mut(&id) else {
            return;
        };
        let before = flow.order.held();
        for _ in 0..BURST.max(flow.order.len() / BURST) {
            let Some(datagram) = flow.order.pop() else {
                break;
            };
            let taken = deliver(&flow.exit, &datagram);
            (self.counts).deliver(&mut flow.carried, taken, datagram.len());
        }
        self.held = self.held - before + flow.order.held();
        if flow.order.is_ready() {
            self.ready.insert(id);
        }
    }
}

/// Bytes of the longest datagram of a flow that fits in one piece.
pub(super) fn longest(session: &Connection, delivery: Delivery) -> usize {
    let head = match delivery {
        Delivery::InOrder => NUMBERED_HEAD,
        Delivery::Unordered | Delivery::Deadline(_) => HEAD,
    };
    session.message_alone_max().saturating_sub(head)
}

/// The MTU for a WireGuard interface whose datagrams must not exceed `longest` bytes. It pads
/// packets to 16 bytes.
pub fn wireguard_mtu(longest: usize) -> usize {
    longest.saturating_sub(WIREGUARD) / 16 * 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_behind_a_lost_one_are_delivered_little_by_little() {
        let mut table = Table::new(1);
        let now = Instant::now();
        table.insert(3, 0, Delivery::InOrder, (), now);
        let mut out = Vec::new();
        let receive = |table: &mut Table<()>, out: &mut Vec<u32>, number: u32| {
            let head = Head {
                rule: 0,
                flow: 3,
                number: Some(number),
            };
            let datagram = Bytes::copy_from_slice(&number.to_be_bytes());
            let took = |(): &(), datagram: &[u8]| {
                out.push(u32::from_be_bytes(datagram.try_into().unwrap()));
                true
            };
            assert!(table.receive(head, datagram, now, took).is_ok());
        };
        for number in 1..2000 {
            receive(&mut table, &mut out, number);
        }
        assert_eq!((out.len(), table.has_ready()), (0, false));
        receive(&mut table, &mut out, 0);
        assert!(table.has_ready());
        let mut most = out.len();
        // Later datagrams queue behind them.
        receive(&mut table, &mut out, 2000);
        let mut rounds = 0;
        loop {
            let before = out.len();
            let more = table.hand_on(|(), datagram| {
                out.push(u32::from_be_bytes(datagram.try_into().unwrap()));
                true
            });
            most = most.max(out.len() - before);
            rounds += 1;
            if !more {
                break;
            }
        }
        assert!(out.into_iter().eq(0..=2000));
        assert!(
            most <= 125 && rounds < 60,
            "{most} at once, {rounds} rounds"
        );
        assert_eq!(table.held, 0);
        assert_eq!(table.counts.delivered.datagrams, 2001);
    }

    #[test]
    fn what_waits_for_a_datagram_of_a_session_goes_with_it() {
        let mut table = Table::new(1);
        let now = Instant::now();
        table.insert(3, 0, Delivery::InOrder, (), now);
        let head = Head {
            rule: 0,
            flow: 3,
            number: Some(1),
        };
        let datagram = Bytes::from(vec![7; 1000]);
        assert!(table.receive(head, datagram, now, |(), _| true).is_ok());
        assert!(table.held() >= 1000);
        assert!(table.detach().is_none() && table.held() == 0);
        assert!(table.contains(3) && table.counts.delivered.datagrams == 0);
    }

    #[test]
    fn the_flow_that_was_idle_for_longest_is_dropped_once_it_is_no_longer_young() {
        let mut table = Table::new(2);
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        for (id, name) in [(1, "first"), (2, "second")] {
            assert_eq!(table.make_room(begun), Ok(None));
            table.insert(id, 0, Delivery::Unordered, name, begun);
        }
        // Use the first flow again; there is no session to send it in.
        assert_eq!(table.send(1, b"word", after(8)), None);
        assert_eq!(table.make_room(after(9)), Err(()));
        assert_eq!(table.make_room(after(10)), Ok(Some((2, "second"))));
        table.insert(3, 0, Delivery::Unordered, "third", after(10));
        assert_eq!(table.make_room(after(11)), Err(()));
        assert_eq!(table.make_room(after(18)), Ok(Some((1, "first"))));
        assert!(table.contains(3) && !table.contains(1) && !table.contains(2));
    }
}
