//! Copies of short symbols in a long transfer: a repair over one symbol is as short as that symbol.
//!
//! In a session that is busy with a transfer, a lost keystroke or answer waits until as many repairs have come as all
//! symbols about it need. A copy of its own costs hardly anything, and comes at once.

use std::collections::VecDeque;

use weftline_codec::Esi;

use crate::sender::situation::Situation;
use crate::time::Time;

/// Copies take this part of the bytes of all source symbols at most.
const PART: f64 = 0.02;
/// Unspent, this many bytes of it are kept.
const MOST: f64 = 16_384.0;
/// Bytes of the headers of a datagram, about.
const HEADERS: f64 = 60.0;
/// A copy leaves this part of a round trip after its symbol, so that a short run of losses does not take both.
const AFTER: u32 = 32;
/// More symbols do not wait for their copies.
const WAITING: usize = 32;

/// Which symbols are to be copied.
#[derive(Debug, Default)]
pub(super) struct Copies {
    waiting: VecDeque<(Esi, Time)>,
    allowance: f64,
    /// Mean bytes of a source symbol.
    usual: f64,
}

impl Copies {
    /// A source symbol has left for the first time; short ones are copied if that is `wanted`.
    pub(super) fn on_source(&mut self, at: &Situation<'_>, esi: Esi, wanted: bool) {
        let bytes = at.symbol_bytes(esi) as f64;
        let cost = bytes + HEADERS;
        self.usual += (bytes - self.usual) / 32.0;
        self.allowance = (self.allowance + PART * cost).min(MOST);
        let is_short = bytes < self.usual / 2.0 && cost <= self.allowance;
        if wanted && is_short && self.waiting.len() < WAITING {
            self.allowance -= cost;
            self.waiting.push_back((esi, at.now() + at.srtt() / AFTER));
        }
    }

    /// The symbol whose copy is due.
    pub(super) fn next(&mut self, at: &Situation<'_>) -> Option<Esi> {
        loop {
            let &(esi, due) = self.waiting.front()?;
            if !at.is_known(esi) {
                return (due <= at.now()).then_some(esi);
            }
            self.waiting.pop_front();
        }
    }

    /// A copy has left.
    pub(super) fn on_copy(&mut self, esi: Esi) {
        self.waiting.retain(|(waiting, _)| *waiting != esi);
    }
}
