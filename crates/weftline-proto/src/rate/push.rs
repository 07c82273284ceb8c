//! Whether others answer when the queue becomes longer.
//!
//! Flows of this kind leave a queue as BBR does, so a flow that only looks cannot tell them apart. But they give way to
//! a longer queue within a round trip, and BBR does not. So a flow that has little of the path, and whose drains do
//! not show the empty queue, makes the queue longer for some round trips, and then drains it: beside flows of this
//! kind it is empty then. All of them see that, and drain together from then on.

use core::time::Duration;

use super::watch::{FILLED_ROUNDS, LITTLE, Sight};
use crate::time::Time;

/// A flow that has little of the path pushes if it has not seen the queue empty for this time and
/// `FILLED_ROUNDS`.
const UNSEEN: Duration = Duration::from_secs(3);
/// The usual queue is then longer than as many targets.
const LONG: f64 = 2.0;
/// The queue becomes longer by as many targets, for this time and this many round trips at least.
pub(super) const HEIGHT: f64 = 3.0;
const LASTS: Duration = Duration::from_millis(200);
const LASTS_TRIPS: f64 = 1.5;
/// Others push at the same time if it becomes longer by as many times that.
const COLLISION: f64 = 1.6;
/// Others give way if less than this part of the queue is left after the drain. BBR leaves 0.6 of it or more.
const GIVE_WAY: f64 = 0.55;
/// As many pushes in a row that nobody answers show that others fill the queue. The next one comes after this
/// time and up to this much more, by chance, so that flows do not push at the same time again and again.
const UNANSWERED: u8 = 2;
const AGAIN: Duration = Duration::from_millis(300);
const AGAIN_SPREAD: Duration = Duration::from_secs(1);
/// An empty queue after a push ends the doubt for this time.
const HOLDS: Duration = Duration::from_secs(20);
/// Rounds over which the usual queue is averaged.
const ROUNDS: f64 = 8.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Push {
    /// Since when no drain has shown the empty queue.
    unseen: Option<Time>,
    /// No push before this time.
    not_before: Option<Time>,
    /// The usual queue in seconds, that before the push, and the longest in it.
    usual: f64,
    before: f64,
    longest: f64,
    is_due: bool,
    /// Until when a push makes the queue longer; a drain follows.
    until: Option<Time>,
    /// Pushes in a row that nobody has answered.
    unanswered: u8,
}

impl Push {
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// A round without known competing traffic has ended, outside pushes.
    pub(super) fn on_round(&mut self, sight: &Sight) {
        let queue = sight.queue.as_secs_f64();
        // In a longer queue somebody else may push.
        let is_calm = queue <= self.usual + sight.target.as_secs_f64() / 8.0;
        self.usual += (queue - self.usual) / ROUNDS;
        self.is_due = false;
        if sight.shown {
            self.unseen = None;
            self.unanswered = 0;
            return;
        }
        let since = *self.unseen.get_or_insert(sight.now);
        let is_unseen = sight.now.since(since) >= UNSEEN.max(sight.rtt * FILLED_ROUNDS);
        let may = self.not_before.is_none_or(|at| sight.now >= at);
        let is_long = self.usual > LONG * sight.target.as_secs_f64();
        self.is_due = is_unseen && may && is_calm && is_long && sight.share < LITTLE;
    }

    /// Begins a push on a path with this round trip.
    pub(super) fn begin(&mut self, now: Time, rtt: Duration) {
        self.is_due = false;
        self.until = Some(now + LASTS.max(rtt.mul_f64(LASTS_TRIPS)));
        self.before = self.usual;
        self.longest = 0.0;
    }

    /// A round of the push had this queue. Returns whether it goes on.
    pub(super) fn goes_on(&mut self, now: Time, queue: Duration) -> bool {
        self.longest = self.longest.max(queue.as_secs_f64());
        self.until.is_some_and(|until| now < until)
    }

    /// A drain has ended with this queue; `shown`: it counts as empty. Returns whether pushes have shown that others
    /// fill the queue.
    pub(super) fn end(
        &mut self,
        now: Time,
        shown: bool,
        queue: Duration,
        target: Duration,
    ) -> bool {
        if self.until.take().is_none() {
            return false;
        }
        let target = target.as_secs_f64();
        let gave_way = shown || queue.as_secs_f64() < GIVE_WAY * self.before;
        let others_push = self.longest > self.before + COLLISION * HEIGHT * target;
        // BBR empties the queue each ten seconds to measure the round trip; flows of this kind drain.
        let others_drain = self.longest < self.before - target;
        let wait = match (shown, gave_way) {
            (true, _) => HOLDS,
            (false, true) => UNSEEN,
            (false, false) => AGAIN + AGAIN_SPREAD.mul_f64(chance(now)),
        };
        self.not_before = Some(now + wait);
        if gave_way {
            self.unanswered = 0;
        } else if !others_push && !others_drain {
            self.unanswered += 1;
        }
        self.unanswered >= UNANSWERED
    }
}

