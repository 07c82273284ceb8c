//! What repair symbols reveal, by a new dense elimination for each question.

use std::collections::BTreeSet;
use std::ops::Range;

use weftline_codec::coefficients;
use weftline_codec::field::{Field, Gf256};

/// Everything that a receiver got and may use.
#[derive(Debug, Default)]
pub(super) struct Oracle {
    pub(super) received: BTreeSet<u64>,
    pub(super) equations: Vec<(Range<u64>, u32)>,
}

/// What follows from everything that the receiver got.
#[derive(Debug)]
pub(super) struct Verdict {
    /// Symbols received or determined, from the floor on.
    pub(super) known: BTreeSet<u64>,
    /// Independent equations about unknowns from the floor on, also those that determine one.
    pub(super) rank: usize,
}

impl Oracle {
    /// What follows for the symbols from `floor` to `end`.
    pub(super) fn verdict(&self, floor: u64, end: u64) -> Verdict {
        let unknowns: Vec<u64> = (0..end).filter(|e| !self.received.contains(e)).collect();
        let mut rows: Vec<Vec<u8>> = self
            .equations
            .iter()
            .map(|(window, key)| row(window, *key, &unknowns))
            .collect();
        let (mut pivots, mut rank) = (0, 0);
        for (column, esi) in unknowns.iter().enumerate() {
            let Some(found) = (pivots..rows.len()).find(|r| rows[*r][column] != 0) else {
                continue;
            };
            rows.swap(pivots, found);
            let scale = Gf256::inv(rows[pivots][column]);
            let pivot: Vec<u8> = rows[pivots].iter().map(|x| Gf256::mul(*x, scale)).collect();
            for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivots) {
                let factor = row[column];
                if factor != 0 {
                    for (x, p) in row.iter_mut().zip(&pivot) {
                        *x ^= Gf256::mul(*p, factor);
                    }
                }
            }
            rows[pivots] = pivot;
            pivots += 1;
            rank += usize::from(*esi >= floor);
        }
        let mut known: BTreeSet<u64> = self.received.range(floor..).copied().collect();
        for row in &rows {
            let mut contained = unknowns.iter().zip(row).filter(|(_, c)| **c != 0);
            if let (Some((only, _)), None) = (contained.next(), contained.next())
                && *only >= floor
            {
                known.insert(*only);
            }
        }
        Verdict { known, rank }
    }
}

fn row(window: &Range<u64>, key: u32, unknowns: &[u64]) -> Vec<u8> {
    let coefficient = |esi: &u64| match window.contains(esi) {
        true => coefficients::at(key, (esi - window.start) as usize),
        false => 0,
    };
    unknowns.iter().map(coefficient).collect()
}
