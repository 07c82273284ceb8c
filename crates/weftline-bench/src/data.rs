//! The symbols that the workloads use.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The bytes of a cache line and of the widest register.
const ALIGNMENT: usize = 64;

/// Symbols of one length, each at the start of a cache line.
///
/// A line between two symbols stays free. Without it, symbols of a few KiB
/// would all begin at the same offset in a memory page and displace each other
/// in the cache, which packets in real buffers do not.
#[derive(Clone, Debug)]
pub(crate) struct Symbols {
    bytes: Vec<u8>,
    /// The offset of the first symbol.
    first: usize,
    stride: usize,
    size: usize,
    count: usize,
}

impl Symbols {
    /// `count` symbols of zeros.
    pub(crate) fn zeroed(count: usize, size: usize) -> Self {
        let stride = size.next_multiple_of(ALIGNMENT) + ALIGNMENT;
        let bytes = vec![0; count * stride + ALIGNMENT];
        let first = bytes.as_ptr().align_offset(ALIGNMENT);
        Self {
            bytes,
            // If the alignment is not known, any offset works.
            first: if first < ALIGNMENT { first } else { 0 },
            stride,
            size,
            count,
        }
    }

    /// `count` symbols of random bytes, like compressed data.
    pub(crate) fn random(count: usize, size: usize, seed: u64) -> Self {
        let mut symbols = Self::zeroed(count, size);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for symbol in symbols.slices_mut() {
            random.fill_bytes(symbol);
        }
        symbols
    }

    pub(crate) fn get(&self, index: usize) -> &[u8] {
        &self.bytes[self.first + index * self.stride..][..self.size]
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[self.first + index * self.stride..][..self.size]
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        (0..self.count).map(|index| self.get(index)).collect()
    }

    pub(crate) fn slices_mut(&mut self) -> Vec<&mut [u8]> {
        self.iter_mut().collect()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (size, count) = (self.size, self.count);
        self.bytes[self.first..]
            .chunks_exact_mut(self.stride)
            .take(count)
            .map(move |place| &mut place[..size])
    }

    /// All symbols, one after the other.
    pub(crate) fn concat(&self) -> Vec<u8> {
        self.slices().concat()
    }
}

/// Bytes other than 0, for coefficients.
pub(crate) fn coefficients(count: usize, seed: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count)
        .map(|_| (random.next_u64() % 255 + 1) as u8)
        .collect()
}

/// A seeded stream of draws.
pub(crate) struct Draws(Xoshiro256PlusPlus);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// True in `percent` % of the draws.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.0.next_u64() % 100 < percent as u64
    }

    /// `count` different numbers below `limit`, ascending.
    pub(crate) fn sample(&mut self, limit: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..limit).collect();
        for index in 0..count.min(limit) {
            let rest = (limit - index) as u64;
            let other = index + (self.0.next_u64() % rest) as usize;
            all.swap(index, other);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_aligned_apart_and_as_many_as_asked_for() {
        for size in [1, 64, 1280, 4096] {
            let mut symbols = Symbols::random(5, size, 1);
            assert_eq!(symbols.slices_mut().len(), 5);
            for symbol in symbols.slices() {
                assert_eq!((symbol.len(), symbol.as_ptr().addr() % 64), (size, 0));
            }
            let gap = symbols.get(1).as_ptr().addr() - symbols.get(0).as_ptr().addr();
            assert!(gap >= size + 64);
            assert_eq!(symbols.concat().len(), 5 * size);
        }
    }

    #[test]
    fn samples_hold_different_numbers_within_the_limit() {
        let mut draws = Draws::new(3);
        for count in 0..=20 {
            let sample = draws.sample(20, count);
            assert_eq!(sample.len(), count);
            assert!(sample.is_sorted_by(|a, b| a < b));
            assert!(sample.iter().all(|n| *n < 20));
        }
        let lost = (0..100_000).filter(|_| draws.percent(5)).count();
        assert!((4_700..5_300).contains(&lost), "{lost}");
    }
}
