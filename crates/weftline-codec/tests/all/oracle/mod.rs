//! The information in repair symbols, by plain dense Gaussian elimination: an
//! independent check of the decoder. It shares no code with the decoder, gets
//! all coding vectors, and starts anew for each question.

use std::collections::BTreeSet;
use std::ops::Range;

use weftline_codec::field::Arithmetic;

/// All input of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    polynomial: u16,
    received: BTreeSet<u64>,
    equations: Vec<(Range<u64>, Vec<u8>)>,
}

/// The conclusions from the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Symbols received or determined, from the floor on.
    pub(crate) known: BTreeSet<u64>,
    /// Independent equations about unknowns from the floor on that do not
    /// contain any below it.
    pub(crate) rank: usize,
}

impl Oracle {
    pub(crate) fn new(field: Arithmetic) -> Self {
        Self {
            polynomial: field.polynomial(),
            received: BTreeSet::new(),
            equations: Vec::new(),
        }
    }

    pub(crate) fn receive(&mut self, esi: u64) {
        self.received.insert(esi);
    }

    /// The equation of a repair symbol with this coding vector.
    pub(crate) fn equation(&mut self, window: Range<u64>, vector: Vec<u8>) {
        self.equations.push((window, vector));
    }

    /// The verdict on symbols from `floor` to `end`.
    pub(crate) fn verdict(&self, floor: u64, end: u64) -> Verdict {
        let unknowns: Vec<u64> = (0..end).filter(|e| !self.received.contains(e)).collect();
        let mut rows: Vec<Vec<u8>> = self
            .equations
            .iter()
            .map(|(window, vector)| {
                let coefficient = |esi: &u64| match esi.checked_sub(window.start) {
                    Some(i) if window.contains(esi) => vector[i as usize],
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
            let scale = self.inverse(rows[pivots][column]);
            let pivot: Vec<u8> = rows[pivots].iter().map(|x| self.times(*x, scale)).collect();
            for (index, row) in rows.iter_mut().enumerate() {
                let factor = row[column];
                if index != pivots && factor != 0 {
                    for (x, p) in row.iter_mut().zip(&pivot) {
                        *x ^= self.times(*p, factor);
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

    /// The schoolbook product of polynomials over GF(2), modulo that of the
    /// field.
    fn times(&self, a: u8, b: u8) -> u8 {
        let mut product = (0..8)
            .filter(|bit| b >> bit & 1 != 0)
            .fold(0, |sum, bit| sum ^ u16::from(a) << bit);
        let degree = self.polynomial.ilog2();
        for bit in (degree..16).rev() {
            if product >> bit & 1 != 0 {
                product ^= self.polynomial << (bit - degree);
            }
        }
        product as u8
    }

    /// The inverse, by trying all elements.
    fn inverse(&self, a: u8) -> u8 {
        let found = (1..=u8::MAX).find(|b| self.times(a, *b) == 1);
        found.expect("every element but 0 has an inverse")
    }
}
