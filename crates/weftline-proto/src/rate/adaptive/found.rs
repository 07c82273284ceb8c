//! What a round has shown, and the target of its queue.

use core::time::Duration;

use super::follow::POWER;
use super::{Adaptive, Phase};
use crate::rate::round::Round;
use crate::time::Time;

/// The target of the queue at this round trip. It grows as the round trip to the power `1 - POWER`: then flows
/// with different round trips have equal rates in one queue.
const TARGET: f64 = 6.5e-3;
const TARGET_TRIP: f64 = 60e-3;
/// A window of `w` packets has a target longer by this part divided by `w`: where many flows have a packet or two
/// each in the queue, a shorter queue cannot be told from an empty one.
const FEW_PACKETS: f64 = 0.6;
/// Where the path moves the delay, it is this part of the shortest round trip.
const MOVING_TARGET: u32 = 8;
/// The bounds of the target. Below the lower one is the noise of timers; above the upper one other flows would
/// suffer.
pub(super) const TARGET_MIN: Duration = Duration::from_millis(4);
const TARGET_MAX: Duration = Duration::from_millis(20);
/// The target is at least this many packets: on slow paths a packet takes longer than the bounds. A
/// window of few packets grows beyond it, to about two packets and a half.
const TARGET_PACKETS: f64 = 1.0;

/// The measurements at the end of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The round trip without a queue.
    pub(super) base: Duration,
    /// The shortest queue, or if the path moves the delay, the mean queue of this flow; and the target.
    pub(super) queue: Duration,
    pub(super) target: Duration,
    /// The target on a link whose capacity does not change.
    pub(super) least: Duration,
    /// The delay beyond the path's smallest.
    pub(super) delay: Duration,
    /// Bytes a second that arrive.
    pub(super) rate: f64,
    /// The path moves the delay.
    pub(super) moves: bool,
}

impl Found {
    /// The capacity of the path does not change within round trips.
    pub(super) fn is_even(&self) -> bool {
        self.target - self.least <= self.least / 8
    }
}

impl Adaptive {
    /// The measurements at the end of a round.
    pub(super) fn measure(&mut self, now: Time, round: &Round, base: Duration) -> Found {
        let at_full_rate = self.phase == Phase::Steady && round.limited && !round.is_spread();
        self.jitter
            .on_round(round, at_full_rate.then_some(self.window));
        if self.late > Duration::ZERO || self.competition.is_some() {
            self.steps.ignore();
        }
        let moves = self.moves(round.mean_queue());
        self.mean_trip = moves.then(|| self.jitter.round_trip());
        let rate = match moves {
            true => self.jitter.rate(),
            false => round.mean_rate(),
        };
        if let Some(rate) = rate {
            self.rates.add(rate);
        }
        self.advance_train(now, round);
        if moves {
            let base = base.max(self.jitter.trip());
            let rate = self.rates.newest();
            let target = (base / MOVING_TARGET).clamp(TARGET_MIN, TARGET_MAX);
            let target = self.at_least_a_packet(target, rate);
            // A hold in which the link runs empty costs more than a longer queue.
            let target = (target + (target + self.jitter.hold()) / 8).min(target.max(TARGET_MAX));
            return Found {
                base,
                queue: self.jitter.queue(self.window).unwrap_or_default(),
                delay: self.jitter.delay(),
                target,
                least: target,
                rate,
                moves,
            };
        }
        self.jitter.forget();
        let queue = round.queue.unwrap_or_default();
        let rate = self.rates.recent();
        let target = self.target(base, rate);
        if at_full_rate {
            self.swing.add(queue, target);
        }
        Found {
            base,
            queue,
            delay: queue,
            least: target,
            target: target + self.swing.more(target, self.service()).min(TARGET_MAX),
            rate,
            moves,
        }
    }

    /// The time that a packet takes to pass the path.
    pub(super) fn service(&self) -> Duration {
        Duration::from_secs_f64(self.packet / self.rates.recent().max(1e3))
    }

    pub(super) fn target(&self, base: Duration, rate: f64) -> Duration {
        let trips = base.as_secs_f64() / TARGET_TRIP;
        let few = self.few(self.window_outside_drains());
        let target = Duration::from_secs_f64(TARGET * few * trips.powf(1.0 - POWER));
        self.at_least_a_packet(target.clamp(TARGET_MIN, TARGET_MAX), rate)
    }

    /// How much longer the target is with this window, as it has few packets.
    pub(super) fn few(&self, window: f64) -> f64 {
        1.0 + FEW_PACKETS * self.packet / window.max(self.packet)
    }

    pub(super) fn window_outside_drains(&self) -> f64 {
        match self.phase {
            Phase::Drain(_) | Phase::Push => self.after,
            _ => self.window,
        }
    }

    fn at_least_a_packet(&self, target: Duration, rate: f64) -> Duration {
        let rate = self.rates.peak().max(rate);
        let packets = Duration::from_secs_f64(TARGET_PACKETS * self.packet / rate.max(1e3));
        target.max(packets.min(Duration::from_secs(1)))
    }
}
