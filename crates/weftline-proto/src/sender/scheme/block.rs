//! Scheme `block`: a systematic block code with a safety net (baseline of Karzand et al.).

use std::collections::VecDeque;
use std::ops::Range;

use weftline_codec::Esi;

use super::rule::Rule;
use super::spacing::{MAX_SHARE, read_share};
use crate::check::{ConfigError, within};
use crate::sender::action::Action;
use crate::sender::lost::Lost;
use crate::sender::situation::{Situation, is_short};
use crate::settings::{Settings, TextError};

/// Options of scheme `block`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Block {
    /// Source symbols in a block, 1 to 1024: 32 unless set, the best of the paper's sizes. The peer's
    /// limits may shorten the block.
    pub k: u16,
    /// Repair symbols for each source symbol, 0 to 4, sent after each block and rounded to whole
    /// symbols: 1/6 unless set.
    pub share: f64,
    /// Whether a block that lacks repairs gets more of them: yes unless switched off. If not, only
    /// the retransmission timer repairs losses that the share does not cover.
    pub top_up: bool,
}

impl Default for Block {
    fn default() -> Self {
        Block {
            k: 32,
            share: 1.0 / 6.0,
            top_up: true,
        }
    }
}

impl Block {
    /// The scheme with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the source symbols in a block, 1 to 1024.
    #[must_use]
    pub fn k(self, k: u16) -> Self {
        Block { k, ..self }
    }

    /// Sets the repair share, 0 to 4.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Block { share, ..self }
    }

    pub(super) fn read(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        let k = settings.number("k", "source symbols in a block", 1..=1024)?;
        self.k = k.unwrap_or(self.k);
        self.share = read_share(settings)?.unwrap_or(self.share);
        let kinds = [("none", false), ("deficit", true)];
        self.top_up = settings.choice("topup", &kinds)?.unwrap_or(self.top_up);
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("block.k", self.k, 1..=1024)?;
        within("block.share", self.share, 0.0..=MAX_SHARE)
    }
}

#[derive(Debug)]
pub(super) struct BlockRule {
    options: Block,
    blocks: Blocks,
    /// No top-up was needed at the last check, and nothing has happened since.
    is_sated: bool,
}

impl BlockRule {
    pub(super) fn new(options: Block) -> Self {
        BlockRule {
            options,
            blocks: Blocks::new(options.share),
            is_sated: true,
        }
    }

    fn answer_deficit(&self, at: &Situation<'_>) -> Option<Action> {
        let window = self.blocks.oldest_short(at.lost(), at.expected_loss())?;
        Some(Action::top_up(window.start.max(at.first())..window.end))
    }
}

impl Rule for BlockRule {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        if !self.is_sated {
            // The redundancy was too small; the timer alone would repair one symbol at a time.
            if (self.options.top_up || at.is_stalled())
                && let Some(action) = self.answer_deficit(at)
            {
                return Some(action);
            }
            self.is_sated = true;
        }
        if let Some(window) = self.blocks.oldest_owing(at.first()) {
            return Some(Action::repair(window.start.max(at.first())..window.end));
        }
        at.can_send_new().then_some(Action::New)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        let k = at.block_size(self.options.k);
        Action::top_up(self.blocks.window_of(at.first(), k, at.next()))
    }

    fn on_source(&mut self, at: &Situation<'_>, esi: Esi) {
        self.blocks.on_source(esi, at.block_size(self.options.k));
    }

    fn on_repair(&mut self, _at: &Situation<'_>, window: &Range<Esi>, top_up: bool) -> Option<u64> {
        self.blocks.on_repair(window.end - 1, !top_up)
    }

    fn on_news(&mut self) {
        self.is_sated = false;
    }

    fn on_fate(&mut self, block: u64, lost: bool) {
        self.blocks.on_fate(block, lost);
    }

    fn on_progress(&mut self, at: &Situation<'_>) {
        self.blocks.discard_before(at.first());
    }

    fn on_silence(&mut self, _at: &Situation<'_>) {
        self.blocks.close();
        self.is_sated = false;
    }
}

/// The blocks whose symbols are not all acknowledged.
#[derive(Debug)]
struct Blocks {
    share: f64,
    blocks: VecDeque<Span>,
    /// Number of the first in `blocks`.
    first: u64,
    /// Fraction of a repair carried from block to block, so that the share is kept on average.
    carry: f64,
}

/// One block.
#[derive(Clone, Debug)]
struct Span {
    window: Range<Esi>,
    /// It gets no more source symbols.
    full: bool,
    /// Repairs of the share that are still to be sent.
    owed: u32,
    in_flight: u64,
    arrived: u64,
}

impl Blocks {
    fn new(share: f64) -> Self {
        Blocks {
            share,
            blocks: VecDeque::new(),
            first: 0,
            carry: 0.0,
        }
    }

