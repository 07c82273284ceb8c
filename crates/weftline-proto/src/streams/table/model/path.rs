//! What crosses the path.

use super::*;
use crate::wire::Frames;

impl World {
    pub(super) fn transmit(&mut self, end: usize) {
        let max = 40 + self.draw(100) as usize;
        let work = self.has_work(end);
        let due = self.is_credit_due(end);
        let e = &mut self.ends[end];
        assert_eq!(e.credit.update_due(), due);
        let sendable = e.streams.sendable(&e.credit) || due;
        let (mut symbol, mut events) = (Vec::new(), VecDeque::new());
        let mut writer = FrameWriter::new(&mut symbol, max);
        e.streams.fill_control(&mut writer, e.next);
        if due && writer.room() > 9 {
            writer.control(Frame::MaxData(e.credit.update()));
        }
        let filled = e
            .streams
            .fill_data(&mut writer, e.next, &mut e.credit, &mut events);
        let esi = e.next;
        assert_eq!(symbol.is_empty(), !work, "{max} bytes");
        assert!(sendable || !work);
        assert!(symbol.len() <= max);
        if symbol.is_empty() {
            assert!(!e.streams.sendable(&e.credit), "it would be asked again");
            return;
        }
        e.next += 1;
        let (mut expected, before) = (VecDeque::new(), self.ends[end].sent);
        let mut ends = false;
        for frame in Frames::new(&symbol) {
            let frame = frame.unwrap();
            ends |= matches!(frame, Frame::Stream { fin: true, .. });
            self.sent(end, esi, frame, &mut expected);
        }
        assert_eq!(events, expected);
        let filled = filled.unwrap_or_default();
        assert_eq!(filled.len, self.ends[end].sent - before);
        assert_eq!(filled.ends, ends);
        self.flying.push((end, esi, symbol));
    }

    /// The frame is one that the end should have sent.
    fn sent(&mut self, end: usize, esi: Esi, frame: Frame<'_>, events: &mut VecDeque<Event>) {
        match frame {
            Frame::Stream {
                id,
                offset,
                fin,
                data,
            } => {
                let h = self.writes(end, id).expect("it writes");
                assert!(h.reset.is_none() && h.end.is_none());
                assert_eq!(offset, h.sent);
                h.sent += data.len() as u64;
                assert!(h.sent <= h.max && h.sent <= h.written);
                assert_eq!(fin, h.finished && h.sent == h.written);
                assert!(fin || !data.is_empty());
                h.end = fin.then_some(esi);
                if h.blocked && h.queued() <= BUFFER as u64 / 2 {
                    h.blocked = false;
                    events.push_back(Event::StreamWritable(StreamId(id)));
                }
                let bytes = (offset..).map(|at| byte(end, id, at));
                assert!(bytes.zip(data).all(|(expected, got)| expected == *got));
                self.ends[end].sent += data.len() as u64;
                assert!(self.ends[end].sent <= self.ends[end].session_max);
            }
            Frame::Reset { id, code } => {
                let h = self.writes(end, id).expect("it writes");
                assert!(!h.reset_sent && h.reset == Some(code));
                (h.reset_sent, h.end) = (true, Some(esi));
            }
            Frame::Stop { id, code } => {
                let h = self.halves.get_mut(&(1 - end, id)).expect("it is known");
                assert!(core::mem::take(&mut h.stop_due) && h.stop == Some(code));
            }
            Frame::MaxStreamData { id, max } => {
                let h = self.reads(end, id).expect("it reads");
                assert!(core::mem::take(&mut h.raise));
                let dropped = h.stop.is_some() || h.reset_arrived.is_some();
                let read = max - LIMITS.stream_data;
                assert!(read == h.read || dropped && h.read < read && read <= h.edge());
                h.granted = max;
            }
            Frame::MaxStreams(max) => {
                assert_eq!(max, self.room(end));
                self.ends[end].granted_streams = max;
            }
            Frame::MaxData(max) => {
                let unread = self.sum(1 - end, Half::unread);
                let e = &mut self.ends[end];
                e.granted = max;
                assert_eq!(max, e.received - unread + LIMITS.session_data);
            }
            Frame::Message { .. } => unreachable!("nobody sends any"),
        }
    }

