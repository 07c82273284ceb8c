//! The window after a round alone or among flows of this kind.

use core::time::Duration;

use super::{Adaptive, Found, START_LOSS, arrived_part};
use crate::rate::round::Round;
use crate::time::Time;

/// The window may exceed what was delivered in a round trip by this factor. It bounds the overload
/// on a path without a queue, and the tolerated loss, to a third.
const HEADROOM: f64 = 1.5;
/// The same where the path moves the delay: it takes some rounds until a queue is seen.
const MOVING_HEADROOM: f64 = 1.25;
/// The window may exceed a round's worth by this many packets, so that it can grow from nothing.
const SLACK_PACKETS: f64 = 10.0;

/// Where a round loses much, the window may exceed it only by the path's own losses, up to this rate.
const MOST_LOSS: f64 = 0.9;

/// A queue whose shortest length is below this part of its mean was short for a moment only.
const STANDING: f64 = 0.75;

/// The window of a flow that pauses may grow until it holds this many of its largest bursts: then the pace spreads such
/// a burst over no more than half of a round trip. With each round the largest burst counts for less by the second part.
const BURSTS: f64 = 2.0;
const FORGET_LARGEST: f32 = 1.0 / 64.0;

/// A window of `w` packets grows by `GROWTH * w^POWER` in a round. This is less than proportional, so
/// that shares become equal, and more than constant, so that fast paths are filled.
const GROWTH: f64 = 0.285;
pub(super) const POWER: f64 = 0.7;
/// The part of the window that it loses in a round with the queue at its target. The loss is
/// proportional to the queue. At the target it balances the growth of a window of 130 packets.
pub(super) const SHRINK: f64 = 0.065;
const MOST_SHRINK: f64 = 0.3;
/// A round adds no more than this part of the window, and no more than this one after as many rounds
/// without a queue as double the growth: a link is back from an outage.
const MOST_GROWTH: f64 = 1.0 / 8.0;
const CALM_GROWTH: f64 = 1.0 / 3.0;
/// Part of an unwanted queue that a round removes.
const MOST_GAIN: f64 = 0.5;
/// The growth doubles with each round without a queue, up to this many rounds: the start did not end
/// at the path's rate.
const CALM: u8 = 5;

/// A standing queue of all flows would soon look like the path's own delay (the peer forgets after
/// ten seconds). So the window falls for a round when the flow has not seen the empty queue for this
/// many rounds, between these two times. All flows see the queue empty at the same time, so that their
/// next drains coincide.
const DRAIN_EVERY: core::ops::RangeInclusive<Duration> =
    Duration::from_secs(4)..=Duration::from_secs(9);
const DRAIN_EVERY_ROUNDS: u32 = 40;
/// The next drain comes this many times sooner, or after this many round trips, if the last one did not show
/// the empty queue, because other flows filled it meanwhile.
const SOONER: u32 = 4;
const SOONER_ROUNDS: u32 = 8;

/// Where the path moves the delay, a queue beyond the target in this many rounds in a row may be the path's own
/// delay, of which the last drain saw too little.
const CROWDED: u8 = 8;

