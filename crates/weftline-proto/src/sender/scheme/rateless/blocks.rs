//! The blocks of scheme `rateless`: which repair symbols are due, and when.

use std::collections::VecDeque;
use std::ops::Range;

use core::time::Duration;
use weftline_codec::Esi;

use super::options::Rateless;
use crate::time::Time;

/// The blocks that are not acknowledged.
#[derive(Debug)]
pub(super) struct Blocks {
    options: Rateless,
    blocks: VecDeque<Block>,
    /// Number of the first in `blocks`.
    first: u64,
}

#[derive(Clone, Debug)]
struct Block {
    window: Range<Esi>,
    /// It gets no more source symbols: `Some(true)` if it has as many as a block may have.
    closed: Option<bool>,
    /// The peer has all symbols below this.
    known: Esi,
    /// When its first symbol was sent.
    began: Time,
    /// Repair symbols that may still be sent at full speed.
    at_speed: u32,
    repairs_in_flight: u64,
    paced: Option<Paced>,
}

/// Repair symbols that follow at a slower pace.
#[derive(Clone, Copy, Debug)]
struct Paced {
    since: Time,
    apart: Duration,
    next: Time,
    /// The time of the next repair symbol has come.
    due: bool,
}

/// Paced repair symbols are at least this part of a round trip apart, and at least a millisecond: the
/// speed of a short block says little.
const SHORTEST_PART: u32 = 64;
const SHORTEST: Duration = Duration::from_millis(1);

impl Blocks {
    pub(super) fn new(options: Rateless) -> Self {
        Blocks {
            options,
            blocks: VecDeque::new(),
            first: 0,
        }
    }

    /// Whether the newest block takes more source symbols.
    pub(super) fn is_open(&self) -> bool {
        self.blocks.back().is_some_and(|b| b.closed.is_none())
    }

    /// Symbols of blocks that the peer does not have.
    pub(super) fn outstanding(&self) -> u64 {
        self.blocks.iter().map(|b| b.window.end - b.known).sum()
    }

    /// A new source symbol was sent. It joins the newest block, of at most `k` symbols, or starts
    /// one.
    pub(super) fn on_source(&mut self, now: Time, srtt: Duration, esi: Esi, k: u16) {
        if !self.is_open() {
            self.blocks.push_back(Block {
                window: esi..esi,
                closed: None,
                known: esi,
                began: now,
                at_speed: 0,
                repairs_in_flight: 0,
                paced: None,
            });
        }
        if let Some(block) = self.blocks.back_mut() {
            block.window.end = esi + 1;
            if block.window.end - block.window.start >= u64::from(self.options.k.min(k).max(1)) {
                self.end_block(now, srtt, true);
            }
        }
    }

    /// The newest block gets no more symbols.
    pub(super) fn close(&mut self, now: Time, srtt: Duration) {
        self.end_block(now, srtt, false);
    }

    fn end_block(&mut self, now: Time, srtt: Duration, full: bool) {
        let options = self.options;
        let extra = u32::from(options.extra);
        if let Some(block) = self.blocks.back_mut().filter(|b| b.closed.is_none()) {
            block.closed = Some(full);
            let symbols = (block.window.end - block.window.start) as u32;
            block.at_speed = match (options.extra, options.systematic) {
                // The peer has the whole block already.
                _ if block.is_over() => 0,
                (Rateless::ENDLESS, _) => u32::MAX,
                (_, true) => extra,
                (_, false) => symbols + extra,
            };
            if block.at_speed == 0 && !block.is_over() {
                block.begin_pace(now, srtt, &options);
            }
        }
    }

    /// The block whose repair symbols leave at full speed; `new`: there is a source symbol to send as
    /// well, which goes before the repair symbols of a block that ended early.
    pub(super) fn at_speed(&self, new: bool) -> Option<Range<Esi>> {
        let next = self.blocks_at_speed(new).next()?;
        next.has_room().then(|| next.window.clone())
    }

    /// Whether a new source symbol may leave: no closed block still sends at full speed.
    pub(super) fn may_begin(&self) -> bool {
        self.is_open() || self.blocks_at_speed(true).next().is_none()
    }

