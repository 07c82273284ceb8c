//! The flows of one end, and the session that carries them at the moment.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use weftline::{Connection, SendError};

use super::counts::{Counts, Snapshot, late};
use super::delivery::Delivery;
use super::event::TooLong;
use super::order::Order;
use super::wire::{HEAD, Head, NUMBERED_HEAD};

/// A flow that was used more recently makes no room for a new one.
const YOUNG: Duration = Duration::from_secs(10);
/// Bytes that may be held back in all for the sake of order: several times what an honest sender
/// has credit for.
const MOST_HELD: usize = 64 << 20;
/// Time in which a session finds out what its path takes. Until then datagrams that are too long
/// for now pass in pieces: a flow that begins with the session would lose its beginning. So do later
/// those that have fitted before: losses make a path look as if it had shrunk, for a while.
const SETTLING: Duration = Duration::from_secs(5);
/// Until then more may wait to be sent than later, when it would only make the flow late: a session
/// begins with what any path carries.
const WAITING_AT_FIRST: usize = 1 << 20;
const WAITING: usize = 256 << 10;
/// Bytes of UDP payload in Ethernet's 1500 with IPv6: sessions look for nothing longer.
const LONGEST_FOUND: usize = 1452;
/// Datagrams of a flow that are handed on at once, and the part of those held back that is more if
/// many are: what waited behind a lost one would overflow the buffer of a program that does not
/// read at this very moment.
const BURST: usize = 16;
/// What WireGuard adds to a packet: 16 bytes of header and 16 of authentication.
const WIREGUARD: usize = 32;

/// A flow: datagrams between one local socket address and one target.
#[derive(Debug)]
struct Flow<E> {
    /// Where its datagrams go at this end.
    exit: E,
    rule: u8,
    delivery: Delivery,
    used: Instant,
    /// Datagrams sent in this session.
    sent: u32,
    order: Order,
}

/// All flows of one end. `E` is where a flow's datagrams go there.
#[derive(Debug)]
pub(super) struct Table<E> {
    flows: HashMap<u32, Flow<E>>,
    most: usize,
    /// Bytes held back in all flows.
    held: usize,
    /// Flows of which more can be handed on.
    ready: BTreeSet<u32>,
    session: Option<Connection>,
    /// Until when the session finds out what its path takes.
    settled: Option<Instant>,
    /// Bytes of the longest datagram that went in one piece in this session.
    fitted: usize,
    fragment: bool,
    counts: Counts,
    /// The application has been told about datagrams that are too long.
    told: bool,
    message: Vec<u8>,
}

/// The other end sends what no honest one would.
#[derive(Debug)]
pub(super) struct Hostile;

impl<E> Table<E> {
    /// For `most` flows at once.
    pub(super) fn new(most: usize) -> Self {
        Table {
            flows: HashMap::new(),
            most,
            held: 0,
            ready: BTreeSet::new(),
            session: None,
            settled: None,
            fitted: 0,
            fragment: false,
            counts: Counts::default(),
            told: false,
            message: Vec::new(),
        }
    }

    /// Takes up a new session, in which all flows count from the start.
    pub(super) fn attach(&mut self, session: Connection, fragment: bool) {
        self.detach();
        self.fragment = fragment;
        self.settled = Some(Instant::now() + SETTLING);
        session.set_message_buffer(WAITING_AT_FIRST);
        self.fitted = 0;
        self.session = Some(session);
        self.counts.sessions += 1;
        self.held = 0;
        self.ready.clear();
        for flow in self.flows.values_mut() {
            flow.sent = 0;
            flow.order = Order::default();
        }
    }

    /// There is no session any more; returns the one that was.
    pub(super) fn detach(&mut self) -> Option<Connection> {
        let session = self.session.take()?;
        self.counts.dropped.late += late(&session.stats());
        Some(session)
    }

    /// Bounds the number of flows.
    pub(super) fn limit(&mut self, most: usize) {
        self.most = most.max(1);
    }

    /// How things stand.
    pub(super) fn snapshot(&self) -> Snapshot {
        let session = self.session.as_ref().map(Connection::stats);
        let mut counts = self.counts;
        counts.dropped.late += session.as_ref().map_or(0, late);
        Snapshot {
            counts,
            open: self.flows.len(),
            session,
            longest: self.session.as_ref().map(|s| longest(s, Delivery::InOrder)),
        }
    }

    #[cfg(test)]
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

    /// Something came that belongs to no flow.
    pub(super) fn stray(&mut self) {
        self.counts.dropped.stray += 1;
    }

    /// There can be no flow for a datagram.
    pub(super) fn refuse(&mut self) {
        self.counts.dropped.no_flow += 1;
    }

    /// Whether there is room for one more flow; the one that was not used for longest makes it,
    /// and is returned.
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

