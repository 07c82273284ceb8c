//! Messages: independent, delivered whole as soon as they are complete, in any order.

mod fates;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use core::time::Duration;
use weftline_codec::Esi;

use crate::abandoned::Abandoned;
use crate::credit::Credit;
use crate::event::{Event, Message, MessageId};
use crate::spare::free_spare;
use crate::time::{Time, micros};
use crate::violation::Violation;
use crate::wire::{FRAGMENT_COST, FrameWriter, MIN_FRAGMENT};

use fates::Fates;

/// Messages on their way out: perishable ones first, since the others can wait.
#[derive(Debug, Default)]
pub(crate) struct OutMessages {
    perishable: VecDeque<Outgoing>,
    reliable: VecDeque<Outgoing>,
    /// Time that deadlines on the wire count from, as timestamps do.
    zero: Time,
    next_id: u64,
    /// Bytes queued, with the cost of each message.
    queued: usize,
    /// No deadline of a queued message is earlier.
    earliest: Option<Time>,
    pub(crate) writer_blocked: bool,
    fates: Fates,
}

#[derive(Debug)]
struct Outgoing {
    id: u64,
    data: Bytes,
    sent: usize,
    /// The symbol that its first bytes are in.
    first: Option<Esi>,
    /// Latest time of sending at which it is still worth something.
    deadline: Option<Time>,
    /// It has a source symbol to itself.
    alone: bool,
}

/// Bytes of the header of a MESSAGE frame with a whole message at most: type, id, total length,
/// offset 0, deadline, length. A symbol is short enough for two-byte lengths.
const LONGEST_HEADER: usize = 1 + 8 + 2 + 1 + 8 + 2;

/// Bytes of a message that fits a symbol of `symbol_size` bytes whatever its header.
pub(crate) fn longest_alone(symbol_size: usize) -> usize {
    symbol_size.saturating_sub(LONGEST_HEADER)
}

impl Outgoing {
    /// Bytes that are worth a frame.
    fn least(&self) -> usize {
        let left = self.data.len() - self.sent;
        match self.alone {
            true => left,
            false => left.min(MIN_FRAGMENT),
        }
    }

    /// What it occupies in the queue.
    fn size(&self) -> usize {
        self.data.len() - self.sent + FRAGMENT_COST as usize
    }
}

/// What [`OutMessages::fill`] wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilledMessages {
    pub(crate) data: u64,
    /// The latest deadline of the perishable messages written.
    pub(crate) expires: Option<Time>,
    pub(crate) reliable: bool,
    /// Nothing more may be put into this symbol, whatever room it has.
    pub(crate) closed: bool,
    /// A message ends in it.
    pub(crate) ends: bool,
}

impl OutMessages {
    pub(crate) fn new(zero: Time) -> Self {
        OutMessages {
            zero,
            ..OutMessages::default()
        }
    }

    pub(crate) fn push(&mut self, data: Bytes, deadline: Option<Time>, alone: bool) -> MessageId {
        let id = self.next_id;
        self.next_id += 1;
        let message = Outgoing {
            id,
            data,
            sent: 0,
            first: None,
            deadline,
            alone,
        };
        self.queued += message.size();
        self.earliest = self.earliest.into_iter().chain(deadline).min();
        match deadline {
            Some(_) => self.perishable.push_back(message),
            None => self.reliable.push_back(message),
        }
        MessageId(id)
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Frees the memory kept for further messages.
    pub(crate) fn release(&mut self) {
        free_spare(&mut self.perishable);
        free_spare(&mut self.reliable);
        self.fates.release();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.perishable.is_empty() && self.reliable.is_empty()
    }

    /// Bytes of the symbol that the next message needs for itself; 0 if it does not.
    pub(crate) fn next_alone(&self) -> usize {
        let next = self.perishable.front().or_else(|| self.reliable.front());
        next.filter(|m| m.alone)
            .map_or(0, |m| m.data.len() + LONGEST_HEADER)
    }

    /// A message can be (partly) sent with the credit that there is.
    pub(crate) fn sendable(&self, credit: &Credit) -> bool {
        let affordable = |m: &Outgoing| credit.available() >= FRAGMENT_COST + m.least() as u64;
        !self.perishable.is_empty() || self.reliable.front().is_some_and(affordable)
    }

    /// When [`Self::expire`] has something to drop.
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.earliest.map(|t| t + Duration::from_micros(1))
    }

    /// When [`Self::acknowledged`] wants to be called, whatever arrives.
    pub(crate) fn next_fate(&self) -> Option<Time> {
        self.fates.next_timeout()
    }

    /// The peer has all symbols below `edge` but those `abandoned`; news of these may take as
    /// long as `patience`.
    pub(crate) fn acknowledged(
        &mut self,
        now: Time,
        edge: Esi,
        abandoned: &mut Abandoned,
        patience: Duration,
        events: &mut VecDeque<Event>,
    ) {
        self.fates.update(now, edge, abandoned, patience, events);
    }