    fn blocks_at_speed(&self, new: bool) -> impl Iterator<Item = &Block> {
        let waits = move |b: &&Block| new && self.options.systematic && b.closed == Some(false);
        let blocks = self.blocks.iter();
        blocks.filter(move |b| b.closed.is_some() && b.at_speed > 0 && !waits(b))
    }

    /// The block whose next paced repair symbol is due; `late`: only if its acknowledgement is
    /// overdue, a round trip and an eighth after its symbols at full speed.
    pub(super) fn paced(&self, now: Time, srtt: Duration, late: bool) -> Option<Range<Esi>> {
        let block = self.oldest_paced()?;
        let paced = block.paced?;
        let overdue = now >= paced.since + srtt * 9 / 8;
        let due = paced.due || now >= paced.next;
        (due && (overdue || !late) && block.has_room()).then(|| block.window.clone())
    }

    /// The oldest block that has sent all its symbols at full speed. Other such blocks wait for it.
    fn oldest_paced(&self) -> Option<&Block> {
        self.blocks.iter().find(|b| b.paced.is_some())
    }

    /// When the next paced repair symbol is due.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let block = self.oldest_paced().filter(|b| b.has_room())?;
        block.paced.filter(|p| !p.due).map(|p| p.next)
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        let paced = self.blocks.iter_mut().find_map(|b| b.paced.as_mut());
        if let Some(paced) = paced {
            paced.due |= now >= paced.next;
        }
    }

    /// The window of the block that holds `esi`.
    pub(super) fn window_of(&self, esi: Esi) -> Option<Range<Esi>> {
        self.index_of(esi).map(|i| self.blocks[i].window.clone())
    }

    fn index_of(&self, esi: Esi) -> Option<usize> {
        let index = self.blocks.partition_point(|b| b.window.end <= esi);
        (index < self.blocks.len()).then_some(index)
    }

    /// A repair symbol was sent for the block that holds `esi`. Returns the block's number.
    pub(super) fn on_repair(&mut self, now: Time, srtt: Duration, esi: Esi) -> Option<u64> {
        let index = self.index_of(esi)?;
        let options = self.options;
        let block = &mut self.blocks[index];
        block.repairs_in_flight += 1;
        match block.paced.as_mut() {
            Some(paced) => {
                paced.next = now + paced.apart;
                paced.due = false;
            }
            None if block.at_speed == u32::MAX => {}
            None => {
                block.at_speed = block.at_speed.saturating_sub(1);
                if block.at_speed == 0 && block.closed.is_some() {
                    block.begin_pace(now, srtt, &options);
                }
            }
        }
        Some(self.first + index as u64)
    }

    /// A repair symbol of block number `block` arrived or was lost.
    pub(super) fn on_fate(&mut self, block: u64) {
        let index = block.checked_sub(self.first).map(|i| i as usize);
        if let Some(block) = index.and_then(|i| self.blocks.get_mut(i)) {
            block.repairs_in_flight = block.repairs_in_flight.saturating_sub(1);
        }
    }

    /// The peer may know more symbols. Blocks that it knows whole are over.
    pub(super) fn on_progress(&mut self, knows: impl Fn(Esi) -> bool) {
        for block in &mut self.blocks {
            while block.known < block.window.end && knows(block.known) {
                block.known += 1;
            }
            if block.is_over() {
                block.at_speed = 0;
                block.paced = None;
            }
        }
        while self.blocks.front().is_some_and(Block::is_over) {
            self.blocks.pop_front();
            self.first += 1;
        }
    }
}

impl Block {
    fn is_over(&self) -> bool {
        self.closed.is_some() && self.known >= self.window.end
    }

    /// All symbols at full speed have left: the paced ones begin.
    fn begin_pace(&mut self, now: Time, srtt: Duration, options: &Rateless) {
        let sent = self.window.end - self.window.start + u64::from(options.extra);
        // What left within a round trip has not shown yet how fast the path is.
        let took = now.since(self.began).max(srtt);
        let each = took.as_secs_f64() / sent.max(1) as f64;
        let shortest = SHORTEST.max(srtt / SHORTEST_PART);
        let apart = Duration::from_secs_f64(each / options.pace).max(shortest);
        self.paced = Some(Paced {
            since: now,
            apart,
            next: now + apart,
            due: false,
        });
    }