    /// Adds a flow, for which there is room.
    pub(super) fn insert(&mut self, id: u32, rule: u8, delivery: Delivery, exit: E, now: Instant) {
        let flow = Flow {
            exit,
            rule,
            delivery,
            used: now,
            sent: 0,
            order: Order::default(),
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

    /// Ends the flows that were not used for `idle`.
    pub(super) fn expire(&mut self, now: Instant, idle: Duration) -> Vec<(u32, E)> {
        let is_idle = |f: &Flow<E>| now.saturating_duration_since(f.used) >= idle;
        let ended = self.flows.iter().filter(|(_, f)| is_idle(f));
        let ended: Vec<u32> = ended.map(|(id, _)| *id).collect();
        ended
            .into_iter()
            .filter_map(|id| Some((id, self.remove(id)?)))
            .collect()
    }

    /// Sends a local program's datagram to the other end, or counts why not. Returns the datagram if
    /// it is the first that is too long.
    pub(super) fn send(&mut self, id: u32, datagram: &[u8], now: Instant) -> Option<TooLong> {
        let Some(flow) = self.flows.get_mut(&id) else {
            self.stray();
            return None;
        };
        flow.used = now;
        let dropped = &mut self.counts.dropped;
        let Some(session) = &self.session else {
            dropped.no_session += 1;
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
        let mut sent = session.try_send_message_alone(message.clone(), deadline);
        let is_settling = self.settled.is_some() && datagram.len() <= LONGEST_FOUND;
        let in_pieces = self.fragment || is_settling || datagram.len() <= self.fitted;
        match sent {
            Ok(_) => self.fitted = self.fitted.max(datagram.len()),
            Err(SendError::TooLong { .. }) if in_pieces => {
                sent = session.try_send_message(message, deadline);
            }
            Err(_) => {}
        }
        match sent {
            Ok(_) => {
                flow.sent = flow.sent.wrapping_add(1);
                self.counts.sent.add(datagram.len());
            }
            Err(SendError::TooLong { limit, .. }) => {
                dropped.too_long += 1;
                if !std::mem::replace(&mut self.told, true) {
                    return Some(TooLong {
                        bytes: datagram.len(),
                        longest: limit.saturating_sub(NUMBERED_HEAD),
                    });
                }
            }
            Err(SendError::Closed(_)) => dropped.no_session += 1,
            Err(_) => dropped.no_room += 1,
        }
        None
    }

    /// Takes what the other end sent for a flow that exists, and hands on what is due of it:
    /// `deliver` says whether the local program's socket took it. The rest is for
    /// [`Table::hand_on`].
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
            self.counts
                .deliver(deliver(&flow.exit, &datagram), datagram.len());
            return Ok(());
        };
        let before = flow.order.held();
        let taken = flow.order.insert(number, datagram);
        self.held = self.held - before + flow.order.held();
        if !taken {
            self.stray();
        }
        if !self.ready.contains(&head.flow) {
            self.hand_on_of(head.flow, &mut deliver);
        }
        if self.held > MOST_HELD {
            return Err(Hostile);
        }
        Ok(())
    }

    /// Hands on more of what waited; false if there is no more.
    pub(super) fn hand_on(&mut self, mut deliver: impl FnMut(&E, &[u8]) -> bool) -> bool {
        for id in std::mem::take(&mut self.ready) {
            self.hand_on_of(id, &mut deliver);
        }
        self.has_ready()
    }

    /// Whether there is something for [`Table::hand_on`].
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
            self.counts
                .deliver(deliver(&flow.exit, &datagram), datagram.len());
        }
        self.held = self.held - before + flow.order.held();
        if flow.order.is_ready() {
            self.ready.insert(id);
        }
    }
}

/// Bytes of the longest datagram of a flow that passes in one piece.
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
    fn what_waited_behind_a_lost_datagram_is_handed_on_little_by_little() {
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
        // What comes meanwhile has its place behind them.
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
    fn the_flow_that_was_idle_for_longest_makes_room_once_it_is_no_longer_young() {
        let mut table = Table::new(2);
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        for (id, name) in [(1, "first"), (2, "second")] {
            assert_eq!(table.make_room(begun), Ok(None));
            table.insert(id, 0, Delivery::Unordered, name, begun);
        }
        // The first is used again; there is no session to send it in.
        assert_eq!(table.send(1, b"word", after(8)), None);
        assert_eq!(table.make_room(after(9)), Err(()));
        assert_eq!(table.make_room(after(10)), Ok(Some((2, "second"))));
        table.insert(3, 0, Delivery::Unordered, "third", after(10));
        assert_eq!(table.make_room(after(11)), Err(()));
        assert_eq!(table.make_room(after(18)), Ok(Some((1, "first"))));
        assert!(table.contains(3) && !table.contains(1) && !table.contains(2));
    }
}
