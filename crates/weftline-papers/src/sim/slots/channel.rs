//! Random numbers, and the erasures of slots.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::theory::SlotLoss;

/// A repeatable sequence of random numbers: one for each run of a seed.
#[derive(Clone, Debug)]
pub(super) struct Draws(Xoshiro256PlusPlus);

impl Draws {
    pub(super) fn new(seed: u64, run: u64) -> Self {
        // Far apart for consecutive runs, and never another seed's sequence with an offset.
        let mixed = (run + 1)
            .wrapping_mul(0xD1B5_4A32_D192_ED03)
            .rotate_left(29);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ mixed))
    }

    #[inline]
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True with the probability whose [`threshold`] is `threshold`.
    #[inline]
    pub(super) fn chance(&mut self, threshold: u64) -> bool {
        self.bits() < threshold
    }

    /// Uniform on `0..n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

/// The value that 64 random bits are compared with.
pub(super) fn threshold(p: f64) -> u64 {
    // Saturates: 1 is missed by 2^-64.
    (p * 2_f64.powi(64)) as u64
}

/// A slotted channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    /// Probability that the next slot is lost, by whether the last one was.
    loses: [u64; 2],
    lost: bool,
    draws: Draws,
}

impl Channel {
    pub(super) fn new(loss: SlotLoss, draws: Draws) -> Self {
        let (gamma, beta) = loss.transitions();
        Self {
            loses: [threshold(gamma), threshold(1.0 - beta)],
            lost: false,
            draws,
        }
    }

    /// Whether the next slot is erased.
    #[inline]
    pub(super) fn next_is_lost(&mut self) -> bool {
        self.lost = self.draws.chance(self.loses[usize::from(self.lost)]);
        self.lost
    }

    /// Whether the future is independent of the past.
    #[inline]
    pub(super) fn is_fresh(&self) -> bool {
        !self.lost || self.loses[0] == self.loses[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_lose_their_share_in_runs_of_their_length() {
        for (text, rate, run) in [("0.1", 0.1, 1.0 / 0.9), ("markov:0.1,4", 0.1, 4.0)] {
            let mut channel = Channel::new(text.parse().unwrap(), Draws::new(1, 0));
            let (mut lost, mut runs, mut last) = (0_u32, 0_u32, false);
            for _ in 0..1_000_000 {
                let now = channel.next_is_lost();
                lost += u32::from(now);
                runs += u32::from(now && !last);
                last = now;
            }
            let (got, length) = (f64::from(lost) / 1e6, f64::from(lost) / f64::from(runs));
            // Four standard deviations of the burstier channel.
            assert!((got - rate).abs() < 0.0033, "{text}: {got}");
            assert!((length - run).abs() < 0.1, "{text}: {length}");
        }
    }

    #[test]
    fn runs_of_a_seed_differ_and_repeat() {
        let first = |seed, run| Draws::new(seed, run).bits();
        assert_eq!(first(1, 2), first(1, 2));
        let mut all: Vec<_> = (0..40).map(|i| first(i / 20, i % 20)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn whole_numbers_reach_all_values() {
        let mut draws = Draws::new(3, 0);
        let mut seen = [0; 20];
        (0..20_000).for_each(|_| seen[draws.below(20) as usize] += 1);
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
    }
}
