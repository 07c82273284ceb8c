//! Blocks whose repair symbols go on until they are acknowledged: [`Code::Random`].
//!
//! [`Code::Random`]: crate::Code::Random

use std::collections::VecDeque;
use std::ops::Range;

use core::time::Duration;
use weftline_codec::Esi;
use weftline_codec::coefficients::Coefficients;

use crate::policy::{self, RandomCode, VectorHeader};
use crate::time::Time;
use crate::wire::{CodingVector, FieldCode, pack};

/// The blocks that are not acknowledged.
#[derive(Debug)]
pub(super) struct Rateless {
    code: RandomCode,
    policy: policy::Rateless,
    blocks: VecDeque<Block>,
    /// Number of the first in `blocks`.
    first: u64,
    next_seed: u32,
    /// The coding vector in hand, and packed.
    vector: Vec<u8>,
    packed: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Block {
    window: Range<Esi>,
    /// It gets no more source symbols: `Some(true)` when it has as many as a block may have.
    closed: Option<bool>,
    /// The peer has all below this.
    known: Esi,
    /// When its first symbol was sent.
    began: Time,
    /// Repair symbols that may still be sent at full speed.
    at_speed: u32,
    repairs_in_flight: u64,
    paced: Option<Paced>,
}

/// What follows at a slower pace.
#[derive(Clone, Copy, Debug)]
struct Paced {
    since: Time,
    apart: Duration,
    next: Time,
    /// The time of the next one has come.
    due: bool,
}

/// Paced repair symbols are at least this part of a round trip apart, and a millisecond: the speed of
/// a short block says little.
const SHORTEST_PART: u32 = 64;
const SHORTEST: Duration = Duration::from_millis(1);

impl Rateless {
    pub(super) fn new(code: RandomCode, policy: policy::Rateless, seed: u64) -> Self {
        Rateless {
            code: RandomCode {
                bits: code.bits.clamp(1, 8),
                k: code.k.max(1),
                ..code
            },
            policy,
            blocks: VecDeque::new(),
            first: 0,
            next_seed: seed as u32,
            vector: Vec::new(),
            packed: Vec::new(),
        }
    }

    pub(super) fn is_systematic(&self) -> bool {
        self.code.systematic
    }

    /// A block takes more source symbols.
    pub(super) fn is_open(&self) -> bool {
        self.blocks.back().is_some_and(|b| b.closed.is_none())
    }

    /// Symbols of blocks that the peer does not have.
    pub(super) fn outstanding(&self) -> u64 {
        self.blocks.iter().map(|b| b.window.end - b.known).sum()
    }

    /// A new source symbol belongs to the newest block, of at most `k` symbols, or to one more.
    pub(super) fn pushed(&mut self, now: Time, srtt: Duration, esi: Esi, k: u16) {
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
            if block.window.end - block.window.start >= u64::from(self.code.k.min(k).max(1)) {
                self.end_block(now, srtt, true);
            }
        }
    }

    /// The newest block gets no more symbols.
    pub(super) fn close(&mut self, now: Time, srtt: Duration) {
        self.end_block(now, srtt, false);
    }

    fn end_block(&mut self, now: Time, srtt: Duration, full: bool) {
        let policy = self.policy;
        let (code, extra) = (self.code, u32::from(self.policy.extra));
        if let Some(block) = self.blocks.back_mut().filter(|b| b.closed.is_none()) {
            block.closed = Some(full);
            let symbols = (block.window.end - block.window.start) as u32;
            block.at_speed = match (self.policy.extra, code.systematic) {
                // The peer has all of it already.
                _ if block.is_over() => 0,
                (policy::Rateless::ENDLESS, _) => u32::MAX,
                (_, true) => extra,
                (_, false) => symbols + extra,
            };
            if block.at_speed == 0 && !block.is_over() {
                block.begin_pace(now, srtt, &policy);
            }
        }
    }

    /// The block whose repair symbols are sent as fast as they can; `new`: there is a source symbol
    /// to send as well, which goes before those of a block that ended early.
    pub(super) fn at_speed(&self, new: bool) -> Option<Range<Esi>> {
        let next = self.hurried(new).next()?;
        next.has_room().then(|| next.window.clone())
    }

    /// No block keeps the next one from beginning.
    pub(super) fn may_begin(&self) -> bool {
        self.is_open() || self.hurried(true).next().is_none()
    }

