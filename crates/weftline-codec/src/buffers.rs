//! The buffers of symbols and equations.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::symbol::LENGTH_BYTES;

/// The alignment of the bytes in our buffers: the longest register of any
/// kernel, and a cache line. Loads that straddle lines cost twice.
const ALIGNMENT: usize = 64;

/// The room of a buffer beyond its bytes, so that they can be aligned.
pub(crate) const SLACK: usize = ALIGNMENT - 1;

/// A run of bytes in a buffer: the coded form of a symbol, or the data of an
/// equation. Without bytes it is neither, with or without a buffer.
///
/// Half a cache line, and never across two: a decoder reads one for each
/// symbol, and its cache lines displace those of symbols.
#[derive(Clone, Debug, Default)]
#[cfg_attr(target_pointer_width = "64", repr(align(32)))]
pub(crate) struct Coded {
    buffer: Vec<u8>,
    place: Place,
}

/// Where in its buffer a run of bytes is, and its flags, in one word: it is
/// written with every symbol, and a stream of symbols waits for stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place(u64);

impl Place {
    /// The buffer belongs to the caller, who wants it back.
    const LENT: u64 = 1 << 62;
    /// The length bytes are not written yet.
    const BARE: u64 = 1 << 63;
    /// The first bit of the length, which is below 2^24, ...
    const LENGTH: u32 = 32;
    /// ... and of the home, below [`ALIGNMENT`].
    const HOME: u32 = 56;

    /// The bytes from `start` on, without a home and with these flags.
    #[inline(always)]
    fn new(start: u32, length: usize, flags: u64) -> Self {
        debug_assert!(length < 1 << (Self::HOME - Self::LENGTH));
        Self(u64::from(start) | (length as u64) << Self::LENGTH | flags)
    }

    #[inline(always)]
    fn start(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline(always)]
    fn length(self) -> usize {
        (self.0 >> Self::LENGTH) as usize & ((1 << (Self::HOME - Self::LENGTH)) - 1)
    }

    /// Where the coded form begins that [`Coded::overwrite`] makes next.
    #[inline(always)]
    fn home(self) -> usize {
        (self.0 >> Self::HOME) as usize % ALIGNMENT
    }

    #[inline(always)]
    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// The same with this length.
    #[inline(always)]
    fn with_length(self, length: usize) -> Self {
        let place = Self::new(
            self.start() as u32,
            length,
            self.0 & (Self::LENT | Self::BARE),
        );
        place.with_home(self.home())
    }

    /// The same with this home, if it had none.
    #[inline(always)]
    fn with_home(self, home: usize) -> Self {
        Self(self.0 | (home as u64) << Self::HOME)
    }
}

impl Coded {
    /// The coded form of the payload at this range of the caller's buffer,
    /// without a copy; returns the buffer if that is impossible.
    ///
    /// The range has been checked: [`LENGTH_BYTES`] precede it, it lies in the
    /// buffer, and it does not exceed the symbol size.
    #[inline(always)]
    pub(crate) fn in_place(mut buffer: Vec<u8>, payload: Range<usize>) -> Result<Self, Vec<u8>> {
        let first = payload.start - LENGTH_BYTES;
        let Ok(start) = u32::try_from(first) else {
            return Err(buffer);
        };
        let prefix = (payload.len() as u16).to_be_bytes();
        buffer[first..payload.start].copy_from_slice(&prefix);
        let place = Place::new(start, LENGTH_BYTES + payload.len(), Place::LENT);
        Ok(Self { buffer, place })
    }

    /// As [`in_place`](Self::in_place), in a coded form without a buffer, and
    /// without the length bytes. Returns the buffer if that is impossible.
    #[inline(always)]
    pub(crate) fn lend(&mut self, buffer: Vec<u8>, payload: Range<usize>) -> Result<(), Vec<u8>> {
        let Ok(start) = u32::try_from(payload.start - LENGTH_BYTES) else {
            return Err(buffer);
        };
        if self.has_buffer() {
            return Err(buffer);
        }
        self.buffer = buffer;
        let length = LENGTH_BYTES + payload.len();
        self.place = Place::new(start, length, Place::LENT | Place::BARE);
        Ok(())
    }

