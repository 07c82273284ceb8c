//! Seeded random streams.
//!
//! Each concern has its own stream, so that jitter does not change which packets are lost.

use core::time::Duration;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A reproducible stream of draws; the conversions are written here so that no
/// library update can change what a seed means.
#[derive(Debug, Clone)]
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns the stream 2^128 draws further on, which never overlaps this one.
    pub(crate) fn next_stream(&self) -> Self {
        let mut rng = self.0.clone();
        rng.jump();
        Self(rng)
    }

    /// True with probability `p`; always draws once. A NaN is never true.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        // 53 random bits fill the mantissa: uniform on [0, 1).
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        unit < p
    }

    /// Uniform on `0..=max`.
    pub(crate) fn whole(&mut self, max: u64) -> u64 {
        let span = u128::from(max) + 1;
        // The product is below 2^128 and its upper half below `span`.
        ((u128::from(self.0.next_u64()) * span) >> 64) as u64
    }

    /// Uniform on `0..=max`, in nanoseconds.
    pub(crate) fn up_to(&mut self, max: Duration) -> Duration {
        Duration::from_nanos(self.whole(nanos(max)))
    }
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_keeps_its_bounds() {
        let mut s = Stream::new(1);
        assert!((0..1000).all(|_| s.chance(1.0)));
        assert!(!(0..1000).any(|_| s.chance(0.0)));
        assert!(!(0..1000).any(|_| s.chance(f64::NAN)));
        assert!(!(0..1000).any(|_| s.chance(-1.0)));
    }

    #[test]
    fn up_to_reaches_both_ends() {
        let mut s = Stream::new(1);
        let max = Duration::from_nanos(3);
        let mut seen = [false; 4];
        for _ in 0..200 {
            seen[s.up_to(max).as_nanos() as usize] = true;
        }
        assert_eq!(seen, [true; 4]);
        // The widest span must not overflow.
        s.up_to(Duration::MAX);
    }
}
