//! Whether a path is full: then a repair would delay all that follows it.

use core::time::Duration;

use super::SHORT;
use crate::time::Time;

/// The path is full if datagrams wait in its queue for longer than this part of the shortest round
/// trip.
const FULL: u32 = 5;
/// A path that itself holds datagrams back delays them without a queue. The rule takes a delay of up to this many
/// usual holds for the path's own.
const HOLDS: u32 = 2;
/// A queue that never is shorter is that of others, and few repairs hardly make it longer. It does not count, up to
/// this part of the shortest round trip; it has to stand for as many round trips as the second number until all of
/// that does not count.
const STANDING: u32 = 10;
const STANDS: u32 = 16;
/// A path whose queue grew grows it again soon: for this many round trips it counts as full. If repairs then soon
/// make a queue again, it counts as full for twice as long, up to the second number.
const AGAIN: core::ops::RangeInclusive<u16> = 16..=256;

/// A path's queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// What leaves now waits in it.
    pub(super) waits: bool,
    /// The part of it that stands, and when it was looked at last.
    standing: Duration,
    looked_at: Time,
    /// Until when it counts as full.
    full_until: Time,
    /// For how many round trips after a queue.
    again: u16,
}

impl Queue {
    /// Whether the path is full. Datagrams waited in the queue for `length` in the last round trip, and the report on
    /// the oldest one is `overdue` by so much; `hold` is how long the path usually holds them back.
    pub(super) fn is_full(
        &mut self,
        now: Time,
        length: Duration,
        overdue: Duration,
        shortest: Duration,
        hold: Duration,
    ) -> bool {
        // Nobody knows what happened in a pause.
        let rise = now.since(self.looked_at).min(shortest) / (STANDING * STANDS);
        self.looked_at = now;
        self.standing = (self.standing + rise).min(length).min(shortest / STANDING);
        let most = (shortest / FULL).max(*SHORT.start()) + HOLDS * hold + self.standing;
        self.waits = length.max(overdue) > most;
        if length > most {
            if now >= self.full_until {
                let soon = now < self.full_until + shortest * u32::from(self.again);
                let again = if soon { 2 * self.again } else { 0 };
                self.again = again.clamp(*AGAIN.start(), *AGAIN.end());
            }
            self.full_until = now + shortest * u32::from(self.again);
        }
        self.waits || now < self.full_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const SHORTEST: Duration = Duration::from_millis(40);

    /// Whether a path of 40 ms is full, millisecond by millisecond, with the queue of `length`.
    fn full(queue: &mut Queue, ms: core::ops::Range<u64>, length: Duration) -> bool {
        let full = |ms| {
            let now = Time::from_micros(1000 * ms);
            queue.is_full(now, length, Duration::ZERO, SHORTEST, Duration::ZERO)
        };
        // All of them have to be looked at.
        ms.map(full).fold(false, |any, full| any | full)
    }

    #[test]
    fn a_queue_of_a_fifth_of_the_round_trip_is_full_for_sixteen_round_trips_and_then_for_twice_as_many()
     {
        let mut queue = Queue::default();
        assert!(!full(&mut queue, 0..1, 8 * MS));
        assert!(full(&mut queue, 1..2, 9 * MS));
        assert!(full(&mut queue, 640..641, Duration::ZERO));
        assert!(!full(&mut queue, 641..700, Duration::ZERO));
        assert!(full(&mut queue, 700..701, 9 * MS));
        assert!(full(&mut queue, 1979..1980, Duration::ZERO));
        assert!(!full(&mut queue, 1980..1981, Duration::ZERO));
    }

    #[test]
    fn what_stands_for_sixteen_round_trips_does_not_count_up_to_a_tenth_of_one() {
        let mut queue = Queue::default();
        assert!(!full(&mut queue, 0..641, 6 * MS));
        assert!(!full(&mut queue, 641..700, 12 * MS));
        // Once it has been empty, nothing stands.
        assert!(!full(&mut queue, 700..701, Duration::ZERO));
        assert!(full(&mut queue, 701..702, 9 * MS));
        // A queue that grows does not become one that stands.
        let mut queue = Queue::default();
        let mut grows = (0..400).map(|ms| full(&mut queue, ms..ms + 1, MS / 8 * ms as u32));
        assert!(grows.any(|full| full));
    }
}
