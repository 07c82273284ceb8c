//! What repair symbols reveal, by plain dense Gaussian elimination: the
//! independent judge of the decoder. It shares nothing with it but the
//! coefficients of a repair key, and starts from nothing each time it is asked.

use std::collections::BTreeSet;
use std::ops::Range;

use weftline_codec::coefficients;

/// Everything a receiver was given and may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    received: BTreeSet<u64>,
    equations: Vec<(Range<u64>, u32)>,
}

/// What follows from it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Symbols received or determined, from the floor on.
    pub(crate) known: BTreeSet<u64>,
    /// Independent equations about unknowns from the floor on that do not
    /// contain any below it.
    pub(crate) rank: usize,
}

impl Oracle {
    pub(crate) fn receive(&mut self, esi: u64) {
        self.received.insert(esi);
    }

    pub(crate) fn equation(&mut self, window: Range<u64>, key: u32) {
        self.equations.push((window, key));
    }

    /// Symbols below `floor` are of no interest, those up to `end` exist.
    pub(crate) fn verdict(&self, floor: u64, end: u64) -> Verdict {
        let unknowns: Vec<u64> = (0..end).filter(|e| !self.received.contains(e)).collect();
        let mut rows: Vec<Vec<u8>> = self
            .equations
            .iter()
            .map(|(window, key)| {
                let coefficient = |esi: &u64| match esi.checked_sub(window.start) {
                    Some(i) if window.contains(esi) => coefficients::at(*key, i as usize),
                    _ => 0,
                };
                unknowns.iter().map(coefficient).collect()
            })
            .collect();
        let mut pivots = 0;
        let mut rank = 0;
        let mut known: BTreeSet<u64> = self.received.range(floor..).copied().collect();
        for column in 0..unknowns.len() {
            let Some(found) = (pivots..rows.len()).find(|row| rows[*row][column] != 0) else {
                continue;
            };
            rows.swap(pivots, found);
            let scale = inverse(rows[pivots][column]);
            let pivot: Vec<u8> = rows[pivots].iter().map(|x| times(*x, scale)).collect();
            for (index, row) in rows.iter_mut().enumerate() {
                let factor = row[column];
                if index != pivots && factor != 0 {
                    for (x, p) in row.iter_mut().zip(&pivot) {
                        *x ^= times(*p, factor);
                    }
                }
            }
            rows[pivots] = pivot;
            pivots += 1;
            rank += usize::from(unknowns[column] >= floor);
        }
        for row in &rows {
            let mut held = (0..unknowns.len()).filter(|column| row[*column] != 0);
            if let (Some(only), None) = (held.next(), held.next())
                && unknowns[only] >= floor
            {
                known.insert(unknowns[only]);
            }
        }
        Verdict { known, rank }
    }

    /// How many symbols of `range` were received as source symbols.
    pub(crate) fn received_within(&self, range: Range<u64>) -> usize {
        self.received.range(range).count()
    }
}

/// Product in GF(2^8) modulo 0x11D, the schoolbook way.
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1D } else { 0 };
        b >>= 1;
    }
    product
}

/// a^254, which is the inverse in a field of 256 elements.
fn inverse(a: u8) -> u8 {
    (0..253).fold(a, |power, _| times(power, a))
}
