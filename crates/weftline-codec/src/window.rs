//! The sending side of a sliding-window code.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use crate::Esi;
use crate::coefficients;
use crate::error::{PushError, RepairError};
use crate::field::Arithmetic;
use crate::pool::Pool;
use crate::symbol::{self, LENGTH_BYTES, MAX_SYMBOL_SIZE};

/// Holds recent source symbols and makes repair symbols over any run of them.
///
/// The application's payloads are [pushed](Self::push) and get consecutive
/// ESIs; the payload itself is what travels as the source symbol. A
/// [repair](Self::repair) covers a window of symbols still held; its window and
/// key must travel with it. Symbols leave at the lower edge, usually when the
/// peer has acknowledged them.
///
/// Memory is at most `capacity` times the longest payload pushed; buffers are
/// reused.
#[derive(Clone, Debug)]
pub struct WindowEncoder {
    field: Arithmetic,
    first: Esi,
    /// Coded forms of the symbols `first..next`.
    symbols: VecDeque<Vec<u8>>,
    pool: Pool,
    capacity: usize,
    max_symbol_size: usize,
}

impl WindowEncoder {
    /// An empty window for at most `capacity` symbols of at most
    /// `max_symbol_size` bytes (above [`MAX_SYMBOL_SIZE`] that limit counts).
    #[must_use]
    pub fn new(capacity: usize, max_symbol_size: usize) -> Self {
        Self {
            field: Arithmetic::default(),
            first: 0,
            symbols: VecDeque::new(),
            pool: Pool::default(),
            capacity,
            max_symbol_size: max_symbol_size.min(MAX_SYMBOL_SIZE),
        }
    }

    /// Takes the next source symbol in and returns its ESI.
    ///
    /// # Errors
    ///
    /// [`PushError::TooLong`] or, when nothing can be taken in before
    /// [`discard_before`](Self::discard_before), [`PushError::Full`].
    pub fn push(&mut self, payload: &[u8]) -> Result<Esi, PushError> {
        if payload.len() > self.max_symbol_size {
            return Err(PushError::TooLong {
                got: payload.len(),
                limit: self.max_symbol_size,
            });
        }
        if self.is_full() {
            return Err(PushError::Full {
                capacity: self.capacity,
            });
        }
        let mut coded = self.pool.take();
        symbol::write(&mut coded, payload);
        let esi = self.next();
        self.symbols.push_back(coded);
        Ok(esi)
    }

    /// The lowest ESI held, or [`next`](Self::next) if none is.
    #[must_use]
    pub fn first(&self) -> Esi {
        self.first
    }

    /// The ESI the next symbol will get; `first..next` are held.
    #[must_use]
    pub fn next(&self) -> Esi {
        self.first + self.symbols.len() as u64
    }

    /// How many symbols are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether no symbol is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Whether a push would fail for want of room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.symbols.len() >= self.capacity
    }

    /// How many symbols may be held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The payload of a symbol still held.
    #[must_use]
    pub fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        let index = usize::try_from(esi.checked_sub(self.first)?).ok()?;
        self.symbols.get(index).map(|coded| symbol::payload(coded))
    }

    /// Moves the window's lower edge up: symbols below `esi` can no longer be
    /// covered. No effect when the edge is there already; an `esi` above
    /// [`next`](Self::next) empties the window without skipping ESIs.
    pub fn discard_before(&mut self, esi: Esi) {
        while self.first < esi {
            let Some(coded) = self.symbols.pop_front() else {
                return;
            };
            self.pool.give(coded);
            self.first += 1;
        }
    }

    /// The bytes of a repair symbol over `window`: [`LENGTH_BYTES`] more than
    /// its longest payload.
    ///
    /// # Errors
    ///
    /// As [`repair`](Self::repair).
    pub fn repair_len(&self, window: Range<Esi>) -> Result<usize, RepairError> {
        let longest = self.covered(window)?.map(Vec::len).max();
        Ok(longest.unwrap_or(LENGTH_BYTES))
    }

    /// Appends to `out` the repair symbol over `window` whose coding vector is
    /// that of `key` (see [`coefficients`]). Give each repair another key, so
    /// that they are independent of each other: a receiver that still misses
    /// something finds one useless with a probability of at most about 1/255.
    ///
    /// # Errors
    ///
    /// [`RepairError::EmptyWindow`], or [`RepairError::NotHeld`] when not all of
    /// the window is held; `out` is then unchanged.
    pub fn repair(
        &self,
        window: Range<Esi>,
        key: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), RepairError> {
        let length = self.repair_len(window.clone())?;
        let start = out.len();
        out.resize(start + length, 0);
        let symbols = self.covered(window)?;
        self.field.combine(
            &mut out[start..],
            Coefficients::new(key).zip(symbols.map(Vec::as_slice)),
        );
        Ok(())
    }

    /// The coded forms of a window's symbols.
    fn covered(&self, window: Range<Esi>) -> Result<impl Iterator<Item = &Vec<u8>>, RepairError> {
        if window.is_empty() {
            return Err(RepairError::EmptyWindow);
        }
        if window.start < self.first || window.end > self.next() {
            return Err(RepairError::NotHeld {
                window,
                held: self.first..self.next(),
            });
        }
        let (start, end) = (window.start - self.first, window.end - self.first);
        Ok(self.symbols.range(start as usize..end as usize))
    }
}

