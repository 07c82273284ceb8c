//! Repair symbols that are made before they leave.
//!
//! A deficit is answered with many repairs over the same window. Made in one pass over its symbols, they
//! cost a fraction of what they cost one after the other.

use std::ops::Range;

use weftline_codec::coefficients::Coefficients;
use weftline_codec::{Esi, WindowEncoder};

/// Repairs that are made in one pass at most, and their bytes. A single one may be longer.
const MOST: usize = 8;
pub(crate) const MOST_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The newest repair's window, and how many over it have left.
    window: Range<Esi>,
    left: usize,
    /// The key of the next one.
    key: u16,
    /// The last pass, and how many of it have left.
    made: Vec<Vec<u8>>,
    taken: usize,
}

impl Ahead {
    /// Appends the repair symbol of this key over `window` to `out`. Returns false if the encoder does not
    /// hold the window.
    pub(super) fn repair(
        &mut self,
        encoder: &WindowEncoder,
        window: &Range<Esi>,
        key: u16,
        out: &mut Vec<u8>,
    ) -> bool {
        if (window, key) != (&self.window, self.key) {
            self.window = window.clone();
            self.left = 0;
            self.taken = self.made.len();
        }
        let written = match self.left {
            0 => encoder.repair(window.clone(), u32::from(key), out).is_ok(),
            _ => self.take(encoder, key, out),
        };
        self.left += 1;
        self.key = key.wrapping_add(1);
        written
    }

    fn take(&mut self, encoder: &WindowEncoder, key: u16, out: &mut Vec<u8>) -> bool {
        if self.taken == self.made.len() {
            // About as many as have left over this window: there may be no more of them.
            let window = self.window.clone();
            let length = encoder.repair_len(window.clone()).unwrap_or(1);
            let most = (self.left + 1).min(MOST).min(MOST_BYTES / length);
            if most < 2 {
                return encoder.repair(window, u32::from(key), out).is_ok();
            }
            self.made.clear();
            self.made.resize_with(most, || Vec::with_capacity(length));
            self.taken = 0;
            let mut coefficients = [Coefficients::from(0); MOST];
            for (n, coefficients) in (0..).zip(&mut coefficients) {
                *coefficients = u32::from(key.wrapping_add(n)).into();
            }
            let coefficients = &coefficients[..most];
            if (encoder.repairs(window, coefficients, &mut self.made)).is_err() {
                self.made.clear();
                return false;
            }
        }
        out.extend_from_slice(&self.made[self.taken]);
        self.taken += 1;
        true
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        self.made.iter().map(Vec::capacity).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_ahead_is_what_the_encoder_makes() {
        let mut encoder = WindowEncoder::new(100, 20);
        for n in 0..60u8 {
            encoder.push(&[n; 20][..usize::from(n) % 20]).unwrap();
        }
        let mut ahead = Ahead::default();
        let mut key = u16::MAX - 20;
        for (window, repairs) in [(0..40, 1), (0..41, 30), (5..41, 2), (5..41, 7), (0..41, 3)] {
            for _ in 0..repairs {
                let (mut out, mut expected) = (vec![1, 2], vec![1, 2]);
                assert!(ahead.repair(&encoder, &window, key, &mut out));
                (encoder.repair(window.clone(), u32::from(key), &mut expected)).unwrap();
                assert_eq!(out, expected, "{window:?} {key}");
                key = key.wrapping_add(1);
            }
            // Another repair took a key.
            key = key.wrapping_add(u16::from(repairs == 2));
        }
        assert_eq!(ahead.memory(), 2 * 21);
        for _ in 0..3 {
            assert!(!ahead.repair(&encoder, &(0..61), key, &mut Vec::new()));
        }
    }
}
