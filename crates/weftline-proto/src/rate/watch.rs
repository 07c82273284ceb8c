//! Whether others fill the queue.

use core::time::Duration;

use crate::time::Time;

/// A queue longer than its target by this factor is too long.
const TOO_LONG: f64 = 1.25;
/// For so long, and so many rounds, the queue stays too long although the window has shrunk to this
/// part: others fill it.
const FILLED: Duration = Duration::from_secs(2);
const FILLED_ROUNDS: u32 = 24;
const SHRUNK: f64 = 0.8;

/// Beside others the empty queue is not seen, but for BBR's looks each ten seconds, of some rounds.
const EMPTY_ROUNDS: u32 = 12;
const EMPTY_AGAIN: Duration = Duration::from_secs(8);

/// What a round showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) now: Time,
    pub(super) rtt: Duration,
    /// The shortest queue of the round, and the one that is aimed at.
    pub(super) queue: Duration,
    pub(super) target: Duration,
    /// The window, in bytes, as it is when nothing is tried.
    pub(super) window: f64,
}

impl Sight {
    fn is_empty(&self) -> bool {
        self.queue <= self.target / 4
    }
}

/// Others that fill the queue are there when it stays long, and gone when it is seen empty twice in
/// a while.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// Since when the queue is too long, whatever is done.
    filled: Option<Filled>,
    /// Whether it stays when this flow's part is taken away is to be tried.
    suspicious: bool,
    /// When it was seen empty in company.
    seen_empty: Option<Time>,
}

impl Watch {
    pub(super) fn is_suspicious(&self) -> bool {
        self.suspicious
    }

    pub(super) fn end_suspicion(&mut self) -> bool {
        core::mem::take(&mut self.suspicious)
    }

    /// A round without known company.
    pub(super) fn on_lone_round(&mut self, sight: &Sight) {
        if sight.queue <= sight.target.mul_f64(TOO_LONG) {
            self.filled = None;
            return;
        }
        let filled = self.filled.get_or_insert(Filled {
            since: sight.now,
            window: sight.window,
        });
        self.suspicious |= filled.by_others(sight);
    }

    /// A round in company; whether that is over.
    pub(super) fn on_competing_round(&mut self, sight: &Sight) -> bool {
        if !sight.is_empty() {
            return false;
        }
        let since = self.seen_empty.map(|at| sight.now.since(at));
        match since {
            Some(since) if since < sight.rtt * EMPTY_ROUNDS => false,
            Some(since) if since < EMPTY_AGAIN => true,
            _ => {
                self.seen_empty = Some(sight.now);
                false
            }
        }
    }
}

/// A queue that is too long.
#[derive(Clone, Copy, Debug)]
struct Filled {
    since: Time,
    window: f64,
}

impl Filled {
    /// Whether others fill it.
    fn by_others(&self, sight: &Sight) -> bool {
        let long = sight.now.since(self.since) >= FILLED.max(sight.rtt * FILLED_ROUNDS);
        long && sight.window < SHRUNK * self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(ms: u64, queue: u64, window: f64) -> Sight {
        Sight {
            now: Time::from_micros(1000 * ms),
            rtt: Duration::from_millis(60),
            queue: Duration::from_millis(queue),
            target: Duration::from_millis(8),
            window,
        }
    }

    /// When suspicion arises of a queue like this, looked at each 60 ms while the window shrinks.
    fn suspicion(queue: impl Fn(u64) -> u64, kept: f64) -> Option<u64> {
        let mut watch = Watch::default();
        (0..8000).step_by(60).find(|ms| {
            watch.on_lone_round(&sight(
                *ms,
                queue(*ms),
                1e5 * kept.powf(*ms as f64 / 1000.0),
            ));
            watch.is_suspicious()
        })
    }

    #[test]
    fn a_queue_that_stays_too_long_while_the_window_shrinks_is_others() {
        assert_eq!(suspicion(|_| 11, 0.6), Some(2040));
        assert_eq!(suspicion(|_| 9, 0.6), None);
        assert_eq!(suspicion(|_| 11, 1.0), None);
        assert_eq!(
            suspicion(|ms| if ms % 960 == 0 { 5 } else { 16 }, 0.6),
            None
        );
    }

    #[test]
    fn company_is_over_when_the_queue_is_empty_twice_in_a_while() {
        let mut watch = Watch::default();
        let mut empty = |ms| watch.on_competing_round(&sight(ms, 1, 1e5));
        assert!(!empty(0));
        assert!(!empty(300));
        assert!(!empty(9000));
        assert!(empty(12_000));
    }
}