    /// Drops messages that can no longer arrive in time; returns how many.
    pub(crate) fn expire(&mut self, now: Time, events: &mut VecDeque<Event>) -> u64 {
        if self.earliest.is_none_or(|t| now <= t) {
            return 0;
        }
        let before = self.perishable.len();
        let queued = &mut self.queued;
        self.perishable.retain(|m| {
            let keep = m.deadline.is_none_or(|d| now <= d);
            if !keep {
                *queued -= m.size();
                events.push_back(Event::MessageExpired(MessageId(m.id)));
            }
            keep
        });
        self.earliest = self.perishable.iter().filter_map(|m| m.deadline).min();
        (before - self.perishable.len()) as u64
    }

    /// Writes fragments until symbol `esi` is full, the credit is spent or nothing is left.
    pub(crate) fn fill(
        &mut self,
        writer: &mut FrameWriter<'_>,
        esi: Esi,
        credit: &mut Credit,
    ) -> FilledMessages {
        let mut filled = FilledMessages::default();
        while let Some(message) = self.perishable.front_mut() {
            if message.alone && !writer.is_empty() {
                return filled;
            }
            let Some(len) = write_fragment(writer, message, self.zero, usize::MAX) else {
                return filled;
            };
            filled.closed = message.alone;
            self.queued -= len;
            filled.data += len as u64;
            filled.expires = filled.expires.max(message.deadline);
            let first = *message.first.get_or_insert(esi);
            if message.sent == message.data.len() {
                self.queued -= message.size();
                self.fates
                    .sent_perishable(MessageId(message.id), first, esi);
                self.perishable.pop_front();
                filled.ends = true;
            }
            if filled.closed {
                return filled;
            }
        }
        while let Some(message) = self.reliable.front_mut() {
            let Some(affordable) = credit.available().checked_sub(FRAGMENT_COST) else {
                break;
            };
            let most = usize::try_from(affordable).unwrap_or(usize::MAX);
            if message.alone && (most < message.data.len() || !writer.is_empty()) {
                break;
            }
            let Some(len) = write_fragment(writer, message, self.zero, most) else {
                break;
            };
            credit.spend(len as u64 + FRAGMENT_COST);
            self.queued -= len;
            filled.data += len as u64;
            filled.reliable = true;
            filled.closed = message.alone;
            if message.sent == message.data.len() {
                self.queued -= message.size();
                self.fates.sent_reliable(MessageId(message.id), esi);
                self.reliable.pop_front();
                filled.ends = true;
            }
            if filled.closed {
                break;
            }
        }
        filled
    }
}

/// Writes as much of a message as fits, at most `most` bytes; `None` when it is not worth a frame.
fn write_fragment(
    writer: &mut FrameWriter<'_>,
    message: &mut Outgoing,
    zero: Time,
    most: usize,
) -> Option<usize> {
    let (total, offset) = (message.data.len() as u64, message.sent as u64);
    let deadline = message.deadline.map(|d| micros(d.since(zero)));
    let room = writer.message_room(message.id, total, offset, deadline);
    let left = message.data.len() - message.sent;
    let len = left.min(room).min(most);
    if room == 0 || len < left && len < MIN_FRAGMENT {
        return None;
    }
    let fragment = &message.data[message.sent..message.sent + len];
    writer.message(message.id, total, offset, deadline, fragment);
    message.sent += len;
    Some(len)
}

/// Messages on their way in.
#[derive(Debug)]
pub(crate) struct InMessages {
    partial: BTreeMap<u64, Partial>,
    ready: VecDeque<(Message, Held)>,
    /// Bytes held of messages with a deadline, with their cost per fragment.
    perishable: u64,
    perishable_max: u64,
    /// When the last search for stale messages was, on the sender's clock.
    pruned: u64,
    size_max: u64,
    deliver_late: bool,
}

#[derive(Debug)]
struct Partial {
    total: u64,
    deadline: Option<u64>,
    /// By offset; most messages have few.
    fragments: Vec<(u64, Vec<u8>)>,
    got: u64,
    held: Held,
}

/// What a message occupies until the application takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    cost: u64,
    perishable: bool,
}

/// What became of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Its message is not complete.
    Incomplete,
    /// Its message can be taken.
    Ready,
    /// Its message is complete but late; `delivered` all the same, or dropped.
    Late { delivered: bool },
    /// There was no room for a message that nobody would wait for.
    Dropped,
}

/// A MESSAGE frame as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<'a> {
    pub(crate) id: u64,
    pub(crate) total: u64,
    pub(crate) offset: u64,
    pub(crate) deadline: Option<u64>,
    pub(crate) data: &'a [u8],
}

