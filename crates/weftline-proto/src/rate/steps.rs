//! A path whose own delay steps, as a satellite link's does when the satellite changes.
//!
//! A queue grows packet by packet, and shrinks with the window. A delay that jumps between two packets
//! that left together, stays although the window shrinks, and is still there when this flow's queue
//! is drained, is the path's own.

use core::time::Duration;

/// A smaller jump is not worth a drain.
const LEAST: Duration = Duration::from_millis(8);
/// The packets on both sides of a jump are no more than this many apart.
const NEAR: u64 = 4;
/// Where the path moves the delay, a queue longer than its target by this factor looks like a step.
const LONG: u32 = 2;
/// The window that a queue would not survive, as a part of the window at the jump.
const SHRUNK: f64 = 0.8;

#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    /// How much longer the path's own delay is than the smallest one.
    step: Duration,
    /// The newest packet, and its delay beyond the path's own.
    newest: Option<(u64, Duration)>,
    jump: Option<Jump>,
    /// The window in the last round.
    window: f64,
}

#[derive(Clone, Copy, Debug)]
struct Jump {
    /// It is over when the delay falls below this.
    above: Duration,
    /// The window in the round before it.
    window: Option<f64>,
}

impl Jump {
    fn between(before: Duration, after: Duration) -> Self {
        Jump {
            above: before + (after - before) / 2,
            window: None,
        }
    }
}

impl Steps {
    /// A packet had this delay beyond the smallest; a packet takes `service` to pass the path.
    /// Returns what is not the path's own.
    pub(super) fn queue(&mut self, number: u64, delay: Duration, service: Duration) -> Duration {
        self.step = self.step.min(delay);
        let queue = delay - self.step;
        self.jump = self.jump.filter(|jump| queue >= jump.above);
        if let Some((before, last)) = self.newest.replace((number, queue)) {
            let packets = number.saturating_sub(before).min(NEAR + 1);
            let own = service * (packets as u32 + 1);
            if packets <= NEAR && queue > last + own + LEAST {
                self.jump.get_or_insert(Jump::between(last, queue));
            }
        }
        queue
    }

    /// What the path's own delay has beyond its smallest.
    pub(super) fn step(&self) -> Duration {
        self.step
    }

    /// A round has ended on a path that moves the delay, where packets show no jump.
    pub(super) fn on_moving_round(&mut self, queue: Duration, target: Duration) {
        self.jump = self.jump.filter(|jump| queue >= jump.above);
        if queue > LONG * target {
            self.jump
                .get_or_insert(Jump::between(Duration::ZERO, queue));
        }
    }

    /// A round with this window has ended. Returns the window before the jump if the delay stays
    /// although the window has shrunk: a drain would show why.
    pub(super) fn on_round(&mut self, window: f64) -> Option<f64> {
        let before = core::mem::replace(&mut self.window, window);
        let at_jump = *self.jump.as_mut()?.window.get_or_insert(before);
        (before < SHRUNK * at_jump).then_some(at_jump)
    }

    /// The delay has jumped, and stays.
    pub(super) fn has_jumped(&self) -> bool {
        self.jump.is_some()
    }

    /// A jump says nothing.
    pub(super) fn ignore(&mut self) {
        self.jump = None;
    }

