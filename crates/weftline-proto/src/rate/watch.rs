//! Whether others fill the queue.

use core::time::Duration;

use crate::time::Time;

/// A queue longer than its target by this factor is too long.
const TOO_LONG: f64 = 1.25;
/// For so long, and so many rounds, the queue stays too long although the window has shrunk to this
/// part: others fill it.
const FILLED: Duration = Duration::from_secs(2);
const FILLED_ROUNDS: u32 = 24;
/// Sooner where it is much too long, by this factor at most.
const SOONER: f64 = 2.5;
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
    /// The queue is not being emptied.
    pub(super) steady: bool,
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

    pub(super) fn take_suspicion(&mut self) -> bool {
        core::mem::take(&mut self.suspicious)
    }

    /// A round without known company.
    pub(super) fn alone(&mut self, sight: &Sight) {
        let factor = sight.queue.as_secs_f64() / (TOO_LONG * sight.target.as_secs_f64());
        if factor > 1.0 {
            let filled = self
                .filled
                .get_or_insert(Filled::new(sight.now, sight.window));
            self.suspicious |= filled.by_others(sight, factor);
        } else if sight.steady || sight.is_empty() {
            // That a drain makes it shorter says nothing, unless it is empty then.
            self.filled = None;
        }
    }

    /// A round in company; whether that is over.
    pub(super) fn in_company(&mut self, sight: &Sight) -> bool {
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
    newest: Time,
    /// How long, weighted by the queue's length.
    long: Duration,
    window: f64,
}

impl Filled {
    fn new(now: Time, window: f64) -> Self {
        Filled {
            newest: now,
            long: Duration::ZERO,
            window,
        }
    }

    /// Whether others fill it, with this window now and a queue that is too long by this factor.
    fn by_others(&mut self, sight: &Sight, factor: f64) -> bool {
        let weight = factor.clamp(1.0, SOONER);
        self.long += sight.now.since(self.newest).mul_f64(weight);
        self.newest = sight.now;
        self.long >= FILLED.max(sight.rtt * FILLED_ROUNDS) && sight.window < SHRUNK * self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(ms: u64, queue: u64, window: f64, steady: bool) -> Sight {
        Sight {
            now: Time::from_micros(1000 * ms),
            rtt: Duration::from_millis(60),
            queue: Duration::from_millis(queue),
            target: Duration::from_millis(8),
            window,
            steady,
        }
    }

    /// When suspicion arises of a queue like this, looked at each 60 ms while the window shrinks.
    fn suspicion(queue: impl Fn(u64) -> (u64, bool)) -> Option<u64> {
        let mut watch = Watch::default();
        (0..8000).step_by(60).find(|ms| {
            let (queue, steady) = queue(*ms);
            watch.alone(&sight(*ms, queue, 1e5 * 0.9995f64.powf(*ms as f64), steady));
            watch.is_suspicious()
        })
    }

    #[test]
    fn a_queue_that_stays_too_long_is_others_and_a_much_longer_one_sooner() {
        let slightly = suspicion(|_| (11, true)).expect("others fill it");
        let much = suspicion(|_| (40, true)).expect("others fill it");
        assert!(slightly > 1800 && (800..slightly / 2).contains(&much));
        assert_eq!(suspicion(|_| (9, true)), None);
    }

    #[test]
    fn a_drain_in_vain_is_no_reason_to_begin_anew_and_an_empty_queue_is() {
        assert!(
            suspicion(|ms| if ms % 960 == 0 {
                (5, false)
            } else {
                (16, true)
            })
            .is_some()
        );
        assert_eq!(
            suspicion(|ms| if ms % 960 == 0 {
                (1, false)
            } else {
                (16, true)
            }),
            None
        );
    }

    #[test]
    fn company_is_over_when_the_queue_is_empty_twice_in_a_while() {
        let mut watch = Watch::default();
        let mut empty = |ms| watch.in_company(&sight(ms, 1, 1e5, true));
        assert!(!empty(0));
        assert!(!empty(300));
        assert!(!empty(9000));
        assert!(empty(12_000));
    }
}