    /// Takes the buffer out, if it is the caller's.
    #[inline(always)]
    pub(crate) fn take_lent(&mut self) -> Option<Vec<u8>> {
        if !self.is_lent() {
            return None;
        }
        self.place = Place::default();
        Some(core::mem::take(&mut self.buffer))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.place.length()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(crate) fn has_buffer(&self) -> bool {
        self.buffer.capacity() > 0
    }

    /// Whether the buffer is the caller's.
    #[inline]
    pub(crate) fn is_lent(&self) -> bool {
        self.place.has(Place::LENT)
    }

    /// Drops all bytes.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.place = self.place.with_length(0);
    }

    /// Prepares a buffer of ours to be [overwritten](Self::overwrite) with
    /// payloads at a multiple of the [`ALIGNMENT`].
    #[inline]
    pub(crate) fn settle_down(&mut self) {
        let home = (aligned(&self.buffer) + ALIGNMENT - LENGTH_BYTES) % ALIGNMENT;
        self.place = self.place.with_home(home);
    }

    /// Becomes the coded form of a payload, which does not exceed the symbol
    /// size, in the same buffer and without the length bytes. Returns the
    /// payload there. Returns `None`, and changes nothing, if there is not
    /// enough room.
    #[inline(always)]
    pub(crate) fn overwrite(&mut self, payload: &[u8]) -> Option<&[u8]> {
        let home = self.place.home();
        let start = home + LENGTH_BYTES;
        let bytes = self.buffer.get_mut(start..start + payload.len())?;
        bytes.copy_from_slice(payload);
        let length = LENGTH_BYTES + payload.len();
        self.place = Place::new(home as u32, length, Place::BARE).with_home(home);
        Some(bytes)
    }

    /// Writes the length bytes, unless they are there.
    #[inline]
    pub(crate) fn complete(&mut self) {
        if self.place.has(Place::BARE) {
            self.place.0 &= !Place::BARE;
            let length = (self.len() - LENGTH_BYTES) as u16;
            self.bytes_mut()[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        debug_assert!(!self.place.has(Place::BARE), "the length is there");
        let start = self.place.start();
        &self.buffer[start..start + self.len()]
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let (start, length) = (self.place.start(), self.len());
        &mut self.buffer[start..start + length]
    }

    #[inline]
    pub(crate) fn payload(&self) -> &[u8] {
        let start = self.place.start();
        let payload = start + LENGTH_BYTES..start + self.len();
        self.buffer.get(payload).unwrap_or_default()
    }

    /// Drops all bytes from `length` on.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.place = self.place.with_length(self.len().min(length));
    }

    /// Appends zeros up to at least `length` bytes.
    pub(crate) fn lengthen(&mut self, length: usize, buffers: &mut Buffers) {
        let old = self.len();
        if length <= old {
            return;
        }
        if self.place.start() + length > self.buffer.len() {
            let mut longer = buffers.take(length);
            longer.bytes_mut()[..old].copy_from_slice(self.bytes());
            buffers.give(core::mem::replace(self, longer));
        }
        self.place = self.place.with_length(length);
        self.bytes_mut()[old..].fill(0);
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.capacity()
    }
}

/// Buffers between two uses, so that the next symbol needs no allocation.
///
/// There are never more of our own buffers than were in use at once. The
/// caller's buffers wait here to be [reclaimed](Self::reclaim).
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    /// Ours; their bytes are initialised, but arbitrary.
    free: Vec<Vec<u8>>,
    /// The caller's.
    spent: Vec<Vec<u8>>,
    /// The longest run of bytes asked for so far. New buffers hold this many,
    /// so that they need not be replaced when symbols differ in length.
    longest: usize,
}

impl Buffers {
    /// A buffer of ours with `length` arbitrary bytes.
    #[inline(always)]
    pub(crate) fn take(&mut self, length: usize) -> Coded {
        let mut buffer = self.free.pop().unwrap_or_default();
        let mut start = aligned(&buffer);
        if start + length > buffer.len() {
            buffer = self.allocate(length);
            start = aligned(&buffer);
        }
        let place = Place::new(start as u32, length, 0);
        Coded { buffer, place }
    }

    /// The coded form of a payload, which does not exceed the symbol size, in a
    /// buffer of ours.
    #[inline(always)]
    pub(crate) fn code(&mut self, payload: &[u8]) -> Coded {
        let mut coded = self.take(LENGTH_BYTES + payload.len());
        let (prefix, rest) = coded.bytes_mut().split_at_mut(LENGTH_BYTES);
        prefix.copy_from_slice(&(payload.len() as u16).to_be_bytes());
        rest.copy_from_slice(payload);
        coded
    }

    /// A copy of an equation's data.
    pub(crate) fn copy(&mut self, data: &[u8]) -> Coded {
        let mut coded = self.take(data.len());
        coded.bytes_mut().copy_from_slice(data);
        coded
    }

