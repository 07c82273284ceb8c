//! What symbols carry: streams, messages and their flow control, as frames.

use std::collections::VecDeque;

use bytes::Bytes;
use core::time::Duration;
use weftline_codec::Esi;

use crate::abandoned::Abandoned;
use crate::config::Config;
use crate::credit::Credit;
use crate::error::{OpenError, ReadError, SendMessageError, WriteError};
use crate::event::{Event, Message, MessageId, Role, StreamId};
use crate::limits::Limits;
use crate::messages::{Arrival, Fragment, InMessages, OutMessages, longest_alone};
use crate::spare::free_spare;
use crate::streams::{Inbound, Streams};
use crate::time::Time;
use crate::violation::Violation;
use crate::wire::{Frame, FrameWriter, Frames};

/// Streams and messages of both directions.
#[derive(Debug)]
pub(crate) struct Payload {
    streams: Streams,
    out: OutMessages,
    inbox: InMessages,
    credit: Credit,
    send_buffer: usize,
    message_max: usize,
    pub(crate) events: VecDeque<Event>,
    pub(crate) counts: Counts,
}

/// Bytes and messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) expired_messages: u64,
    pub(crate) late_messages: u64,
    pub(crate) refused_fragments: u64,
}

/// A symbol that was filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// It carries nothing but messages that are worthless from then on.
    pub(crate) expires: Option<Time>,
    /// A message or a stream ends in it.
    pub(crate) ends: bool,
}

impl Payload {
    pub(crate) fn new(
        role: Role,
        config: &Config,
        limits: Limits,
        peer: Limits,
        now: Time,
    ) -> Self {
        Payload {
            streams: Streams::new(role, limits, peer, config.send_buffer),
            out: OutMessages::new(now),
            inbox: InMessages::new(
                u64::from(limits.message_size),
                limits.message_data,
                config.deliver_late_messages,
            ),
            credit: Credit::new(peer.session_data, limits.session_data),
            send_buffer: config.send_buffer,
            message_max: peer.message_size as usize,
            events: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    pub(crate) fn set_peer_limits(&mut self, peer: Limits) {
        if self.streams.set_peer_limits(peer) {
            self.events.push_back(Event::StreamsAvailable);
        }
        self.credit.raise(peer.session_data);
        self.message_max = peer.message_size as usize;
    }

    pub(crate) fn open_stream(&mut self) -> Result<StreamId, OpenError> {
        self.streams.open()
    }

    pub(crate) fn accept_stream(&mut self) -> Option<StreamId> {
        self.streams.accept()
    }

    pub(crate) fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        self.streams.write(id, data)
    }

    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        self.streams.finish(id)
    }

    pub(crate) fn reset(&mut self, id: StreamId, code: u64) {
        self.streams.reset(id, code);
    }

    pub(crate) fn stop(&mut self, id: StreamId, code: u64) {
        self.streams.stop(id, code, &mut self.credit);
    }

    pub(crate) fn read(&mut self, id: StreamId, buf: &mut [u8]) -> Result<usize, ReadError> {
        let n = self.streams.read(id, buf, &mut self.credit)?;
        self.counts.received += n as u64;
        Ok(n)
    }

    pub(crate) fn send_message(
        &mut self,
        data: Bytes,
        deadline: Option<Time>,
    ) -> Result<MessageId, SendMessageError> {
        self.queue_message(data, deadline, self.message_max, false)
    }

    /// As [`Self::send_message`], for a message that has one symbol of `symbol_size` bytes to
    /// itself.
    pub(crate) fn send_message_alone(
        &mut self,
        data: Bytes,
        deadline: Option<Time>,
        symbol_size: usize,
    ) -> Result<MessageId, SendMessageError> {
        self.queue_message(data, deadline, self.message_alone_max(symbol_size), true)
    }

    /// Bytes of the longest message for [`Self::send_message_alone`].
    pub(crate) fn message_alone_max(&self, symbol_size: usize) -> usize {
        longest_alone(symbol_size).min(self.message_max)
    }

    /// Bytes of the symbol that the next message to be sent needs for itself; 0 if it does not.
    pub(crate) fn next_alone(&self) -> usize {
        self.out.next_alone()
    }

    /// From now on, at most this many bytes of messages may wait.
    pub(crate) fn set_message_buffer(&mut self, bytes: usize) {
        self.send_buffer = bytes;
    }

    fn queue_message(
        &mut self,
        data: Bytes,
        deadline: Option<Time>,
        limit: usize,
        alone: bool,
    ) -> Result<MessageId, SendMessageError> {
        let got = data.len();
        if got > limit {
            return Err(SendMessageError::TooLong { got, limit });
        }
        match self.has_message_room(got) {
            true => Ok(self.out.push(data, deadline, alone)),
            false => Err(SendMessageError::Full),
        }
    }

    /// Whether a message of this length is taken now; if not, an event tells when to ask again.
    pub(crate) fn has_message_room(&mut self, bytes: usize) -> bool {
        // A message longer than the buffer is taken when the buffer is empty.
        let has_room = self.out.is_empty() || self.out.queued() + bytes <= self.send_buffer;
        self.out.writer_blocked |= !has_room;
        has_room
    }

    pub(crate) fn recv_message(&mut self) -> Option<Message> {
        let message = self.inbox.take(&mut self.credit)?;
        self.counts.received += message.data.len() as u64;
        Some(message)
    }