/// A flow that always had more to send for this many rounds fills any window.
const BACKLOGGED: u8 = 6;
/// With late reports, a short start follows this many rounds without a queue.
const LATE_CALM: u8 = 3;
impl Adaptive {
    /// Sets the window after a round alone or among flows of this kind.
    pub(super) fn follow_queue(&mut self, now: Time, round: &Round, found: &Found) {
        let Found {
            base,
            queue,
            delay,
            target,
            rate,
            ..
        } = *found;
        let excess = self.losses.excess(round, self.packet, START_LOSS);
        let usual =
            (self.srtt * DRAIN_EVERY_ROUNDS).clamp(*DRAIN_EVERY.start(), *DRAIN_EVERY.end());
        let pause = match self.shown {
            true => usual,
            false => (usual / SOONER).min(self.srtt * SOONER_ROUNDS),
        };
        let rested = self.drained.is_some_and(|at| now.since(at) < pause);
        self.crowded = match found.moves && queue > target {
            true => self.crowded.saturating_add(1),
            false => 0,
        };
        let pushes = self.wants_push(found);
        let wants = now.since(self.emptied) >= pause
            || self.crowded >= CROWDED
            || self.ebbs
            || self.watch.is_suspicious()
            || pushes
            || excess != Ok(0.0) && !rested;
        // A flow that is idle now and then does not fill the queue, and a drain would delay it.
        if wants && self.backlogged >= BACKLOGGED && self.demanded() == 0.0 {
            self.crowded = 0;
            if pushes {
                return self.push(now, found);
            }
            self.drain(rate, base + self.jitter.own().unwrap_or_default());
            return;
        }
        // If a drain did not empty the queue, others fill it, and it loses packets.
        let excess = excess.unwrap_or_else(|losses| match rested && !self.shown {
            true => losses,
            false => 0.0,
        });
        if excess > 0.0 {
            self.refuse_demand();
            self.calm = 0;
            self.set_window(self.window * (1.0 - excess.min(MOST_SHRINK)));
            return;
        }
        let queue = match found.moves {
            true => queue,
            // The queue of a video lasts as long as a frame, not a round.
            false if round.is_spread() => queue.max(round.longest),
            // After a pause of this end the queue falls for a moment, round after round, until the gap closes.
            false if self.has_steady_rate(found) => queue.max(round.mean_queue().mul_f64(STANDING)),
            false => queue,
        };
        self.calm = match queue > target / 4 {
            true => 0,
            false => (self.calm + 1).min(CALM),
        };
        if self.late > base && self.calm >= LATE_CALM {
            self.restart();
            return;
        }
        let faster = f64::from(1u32 << self.calm.saturating_sub(1));
        // A change of the window shows in the queue as it does without late reports: by its bytes.
        let part = self.part(base);
        let window = part * self.window;
        let longer = queue.as_secs_f64() / target.as_secs_f64();
        // A change takes a round trip to show. A queue that is short compared with the path must not
        // be corrected in one round.
        let ease = target.as_secs_f64() / (base + target).as_secs_f64();
        let ease = (MOST_GAIN * ease / SHRINK).min(1.0);
        let step = ease * (self.growth(window) * faster - SHRINK * longer * window);
        // Flows that grow although they lose so much would fill the queue together.
        let heavy = round.loss() > START_LOSS && self.losses.is_excessive(round, self.packet);
        let step = if heavy { step.min(0.0) } else { step };
        let most = match self.calm < CALM {
            true => MOST_GROWTH,
            false => CALM_GROWTH,
        };
        let step = step.clamp(-MOST_SHRINK * window, most * window);
        let most = match self.late > Duration::ZERO {
            false => {
                // Reports may wait on the return path.
                let (headroom, trip) = match self.jitter.own() {
                    Some(own) if found.moves => {
                        (MOVING_HEADROOM / arrived_part(round), base + own + target)
                    }
                    _ => (HEADROOM, self.srtt.max(base + delay)),
                };
                headroom * rate * (trip + self.interval).as_secs_f64()
            }
            true => {
                let sent = rate / arrived_part(round);
                sent * ((base + queue).mul_f64(HEADROOM) + self.late).as_secs_f64()
            }
        };
        // A window that loses much, though it has made a queue or the path's own losses are known to be
        // fewer, has grown enough.
        let random = self.losses.random().min(MOST_LOSS);
        let at_limit = queue > target / 2 || self.losses.are_known();
        let most = match at_limit && round.loss() > START_LOSS.max(random) {
            true => most / (1.0 - random),
            false => most + SLACK_PACKETS * self.packet,
        };
        // The pace spreads each frame of a video. What arrives of such a flow does not show what the path can
        // carry. The queue shortens its window, and between large frames it may grow again.
        let left = (round.arrived() / arrived_part(round)) as f32;
        self.largest = left.max(self.largest - FORGET_LARGEST * self.largest);
        let most = match round.is_spread() && round.loss() <= START_LOSS.max(random) {
            true => most.max(self.window).max(BURSTS * f64::from(self.largest)),
            false => most,
        };
        let kept = self.kept(round, base, queue);
        self.set_window((self.window + step).min(most).max(kept));
    }

    /// The capacity of the path does not change within round trips, and a packet takes a small part of the target.
    fn has_steady_rate(&self, found: &Found) -> bool {
        found.is_even() && self.service() * 8 <= found.least
    }

    /// Growth of a window in a round, in bytes.
    pub(super) fn growth(&self, window: f64) -> f64 {
        let packets = window / self.packet;
        // Where paths of a session share a queue, their windows add up to that of one flow.
        GROWTH * f64::from(self.own_part).powf(1.0 - POWER) * packets.powf(POWER) * self.packet
    }
}