/// A number below 1 that differs from flow to flow: the time in microseconds, mixed (Knuth's multiplicative hash).
fn chance(now: Time) -> f64 {
    let mixed = now.as_micros().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as f64 / f64::from(1u32 << 24)
}

#[cfg(test)]
mod tests {
    use super::super::watch::tests::sight;
    use super::*;

    const QUEUE: u64 = 20;
    const TARGET: Duration = Duration::from_millis(8);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A round at this time in ms of a flow with a tenth of the path, in which no drain has shown the empty queue.
    fn round(at: u64) -> Sight {
        Sight {
            shown: false,
            share: 0.1,
            ..sight(at, QUEUE, 1e5)
        }
    }

    /// The first time, in ms, at which a push is due, with rounds of 60 ms that are changed like this.
    fn due(push: &mut Push, from: u64, change: impl Fn(Sight) -> Sight) -> Option<u64> {
        (from..from + 30_000).step_by(60).find(|at| {
            push.on_round(&change(round(*at)));
            push.is_due()
        })
    }

    /// Pushes at this time; the queue is then as long as that at most, and this long after the drain.
    fn push_at(push: &mut Push, at: u64, longest: u64, left: u64) -> bool {
        let ends = at + LASTS.as_millis() as u64;
        let after = |at: u64| Time::from_micros(1000 * at);
        push.begin(after(at), ms(60));
        assert!(push.goes_on(after(ends - 60), ms(longest)));
        assert!(!push.goes_on(after(ends), ms(0)));
        let now = after(at + 400);
        push.end(now, left < 2, ms(left), TARGET)
    }

    #[test]
    fn a_flow_with_little_of_the_path_pushes_if_no_drain_shows_the_empty_queue() {
        assert_eq!(due(&mut Push::default(), 0, |sight| sight), Some(3000));
        let shown = |sight| Sight {
            shown: true,
            ..sight
        };
        assert_eq!(due(&mut Push::default(), 0, shown), None);
        let much = |sight| Sight {
            share: 0.4,
            ..sight
        };
        assert_eq!(due(&mut Push::default(), 0, much), None);
        let short = |sight| Sight {
            queue: TARGET * 3 / 2,
            ..sight
        };
        assert_eq!(due(&mut Push::default(), 0, short), None);
    }

    #[test]
    fn two_pushes_that_nobody_answers_show_others() {
        let mut push = Push::default();
        let first = due(&mut push, 0, |sight| sight).expect("it is due");
        assert!(!push_at(&mut push, first, 40, 22));
        let second = due(&mut push, first + 400, |sight| sight).expect("it is due again");
        assert!((first + 700..first + 1800).contains(&second), "{second}");
        assert!(push_at(&mut push, second, 40, 13));
    }

    #[test]
    fn an_empty_queue_after_a_push_ends_the_doubt_for_a_time() {
        let mut push = Push::default();
        let first = due(&mut push, 0, |sight| sight).expect("it is due");
        assert!(!push_at(&mut push, first, 40, 0));
        let second = due(&mut push, first + 400, |sight| sight).expect("it is due again");
        assert!(second >= first + 20_400, "{second}");
    }

    #[test]
    fn others_that_give_way_push_too_or_drain_do_not_count() {
        for (longest, left) in [(40, 10), (70, 30), (8, 18)] {
            let mut push = Push::default();
            let mut at = 0;
            for _ in 0..4 {
                at = due(&mut push, at, |sight| sight).expect("it is due") + 400;
                assert!(!push_at(&mut push, at, longest, left), "{longest} {left}");
            }
        }
    }

    #[test]
    fn nobody_pushes_into_a_longer_queue() {
        let mut push = Push::default();
        let longer = |sight: Sight| Sight {
            queue: ms(QUEUE) + (sight.now.since(Time::ZERO)) / 100,
            ..sight
        };
        assert_eq!(due(&mut push, 0, longer), None);
    }
}
