//! How fast the window leaves.

use core::time::Duration;

use super::{Adaptive, MIN_PACKETS, Phase, START_LOSS, START_QUEUE, TARGET_MIN, Train};

/// What of the first window does not leave at once leaves in this part of the round trip.
const INITIAL_SHARE: f64 = 1.0 / 8.0;
/// On a path with this round trip, or a longer one, the half of it that a slower first window takes costs more than
/// what a fast one may add to the queue of others.
const LONG: Duration = Duration::from_millis(250);
/// The window leaves this many times faster than a round trip takes. In the start, arrivals then show
/// what the path can carry. Later, the window stays in use even if timers are late.
pub(super) const START_GAIN: f64 = 2.0;
const STEADY_GAIN: f64 = 1.25;
/// The same while the window fills again after a drain, for the round trip with the queue at the target: about this
/// many times faster than the path carries. What leaves faster waits in the queue until the next round.
const REFILL_GAIN: f64 = 1.1;
/// The same where the path moves the delay: bursts would be held for longer than even packets, and
/// reports come in bursts there.
const MOVING_GAIN: f64 = 1.05;
/// Where reports are late, the window may leave faster by this part of the target of the queue: then
/// the window, not the pace, decides how much leaves between two reports, and a queue that it does
/// not fill cannot build up.
const LATE_GAIN: f64 = 1.0;
/// A train that probes the path's rate leaves this many times faster than that rate.
pub(super) const TRAIN_GAIN: f64 = 4.0;

impl Adaptive {
    /// Bytes a second that may leave while `in_flight` bytes are.
    pub(in super::super) fn pace(&self, in_flight: u64) -> f64 {
        if self.phase == Phase::Start && self.proven > 0.0 {
            // In one round trip the path proves a higher rate. Until reports show that it has, more
            // would only fill its queue.
            // A shorter time than this is less than timers can tell.
            let base = self.base().unwrap_or(self.srtt).max(TARGET_MIN);
            let more = base.mul_f64(self.start_gain - 1.0).min(START_QUEUE);
            let holds = self.proven * (base + more).as_secs_f64();
            let in_flight = in_flight as f64;
            let gain = match in_flight < holds {
                true => self.start_gain,
                false => 1.0,
            };
            // The least window may always leave in a round trip: after an outage the path may have
            // proven next to nothing.
            let least = MIN_PACKETS * self.packet;
            let floor = match in_flight <= least {
                true => least / self.srtt.as_secs_f64().max(1e-4),
                false => 0.0,
            };
            return floor.max(gain * self.proven);
        }
        if self.train == Train::Leaving {
            let usual = || TRAIN_GAIN * self.rates.path();
            let rate = self.gathering().unwrap_or_else(usual);
            // A path that is not known cannot be tested.
            if rate > 0.0 {
                return rate;
            }
        }
        if let Some(gain) = self
            .competition
            .as_ref()
            .and_then(|c| c.pace(self.rates.share()))
        {
            return gain * self.rates.best() / (1.0 - self.losses.random().min(START_LOSS));
        }
        if let Some(trip) = self.mean_trip
            && self.phase != Phase::Start
        {
            return MOVING_GAIN * self.window / trip.as_secs_f64().max(1e-4);
        }
        if self.phase == Phase::Rested && self.drains_empty() {
            let base = self.base().unwrap_or(self.srtt);
            let full = base + self.target(base, self.rates.recent());
            return REFILL_GAIN * self.window / full.as_secs_f64().max(1e-4);
        }
        let gain = match self.phase {
            _ if !self.measured && self.late.is_zero() => 1.0 / INITIAL_SHARE,
            // Probes have measured the path, but the first window would tell more.
            Phase::Start if self.is_long() && self.late.is_zero() && self.sent < self.initial() => {
                START_GAIN.max(self.initial() / self.window / INITIAL_SHARE)
            }
            _ if !self.measured => 1.0,
            Phase::Start => START_GAIN,
            _ if self.late > Duration::ZERO => self.late_gain(),
            _ => STEADY_GAIN,
        };
        let span = match self.phase {
            Phase::Start => self.srtt,
            _ => self.span(),
        };
        gain * self.window / span.as_secs_f64().max(1e-4)
    }

    fn is_long(&self) -> bool {
        self.base().is_some_and(|base| base >= LONG)
    }

    fn late_gain(&self) -> f64 {
        let target = self.target(self.base().unwrap_or(self.srtt), self.rates.recent());
        let gain = 1.0 + LATE_GAIN * target.as_secs_f64() / self.span().as_secs_f64().max(1e-4);
        gain.min(STEADY_GAIN)
    }
}