    /// A new source symbol was sent.
    fn on_source(&mut self, esi: Esi, k: u16) {
        let k = u64::from(k.max(1));
        if self.blocks.back().is_none_or(|b| b.full) {
            self.blocks.push_back(Span {
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
                self.close();
            }
        }
    }

    /// The newest block gets no more symbols: it is full, or the application paused too long for the
    /// lost symbols of the block to wait.
    fn close(&mut self) {
        if let Some(block) = self.blocks.back_mut().filter(|b| !b.full) {
            block.full = true;
            let symbols = block.window.end - block.window.start;
            let repairs = symbols as f64 * self.share + self.carry;
            block.owed = repairs.floor() as u32;
            self.carry = repairs - repairs.floor();
        }
    }

    /// The oldest block that still owes repairs and is not wholly below `edge`.
    fn oldest_owing(&self, edge: Esi) -> Option<Range<Esi>> {
        // Owed repairs are sent before the next block fills: the debtors are the newest blocks.
        let debtors = self.blocks.iter().rev().skip_while(|b| !b.full);
        let oldest = debtors
            .take_while(|b| b.owed > 0 && b.window.end > edge)
            .last();
        oldest.map(|b| b.window.clone())
    }

    /// The oldest full block that lacks more symbols than it has repairs, arrived or in flight.
    fn oldest_short(&self, lost: &Lost, loss: f64) -> Option<Range<Esi>> {
        let from = self.index_of(lost.first()?)?;
        self.blocks
            .iter()
            .skip(from)
            .find(|b| {
                let missing = lost.within(b.window.clone()).len() as u64;
                // As many repairs as missing symbols arrived, and the block is not decoded: one
                // repair was not independent, as happens with one in 255.
                let needed = missing
                    .saturating_sub(b.arrived)
                    .max(u64::from(missing > 0));
                b.full && is_short(needed as f64, b.in_flight + u64::from(b.owed), loss)
            })
            .map(|b| b.window.clone())
    }

    fn index_of(&self, esi: Esi) -> Option<usize> {
        let index = self.blocks.partition_point(|b| b.window.end <= esi);
        (index < self.blocks.len()).then_some(index)
    }

    /// The window of the block that holds `esi`.
    fn window_of(&self, esi: Esi, k: u16, next: Esi) -> Range<Esi> {
        match self.index_of(esi) {
            Some(index) => self.blocks[index].window.start.max(esi)..self.blocks[index].window.end,
            None => esi..next.min(esi + u64::from(k.max(1))),
        }
    }

    /// A repair was sent for the block that holds `esi`. Returns the block's number.
    fn on_repair(&mut self, esi: Esi, owed: bool) -> Option<u64> {
        let index = self.index_of(esi)?;
        let block = &mut self.blocks[index];
        block.in_flight += 1;
        if owed {
            block.owed = block.owed.saturating_sub(1);
        }
        Some(self.first + index as u64)
    }

    /// A repair of block number `block` arrived or was lost.
    fn on_fate(&mut self, block: u64, lost: bool) {
        let index = block
            .checked_sub(self.first)
            .and_then(|i| usize::try_from(i).ok());
        if let Some(block) = index.and_then(|i| self.blocks.get_mut(i)) {
            block.in_flight = block.in_flight.saturating_sub(1);
            block.arrived += u64::from(!lost);
        }
    }

    /// Forgets blocks wholly below `edge`, which need no repairs.
    fn discard_before(&mut self, edge: Esi) {
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
        let mut blocks = Blocks::new(0.375);
        for esi in 0..8 {
            blocks.on_source(esi, 4);
        }
        blocks
    }

    #[test]
    fn a_fractional_share_is_kept_on_average() {
        let mut blocks = two_blocks();
        // 1.5 repairs a block: one, then two.
        let mut order = Vec::new();
        while let Some(window) = blocks.oldest_owing(0) {
            order.push(window.start);
            blocks.on_repair(window.end - 1, true);
        }
        assert_eq!(order, [0, 4, 4]);
    }

    #[test]
    fn a_block_that_is_closed_early_is_repaired_like_a_full_block() {
        let mut blocks = Blocks::new(0.4);
        (0..3).for_each(|esi| blocks.on_source(esi, 32));
        let lost = Lost::from([0, 1, 2]);
        assert_eq!(blocks.oldest_short(&lost, 0.0), None);
        blocks.close();
        assert_eq!(blocks.oldest_owing(0), Some(0..3));
        assert_eq!(blocks.oldest_short(&lost, 0.0), Some(0..3));
        blocks.on_source(3, 32);
        assert_eq!(blocks.window_of(3, 32, 4), 3..4);
    }

    #[test]
    fn a_block_is_short_until_enough_repairs_are_in_flight() {
        let mut blocks = two_blocks();
        while let Some(window) = blocks.oldest_owing(0) {
            blocks.on_repair(window.end - 1, true);
        }
        let lost = Lost::from([1, 2, 5]);
        // Block 0 lost two and has one repair in flight; block 1 lost one and has two.
        assert_eq!(blocks.oldest_short(&lost, 0.0), Some(0..4));
        blocks.on_repair(3, false);
        assert_eq!(blocks.oldest_short(&lost, 0.0), None);
        blocks.on_fate(0, true);
        assert_eq!(blocks.oldest_short(&lost, 0.0), Some(0..4));
        blocks.on_fate(0, false);
        blocks.on_repair(3, false);
        assert_eq!(blocks.oldest_short(&lost, 0.0), None);
        // Both arrived and the block is not decoded: they were not independent.
        blocks.on_fate(0, false);
        assert_eq!(blocks.oldest_short(&lost, 0.0), Some(0..4));
        blocks.discard_before(4);
        assert_eq!(blocks.oldest_short(&Lost::from([5]), 0.0), None);
    }
}