    /// The shortest delay while this flow's queue was drained. Returns the step that this shows.
    pub(super) fn on_rested(&mut self, queue: Duration) -> Duration {
        // A jump that some of these packets did not meet came later.
        if self.jump.take_if(|jump| queue >= jump.above).is_none() {
            return Duration::ZERO;
        }
        self.step += queue;
        self.newest = None;
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Whether a drain is wanted after these delays, in ms, of packets of 1 ms each, while the window
    /// shrinks.
    fn wants_drain(delays: &[u32]) -> bool {
        let mut steps = Steps::default();
        steps.on_round(100.0);
        for (number, delay) in delays.iter().enumerate() {
            steps.queue(number as u64, *delay * MS, MS);
        }
        [100.0, 70.0, 49.0].map(|window| steps.on_round(window).is_some())[2]
    }

    #[test]
    fn a_jump_that_stays_is_worth_a_drain_and_a_queue_is_not() {
        assert!(wants_drain(&[3, 3, 33, 33, 32, 33]));
        assert!(!wants_drain(&[3, 7, 11, 15, 19, 23, 27, 31]));
        assert!(!wants_drain(&[3, 3, 33, 30, 26, 17, 12]));
    }

    #[test]
    fn a_jump_while_the_queue_is_drained_is_tested_by_the_next_drain() {
        let mut steps = Steps::default();
        for (number, delay) in [3, 0, 0, 30, 30].into_iter().enumerate() {
            steps.queue(number as u64, delay * MS, MS);
        }
        assert_eq!(steps.on_rested(Duration::ZERO), Duration::ZERO);
        assert!(steps.has_jumped());
        assert_eq!(steps.on_rested(30 * MS), 30 * MS);
    }

    #[test]
    fn what_a_drain_leaves_is_the_paths_own_until_it_falls() {
        let mut steps = Steps::default();
        for (number, delay) in [0, 0, 35, 35].into_iter().enumerate() {
            steps.queue(number as u64, delay * MS, MS);
        }
        assert_eq!(steps.on_rested(30 * MS), 30 * MS);
        assert_eq!(steps.queue(9, 36 * MS, MS), 6 * MS);
        assert_eq!(steps.queue(10, 4 * MS, MS), Duration::ZERO);
        assert_eq!(steps.step(), 4 * MS);
    }

    /// What is known after packets of these numbers with these delays, in µs. Each takes 10 ms to pass.
    fn after(packets: &[(u64, u64)]) -> Steps {
        let mut steps = Steps::default();
        for (number, delay) in packets {
            steps.queue(*number, Duration::from_micros(*delay), 10 * MS);
        }
        steps
    }

    #[test]
    fn only_packets_that_left_together_show_a_jump_and_only_one_longer_than_they_take_to_pass() {
        assert!(!after(&[(0, 3000)]).has_jumped());
        // One after the other: the two take 20 ms, and a jump has 8 ms more.
        assert!(!after(&[(0, 3000), (1, 31_000)]).has_jumped());
        assert!(after(&[(0, 3000), (1, 31_001)]).has_jumped());
        // Four apart: five packets take 50 ms.
        assert!(!after(&[(0, 3000), (4, 61_000)]).has_jumped());
        assert!(after(&[(0, 3000), (4, 61_001)]).has_jumped());
        // Further apart, the packets of others may have come between.
        assert!(!after(&[(0, 3000), (5, 500_000)]).has_jumped());
    }

    #[test]
    fn a_jump_is_over_once_half_of_it_is_gone() {
        let mut steps = after(&[(0, 10_000), (1, 40_000), (2, 25_000)]);
        assert!(steps.has_jumped());
        steps.queue(3, Duration::from_micros(24_999), 10 * MS);
        assert!(!steps.has_jumped());
    }

    #[test]
    fn where_the_path_moves_the_delay_rounds_show_a_jump_by_a_queue_twice_as_long_as_its_target() {
        let mut steps = Steps::default();
        let mut round = |micros| {
            steps.on_moving_round(Duration::from_micros(micros), 10 * MS);
            steps.has_jumped()
        };
        assert!(!round(20_000));
        assert!(round(24_000));
        // It stays until half of it is gone.
        assert!(round(12_000));
        assert!(!round(11_999));
    }

    #[test]
    fn a_drain_waits_until_the_window_is_a_fifth_smaller_than_before_the_jump() {
        let mut steps = Steps::default();
        assert_eq!(steps.on_round(100.0), None);
        steps.on_moving_round(40 * MS, 10 * MS);
        // A window counts in the round after.
        assert_eq!(steps.on_round(100.0), None);
        assert_eq!(steps.on_round(80.0), None);
        assert_eq!(steps.on_round(79.0), None);
        assert_eq!(steps.on_round(79.0), Some(100.0));
        steps.ignore();
        assert!(!steps.has_jumped());
        assert_eq!(steps.on_round(50.0), None);
    }
}