    /// Something waits to be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        self.credit.update_due() || !self.out.is_empty() || self.streams.is_waiting()
    }

    /// Something waits to be sent and flow control allows it.
    pub(crate) fn sendable(&self) -> bool {
        self.credit.update_due()
            || self.out.sendable(&self.credit)
            || self.streams.sendable(&self.credit)
    }

    /// Everything the application gave has been put into symbols.
    pub(crate) fn is_drained(&self) -> bool {
        self.out.is_empty() && self.streams.is_drained()
    }

    /// Bytes of data that the application has written and that have left or wait.
    pub(crate) fn written(&self) -> u64 {
        self.counts.sent + self.queued()
    }

    pub(crate) fn queued(&self) -> u64 {
        (self.out.queued() + self.streams.queued()) as u64
    }

    /// Bytes that wait to be sent or to be read.
    pub(crate) fn held(&self) -> u64 {
        self.queued() + self.credit.unread() + self.streams.missing() + self.inbox.perishable()
    }

    /// Frees the memory kept for further data.
    pub(crate) fn release(&mut self) {
        self.streams.release();
        self.out.release();
        self.inbox.release();
        free_spare(&mut self.events);
    }

    /// When [`Self::on_timeout`] wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        self.out.next_expiry()
    }

    /// Drops messages that can no longer arrive in time.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.counts.expired_messages += self.out.expire(now, &mut self.events);
        if self.out.writer_blocked && self.out.queued() <= self.send_buffer / 2 {
            self.out.writer_blocked = false;
            self.events.push_back(Event::MessageWritable);
        }
    }

    /// Fills symbol `esi` with frames, up to `max` bytes; `None` when there was nothing to put in.
    pub(crate) fn fill(
        &mut self,
        now: Time,
        esi: Esi,
        max: usize,
        symbol: &mut Vec<u8>,
    ) -> Option<Filled> {
        let mut writer = FrameWriter::new(symbol, max);
        let mut durable = self.streams.fill_control(&mut writer, esi);
        if self.credit.update_due() && writer.room() > 9 {
            durable |= writer.control(Frame::MaxData(self.credit.update()));
        }
        let messages = self.out.fill(&mut writer, esi, &mut self.credit);
        durable |= messages.reliable;
        self.counts.sent += messages.data;
        let mut ends = messages.ends;
        if !messages.closed
            && let Some(filled) =
                self.streams
                    .fill_data(&mut writer, esi, &mut self.credit, &mut self.events)
        {
            durable = true;
            self.counts.sent += filled.len;
            ends |= filled.ends;
        }
        self.on_timeout(now);
        let expires = if durable { None } else { messages.expires };
        (!symbol.is_empty()).then_some(Filled { expires, ends })
    }

    /// Every symbol below `edge` is acknowledged or `abandoned`; news of these may take as long as
    /// `patience`.
    pub(crate) fn acknowledged(
        &mut self,
        now: Time,
        edge: Esi,
        abandoned: &mut Abandoned,
        patience: Duration,
    ) {
        self.streams.acknowledged(edge, &mut self.events);
        let events = &mut self.events;
        self.out
            .acknowledged(now, edge, abandoned, patience, events);
    }

    /// Nothing in this symbol is worth anything to a peer that has closed: no data, no end of a
    /// stream.
    pub(crate) fn is_needless_to_closed_peer(symbol: &[u8]) -> bool {
        Frames::new(symbol).all(|frame| {
            !matches!(
                frame,
                Ok(Frame::Stream { .. } | Frame::Message { .. } | Frame::Reset { .. })
            )
        })
    }

    /// When [`Self::acknowledged`] wants to be called, whatever arrives.
    pub(crate) fn next_fate(&self) -> Option<Time> {
        self.out.next_fate()
    }

    /// A symbol became known; `remote` is the time on the sender's clock, as far as it is known.
    pub(crate) fn on_symbol(
        &mut self,
        remote: Option<u64>,
        symbol: &[u8],
    ) -> Result<(), Violation> {
        for frame in Frames::new(symbol) {
            let frame = frame.map_err(|_| Violation::MalformedFrame)?;
            self.on_frame(remote, frame)?;
        }
        Ok(())
    }

    fn on_frame(&mut self, remote: Option<u64>, frame: Frame<'_>) -> Result<(), Violation> {
        let (streams, credit, events) = (&mut self.streams, &mut self.credit, &mut self.events);
        match frame {
            Frame::Stream {
                id,
                offset,
                fin,
                data,
            } => streams.on_stream(
                Inbound {
                    id,
                    offset,
                    fin,
                    data,
                },
                credit,
                events,
            ),
            Frame::Message {
                id,
                total,
                offset,
                deadline,
                data,
            } => {
                let fragment = Fragment {
                    id,
                    total,
                    offset,
                    deadline,
                    data,
                };
                match self.inbox.insert(remote, fragment, credit)? {
                    Arrival::Ready => events.push_back(Event::MessageReceived),
                    Arrival::Late { delivered } => {
                        self.counts.late_messages += 1;
                        if delivered {
                            events.push_back(Event::MessageReceived);
                        }
                    }
                    Arrival::Dropped => self.counts.refused_fragments += 1,
                    Arrival::Incomplete => {}
                }
                Ok(())
            }
            Frame::Reset { id, code } => streams.on_reset(id, code, credit, events),
            Frame::Stop { id, code } => streams.on_stop(id, code, events),
            Frame::MaxData(max) => {
                credit.raise(max);
                Ok(())
            }
            Frame::MaxStreamData { id, max } => streams.on_max_stream_data(id, max, events),
            Frame::MaxStreams(max) => {
                if streams.on_max_streams(max) {
                    events.push_back(Event::StreamsAvailable);
                }
                Ok(())
            }
        }
    }
}