/// The coefficients of a key one by one, made a batch at a time.
struct Coefficients {
    key: u32,
    position: usize,
    batch: [u8; Self::BATCH],
}

impl Coefficients {
    const BATCH: usize = 64;

    fn new(key: u32) -> Self {
        Self {
            key,
            position: 0,
            batch: [0; Self::BATCH],
        }
    }
}

impl Iterator for Coefficients {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let index = self.position % Self::BATCH;
        if index == 0 {
            coefficients::fill_from(self.key, self.position, &mut self.batch);
        }
        self.position += 1;
        Some(self.batch[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Field, Gf256};
    use alloc::vec;

    fn encoder(payloads: &[&[u8]]) -> WindowEncoder {
        let mut encoder = WindowEncoder::new(100, 1000);
        for payload in payloads {
            encoder.push(payload).unwrap();
        }
        encoder
    }

    #[test]
    fn repair_is_the_combination_of_length_payload_and_zeros() {
        let payloads: [&[u8]; 4] = [b"not covered", b"abc", b"", &[0xFF; 300]];
        let encoder = encoder(&payloads);
        let mut repair = vec![0xEE];
        encoder.repair(1..4, 99, &mut repair).unwrap();

        let mut expected = vec![0; 302];
        for (position, payload) in payloads[1..].iter().enumerate() {
            let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
            let coded = length.iter().chain(payload.iter());
            for (sum, byte) in expected.iter_mut().zip(coded) {
                *sum ^= Gf256::mul(coefficients::at(99, position), *byte);
            }
        }
        assert_eq!(repair[0], 0xEE);
        assert_eq!(repair[1..], expected);
        assert_eq!(encoder.repair_len(1..4), Ok(302));
        assert_eq!(encoder.repair_len(2..3), Ok(2));
    }

    #[test]
    fn coefficients_one_by_one_are_those_of_the_whole_vector() {
        let mut whole = [0; 200];
        coefficients::fill(3, &mut whole);
        assert!(Coefficients::new(3).take(200).eq(whole));
    }

    #[test]
    fn repair_needs_its_whole_window() {
        let mut encoder = encoder(&[b"0", b"1", b"2"]);
        encoder.discard_before(1);
        let held = 1..3;
        let mut out = vec![7];
        for window in [0..2, 1..4, 5..6] {
            let held = held.clone();
            let error = RepairError::NotHeld {
                window: window.clone(),
                held,
            };
            assert_eq!(encoder.repair(window, 0, &mut out), Err(error));
        }
        let empty = encoder.repair(2..2, 0, &mut out);
        assert_eq!(empty, Err(RepairError::EmptyWindow));
        assert_eq!(out, [7]);
        assert_eq!(encoder.repair(held, 0, &mut out), Ok(()));
    }

    #[test]
    fn window_slides_with_consecutive_numbers() {
        let mut encoder = WindowEncoder::new(2, 3);
        assert_eq!(
            encoder.push(b"zero"),
            Err(PushError::TooLong { got: 4, limit: 3 })
        );
        assert_eq!(encoder.push(b"0"), Ok(0));
        assert_eq!(encoder.push(b"1"), Ok(1));
        assert_eq!(encoder.push(b"2"), Err(PushError::Full { capacity: 2 }));
        encoder.discard_before(1);
        assert_eq!(encoder.push(b"2"), Ok(2));
        assert_eq!((encoder.first(), encoder.next(), encoder.len()), (1, 3, 2));
        assert_eq!(encoder.symbol(0), None);
        assert_eq!(encoder.symbol(1), Some(&b"1"[..]));
        assert_eq!(encoder.symbol(3), None);
        encoder.discard_before(u64::MAX);
        assert!(encoder.is_empty());
        assert_eq!(encoder.push(b"3"), Ok(3));
    }

    #[test]
    fn symbols_longer_than_a_length_can_say_are_refused() {
        let mut encoder = WindowEncoder::new(1, usize::MAX);
        let error = PushError::TooLong {
            got: 65_536,
            limit: 65_535,
        };
        assert_eq!(encoder.push(&vec![0; 65_536]), Err(error));
        assert_eq!(encoder.push(&vec![0; 65_535]), Ok(0));
    }
}