impl InMessages {
    pub(crate) fn new(size_max: u64, perishable_max: u64, deliver_late: bool) -> Self {
        InMessages {
            partial: BTreeMap::new(),
            ready: VecDeque::new(),
            perishable: 0,
            perishable_max,
            pruned: 0,
            size_max,
            deliver_late,
        }
    }

    /// Frees the memory kept for further messages.
    pub(crate) fn release(&mut self) {
        free_spare(&mut self.ready);
    }

    /// Bytes held of messages with a deadline, with their cost.
    pub(crate) fn perishable(&self) -> u64 {
        self.perishable
    }

    /// A fragment arrived; `remote` is the time on the sender's clock, as far as it is known.
    pub(crate) fn insert(
        &mut self,
        remote: Option<u64>,
        fragment: Fragment<'_>,
        credit: &mut Credit,
    ) -> Result<Arrival, Violation> {
        let Fragment {
            id,
            total,
            offset,
            deadline,
            data,
        } = fragment;
        if total > self.size_max {
            return Err(Violation::MessageTooLong);
        }
        let cost = data.len() as u64 + FRAGMENT_COST;
        let perishable = deadline.is_some();
        if perishable {
            // Looking through all of them is only worth it when room is needed, and not again soon.
            if self.perishable + cost > self.perishable_max {
                self.prune(remote);
            }
            if self.perishable + cost > self.perishable_max {
                return Ok(Arrival::Dropped);
            }
            self.perishable += cost;
        } else if !credit.receive(cost) {
            return Err(Violation::MessageCredit);
        }
        let held = Held { cost, perishable };
        if data.len() as u64 == total && !self.partial.contains_key(&id) {
            return Ok(self.complete(
                remote,
                id,
                deadline,
                held,
                Bytes::copy_from_slice(data),
                credit,
            ));
        }
        let partial = self.partial.entry(id).or_insert_with(|| Partial {
            total,
            deadline,
            fragments: Vec::new(),
            got: 0,
            held: Held {
                cost: 0,
                perishable,
            },
        });
        if partial.total != total || partial.held.perishable != perishable {
            return Err(Violation::MessageChanged);
        }
        partial.held.cost += cost;
        let at = partial.fragments.partition_point(|(o, _)| *o < offset);
        let end = offset + data.len() as u64;
        let clear_left = at == 0 || {
            let (o, d) = &partial.fragments[at - 1];
            o + d.len() as u64 <= offset
        };
        let clear_right = partial
            .fragments
            .get(at)
            .is_none_or(|(o, _)| end <= *o && offset != *o);
        if !clear_left || !clear_right || data.is_empty() {
            return Err(Violation::MessageOverlap);
        }
        partial.got += data.len() as u64;
        partial.fragments.insert(at, (offset, data.to_vec()));
        if partial.got < total {
            return Ok(Arrival::Incomplete);
        }
        let Some(done) = self.partial.remove(&id) else {
            return Ok(Arrival::Incomplete);
        };
        let mut whole = Vec::with_capacity(total as usize);
        done.fragments
            .iter()
            .for_each(|(_, f)| whole.extend_from_slice(f));
        Ok(self.complete(remote, id, done.deadline, done.held, whole.into(), credit))
    }

    /// A message is whole: it can be taken, unless it is late.
    fn complete(
        &mut self,
        remote: Option<u64>,
        id: u64,
        deadline: Option<u64>,
        held: Held,
        data: Bytes,
        credit: &mut Credit,
    ) -> Arrival {
        let late = matches!((deadline, remote), (Some(d), Some(now)) if now > d);
        if late && !self.deliver_late {
            self.give_back(held, credit);
            return Arrival::Late { delivered: false };
        }
        let message = Message {
            id: MessageId(id),
            data,
            late,
        };
        self.ready.push_back((message, held));
        match late {
            true => Arrival::Late { delivered: true },
            false => Arrival::Ready,
        }
    }

    pub(crate) fn take(&mut self, credit: &mut Credit) -> Option<Message> {
        let (message, held) = self.ready.pop_front()?;
        self.give_back(held, credit);
        Some(message)
    }

    fn give_back(&mut self, held: Held, credit: &mut Credit) {
        match held.perishable {
            true => self.perishable -= held.cost,
            false => credit.consume(held.cost),
        }
    }

    /// Forgets incomplete messages whose time has passed: their missing fragments may have been
    /// given up by the sender.
    fn prune(&mut self, remote: Option<u64>) {
        const GRACE: u64 = 1_000_000;
        let Some(remote) = remote else { return };
        if remote < self.pruned.saturating_add(GRACE / 10) {
            return;
        }
        self.pruned = remote;
        let perishable = &mut self.perishable;
        self.partial.retain(|_, p| {
            let keep = p.deadline.is_none_or(|d| remote <= d.saturating_add(GRACE));
            if !keep {
                *perishable -= p.held.cost;
            }
            keep
        });
    }
}

#[cfg(test)]
mod tests;