    fn hurried(&self, new: bool) -> impl Iterator<Item = &Block> {
        let waits = move |b: &&Block| new && self.code.systematic && b.closed == Some(false);
        let blocks = self.blocks.iter();
        blocks.filter(move |b| b.closed.is_some() && b.at_speed > 0 && !waits(b))
    }

    /// The block whose next paced repair symbol is due; `late`: only if its acknowledgement should
    /// have been here by now, a round trip and an eighth after its speedy ones.
    pub(super) fn paced(&self, now: Time, srtt: Duration, late: bool) -> Option<Range<Esi>> {
        let block = self.pacing()?;
        let paced = block.paced?;
        let overdue = now >= paced.since + srtt * 9 / 8;
        let due = paced.due || now >= paced.next;
        (due && (overdue || !late) && block.has_room()).then(|| block.window.clone())
    }

    /// The oldest block that has had all its speedy ones: others wait for it.
    fn pacing(&self) -> Option<&Block> {
        self.blocks.iter().find(|b| b.paced.is_some())
    }

    /// When a paced repair symbol gets due.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let block = self.pacing().filter(|b| b.has_room())?;
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

    /// Draws the next coding vector for `nss` symbols. It is not zero, which would tell nothing.
    pub(super) fn draw(&mut self, nss: u16) -> (FieldCode<'_>, Coefficients<'_>) {
        let bits = self.code.bits;
        let key = loop {
            let key = self.next_seed;
            self.next_seed = key.wrapping_add(1);
            let vector = CodingVector::Seed(key);
            FieldCode { bits, vector }.fill(nss, &mut self.vector);
            // One in two at worst is: of a single symbol in GF(2).
            if nss == 0 || self.vector.iter().any(|c| *c != 0) {
                break key;
            }
        };
        let vector = match self.code.header {
            VectorHeader::Seed => CodingVector::Seed(key),
            VectorHeader::Explicit => {
                pack(&self.vector, bits, &mut self.packed);
                CodingVector::Explicit(&self.packed)
            }
        };
        (
            FieldCode { bits, vector },
            Coefficients::Explicit(&self.vector),
        )
    }