    /// One of the symbols on the path arrives.
    pub(super) fn deliver(&mut self) {
        let index = self.draw(self.flying.len() as u64) as usize;
        let (from, esi, symbol) = self.flying.remove(index);
        self.ends[from].arrived.insert(esi);
        let end = 1 - from;
        for frame in Frames::new(&symbol) {
            let frame = frame.unwrap();
            let mut expected = VecDeque::new();
            if let Frame::Stream { id, .. }
            | Frame::Reset { id, .. }
            | Frame::Stop { id, .. }
            | Frame::MaxStreamData { id, .. } = frame
            {
                self.meet(end, id, &mut expected);
            }
            self.arrives(end, frame, &mut expected);
            let e = &mut self.ends[end];
            let (streams, credit, events) = (&mut e.streams, &mut e.credit, &mut e.events);
            let handled = match frame {
                Frame::Stream {
                    id,
                    offset,
                    fin,
                    data,
                } => {
                    let inbound = Inbound {
                        id,
                        offset,
                        fin,
                        data,
                    };
                    streams.on_stream(inbound, credit, events)
                }
                Frame::Reset { id, code } => streams.on_reset(id, code, credit, events),
                Frame::Stop { id, code } => streams.on_stop(id, code, events),
                Frame::MaxStreamData { id, max } => streams.on_max_stream_data(id, max, events),
                Frame::MaxStreams(max) => {
                    e.allowed = e.allowed.max(max);
                    let unblocked = e.blocked && e.opened < e.allowed;
                    e.blocked &= !unblocked;
                    assert_eq!(streams.on_max_streams(max), unblocked);
                    Ok(())
                }
                Frame::MaxData(max) => {
                    credit.raise(max);
                    e.session_max = e.session_max.max(max);
                    Ok(())
                }
                Frame::Message { .. } => unreachable!("nobody sends any"),
            };
            assert_eq!(handled, Ok(()), "{frame:?}");
            assert_eq!(core::mem::take(events), expected, "{frame:?}");
        }
    }

    /// A frame names a stream, which may be new.
    fn meet(&mut self, end: usize, id: u64, events: &mut VecDeque<Event>) {
        while id % 2 != end as u64 && self.ends[end].seen <= id / 2 {
            let new = self.ends[end].seen * 2 + id % 2;
            self.ends[end].seen += 1;
            self.create(end, new);
            events.push_back(Event::StreamOpened);
        }
    }

    /// What the frame should do.
    fn arrives(&mut self, end: usize, frame: Frame<'_>, events: &mut VecDeque<Event>) {
        match frame {
            Frame::Stream {
                id,
                offset,
                fin,
                data,
            } => {
                self.ends[end].received += data.len() as u64;
                let h = self.halves.get_mut(&(1 - end, id)).expect("it was opened");
                let to = offset as usize + data.len();
                h.arrived.resize(h.arrived.len().max(to), false);
                h.arrived[offset as usize..to].fill(true);
                if fin {
                    h.end_at = Some(to as u64);
                }
                let wanted = h.stop.is_none() && h.reset_arrived.is_none() && !h.over;
                if wanted && !h.announced && (h.edge() > h.read || h.is_complete()) {
                    h.announced = true;
                    events.push_back(Event::StreamReadable(StreamId(id)));
                }
            }
            Frame::Reset { id, code } => {
                let h = self.halves.get_mut(&(1 - end, id)).expect("it was opened");
                h.reset_arrived = Some(code);
                if h.stop.is_none() && !h.over {
                    h.announced = true;
                    events.push_back(Event::StreamReadable(StreamId(id)));
                }
            }
            Frame::Stop { id, code } => {
                if let Some(h) = self.writes(end, id)
                    && h.reset.is_none()
                {
                    (h.reset, h.heard) = (Some(code), Some(code));
                    let id = StreamId(id);
                    events.push_back(Event::StreamStopped { id, code });
                }
            }
            Frame::MaxStreamData { id, max } => {
                if let Some(h) = self.writes(end, id) {
                    h.max = h.max.max(max);
                }
            }
            _ => {}
        }
    }

    pub(super) fn acknowledge(&mut self, end: usize) {
        let e = &mut self.ends[end];
        let edge = (0..).find(|esi| !e.arrived.contains(esi)).unwrap_or(0);
        let mut over: Vec<(Esi, u64, bool)> = Vec::new();
        for (&(writer, id), h) in &mut self.halves {
            if writer == end && !h.gone && h.end.is_some_and(|end| end < edge) {
                h.gone = true;
                over.push((h.end.unwrap_or(0), id, h.reset.is_none()));
            }
        }
        over.sort_unstable();
        let finished = over.into_iter().filter(|o| o.2);
        let expected: Vec<Event> = finished
            .map(|o| Event::StreamFinished(StreamId(o.1)))
            .collect();
        let e = &mut self.ends[end];
        e.streams.acknowledged(edge, &mut e.events);
        assert_eq!(Vec::from(core::mem::take(&mut e.events)), expected);
    }

    pub(super) fn hello(&mut self, end: usize) {
        let e = &mut self.ends[end];
        e.allowed = e.allowed.max(LIMITS.streams.into());
        e.session_max = e.session_max.max(LIMITS.session_data);
        e.credit.raise(LIMITS.session_data);
        let unblocked = e.blocked && e.opened < e.allowed;
        e.blocked &= !unblocked;
        assert_eq!(e.streams.set_peer_limits(LIMITS), unblocked);
        for id in e.streams.entries.keys().copied().collect::<Vec<_>>() {
            if let Some(h) = self.writes(end, id) {
                h.max = h.max.max(LIMITS.stream_data);
            }
        }
    }
}
