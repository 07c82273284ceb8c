//! H.264 as a byte stream (ITU-T H.264, annex B).

use memchr::memmem;

use super::h264::Pictures;
use super::{LONGEST_FRAME, Parse, Unit};

/// Cuts a byte stream at its start codes.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// The NAL unit that is being collected, or what may be the start of a start code.
    buffer: Vec<u8>,
    /// Bytes of the buffer in which no start code begins.
    searched: usize,
    is_inside: bool,
    /// When the NAL unit's first byte came in.
    came: u64,
}

impl Splitter {
    /// Takes bytes; calls `take` for each complete NAL unit, with the time at which it began. False: a NAL
    /// unit was too long, and is lost.
    pub(super) fn push(&mut self, bytes: &[u8], at: u64, mut take: impl FnMut(&[u8], u64)) -> bool {
        self.buffer.extend_from_slice(bytes);
        let mut begin = 0;
        while let Some(found) = memmem::find(&self.buffer[self.searched..], &[0, 0, 1]) {
            let code = self.searched + found;
            if self.is_inside {
                take(without_zeros(&self.buffer[begin..code]), self.came);
            }
            (begin, self.searched) = (code + 3, code + 3);
            (self.is_inside, self.came) = (true, at);
        }
        // A start code may begin with the last two bytes.
        self.searched = self.searched.max(self.buffer.len().saturating_sub(2));
        if !self.is_inside {
            begin = self.searched;
        }
        self.buffer.drain(..begin);
        self.searched -= begin;
        let fits = self.buffer.len() <= LONGEST_FRAME;
        if !fits {
            self.clear();
        }
        fits
    }

    /// The stream ends, or pauses where a NAL unit ends.
    pub(super) fn end(&mut self, take: impl FnOnce(&[u8], u64)) {
        if self.is_inside {
            take(without_zeros(&self.buffer), self.came);
        }
        self.clear();
    }

    /// Forgets an incomplete NAL unit.
    pub(super) fn clear(&mut self) {
        *self = Splitter::default();
    }
}

/// Zeros behind a NAL unit belong to the next start code.
fn without_zeros(nal: &[u8]) -> &[u8] {
    let end = nal.iter().rposition(|byte| *byte != 0);
    &nal[..end.map_or(0, |end| end + 1)]
}

/// A writer that was interrupted in the middle of a picture has written whole pages, or whole buffers: the
/// kernel's pipes take pages, and the buffers of programs are multiples of them.
const PAGE: usize = 4096;

/// H.264 as a byte stream. A picture is complete when the next one begins, or when a live source is quiet.
#[derive(Debug, Default)]
pub(in crate::view) struct AnnexB {
    splitter: Splitter,
    pictures: Pictures,
    /// Bytes since the source was quiet.
    written: usize,
}

impl Parse for AnnexB {
    fn push(&mut self, bytes: &[u8], at: u64, out: &mut Vec<Unit>) {
        if self.written == 0 && !self.splitter.is_inside && !begins(bytes) {
            // What was taken for complete was not.
            self.pictures.lost();
        }
        self.written += bytes.len();
        let pictures = &mut self.pictures;
        let take = |nal: &[u8], came| pictures.nal(nal, None, came, out);
        if !self.splitter.push(bytes, at, take) {
            self.pictures.lost();
        }
    }

    fn quiet(&mut self, out: &mut Vec<Unit>) {
        if !self.written.is_multiple_of(PAGE) {
            self.end(out);
        }
    }

    fn end(&mut self, out: &mut Vec<Unit>) {
        let pictures = &mut self.pictures;
        self.splitter
            .end(|nal, came| pictures.nal(nal, None, came, out));
        self.pictures.flush(out);
        self.written = 0;
    }

    fn frame_time(&self) -> Option<u64> {
        self.pictures.frame_time()
    }
}

/// Whether a start code is the first that comes, as far as it can be seen.
fn begins(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    zeros == bytes.len() || zeros >= 2 && bytes[zeros] == 1
}
