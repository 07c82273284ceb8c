//! All streams of a session, and the frames that keep them going.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weftline_codec::Esi;

use super::recv::RecvStream;
use super::send::SendStream;
use crate::credit::Credit;
use crate::error::{OpenError, ReadError, WriteError};
use crate::event::{Event, Role, StreamId};
use crate::limits::Limits;
use crate::spare::free_spare;
use crate::violation::Violation;
use crate::wire::{Frame, FrameWriter};

/// Every stream, by its id; an entry lives until both halves are done.
#[derive(Debug)]
pub(crate) struct Streams {
    role: Role,
    limits: Limits,
    peer: Limits,
    send_buffer: usize,
    entries: BTreeMap<u64, Entry>,
    /// Streams this end has opened, and may open.
    opened: u64,
    open_max: u64,
    open_blocked: bool,
    /// Streams the peer has opened, may open, and that are gone again.
    accepted: u64,
    accept_max: u64,
    to_accept: VecDeque<StreamId>,
    /// Streams with something to send, in turn.
    ready: VecDeque<u64>,
    /// Control frames to send.
    resets: VecDeque<u64>,
    stops: VecDeque<(u64, u64)>,
    raise: BTreeSet<u64>,
    raise_streams: bool,
    /// Gaps, and bytes that are missing in them, in all streams.
    gaps: u32,
    missing: u64,
    /// Streams whose end is sent and not yet acknowledged.
    ending: BTreeSet<(Esi, u64)>,
    queued: usize,
    /// The stream that was read last, which keeps its memory.
    read_last: Option<u64>,
}

#[derive(Debug, Default)]
struct Entry {
    send: Option<SendStream>,
    /// The peer stopped the sending half that is gone.
    stopped: Option<u64>,
    recv: Option<RecvStream>,
}

/// What arrived in a STREAM frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inbound<'a> {
    pub(crate) id: u64,
    pub(crate) offset: u64,
    pub(crate) fin: bool,
    pub(crate) data: &'a [u8],
}

/// What was written into a symbol.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilledData {
    pub(crate) len: u64,
    /// A stream ends in it.
    pub(crate) ends: bool,
}

/// Gaps that all streams together may have, for each symbol of credit: an honest peer makes about one
/// per lost symbol and stream.
const GAPS_PER_SYMBOL: u32 = 4;

impl Streams {
    pub(crate) fn new(role: Role, limits: Limits, peer: Limits, send_buffer: usize) -> Self {
        Streams {
            role,
            limits,
            peer,
            send_buffer,
            entries: BTreeMap::new(),
            opened: 0,
            open_max: u64::from(peer.streams),
            open_blocked: false,
            accepted: 0,
            accept_max: u64::from(limits.streams),
            to_accept: VecDeque::new(),
            ready: VecDeque::new(),
            resets: VecDeque::new(),
            stops: VecDeque::new(),
            raise: BTreeSet::new(),
            raise_streams: false,
            gaps: 0,
            missing: 0,
            ending: BTreeSet::new(),
            queued: 0,
            read_last: None,
        }
    }

    /// HELLO told what the peer accepts; never less than what was assumed.
    pub(crate) fn set_peer_limits(&mut self, peer: Limits) -> bool {
        self.peer = peer;
        self.open_max = self.open_max.max(u64::from(peer.streams));
        let ids: Vec<u64> = self.entries.keys().copied().collect();
        for id in ids {
            if let Some(send) = self.entries.get_mut(&id).and_then(|e| e.send.as_mut()) {
                send.max_data = send.max_data.max(peer.stream_data);
            }
            self.schedule(id);
        }
        self.opened < self.open_max && core::mem::take(&mut self.open_blocked)
    }

    fn is_local(&self, id: u64) -> bool {
        (id & 1 == 0) == (self.role == Role::Client)
    }

    fn entry(&self) -> Entry {
        Entry {
            send: Some(SendStream::new(self.peer.stream_data)),
            stopped: None,
            recv: Some(RecvStream::new(&self.limits)),
        }
    }

    pub(crate) fn open(&mut self) -> Result<StreamId, OpenError> {
        if self.opened >= self.open_max {
            self.open_blocked = true;
            return Err(OpenError::Blocked);
        }
        let id = self.opened * 2 + u64::from(self.role == Role::Server);
        self.opened += 1;
        let entry = self.entry();
        self.entries.insert(id, entry);
        Ok(StreamId(id))
    }

    pub(crate) fn accept(&mut self) -> Option<StreamId> {
        self.to_accept.pop_front()
    }

