//! What two honest ends must see of each other's streams and messages.

use std::collections::BTreeMap;

use crate::{Message, ReadError, StreamId, WriteError};

/// Byte `position` of the data that end `writer` sends under the name `id`. It reveals any mix-up or
/// shift.
pub(super) fn byte(writer: usize, id: u64, position: u64) -> u8 {
    let name = id.wrapping_mul(2).wrapping_add(writer as u64);
    let mixed = (name << 32 ^ position).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

pub(super) fn bytes(writer: usize, id: u64, from: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|i| byte(writer, id, from + i))
        .collect()
}

/// One direction of a stream.
#[derive(Debug, Default)]
pub(super) struct Half {
    pub(super) written: u64,
    pub(super) finished: bool,
    pub(super) reset: Option<u64>,
    /// The writer learned that all data has arrived.
    pub(super) acknowledged: bool,
    pub(super) read: u64,
    /// The reader saw the end or the reset.
    pub(super) ended: bool,
    pub(super) stopped: Option<u64>,
}

/// A message in flight.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) len: usize,
    pub(super) reliable: bool,
    pub(super) received: bool,
}

/// Everything that one end has sent to the other.
#[derive(Debug, Default)]
pub(super) struct Direction {
    pub(super) writer: usize,
    pub(super) halves: BTreeMap<StreamId, Half>,
    pub(super) messages: Vec<Sent>,
}

impl Direction {
    pub(super) fn half(&mut self, id: StreamId) -> &mut Half {
        self.halves.entry(id).or_default()
    }

    pub(super) fn wrote(&mut self, id: StreamId, outcome: &Result<usize, WriteError>) {
        let half = self.half(id);
        match outcome {
            Ok(n) => {
                assert!(!half.finished && half.reset.is_none());
                half.written += *n as u64;
            }
            Err(WriteError::Stopped(code)) => assert_eq!(half.stopped, Some(*code)),
            Err(WriteError::Finished) => {
                assert!(half.finished || half.reset.is_some() || half.stopped.is_some());
            }
            Err(WriteError::Blocked | WriteError::Closed(_)) => {}
            Err(WriteError::Unknown) => panic!("{id:?} is open, yet unknown to its writer"),
        }
    }

    pub(super) fn has_read(
        &mut self,
        id: StreamId,
        outcome: &Result<usize, ReadError>,
        buf: &[u8],
    ) {
        let writer = self.writer;
        let half = self.half(id);
        if half.ended {
            assert!(!matches!(outcome, Ok(1..)), "{id:?} goes on after its end");
            return;
        }
        match outcome {
            Ok(0) if buf.is_empty() => {}
            Ok(0) => {
                assert!(half.finished, "{id:?} ended before it was finished");
                assert_eq!(half.read, half.written, "{id:?} ended early");
                half.ended = true;
            }
            Ok(n) => {
                let expected = bytes(writer, id.0, half.read, *n);
                assert_eq!(buf[..*n], expected, "{id:?} at {}", half.read);
                half.read += *n as u64;
                assert!(
                    half.read <= half.written,
                    "{id:?} delivers more than was written"
                );
            }
            Err(ReadError::Reset(code)) => {
                assert_eq!(half.reset, Some(*code));
                half.ended = true;
            }
            Err(ReadError::Unknown) => {
                assert!(half.stopped.is_some(), "{id:?} is unknown: {half:?}")
            }
            Err(ReadError::Blocked) => {
                let all = half.acknowledged && half.reset.is_none();
                assert!(!all, "{id:?} is acknowledged but cannot be read: {half:?}");
            }
            Err(ReadError::Closed(_)) => {}
        }
    }

    pub(super) fn received(&mut self, message: &Message) {
        let id = message.id.0;
        let sent = match self.messages.get_mut(id as usize) {
            Some(sent) => sent,
            None => panic!("message {id} was never sent"),
        };
        assert!(
            !core::mem::replace(&mut sent.received, true),
            "message {id} was delivered twice"
        );
        assert_eq!(
            message.data,
            bytes(self.writer, !id, 0, sent.len),
            "message {id}"
        );
    }

    /// Checks what must be true once everything was delivered and both ends are open.
    pub(super) fn assert_complete(&self) {
        for (id, half) in &self.halves {
            if half.stopped.is_some() {
                continue;
            }
            if half.reset.is_some() {
                assert!(half.ended, "reset of {id:?} never arrived: {half:?}");
                continue;
            }
            assert_eq!(half.read, half.written, "{id:?}: {half:?}");
            assert_eq!(half.ended, half.finished, "{id:?}: {half:?}");
            assert_eq!(half.acknowledged, half.finished, "{id:?}: {half:?}");
        }
        for (id, sent) in self.messages.iter().enumerate() {
            assert!(
                sent.received || !sent.reliable,
                "message {id} never arrived"
            );
        }
    }
}
