//! What the applications do.

use super::*;

impl World {
    pub(super) fn open(&mut self, end: usize) {
        let e = &mut self.ends[end];
        let id = e.opened * 2 + end as u64;
        if e.opened >= e.allowed {
            e.blocked = true;
            assert_eq!(e.streams.open(), Err(OpenError::Blocked));
            return;
        }
        assert_eq!(e.streams.open(), Ok(StreamId(id)));
        e.opened += 1;
        self.create(end, id);
    }

    /// The end has a stream that it did not have before.
    pub(super) fn create(&mut self, end: usize, id: u64) {
        let max = self.ends[end].streams.peer.stream_data;
        self.halves.entry((end, id)).or_default().max = max;
        self.halves.entry((1 - end, id)).or_default().granted = LIMITS.stream_data;
    }

    pub(super) fn write(&mut self, end: usize, id: u64, len: u64) {
        let known = self.knows(end, id);
        let expected = match self.writes(end, id) {
            None if known => Err(WriteError::Finished),
            None => Err(WriteError::Unknown),
            Some(Half {
                heard: Some(code), ..
            }) => Err(WriteError::Stopped(*code)),
            Some(h) if h.finished || h.reset.is_some() => Err(WriteError::Finished),
            Some(h) => match len.min(BUFFER as u64 - h.queued()) {
                0 => Err(WriteError::Blocked),
                taken => Ok(taken as usize),
            },
        };
        let from = self.halves.get(&(end, id)).map_or(0, |h| h.written);
        let data: Vec<u8> = (from..from + len).map(|at| byte(end, id, at)).collect();
        let got = self.ends[end].streams.write(StreamId(id), &data);
        // Once both halves are gone, the table no longer knows who ended them.
        let heard = self.halves.get(&(end, id)).and_then(|h| h.heard);
        match (heard, &expected) {
            (Some(code), Err(WriteError::Finished)) if !self.is_over(end, id) => {
                assert_eq!(got, Err(WriteError::Stopped(code)));
            }
            _ => assert_eq!(got, expected),
        }
        if let Some(h) = self.writes(end, id) {
            h.blocked |= got == Err(WriteError::Blocked);
            h.written += got.unwrap_or(0) as u64;
        }
    }

    pub(super) fn finish(&mut self, end: usize, id: u64) {
        let got = self.ends[end].streams.finish(StreamId(id));
        match self.writes(end, id) {
            Some(h) if !h.finished && h.reset.is_none() => {
                assert_eq!(got, Ok(()));
                h.finished = true;
            }
            _ => assert!(got.is_err()),
        }
    }

    pub(super) fn reset(&mut self, end: usize, id: u64, code: u64) {
        self.ends[end].streams.reset(StreamId(id), code);
        if let Some(h) = self.writes(end, id) {
            h.reset.get_or_insert(code);
        }
    }

    pub(super) fn stop(&mut self, end: usize, id: u64, code: u64) {
        let e = &mut self.ends[end];
        e.streams.stop(StreamId(id), code, &mut e.credit);
        if let Some(h) = self.reads(end, id)
            && h.stop.is_none()
        {
            h.stop = Some(code);
            h.stop_due = !h.end_known();
        }
    }

    pub(super) fn read(&mut self, end: usize, id: u64, len: usize) {
        let mut buf = vec![0; len];
        let e = &mut self.ends[end];
        let got = e.streams.read(StreamId(id), &mut buf, &mut e.credit);
        let Some(h) = self.reads(end, id).filter(|h| h.stop.is_none()) else {
            assert_eq!(got, Err(ReadError::Unknown), "stream {id}");
            return;
        };
        let there = if h.reset_arrived.is_some() {
            0
        } else {
            h.edge() - h.read
        };
        let expected = match h.reset_arrived {
            _ if there > 0 => Ok(there.min(len as u64) as usize),
            Some(code) => Err(ReadError::Reset(code)),
            None if h.is_complete() => Ok(0),
            None => Err(ReadError::Blocked),
        };
        assert_eq!(got, expected, "stream {id} at {end}");
        let from = h.read;
        match got {
            Err(ReadError::Blocked) => h.announced = false,
            Ok(n) if n > 0 => {
                h.read += n as u64;
                let window = LIMITS.stream_data;
                h.raise |= !h.end_known() && h.read + window - h.granted >= window / 4;
            }
            _ => h.over = true,
        }
        for (at, got) in (from..).zip(&buf[..got.unwrap_or(0)]) {
            assert_eq!(*got, byte(1 - end, id, at));
        }
    }

    pub(super) fn accept(&mut self, end: usize) {
        let e = &mut self.ends[end];
        let next = (e.taken < e.seen).then_some(StreamId(e.taken * 2 + 1 - end as u64));
        e.taken += u64::from(next.is_some());
        assert_eq!(e.streams.accept(), next);
    }
}