    fn sender(&mut self, id: StreamId) -> Result<&mut SendStream, WriteError> {
        let known = self.was_opened(id.0);
        let gone = match self.entries.get(&id.0).and_then(|e| e.stopped) {
            Some(code) => WriteError::Stopped(code),
            None if known => WriteError::Finished,
            None => WriteError::Unknown,
        };
        let send = self.entries.get_mut(&id.0).and_then(|e| e.send.as_mut());
        send.ok_or(gone)
    }

    fn was_opened(&self, id: u64) -> bool {
        match self.is_local(id) {
            true => id / 2 < self.opened,
            false => id / 2 < self.accepted,
        }
    }

    pub(crate) fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, WriteError> {
        let buffer = self.send_buffer;
        let send = self.sender(id)?;
        if let Some(code) = send.stopped {
            return Err(WriteError::Stopped(code));
        }
        if send.is_finished() {
            return Err(WriteError::Finished);
        }
        let taken = send.write(data, buffer);
        if taken == 0 && !data.is_empty() {
            send.writer_blocked = true;
            return Err(WriteError::Blocked);
        }
        self.queued += taken;
        self.schedule(id.0);
        Ok(taken)
    }

    pub(crate) fn finish(&mut self, id: StreamId) -> Result<(), WriteError> {
        let send = self.sender(id)?;
        if let Some(code) = send.stopped {
            return Err(WriteError::Stopped(code));
        }
        if send.is_finished() {
            return Err(WriteError::Finished);
        }
        send.finish();
        self.schedule(id.0);
        Ok(())
    }

    pub(crate) fn reset(&mut self, id: StreamId, code: u64) {
        let Some(send) = self.entries.get_mut(&id.0).and_then(|e| e.send.as_mut()) else {
            return;
        };
        if send.reset.is_none() {
            self.queued -= send.queued();
            send.give_up(code);
            self.resets.push_back(id.0);
        }
    }

    pub(crate) fn stop(&mut self, id: StreamId, code: u64, credit: &mut Credit) {
        let Some(recv) = self.entries.get_mut(&id.0).and_then(|e| e.recv.as_mut()) else {
            return;
        };
        if recv.stopped {
            return;
        }
        recv.stopped = true;
        recv.done = true;
        let told = recv.reset.is_some() || recv.end_known();
        self.gaps -= recv.gaps();
        self.missing -= recv.missing();
        credit.consume(recv.discard());
        if !told {
            self.stops.push_back((id.0, code));
        }
        self.collect(id.0);
    }

    pub(crate) fn read(
        &mut self,
        id: StreamId,
        buf: &mut [u8],
        credit: &mut Credit,
    ) -> Result<usize, ReadError> {
        let Some(recv) = self.entries.get_mut(&id.0).and_then(|e| e.recv.as_mut()) else {
            return Err(ReadError::Unknown);
        };
        if recv.stopped {
            return Err(ReadError::Unknown);
        }
        let n = recv.read(buf);
        if n > 0 || buf.is_empty() {
            credit.consume(n as u64);
            if recv.is_grant_due(&self.limits) {
                self.raise.insert(id.0);
            }
            if self.read_last != Some(id.0) {
                self.trim();
                self.read_last = Some(id.0);
            }
            return Ok(n);
        }
        if let Some(code) = recv.reset {
            recv.done = true;
            self.collect(id.0);
            return Err(ReadError::Reset(code));
        }
        if recv.is_complete() {
            recv.done = true;
            self.collect(id.0);
            return Ok(0);
        }
        recv.announced = false;
        Err(ReadError::Blocked)
    }

    /// Frees most of the memory of what was read from the stream that was read last: this one alone
    /// keeps it, so that a fast stream does not ask for its memory again and again.
    fn trim(&mut self) {
        let last = self.read_last.take();
        let entry = last.and_then(|id| self.entries.get_mut(&id));
        if let Some(recv) = entry.and_then(|e| e.recv.as_mut()) {
            recv.trim();
        }
    }

    /// Puts a stream into the round-robin queue if it has something to send.
    fn schedule(&mut self, id: u64) {
        if let Some(send) = self.entries.get_mut(&id).and_then(|e| e.send.as_mut())
            && send.sendable()
            && !send.scheduled
        {
            send.scheduled = true;
            self.ready.push_back(id);
        }
    }

