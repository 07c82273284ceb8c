//! Blocks: repair symbols over k source symbols, and recovery of as many lost
//! source symbols as there are repair symbols.

mod ours;
#[cfg(feature = "peers")]
mod peers;

use super::ceilings;
use crate::contest::{Case, Contest, Error, Visitor};
use crate::data::{Draws, Symbols};
use crate::plan::{Plan, Scope};

const SEED: u64 = 5;
const ENCODE: &str = "bytes of the source symbols; makes all repair symbols";
const DECODE: &str = "bytes of the source symbols; recovers as many lost symbols as there are \
                      repair symbols, different ones each time";

/// The k and m of published figures.
const ANCHORS: [(usize, usize); 4] = [(32, 4), (64, 7), (167, 17), (200, 40)];

/// The number of loss patterns. It exceeds the number of inverted matrices that
/// some codes keep, so that every code does the work of new losses.
const PATTERNS: usize = 257;

/// A block and its losses.
struct Block {
    sources: Symbols,
    repairs: usize,
    /// Indices of lost source symbols, ascending.
    patterns: Vec<Vec<usize>>,
}

impl Block {
    fn new(k: usize, m: usize, size: usize) -> Self {
        let mut draws = Draws::new(SEED);
        Self {
            sources: Symbols::random(k, size, SEED),
            repairs: m,
            patterns: (0..PATTERNS).map(|_| draws.sample(k, m.min(k))).collect(),
        }
    }

    fn k(&self) -> usize {
        self.sources.len()
    }

    fn size(&self) -> usize {
        self.sources.size()
    }

    /// The lost symbols of a pattern, one after the other.
    fn lost(&self, pattern: usize) -> Vec<u8> {
        let lost = self.patterns[pattern].iter();
        lost.flat_map(|index| self.sources.get(*index))
            .copied()
            .collect()
    }

    /// The indices and symbols that arrive.
    fn received(&self, pattern: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let mut lost = self.patterns[pattern].iter().copied().peekable();
        (0..self.k())
            .filter(move |index| lost.next_if_eq(index).is_none())
            .map(|index| (index, self.sources.get(index)))
    }
}

/// The direction to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Encode,
    Decode,
}

pub(super) fn visit(plan: &Plan, visitor: &mut dyn Visitor) -> Result<(), Error> {
    for size in plan.scope.sizes() {
        for (k, m) in shapes(plan.scope) {
            for way in [Way::Encode, Way::Decode] {
                visit_block(visitor, size, k, m, way)?;
            }
        }
    }
    Ok(())
}

/// Numbers of source and repair symbols.
fn shapes(scope: Scope) -> Vec<(usize, usize)> {
    let mut shapes = scope.pick(&ANCHORS[..2], &ANCHORS, &ANCHORS);
    if scope == Scope::Full {
        for k in [32, 64, 128, 256, 1024usize] {
            shapes.extend([5, 10, 20, 33].map(|percent| (k, (k * percent).div_ceil(100))));
        }
    }
    shapes
}

fn visit_block(
    visitor: &mut dyn Visitor,
    size: usize,
    k: usize,
    m: usize,
    way: Way,
) -> Result<(), Error> {
    let (workload, definition) = match way {
        Way::Encode => ("block/encode", ENCODE),
        Way::Decode => ("block/decode", DECODE),
    };
    let parameters = [("k", k), ("m", m), ("size", size)];
    let case = Case::new(workload, definition, &parameters, k * size);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let block = Block::new(k, m, size);
    let mut contest = Contest::new(case);
    ours::random_linear(&mut contest, &block, way)?;
    ours::reed_solomon(&mut contest, &block, way)?;
    #[cfg(feature = "peers")]
    peers::enter(&mut contest, &block, way)?;
    let sources = block.sources.slices();
    ceilings::xor(&mut contest, &sources, m)?;
    ceilings::memcpy(&mut contest, &sources, 1)?;
    visitor.contest(contest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_lost_is_received() {
        let block = Block::new(20, 6, 64);
        for pattern in 0..PATTERNS {
            let lost = &block.patterns[pattern];
            assert_eq!(lost.len(), 6);
            assert_eq!(block.lost(pattern).len(), 6 * 64);
            let mut all: Vec<usize> = block.received(pattern).map(|(index, _)| index).collect();
            all.extend(lost);
            all.sort_unstable();
            assert_eq!(all, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_size_of_block_with_each_share_of_repair_is_there() {
        let shapes = shapes(Scope::Full);
        assert_eq!(shapes.len(), 4 + 5 * 4);
        assert!(shapes.contains(&(1024, 338)) && shapes.contains(&(32, 2)));
    }
}
