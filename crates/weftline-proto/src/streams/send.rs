//! The sending half of a stream.

use std::collections::VecDeque;

use weftline_codec::Esi;

use crate::spare::free_spare;

/// Bytes accepted from the application and not yet put into symbols, and the stream's end.
#[derive(Debug, Default)]
pub(super) struct SendStream {
    queue: VecDeque<u8>,
    /// Position of the first queued byte.
    offset: u64,
    /// The peer accepts bytes below this position.
    pub(super) max_data: u64,
    /// The application finished the stream.
    finished: bool,
    /// The symbol that carried the end.
    pub(super) end_sent: Option<Esi>,
    /// The application, or a STOP of the peer, gave the stream up.
    pub(super) reset: Option<u64>,
    /// The peer no longer reads.
    pub(super) stopped: Option<u64>,
    /// The last write found no room: say when there is some again.
    pub(super) writer_blocked: bool,
    /// It is in the table's round-robin queue.
    pub(super) scheduled: bool,
}

impl SendStream {
    pub(super) fn new(max_data: u64) -> Self {
        SendStream {
            max_data,
            ..SendStream::default()
        }
    }

    /// Frees the memory kept for further bytes.
    pub(super) fn release(&mut self) {
        free_spare(&mut self.queue);
    }

    /// Nothing more can be written.
    pub(super) fn is_finished(&self) -> bool {
        self.finished || self.reset.is_some()
    }

    /// Takes what fits of `data`, with at most `buffer` bytes queued.
    pub(super) fn write(&mut self, data: &[u8], buffer: usize) -> usize {
        let room = buffer.saturating_sub(self.queue.len());
        let taken = data.len().min(room);
        self.queue.extend(&data[..taken]);
        taken
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    /// Drops what is queued; the stream's end is then told by RESET.
    pub(super) fn give_up(&mut self, code: u64) {
        self.reset = Some(code);
        self.queue = VecDeque::new();
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// There is something to send that the stream's own credit allows.
    pub(super) fn sendable(&self) -> bool {
        self.reset.is_none()
            && (self.finished && self.end_sent.is_none() && self.queue.is_empty()
                || !self.queue.is_empty() && self.offset < self.max_data)
    }

    /// Takes at most `max` bytes to send at the returned offset; true: the stream ends with them.
    pub(super) fn take(&mut self, max: u64) -> Taken<'_> {
        let len = (self.queue.len() as u64)
            .min(max)
            .min(self.max_data.saturating_sub(self.offset)) as usize;
        let offset = self.offset;
        self.offset += len as u64;
        Taken {
            offset,
            fin: self.finished && len == self.queue.len(),
            len,
            queue: &mut self.queue,
        }
    }
}

/// Bytes on their way out of the queue; dropping it removes them.
pub(super) struct Taken<'a> {
    pub(super) offset: u64,
    pub(super) fin: bool,
    pub(super) len: usize,
    queue: &'a mut VecDeque<u8>,
}

impl Taken<'_> {
    pub(super) fn parts(&self) -> [&[u8]; 2] {
        let (a, b) = self.queue.as_slices();
        let first = a.len().min(self.len);
        [&a[..first], &b[..self.len - first]]
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.queue.drain(..self.len);
    }
}
