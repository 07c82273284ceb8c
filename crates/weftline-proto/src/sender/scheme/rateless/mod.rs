//! Scheme `rateless`: random combinations of a block until it is acknowledged (Chong et al.: UDP-RC;
//! Garrido et al.: low-overhead RLC over UDP).

mod blocks;
mod options;
mod vectors;

use std::ops::Range;

use weftline_codec::Esi;

use super::rule::{Drawn, Rule};
use crate::sender::action::Action;
use crate::sender::situation::Situation;
use crate::time::Time;

use blocks::Blocks;
pub use options::{Rateless, VectorHeader};
use vectors::Vectors;

#[derive(Debug)]
pub(super) struct RatelessRule {
    options: Rateless,
    blocks: Blocks,
    vectors: Vectors,
}

impl RatelessRule {
    pub(super) fn new(options: Rateless, seed: u64) -> Self {
        RatelessRule {
            options,
            blocks: Blocks::new(options),
            vectors: Vectors::new(options.bits, options.header, seed),
        }
    }

    /// Whether a block has room for a symbol. The peer lacks a symbol that is not sent itself until
    /// it decodes the block.
    fn has_room(&self, at: &Situation<'_>) -> bool {
        let fits = self.options.systematic || self.blocks.outstanding() < at.most_missing();
        at.has_room() && fits
    }
}

impl Rule for RatelessRule {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        let new = at.is_pending() && self.has_room(at);
        let paused = at.is_pause_noticed() || at.is_paused();
        let (now, srtt) = (at.now(), at.srtt());
        // The last symbols of a block must not wait for symbols that may not come.
        let may_end = at.is_pending() || at.is_at_boundary() || paused;
        if self.blocks.is_open() && !new && may_end {
            self.blocks.close(now, srtt);
        }
        let repair = |window: Range<Esi>| Action::repair(window.start.max(at.first())..window.end);
        let urgent = self.blocks.at_speed(new);
        if let Some(window) = urgent.or_else(|| self.blocks.paced(now, srtt, true)) {
            return Some(repair(window));
        }
        if new && self.blocks.may_begin() {
            return Some(match self.options.systematic {
                true => Action::New,
                false => Action::FillBlock,
            });
        }
        self.blocks.paced(now, srtt, false).map(repair)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        let edge = at.first();
        let end = self.blocks.window_of(edge).map_or(edge + 1, |w| w.end);
        Action::top_up(edge..end)
    }

    fn on_source(&mut self, at: &Situation<'_>, esi: Esi) {
        let k = at.block_size(self.options.k);
        self.blocks.on_source(at.now(), at.srtt(), esi, k);
    }

    fn on_repair(&mut self, at: &Situation<'_>, window: &Range<Esi>, _top_up: bool) -> Option<u64> {
        self.blocks.on_repair(at.now(), at.srtt(), window.end - 1)
    }

    fn on_fate(&mut self, block: u64, _lost: bool) {
        self.blocks.on_fate(block);
    }

    fn on_progress(&mut self, at: &Situation<'_>) {
        self.blocks.on_progress(|esi| at.is_known(esi));
    }

    fn on_timeout(&mut self, at: &Situation<'_>) {
        self.blocks.on_timeout(at.now());
    }

    fn on_silence(&mut self, at: &Situation<'_>) {
        self.blocks.close(at.now(), at.srtt());
    }

    fn next_timeout(&self, at: &Situation<'_>) -> Option<Time> {
        let end = at.next_pause().filter(|_| self.blocks.is_open());
        end.into_iter().chain(self.blocks.next_timeout()).min()
    }

    fn has_own_pace(&self) -> bool {
        true
    }

    fn is_systematic(&self) -> bool {
        self.options.systematic
    }

    fn has_room_in_block(&self, at: &Situation<'_>) -> bool {
        self.has_room(at) && self.blocks.may_begin()
    }

    fn on_block_filled(&mut self, at: &Situation<'_>) {
        self.blocks.close(at.now(), at.srtt());
    }

    fn draw(&mut self, nss: u16) -> Option<Drawn<'_>> {
        Some(self.vectors.draw(nss))
    }
}
