//! Messages: independent, delivered whole as soon as they are complete, in any order.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::credit::Credit;
use crate::event::{Event, Message, MessageId};
use crate::time::Time;
use crate::wire::{FRAGMENT_COST, FrameWriter, MIN_FRAGMENT};

/// Messages on their way out.
#[derive(Debug, Default)]
pub(crate) struct OutMessages {
    queue: VecDeque<Outgoing>,
    next_id: u64,
    /// Bytes queued.
    queued: usize,
    /// No deadline of a queued message is earlier.
    earliest: Option<Time>,
    pub(crate) writer_blocked: bool,
}

#[derive(Debug)]
struct Outgoing {
    id: u64,
    data: Bytes,
    sent: usize,
    /// Latest time of sending at which it is still worth something.
    deadline: Option<Time>,
}

/// What [`OutMessages::fill`] wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilledMessages {
    pub(crate) data: u64,
    /// The latest deadline, while every message written has one.
    pub(crate) expires: Option<Time>,
    pub(crate) reliable: bool,
}

impl OutMessages {
    pub(crate) fn push(&mut self, data: Bytes, deadline: Option<Time>) -> MessageId {
        let id = self.next_id;
        self.next_id += 1;
        self.queued += data.len();
        self.earliest = self.earliest.into_iter().chain(deadline).min();
        self.queue.push_back(Outgoing {
            id,
            data,
            sent: 0,
            deadline,
        });
        MessageId(id)
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The first message can be (partly) sent with the credit that there is.
    pub(crate) fn sendable(&self, credit: &Credit) -> bool {
        self.queue.front().is_some_and(|m| {
            let least = (m.data.len() - m.sent).min(MIN_FRAGMENT) as u64;
            m.deadline.is_some() || credit.available() >= FRAGMENT_COST + least
        })
    }

    /// Drops messages that can no longer arrive in time.
    pub(crate) fn expire(&mut self, now: Time, events: &mut VecDeque<Event>) -> u64 {
        if self.earliest.is_none_or(|t| now <= t) {
            return 0;
        }
        let before = self.queue.len();
        let queued = &mut self.queued;
        self.queue.retain(|m| {
            let keep = m.deadline.is_none_or(|d| now <= d);
            if !keep {
                *queued -= m.data.len() - m.sent;
                events.push_back(Event::MessageExpired(MessageId(m.id)));
            }
            keep
        });
        self.earliest = self.queue.iter().filter_map(|m| m.deadline).min();
        (before - self.queue.len()) as u64
    }

    /// Writes fragments until the symbol is full, the credit is spent or nothing is left.
    pub(crate) fn fill(
        &mut self,
        writer: &mut FrameWriter<'_>,
        credit: &mut Credit,
    ) -> FilledMessages {
        let mut filled = FilledMessages::default();
        while let Some(message) = self.queue.front_mut() {
            let total = message.data.len() as u64;
            let deadline = message.deadline.map(Time::as_micros);
            let room = writer.message_room(message.id, total, message.sent as u64, deadline);
            let left = message.data.len() - message.sent;
            let mut len = left.min(room);
            if deadline.is_none() {
                let affordable = credit.available().saturating_sub(FRAGMENT_COST);
                if credit.available() < FRAGMENT_COST {
                    break;
                }
                len = len.min(usize::try_from(affordable).unwrap_or(usize::MAX));
            }
            if len < left && len < MIN_FRAGMENT || room == 0 {
                break;
            }
            let fragment = &message.data[message.sent..message.sent + len];
            writer.message(message.id, total, message.sent as u64, deadline, fragment);
            match message.deadline {
                None => {
                    credit.spend(len as u64 + FRAGMENT_COST);
                    filled.reliable = true;
                }
                Some(d) => filled.expires = Some(filled.expires.map_or(d, |e| e.max(d))),
            }
            filled.data += len as u64;
            self.queued -= len;
            message.sent += len;
            if message.sent == message.data.len() {
                self.queue.pop_front();
            }
        }
        filled
    }
}

/// Messages on their way in.
#[derive(Debug)]
pub(crate) struct InMessages {
    partial: BTreeMap<u64, Partial>,
    ready: VecDeque<(Message, Held)>,
    /// Bytes held of messages with a deadline, with their cost per fragment.
    perishable: u64,
    perishable_max: u64,
    size_max: u64,
    deliver_late: bool,
}

#[derive(Debug)]
struct Partial {
    total: u64,
    deadline: Option<u64>,
    fragments: BTreeMap<u64, Vec<u8>>,
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
            size_max,
            deliver_late,
        }
    }

    /// A fragment arrived; `remote` is the time on the sender's clock, as far as it is known.
    pub(crate) fn insert(
        &mut self,
        remote: Option<u64>,
        fragment: Fragment<'_>,
        credit: &mut Credit,
    ) -> Result<Arrival, &'static str> {
        let Fragment {
            id,
            total,
            offset,
            deadline,
            data,
        } = fragment;
        if total > self.size_max {
            return Err("message longer than the limit");
        }
        let cost = data.len() as u64 + FRAGMENT_COST;
        let perishable = deadline.is_some();
        if perishable {
            self.prune(remote);
            if self.perishable + cost > self.perishable_max {
                return Ok(Arrival::Dropped);
            }
            self.perishable += cost;
        } else if !credit.receive(cost) {
            return Err("more message data than the session's credit");
        }
        let partial = self.partial.entry(id).or_insert_with(|| Partial {
            total,
            deadline,
            fragments: BTreeMap::new(),
            got: 0,
            held: Held {
                cost: 0,
                perishable,
            },
        });
        if partial.total != total || partial.held.perishable != perishable {
            return Err("message that changes its length or kind");
        }
        partial.held.cost += cost;
        let clear_left = partial
            .fragments
            .range(..=offset)
            .next_back()
            .is_none_or(|(at, d)| at + d.len() as u64 <= offset && *at != offset);
        let end = offset + data.len() as u64;
        if !clear_left || partial.fragments.range(offset..end).next().is_some() {
            return Err("message fragments that overlap");
        }
        partial.got += data.len() as u64;
        partial.fragments.insert(offset, data.to_vec());
        if partial.got < total {
            return Ok(Arrival::Incomplete);
        }
        let Some(done) = self.partial.remove(&id) else {
            return Ok(Arrival::Incomplete);
        };
        let late = matches!((done.deadline, remote), (Some(d), Some(now)) if now > d);
        if late && !self.deliver_late {
            self.release(done.held, credit);
            return Ok(Arrival::Late { delivered: false });
        }
        let mut whole = Vec::with_capacity(total as usize);
        done.fragments
            .values()
            .for_each(|f| whole.extend_from_slice(f));
        let message = Message {
            id: MessageId(id),
            data: Bytes::from(whole),
            late,
        };
        self.ready.push_back((message, done.held));
        Ok(match late {
            true => Arrival::Late { delivered: true },
            false => Arrival::Ready,
        })
    }

    pub(crate) fn take(&mut self, credit: &mut Credit) -> Option<Message> {
        let (message, held) = self.ready.pop_front()?;
        self.release(held, credit);
        Some(message)
    }

    fn release(&mut self, held: Held, credit: &mut Credit) {
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
