//! The receiving half of a stream: reassembly.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::Limits;
use crate::spare::free_spare;
use crate::violation::Violation;

/// Bytes that a stream may keep for reuse.
const KEPT: usize = 64 << 10;

/// Positions that are remembered: the peer may still stop at each of those of a round trip, and there is a new
/// one for each quarter of a window.
const GRANTS: usize = 8;

/// The window of a stream that may grow.
#[derive(Debug)]
struct Growing {
    window: u64,
    most: u64,
    /// Positions that the peer was allowed to reach, the last one at the front.
    grants: [u64; GRANTS],
    /// Data ended where the credit did: the sender may have had more.
    held_back: bool,
}

/// Bytes received and not yet read, in order and beyond gaps.
#[derive(Debug, Default)]
pub(super) struct RecvStream {
    /// From the read position on; zeros in gaps.
    bytes: VecDeque<u8>,
    /// Position after the last in-order byte.
    edge: u64,
    /// Runs of bytes beyond a gap, their ends by their beginnings, and how many bytes these are.
    parked: BTreeMap<u64, u64>,
    parked_bytes: u64,
    /// Position of the end, once known.
    end: Option<u64>,
    /// The peer gave the stream up.
    pub(super) reset: Option<u64>,
    /// This end no longer reads.
    pub(super) stopped: bool,
    /// Position that the peer was last allowed to reach.
    max_data: u64,
    /// Most streams have none: they are small.
    growing: Option<Box<Growing>>,
    /// The application saw the end or the reset.
    pub(super) done: bool,
    /// A readable event was emitted and not yet followed by a read that found nothing.
    pub(super) announced: bool,
}

impl RecvStream {
    pub(super) fn new(limits: &Limits) -> Self {
        let (window, most) = (limits.stream_data, limits.stream_data_most.into());
        let growing = (window < most).then(|| {
            Box::new(Growing {
                window,
                most,
                grants: [window; GRANTS],
                held_back: false,
            })
        });
        RecvStream {
            max_data: window,
            growing,
            ..RecvStream::default()
        }
    }

    /// Bytes that may wait for the application, of a stream that may wait for that many at first.
    fn window(&self, limits: &Limits) -> u64 {
        let growing = self.growing.as_ref();
        growing.map_or(limits.stream_data, |growing| growing.window)
    }

    /// Position that the peer may reach now.
    pub(super) fn next_grant(&self, limits: &Limits) -> u64 {
        self.read_position() + self.window(limits)
    }

    /// The peer is allowed to reach this position.
    pub(super) fn grant(&mut self, position: u64) {
        self.max_data = position;
        if let Some(growing) = &mut self.growing {
            growing.grants.rotate_right(1);
            growing.grants[0] = position;
        }
    }

    /// Whether the next grant is worth a frame. The window doubles first if it is all that holds the
    /// sender back: the application has read all that came.
    pub(super) fn is_grant_due(&mut self, limits: &Limits) -> bool {
        let is_read = !self.has_ready();
        if let Some(growing) = &mut self.growing
            && growing.held_back
            && is_read
        {
            growing.held_back = false;
            growing.window = (2 * growing.window).min(growing.most);
            // What ends at an older one has not met the new window yet.
            growing.grants = [self.max_data; GRANTS];
        }
        let gain = self.next_grant(limits) - self.max_data;
        !self.end_known() && gain >= self.window(limits) / 4
    }

