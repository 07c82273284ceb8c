//! How much the queue changes by itself.

use core::time::Duration;

/// Rounds of the mean.
const ROUNDS: f64 = 16.0;
/// Changes up to this part of the target are the rate control's own.
const OWN: f64 = 0.25;
/// The queue must have been short in the last rounds, this many.
const LONG: u32 = 32;

/// The mean change of the queue from one round to the next. A link whose capacity changes within
/// round trips needs a longer queue, or it runs empty each time that it becomes faster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Swing {
    before: f64,
    mean: f64,
    /// Rounds since the queue was short.
    long: u32,
}

impl Swing {
    /// A round at full rate had this queue.
    pub(super) fn add(&mut self, queue: Duration, target: Duration) {
        self.long = match queue <= target / 2 {
            true => 0,
            false => self.long.saturating_add(1),
        };
        let before = core::mem::replace(&mut self.before, queue.as_secs_f64());
        self.mean += ((self.before - before).abs() - self.mean) / ROUNDS;
    }

    /// What the target should have on top: at most twice as much again. A packet takes `service`; the
    /// queue always changes by some.
    pub(super) fn more(&self, target: Duration, service: Duration) -> Duration {
        // Other flows keep it long.
        if self.long > LONG {
            return Duration::ZERO;
        }
        let own = (target.mul_f64(OWN) + service).as_secs_f64();
        Duration::from_secs_f64((self.mean - own).max(0.0)).min(2 * target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(8);

    #[test]
    fn a_queue_that_swings_gets_a_longer_target_and_a_steady_one_does_not() {
        let more = |queue: fn(u64) -> u64| {
            let mut swing = Swing::default();
            for round in 0..100 {
                swing.add(Duration::from_millis(queue(round)), TARGET);
            }
            swing.more(TARGET, Duration::from_millis(1)).as_millis()
        };
        assert_eq!(more(|_| 9), 0);
        assert_eq!(more(|round| 8 + round % 2), 0);
        assert_eq!(more(|round| 40 + 6 * (round % 2)), 0);
        assert_eq!(more(|round| 6 * (round % 2)), 2);
        assert_eq!(more(|round| 50 * (round % 2)), 16);
    }
}