    /// A repair symbol was sent for the block that holds `esi`; returns the block's number.
    pub(super) fn repair_sent(&mut self, now: Time, srtt: Duration, esi: Esi) -> Option<u64> {
        let index = self.index_of(esi)?;
        let policy = self.policy;
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
                    block.begin_pace(now, srtt, &policy);
                }
            }
        }
        Some(self.first + index as u64)
    }

    /// A repair symbol of block number `block` arrived or was lost.
    pub(super) fn repair_fate(&mut self, block: u64) {
        let index = block.checked_sub(self.first).map(|i| i as usize);
        if let Some(block) = index.and_then(|i| self.blocks.get_mut(i)) {
            block.repairs_in_flight = block.repairs_in_flight.saturating_sub(1);
        }
    }

    /// What the peer knows now: whole blocks are over.
    pub(super) fn learn(&mut self, knows: impl Fn(Esi) -> bool) {
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

    /// All that leave at full speed have left.
    fn begin_pace(&mut self, now: Time, srtt: Duration, policy: &policy::Rateless) {
        let sent = self.window.end - self.window.start + u64::from(policy.extra);
        let each = now.since(self.began).as_secs_f64() / sent.max(1) as f64;
        let shortest = SHORTEST.max(srtt / SHORTEST_PART);
        let apart = Duration::from_secs_f64(each / policy.pace.clamp(0.001, 1.0)).max(shortest);
        self.paced = Some(Paced {
            since: now,
            apart,
            next: now + apart,
            due: false,
        });
    }

    /// More may be on their way. With twice as many as symbols nearly every path has brought enough
    /// of them; a dead one is left to the retransmission timer.
    fn has_room(&self) -> bool {
        self.repairs_in_flight < 2 * (self.window.end - self.window.start) + 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(64);

    fn code(systematic: bool) -> RandomCode {
        RandomCode {
            k: 4,
            bits: 1,
            systematic,
            header: VectorHeader::Seed,
        }
    }

    fn rateless(systematic: bool, extra: u16) -> Rateless {
        let policy = policy::Rateless { extra, pace: 0.5 };
        Rateless::new(code(systematic), policy, 0)
    }

    fn at(millis: u64) -> Time {
        Time::from_micros(1000 * millis)
    }

    #[test]
    fn extra_symbols_go_at_once_and_the_rest_at_half_the_speed() {
        let mut blocks = rateless(true, 2);
        (0..4).for_each(|esi| blocks.pushed(at(10 * esi), SRTT, esi, 64));
        assert!(!blocks.is_open() && !blocks.may_begin());
        for time in [40, 50] {
            assert_eq!(blocks.at_speed(true), Some(0..4));
            assert_eq!(blocks.repair_sent(at(time), SRTT, 3), Some(0));
        }
        assert_eq!(blocks.at_speed(true), None);
        assert!(blocks.may_begin());
        // Six symbols in 50 ms.
        assert_eq!(blocks.next_timeout(), Some(Time::from_micros(66_666)));
        assert_eq!(blocks.paced(at(66), SRTT, false), None);
        assert_eq!(blocks.paced(at(67), SRTT, false), Some(0..4));
        assert_eq!(blocks.paced(at(67), SRTT, true), None);
        assert_eq!(blocks.paced(at(122), SRTT, true), Some(0..4));
        blocks.on_timeout(at(67));
        assert_eq!(blocks.next_timeout(), None);
        blocks.learn(|esi| esi != 2);
        assert_eq!(blocks.outstanding(), 2);
        blocks.learn(|_| true);
        assert_eq!(blocks.paced(at(200), SRTT, false), None);
        assert_eq!(blocks.window_of(3), None);
    }

    #[test]
    fn without_extra_symbols_the_first_one_is_paced_too() {
        let mut blocks = rateless(true, 0);
        (0..4).for_each(|esi| blocks.pushed(at(10 * esi), SRTT, esi, 64));
        assert_eq!(blocks.at_speed(false), None);
        // Four symbols in 30 ms, at half that speed.
        assert_eq!(blocks.next_timeout(), Some(at(45)));
        assert_eq!(blocks.paced(at(45), SRTT, false), Some(0..4));
    }

    #[test]
    fn an_endless_block_keeps_the_next_one_waiting_until_it_is_known() {
        let mut blocks = rateless(false, policy::Rateless::ENDLESS);
        (0..3).for_each(|esi| blocks.pushed(at(0), SRTT, esi, 64));
        blocks.close(at(0), SRTT);
        for sent in 0..2 * 3 + 16 {
            assert_eq!(blocks.at_speed(true), Some(0..3), "{sent}");
            assert!(!blocks.may_begin());
            blocks.repair_sent(at(sent), SRTT, 0);
        }
        // So many are on their way that a dead path must be feared.
        assert_eq!(blocks.at_speed(true), None);
        assert!(!blocks.may_begin());
        blocks.repair_fate(0);
        assert_eq!(blocks.at_speed(true), Some(0..3));
        blocks.learn(|_| true);
        assert!(blocks.may_begin() && blocks.at_speed(false).is_none());
    }

    #[test]
    fn a_block_that_ended_early_lets_new_data_go_first() {
        let mut blocks = rateless(true, 2);
        blocks.pushed(at(0), SRTT, 0, 64);
        blocks.close(at(0), SRTT);
        assert_eq!(blocks.at_speed(true), None);
        assert!(blocks.may_begin());
        assert_eq!(blocks.at_speed(false), Some(0..1));
    }

    #[test]
    fn coding_vectors_are_never_zero_and_never_the_same_for_long() {
        for bits in [1, 4, 8] {
            let mut code = code(false);
            code.bits = bits;
            code.header = VectorHeader::Explicit;
            let mut rateless = Rateless::new(code, policy::Rateless::default(), 5);
            let mut vectors = Vec::new();
            for _ in 0..200 {
                let (FieldCode { vector, .. }, _) = rateless.draw(40);
                let CodingVector::Explicit(packed) = vector else {
                    panic!("a seed")
                };
                vectors.push(packed.to_vec());
            }
            assert!(vectors.iter().all(|v| v.iter().any(|b| *b != 0)));
            vectors.sort();
            vectors.dedup();
            assert_eq!(vectors.len(), 200);
            let (one, _) = rateless.draw(1);
            let mut vector = Vec::new();
            one.fill(1, &mut vector);
            assert_ne!(vector, [0]);
        }
    }
}