    /// Bytes arrived. Those that are missing before them may be `room` more.
    pub(super) fn insert(
        &mut self,
        offset: u64,
        data: &[u8],
        fin: bool,
        room: u64,
    ) -> Result<(), Violation> {
        let end = offset + data.len() as u64;
        if end > self.max_data {
            return Err(Violation::StreamCredit);
        }
        if let Some(growing) = &mut self.growing {
            growing.held_back |= !fin && growing.grants.contains(&end);
        }
        let highest = self.highest();
        match self.end {
            Some(known) if end > known || fin && end != known => return Err(Violation::StreamEnd),
            None if fin && end < highest => return Err(Violation::StreamEnd),
            _ => {}
        }
        if fin {
            self.end = Some(end);
        }
        if self.stopped || self.reset.is_some() || end <= self.edge || data.is_empty() {
            return Ok(());
        }
        if offset > highest + room {
            return Err(Violation::SessionCredit);
        }
        let read = self.read_position();
        if offset <= self.edge {
            let skip = (self.edge - offset) as usize;
            self.put((self.edge - read) as usize, &data[skip..]);
            self.edge = end;
            while let Some(run) = self
                .parked
                .first_entry()
                .filter(|run| *run.key() <= self.edge)
            {
                let (start, end) = run.remove_entry();
                self.parked_bytes -= end - start;
                self.edge = self.edge.max(end);
            }
            return Ok(());
        }
        // An honest peer sends each byte once; of a liar's overlaps the first stays.
        if self.park(offset, end) {
            self.put((offset - read) as usize, data);
        }
        Ok(())
    }

    /// Notes a run beyond a gap. Returns false if some of it came before.
    fn park(&mut self, start: u64, end: u64) -> bool {
        let mut after = self.parked.range(start..);
        let next = after.next().map_or(u64::MAX, |(at, _)| *at);
        let mut before = self.parked.range_mut(..start);
        let before = before.next_back().map(|(_, end)| end);
        if next < end || before.as_ref().is_some_and(|at| **at > start) {
            return false;
        }
        self.parked_bytes += end - start;
        match before.filter(|at| **at == start) {
            // Joined to its neighbours, so that runs count gaps and not frames.
            Some(joined) => *joined = end,
            None => drop(self.parked.insert(start, end)),
        }
        true
    }

    /// Writes bytes to their place, `start` bytes after the read position.
    fn put(&mut self, start: usize, data: &[u8]) {
        if start > self.bytes.len() {
            self.bytes.resize(start, 0);
        }
        let (within, beyond) = data.split_at(data.len().min(self.bytes.len() - start));
        let (front, back) = self.bytes.as_mut_slices();
        let cut = within.len().min(front.len().saturating_sub(start));
        let (to_front, to_back) = within.split_at(cut);
        if !to_front.is_empty() {
            front[start..start + cut].copy_from_slice(to_front);
        }
        if !to_back.is_empty() {
            let start = start + cut - front.len();
            back[start..start + to_back.len()].copy_from_slice(to_back);
        }
        self.bytes.extend(beyond);
    }

    /// Position after the highest byte that came.
    fn highest(&self) -> u64 {
        self.parked
            .last_key_value()
            .map_or(self.edge, |(_, end)| *end)
    }

    /// The number of gaps.
    pub(super) fn gaps(&self) -> u32 {
        self.parked.len() as u32
    }

    /// Bytes that are missing in the gaps.
    pub(super) fn missing(&self) -> u64 {
        self.highest() - self.edge - self.parked_bytes
    }