    /// Whether more repair symbols may be in flight. Nearly every path delivers enough of twice as
    /// many as the block has symbols; a dead path is left to the retransmission timer.
    fn has_room(&self) -> bool {
        self.repairs_in_flight < 2 * (self.window.end - self.window.start) + 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(64);

    fn blocks(systematic: bool, extra: u16) -> Blocks {
        let options = Rateless::udp_rc().k(4).extra(extra);
        Blocks::new(options.systematic(systematic))
    }

    fn at(millis: u64) -> Time {
        Time::from_micros(1000 * millis)
    }

    #[test]
    fn extra_symbols_go_at_once_and_the_rest_at_half_the_speed() {
        let mut blocks = blocks(true, 2);
        (0..4).for_each(|esi| blocks.on_source(at(10 * esi), SRTT, esi, 64));
        assert!(!blocks.is_open() && !blocks.may_begin());
        for time in [40, 50] {
            assert_eq!(blocks.at_speed(true), Some(0..4));
            assert_eq!(blocks.on_repair(at(time), SRTT, 3), Some(0));
        }
        assert_eq!(blocks.at_speed(true), None);
        assert!(blocks.may_begin());
        // Six symbols in a round trip.
        assert_eq!(blocks.next_timeout(), Some(Time::from_micros(71_333)));
        assert_eq!(blocks.paced(at(71), SRTT, false), None);
        assert_eq!(blocks.paced(at(72), SRTT, false), Some(0..4));
        assert_eq!(blocks.paced(at(72), SRTT, true), None);
        assert_eq!(blocks.paced(at(122), SRTT, true), Some(0..4));
        blocks.on_timeout(at(72));
        assert_eq!(blocks.next_timeout(), None);
        blocks.on_progress(|esi| esi != 2);
        assert_eq!(blocks.outstanding(), 2);
        blocks.on_progress(|_| true);
        assert_eq!(blocks.paced(at(200), SRTT, false), None);
        assert_eq!(blocks.window_of(3), None);
    }

    #[test]
    fn without_extra_symbols_the_first_repair_symbol_is_paced_too() {
        let mut blocks = blocks(true, 0);
        (0..4).for_each(|esi| blocks.on_source(at(10 * esi), SRTT, esi, 64));
        assert_eq!(blocks.at_speed(false), None);
        // Four symbols in a round trip, at half that speed.
        assert_eq!(blocks.next_timeout(), Some(at(62)));
        assert_eq!(blocks.paced(at(62), SRTT, false), Some(0..4));
    }

    #[test]
    fn the_next_block_waits_until_an_endless_block_is_known() {
        let mut blocks = blocks(false, Rateless::ENDLESS);
        (0..3).for_each(|esi| blocks.on_source(at(0), SRTT, esi, 64));
        blocks.close(at(0), SRTT);
        for sent in 0..2 * 3 + 16 {
            assert_eq!(blocks.at_speed(true), Some(0..3), "{sent}");
            assert!(!blocks.may_begin());
            blocks.on_repair(at(sent), SRTT, 0);
        }
        // This many in flight without an answer suggest a dead path.
        assert_eq!(blocks.at_speed(true), None);
        assert!(!blocks.may_begin());
        blocks.on_fate(0);
        assert_eq!(blocks.at_speed(true), Some(0..3));
        blocks.on_progress(|_| true);
        assert!(blocks.may_begin() && blocks.at_speed(false).is_none());
    }

    #[test]
    fn a_block_that_ended_early_lets_new_data_go_first() {
        let mut blocks = blocks(true, 2);
        blocks.on_source(at(0), SRTT, 0, 64);
        blocks.close(at(0), SRTT);
        assert_eq!(blocks.at_speed(true), None);
        assert!(blocks.may_begin());
        assert_eq!(blocks.at_speed(false), Some(0..1));
    }
}