    /// Takes back a buffer that is no longer used.
    #[inline(always)]
    pub(crate) fn give(&mut self, coded: Coded) {
        if coded.is_lent() {
            self.spent.push(coded.buffer);
        } else {
            self.free.push(coded.buffer);
        }
    }

    /// Takes a buffer of the caller that is no longer used.
    #[inline]
    pub(crate) fn give_back(&mut self, buffer: Vec<u8>) {
        self.spent.push(buffer);
    }

    /// A buffer of the caller that is no longer used.
    #[inline]
    pub(crate) fn reclaim(&mut self) -> Option<Vec<u8>> {
        self.spent.pop()
    }

    /// The number of buffers.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.free.len() + self.spent.len()
    }

    /// Drops buffers until at most `most` are left, the caller's first.
    #[cold]
    pub(crate) fn keep(&mut self, at_most: usize) {
        while self.len() > at_most {
            if self.spent.pop().is_none() {
                self.free.pop();
            }
        }
    }

    /// No buffers, and as long ones as before when one is needed.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            longest: self.longest,
            ..Self::default()
        }
    }

    /// Bytes of the longest buffer of ours.
    pub(crate) fn longest(&self) -> usize {
        self.longest + SLACK
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let lists = [&self.free, &self.spent];
        let buffers = lists.iter().flat_map(|list| list.iter());
        buffers.map(Vec::capacity).sum::<usize>() + self.lists()
    }

    /// Bytes of the lists themselves.
    pub(crate) fn lists(&self) -> usize {
        (self.free.capacity() + self.spent.capacity()) * size_of::<Vec<u8>>()
    }

    #[cold]
    fn allocate(&mut self, length: usize) -> Vec<u8> {
        // Callers that never reclaim buffers must not accumulate them.
        self.spent.pop();
        self.longest = self.longest.max(length);
        vec![0; self.longest + SLACK]
    }
}

/// Where the first aligned byte of a buffer is.
#[inline]
fn aligned(buffer: &[u8]) -> usize {
    // An interpreter without real addresses may find no aligned byte.
    match buffer.as_ptr().align_offset(ALIGNMENT) {
        offset if offset <= SLACK => offset,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_buffers_are_aligned_and_used_again() {
        let mut buffers = Buffers::default();
        for length in [1, 100, 1280, 64] {
            let coded = buffers.take(length);
            assert_eq!(coded.len(), length);
            assert_eq!(coded.bytes().as_ptr().align_offset(ALIGNMENT), 0);
            buffers.give(coded);
            assert_eq!(buffers.free.len(), 1);
        }
        assert_eq!(buffers.memory() / 1000, 1);
    }

    #[test]
    fn lengthening_keeps_the_bytes_and_adds_zeros_over_old_content() {
        let mut buffers = Buffers::default();
        let mut dirty = buffers.take(100);
        dirty.bytes_mut().fill(0xEE);
        buffers.give(dirty);
        let mut coded = buffers.copy(&[7; 10]);
        for length in [5, 10, 60, 100, 3000] {
            coded.lengthen(length, &mut buffers);
            let (kept, zeros) = coded.bytes().split_at(10);
            assert_eq!(kept, [7; 10]);
            assert!(zeros.iter().all(|byte| *byte == 0));
            assert_eq!(coded.len(), length.max(10));
        }
    }

    #[test]
    fn the_callers_buffers_come_back_and_are_not_mixed_with_ours() {
        let mut buffers = Buffers::default();
        let packet = vec![1, 2, 3, 4, 5, 6];
        let address = packet.as_ptr();
        let coded = Coded::in_place(packet, 3..5).unwrap();
        assert_eq!(coded.bytes(), [0, 2, 4, 5]);
        assert_eq!(coded.payload(), [4, 5]);
        buffers.give(coded);
        let ours = buffers.code(&[1]);
        assert_ne!(ours.buffer.as_ptr(), address);
        buffers.give(ours);
        // Making one of ours dropped the caller's, which nobody reclaimed.
        assert_eq!(buffers.reclaim(), None);
        buffers.give_back(vec![9]);
        assert_eq!(buffers.reclaim(), Some(vec![9]));
        buffers.give_back(vec![9]);
        buffers.keep(1);
        assert_eq!((buffers.free.len(), buffers.spent.len()), (1, 0));
        buffers.keep(0);
        assert!(buffers.free.is_empty());
    }
}