    /// Copies in-order bytes out.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> usize {
        let ready = (self.edge - self.read_position()) as usize;
        let n = buf.len().min(ready);
        let (a, b) = self.bytes.as_slices();
        let first = a.len().min(n);
        buf[..first].copy_from_slice(&a[..first]);
        buf[first..n].copy_from_slice(&b[..n - first]);
        self.bytes.drain(..n);
        n
    }

    /// Frees most of the memory of what was read when little is left: a peer that leaves a byte in each
    /// of many streams must not keep the memory of all that was there before.
    pub(super) fn trim(&mut self) {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        if capacity > KEPT && len < capacity / 4 {
            self.bytes.shrink_to(KEPT.max(2 * len));
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Frees the memory kept for further bytes.
    pub(super) fn release(&mut self) {
        free_spare(&mut self.bytes);
    }

    /// Position up to which the application has read.
    pub(super) fn read_position(&self) -> u64 {
        self.highest() - self.bytes.len() as u64
    }

    pub(super) fn has_ready(&self) -> bool {
        self.edge > self.read_position()
    }

    /// Everything up to the end has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.end == Some(self.edge)
    }

    pub(super) fn end_known(&self) -> bool {
        self.end.is_some()
    }

    /// Drops everything that was not read; returns how many bytes that were.
    pub(super) fn discard(&mut self) -> u64 {
        let bytes = self.edge - self.read_position() + self.parked_bytes;
        self.bytes = VecDeque::new();
        self.parked.clear();
        self.parked_bytes = 0;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(stream_data: u64, stream_data_most: u32) -> Limits {
        Limits {
            stream_data,
            stream_data_most,
            ..Limits::LEAST
        }
    }

    fn stream(window: u64, most: u32) -> RecvStream {
        RecvStream::new(&limits(window, most))
    }

    fn read_all(stream: &mut RecvStream) -> Vec<u8> {
        let mut out = vec![0; 4096];
        let n = stream.read(&mut out);
        out.truncate(n);
        out
    }

    /// Returns how many more gaps there are.
    fn insert(
        stream: &mut RecvStream,
        offset: u64,
        data: &[u8],
        fin: bool,
    ) -> Result<i64, Violation> {
        let before = i64::from(stream.gaps());
        stream.insert(offset, data, fin, 1 << 20)?;
        Ok(i64::from(stream.gaps()) - before)
    }

    proptest! {
        #[test]
        fn any_order_of_fragments_gives_the_bytes_in_order(
            cuts in proptest::collection::btree_set(1usize..1000, 0..40),
            order in any::<u64>(),
        ) {
            let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
            let mut edges: Vec<usize> = std::iter::once(0).chain(cuts).collect();
            edges.push(1000);
            let mut pieces: Vec<(usize, usize)> = edges.windows(2).map(|w| (w[0], w[1])).collect();
            // A cheap deterministic shuffle.
            pieces.sort_by_key(|p| (p.0 as u64 ^ order).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut stream = stream(1000, 0);
            for (from, to) in pieces {
                stream.insert(from as u64, &bytes[from..to], to == 1000, 1000).unwrap();
            }
            prop_assert_eq!((stream.gaps(), stream.missing()), (0, 0));
            prop_assert!(stream.is_complete());
            prop_assert_eq!(read_all(&mut stream), bytes);
            prop_assert_eq!(stream.read_position(), 1000);
        }
    }

    #[test]
    fn limits_and_contradicting_ends_are_violations() {
        let mut stream = stream(10, 0);
        assert_eq!(
            insert(&mut stream, 5, b"abcdef", false),
            Err(Violation::StreamCredit)
        );
        assert_eq!(insert(&mut stream, 5, b"abc", false), Ok(1));
        assert_eq!(
            insert(&mut stream, 0, b"abc", true),
            Err(Violation::StreamEnd)
        );
        assert_eq!(insert(&mut stream, 8, b"", true), Ok(0));
        assert_eq!(
            insert(&mut stream, 8, b"x", false),
            Err(Violation::StreamEnd)
        );
        assert_eq!(insert(&mut stream, 0, b"01234", false), Ok(-1));
        assert!(stream.is_complete());
        assert_eq!(read_all(&mut stream), b"01234abc");
    }

    #[test]
    fn a_window_grows_where_it_alone_holds_the_sender_back() {
        let limits = limits(100, 350);
        let mut stream = RecvStream::new(&limits);
        let granted = |stream: &mut RecvStream| match stream.is_grant_due(&limits) {
            true => {
                stream.grant(stream.next_grant(&limits));
                stream.max_data
            }
            false => 0,
        };
        // The sender stops before the credit does.
        insert(&mut stream, 0, &[0; 60], false).unwrap();
        read_all(&mut stream);
        assert_eq!(granted(&mut stream), 160);
        // It stops where the old credit did, but this end is slow to read.
        insert(&mut stream, 60, &[0; 40], false).unwrap();
        stream.read(&mut [0; 30]);
        assert_eq!(granted(&mut stream), 190);
        read_all(&mut stream);
        assert_eq!(granted(&mut stream), 300, "read at last");
        // What was granted before the window grew says nothing about it.
        insert(&mut stream, 100, &[0; 60], false).unwrap();
        read_all(&mut stream);
        assert_eq!(granted(&mut stream), 360);
        insert(&mut stream, 160, &[0; 140], false).unwrap();
        read_all(&mut stream);
        assert_eq!(granted(&mut stream), 650, "at most 350");
        // The end of the data is no sign.
        insert(&mut stream, 300, &[0; 350], true).unwrap();
        read_all(&mut stream);
        assert_eq!(granted(&mut stream), 0);
        assert!(stream.growing.is_some_and(|growing| !growing.held_back));
    }

    #[test]
    fn what_came_already_changes_nothing() {
        let mut stream = stream(100, 0);
        assert_eq!(insert(&mut stream, 0, b"0123", false), Ok(0));
        assert_eq!(insert(&mut stream, 2, b"2345", false), Ok(0));
        // A gap, and what joins: one fragment. An empty frame is none.
        assert_eq!(insert(&mut stream, 8, b"89", false), Ok(1));
        assert_eq!(insert(&mut stream, 10, b"a", false), Ok(0));
        assert_eq!(insert(&mut stream, 8, b"XY", false), Ok(0));
        assert_eq!(insert(&mut stream, 20, b"", true), Ok(0));
        assert_eq!(insert(&mut stream, 20, b"", true), Ok(0));
        assert_eq!(
            insert(&mut stream, 15, b"", true),
            Err(Violation::StreamEnd)
        );
        assert_eq!(insert(&mut stream, 6, b"67", false), Ok(-1));
        assert_eq!(read_all(&mut stream), b"0123456789a");
        assert_eq!(insert(&mut stream, 0, b"0123", false), Ok(0));
        assert_eq!((stream.read_position(), stream.discard()), (11, 0));
    }

    #[test]
    fn a_stream_that_is_nearly_read_keeps_little_memory() {
        let mut stream = stream(1 << 20, 0);
        insert(&mut stream, 0, &vec![7; 1 << 20], false).unwrap();
        let mut buf = vec![0; 1000];
        let mut capacities = std::collections::BTreeSet::new();
        while stream.read(&mut buf) > 0 {
            stream.trim();
            let (len, capacity) = (stream.bytes.len(), stream.bytes.capacity());
            assert!(capacity <= 4 * len + (64 << 10), "{capacity} for {len}");
            if capacities.insert(capacity) && capacities.len() > 1 {
                assert!(capacity >= 2 * len, "{capacity} for {len}");
            }
        }
        // It shrinks seldom, since that copies what is left, and a little stays for what comes next.
        assert!(capacities.len() <= 5, "{capacities:?}");
        assert!(stream.bytes.capacity() >= 64 << 10);
        stream.release();
        assert_eq!(stream.capacity(), 0);
    }

    #[test]
    fn overlaps_never_hold_more_than_the_credit() {
        let mut stream = stream(100, 0);
        for offset in (1..90u64).rev() {
            let _ = insert(&mut stream, offset, &[0; 10], false);
        }
        assert!(stream.bytes.len() <= 100, "{}", stream.bytes.len());
    }

    #[test]
    fn a_gap_longer_than_the_credit_left_for_it_is_a_violation() {
        let mut stream = stream(1 << 30, 0);
        assert_eq!(stream.insert(10, b"abc", false, 10), Ok(()));
        assert_eq!((stream.gaps(), stream.missing()), (1, 10));
        assert_eq!(stream.insert(18, b"d", false, 5), Ok(()));
        assert_eq!((stream.gaps(), stream.missing()), (2, 15));
        let far = stream.insert(1 << 29, b"e", false, 1000);
        assert_eq!(far, Err(Violation::SessionCredit));
        assert!(stream.capacity() < 100, "{}", stream.capacity());
        assert_eq!((stream.discard(), stream.missing()), (4, 0));
    }
}