    /// Removes what is over.
    fn collect(&mut self, id: u64) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        // A half that was stopped stays until its end is known, to account for what still comes.
        let over = |r: &RecvStream| r.done && (!r.stopped || r.reset.is_some() || r.end_known());
        let recv_over = entry.recv.as_ref().is_none_or(over);
        if entry.send.is_none() && recv_over {
            self.entries.remove(&id);
            if !self.is_local(id) {
                self.accept_max += 1;
                self.raise_streams = true;
            }
        }
    }

    /// Frees the memory kept for further data.
    pub(crate) fn release(&mut self) {
        for entry in self.entries.values_mut() {
            if let Some(send) = &mut entry.send {
                send.release();
            }
            if let Some(recv) = &mut entry.recv {
                recv.release();
            }
        }
        free_spare(&mut self.to_accept);
        free_spare(&mut self.ready);
    }

    /// Bytes that are missing in gaps: there is memory for them.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// Something waits to be sent.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.ready.is_empty()
            || !self.resets.is_empty()
            || !self.stops.is_empty()
            || !self.raise.is_empty()
            || self.raise_streams
    }

    /// Something waits to be sent and credit allows it.
    pub(crate) fn sendable(&self, credit: &Credit) -> bool {
        !self.resets.is_empty()
            || !self.stops.is_empty()
            || !self.raise.is_empty()
            || self.raise_streams
            || self.ready.iter().any(|id| {
                credit.available() > 0
                    || self
                        .entries
                        .get(id)
                        .and_then(|e| e.send.as_ref())
                        .is_some_and(|s| s.queued() == 0)
            })
    }

    /// Nothing written is left to send.
    pub(crate) fn is_drained(&self) -> bool {
        self.queued == 0 && self.ready.is_empty() && self.resets.is_empty()
    }

    /// Bytes accepted and not yet sent.
    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Writes control frames; true when any were.
    pub(crate) fn fill_control(&mut self, writer: &mut FrameWriter<'_>, esi: Esi) -> bool {
        let mut wrote = false;
        while let Some(&id) = self.resets.front() {
            let send = self.entries.get_mut(&id).and_then(|e| e.send.as_mut());
            if let Some(send) = send
                && let Some(code) = send.reset
            {
                if !writer.control(Frame::Reset { id, code }) {
                    return wrote;
                }
                send.end_sent = Some(esi);
                self.ending.insert((esi, id));
                wrote = true;
            }
            self.resets.pop_front();
        }
        while let Some(&(id, code)) = self.stops.front() {
            if !writer.control(Frame::Stop { id, code }) {
                return wrote;
            }
            self.stops.pop_front();
            wrote = true;
        }
        if self.raise_streams && writer.control(Frame::MaxStreams(self.accept_max)) {
            self.raise_streams = false;
            wrote = true;
        }
        while let Some(&id) = self.raise.first() {
            if let Some(recv) = self.entries.get_mut(&id).and_then(|e| e.recv.as_mut()) {
                let max = recv.next_grant(&self.limits);
                if !writer.control(Frame::MaxStreamData { id, max }) {
                    return wrote;
                }
                recv.grant(max);
                wrote = true;
            }
            self.raise.pop_first();
        }
        wrote
    }

    /// Writes stream data, one frame per stream in turn; returns how much, or `None` when not
    /// even an empty frame was written.
    pub(crate) fn fill_data(
        &mut self,
        writer: &mut FrameWriter<'_>,
        esi: Esi,
        credit: &mut Credit,
        events: &mut VecDeque<Event>,
    ) -> Option<FilledData> {
        let mut wrote: Option<FilledData> = None;
        for _ in 0..self.ready.len() {
            let Some(id) = self.ready.pop_front() else {
                break;
            };
            let Some(send) = self.entries.get_mut(&id).and_then(|e| e.send.as_mut()) else {
                continue;
            };
            if !send.sendable() {
                send.scheduled = false;
                continue;
            }
            let offset_estimate = send.max_data;
            let room = writer.stream_room(id, offset_estimate) as u64;
            let only_end = send.queued() == 0;
            if room == 0 {
                self.ready.push_front(id);
                break;
            }
            if credit.available() == 0 && !only_end {
                self.ready.push_back(id);
                continue;
            }
            let taken = send.take(room.min(credit.available()));
            let (len, fin) = (taken.len as u64, taken.fin);
            writer.stream(id, taken.offset, fin, taken.parts());
            drop(taken);
            credit.spend(len);
            self.queued -= len as usize;
            let filled = wrote.get_or_insert_default();
            filled.len += len;
            filled.ends |= fin;
            if fin {
                send.end_sent = Some(esi);
                self.ending.insert((esi, id));
            }
            if send.writer_blocked && send.queued() <= self.send_buffer / 2 {
                send.writer_blocked = false;
                events.push_back(Event::StreamWritable(StreamId(id)));
            }
            match send.sendable() {
                true => self.ready.push_back(id),
                false => send.scheduled = false,
            }
        }
        wrote
    }

    /// Every symbol below `edge` is acknowledged.
    pub(crate) fn acknowledged(&mut self, edge: Esi, events: &mut VecDeque<Event>) {
        while let Some(&(esi, id)) = self.ending.first() {
            if esi >= edge {
                break;
            }
            self.ending.pop_first();
            if let Some(entry) = self.entries.get_mut(&id)
                && let Some(send) = &entry.send
                && send.end_sent == Some(esi)
            {
                if send.reset.is_none() {
                    events.push_back(Event::StreamFinished(StreamId(id)));
                }
                entry.stopped = send.stopped;
                entry.send = None;
                self.collect(id);
            }
        }
    }

    /// Finds or creates the stream that a frame names; `None` when it is over already.
    fn resolve(
        &mut self,
        id: u64,
        events: &mut VecDeque<Event>,
    ) -> Result<Option<&mut Entry>, Violation> {
        let index = id / 2;
        if self.is_local(id) {
            if index >= self.opened {
                return Err(Violation::UnopenedStream);
            }
        } else {
            if index >= self.accept_max {
                return Err(Violation::TooManyStreams);
            }
            while self.accepted <= index {
                let new = self.accepted * 2 + (id & 1);
                self.accepted += 1;
                let entry = self.entry();
                self.entries.insert(new, entry);
                self.to_accept.push_back(StreamId(new));
                events.push_back(Event::StreamOpened);
            }
        }
        Ok(self.entries.get_mut(&id))
    }

    pub(crate) fn on_stream(
        &mut self,
        inbound: Inbound<'_>,
        credit: &mut Credit,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Violation> {
        let Inbound {
            id,
            offset,
            fin,
            data,
        } = inbound;
        let len = data.len() as u64;
        if !credit.receive(len) {
            return Err(Violation::SessionCredit);
        }
        // An honest peer has sent what is missing, with credit for it.
        let room = credit.receivable().saturating_sub(self.missing);
        let Some(recv) = self.resolve(id, events)?.and_then(|e| e.recv.as_mut()) else {
            credit.consume(len);
            return Ok(());
        };
        let unwanted = recv.stopped || recv.reset.is_some();
        let before = (recv.gaps(), recv.missing());
        recv.insert(offset, data, fin, room)?;
        let after = (recv.gaps(), recv.missing());
        if unwanted {
            credit.consume(len);
        }
        let readable = !unwanted && (recv.has_ready() || recv.is_complete());
        if readable && !recv.announced {
            recv.announced = true;
            events.push_back(Event::StreamReadable(StreamId(id)));
        }
        self.gaps = self.gaps - before.0 + after.0;
        self.missing = self.missing - before.1 + after.1;
        if self.gaps > GAPS_PER_SYMBOL * self.limits.symbols {
            return Err(Violation::TooManyFragments);
        }
        self.collect(id);
        Ok(())
    }

    pub(crate) fn on_reset(
        &mut self,
        id: u64,
        code: u64,
        credit: &mut Credit,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Violation> {
        let Some(recv) = self.resolve(id, events)?.and_then(|e| e.recv.as_mut()) else {
            return Ok(());
        };
        if recv.reset.is_none() && !recv.done {
            recv.reset = Some(code);
            recv.announced = true;
            events.push_back(Event::StreamReadable(StreamId(id)));
            let (gaps, missing) = (recv.gaps(), recv.missing());
            credit.consume(recv.discard());
            self.gaps -= gaps;
            self.missing -= missing;
        } else if recv.reset.is_none() {
            recv.reset = Some(code);
        }
        self.collect(id);
        Ok(())
    }

    pub(crate) fn on_stop(
        &mut self,
        id: u64,
        code: u64,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Violation> {
        let Some(send) = self.resolve(id, events)?.and_then(|e| e.send.as_mut()) else {
            return Ok(());
        };
        if send.stopped.is_none() && send.reset.is_none() {
            send.stopped = Some(code);
            let unsent = send.queued();
            send.give_up(code);
            self.queued -= unsent;
            self.resets.push_back(id);
            events.push_back(Event::StreamStopped {
                id: StreamId(id),
                code,
            });
        }
        Ok(())
    }

    pub(crate) fn on_max_stream_data(
        &mut self,
        id: u64,
        max: u64,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Violation> {
        if let Some(send) = self.resolve(id, events)?.and_then(|e| e.send.as_mut()) {
            send.max_data = send.max_data.max(max);
        }
        self.schedule(id);
        Ok(())
    }

    /// True: a blocked `open` may be tried again.
    pub(crate) fn on_max_streams(&mut self, max: u64) -> bool {
        self.open_max = self.open_max.max(max);
        self.opened < self.open_max && core::mem::take(&mut self.open_blocked)
    }
}

#[cfg(test)]
mod memory;
#[cfg(test)]
mod model;
