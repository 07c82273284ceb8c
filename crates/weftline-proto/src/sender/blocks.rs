//! Block bookkeeping of a block code: which block owes repairs, which falls short.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use weftline_codec::Esi;

use super::choice::short;
use super::redundancy::share;
use crate::policy::Redundancy;

/// The blocks whose symbols are not all acknowledged.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: VecDeque<Block>,
    /// Number of the first in `blocks`.
    first: u64,
    /// Fraction of a repair carried from block to block, so that the share is kept on average.
    carry: f64,
}

#[derive(Clone, Debug)]
struct Block {
    window: Range<Esi>,
    /// It gets no more source symbols.
    full: bool,
    /// Repairs still to send without being asked for.
    owed: u32,
    in_flight: u64,
    arrived: u64,
}

impl Blocks {
    /// A new source symbol was sent.
    pub(super) fn pushed(&mut self, esi: Esi, k: u16, redundancy: Redundancy) {
        let k = u64::from(k.max(1));
        if self.blocks.back().is_none_or(|b| b.full) {
            self.blocks.push_back(Block {
                window: esi..esi,
                full: false,
                owed: 0,
                in_flight: 0,
                arrived: 0,
            });
        }
        if let Some(block) = self.blocks.back_mut() {
            block.window.end = esi + 1;
            if block.window.end - block.window.start == k {
                self.close(redundancy);
            }
        }
    }

    /// The newest block gets no more symbols: it is full, or the application paused so long that
    /// what was lost of it cannot wait for the rest.
    pub(super) fn close(&mut self, redundancy: Redundancy) {
        if let Some(block) = self.blocks.back_mut().filter(|b| !b.full) {
            block.full = true;
            let symbols = block.window.end - block.window.start;
            let repairs = symbols as f64 * share(redundancy) + self.carry;
            block.owed = repairs.floor() as u32;
            self.carry = repairs - repairs.floor();
        }
    }

    /// The oldest block that still owes repairs and is not wholly below `edge`.
    pub(super) fn owing(&self, edge: Esi) -> Option<Range<Esi>> {
        // Owed repairs are sent before the next block fills: the debtors are the newest blocks.
        let debtors = self.blocks.iter().rev().skip_while(|b| !b.full);
        let oldest = debtors
            .take_while(|b| b.owed > 0 && b.window.end > edge)
            .last();
        oldest.map(|b| b.window.clone())
    }

    /// The oldest full block that lacks more symbols than repairs have arrived or are on the way.
    pub(super) fn short(&self, lost: &BTreeSet<Esi>, loss: f64) -> Option<Range<Esi>> {
        let from = self.index_of(*lost.first()?)?;
        self.blocks
            .iter()
            .skip(from)
            .find(|b| {
                let missing = lost.range(b.window.clone()).count() as u64;
                // As many repairs as symbols and still not decoded: one of them told nothing
                // new, as one in 255 does.
                let needed = missing
                    .saturating_sub(b.arrived)
                    .max(u64::from(missing > 0));
                b.full && short(needed as f64, b.in_flight + u64::from(b.owed), loss)
            })
            .map(|b| b.window.clone())
    }

    fn index_of(&self, esi: Esi) -> Option<usize> {
        let index = self.blocks.partition_point(|b| b.window.end <= esi);
        (index < self.blocks.len()).then_some(index)
    }

    /// The window of the block that holds `esi`.
    pub(super) fn window_of(&self, esi: Esi, k: u16, next: Esi) -> Range<Esi> {
        match self.index_of(esi) {
            Some(index) => self.blocks[index].window.start.max(esi)..self.blocks[index].window.end,
            None => esi..next.min(esi + u64::from(k.max(1))),
        }
    }

    /// A repair was sent for the block that holds `esi`; returns the block's number.
    pub(super) fn repair_sent(&mut self, esi: Esi, owed: bool) -> Option<u64> {
        let index = self.index_of(esi)?;
        let block = &mut self.blocks[index];
        block.in_flight += 1;
        if owed {
            block.owed = block.owed.saturating_sub(1);
        }
        Some(self.first + index as u64)
    }

    /// A repair of block number `block` arrived or was lost.
    pub(super) fn repair_fate(&mut self, block: u64, lost: bool) {
        let index = block
            .checked_sub(self.first)
            .and_then(|i| usize::try_from(i).ok());
        if let Some(block) = index.and_then(|i| self.blocks.get_mut(i)) {
            block.in_flight = block.in_flight.saturating_sub(1);
            block.arrived += u64::from(!lost);
        }
    }

    /// Forgets blocks wholly below `edge`, which need no repairs.
    pub(super) fn discard_before(&mut self, edge: Esi) {
        while self
            .blocks
            .front()
            .is_some_and(|b| b.full && b.window.end <= edge)
        {
            self.blocks.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_blocks() -> Blocks {
        let mut blocks = Blocks::default();
        for esi in 0..8 {
            blocks.pushed(esi, 4, Redundancy::Share(0.375));
        }
        blocks
    }

    #[test]
    fn a_fractional_share_is_kept_on_average() {
        let mut blocks = two_blocks();
        // 1.5 repairs a block: one, then two.
        let mut order = Vec::new();
        while let Some(window) = blocks.owing(0) {
            order.push(window.start);
            blocks.repair_sent(window.end - 1, true);
        }
        assert_eq!(order, [0, 4, 4]);
    }

    #[test]
    fn a_block_that_is_closed_early_is_repaired_like_a_full_one() {
        let mut blocks = Blocks::default();
        (0..3).for_each(|esi| blocks.pushed(esi, 32, Redundancy::Share(0.4)));
        let lost = BTreeSet::from([0, 1, 2]);
        assert_eq!(blocks.short(&lost, 0.0), None);
        blocks.close(Redundancy::Share(0.4));
        assert_eq!(blocks.owing(0), Some(0..3));
        assert_eq!(blocks.short(&lost, 0.0), Some(0..3));
        blocks.pushed(3, 32, Redundancy::Share(0.4));
        assert_eq!(blocks.window_of(3, 32, 4), 3..4);
    }

    #[test]
    fn a_block_is_short_until_enough_repairs_are_on_their_way() {
        let mut blocks = two_blocks();
        while let Some(window) = blocks.owing(0) {
            blocks.repair_sent(window.end - 1, true);
        }
        let lost = BTreeSet::from([1, 2, 5]);
        // Block 0 lost two and has one repair in flight; block 1 lost one and has two.
        assert_eq!(blocks.short(&lost, 0.0), Some(0..4));
        blocks.repair_sent(3, false);
        assert_eq!(blocks.short(&lost, 0.0), None);
        blocks.repair_fate(0, true);
        assert_eq!(blocks.short(&lost, 0.0), Some(0..4));
        blocks.repair_fate(0, false);
        blocks.repair_sent(3, false);
        assert_eq!(blocks.short(&lost, 0.0), None);
        // Both arrived and it is not decoded: they were not independent.
        blocks.repair_fate(0, false);
        assert_eq!(blocks.short(&lost, 0.0), Some(0..4));
        blocks.discard_before(4);
        assert_eq!(blocks.short(&BTreeSet::from([5]), 0.0), None);
    }
}
