//! What a flow does that does not fill its window, such as a stream or a video, once others fill the queue.
//!
//! Such a flow has not made the queue. If it gave way, its application would wait for seconds, until the flow knows
//! that the others react to losses only. So it goes on at its rate, unless the queue may be its own: the path carries
//! less than before, or the application wants more.

use core::time::Duration;

use super::{Adaptive, Found, START_LOSS};
use crate::rate::round::Round;
use crate::time::Time;

/// The window may hold this many times what the application sent in a round trip without a queue, and once what it
/// sends in the time of the queue. With more of the latter, a queue of the flow's own would let it grow.
const ROOM: f64 = 1.5;
/// Where the flow fills its window and less than this part of its rate arrives, the path carries less than before.
const ARRIVES: f64 = 0.65;
/// The same where the flow always has more to send for this many rounds.
const BEHIND: u8 = 20;
/// The same where this many rounds in a row lose more than before by this share.
const LOSSY: u8 = 6;
const HEAVY_LOSS: f64 = 0.1;
/// A longer queue is not left to others.
const LONGEST: Duration = Duration::from_millis(250);
/// TCP makes the queue fall now and then. One that has not fallen to this part for this time is the flow's own.
const FALLS: f64 = 0.8;
const STANDS: Duration = Duration::from_secs(10);
/// Losses are averaged over some eight rounds.
const NEW_LOSS: f64 = 1.0 / 8.0;

/// What an application sends that does not fill the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Demand {
    /// Bytes a second that it sent while it met no queue; zero if the flow keeps nothing for it.
    rate: f32,
    /// The share of them that was lost.
    loss: f32,
    /// Rounds in a row that lost much more.
    lossy: u8,
    /// The longest queue since it last fell, in milliseconds, and when that was, in milliseconds that wrap.
    longest: u16,
    since: u32,
}

impl Adaptive {
    /// A round without a queue has ended, and the flow has met none for a time.
    pub(super) fn notice_demand(&mut self, round: &Round, found: &Found) {
        // Late reports would show too late that the queue is the flow's own.
        if !found.is_even() || self.late > Duration::ZERO {
            return;
        }
        let before = f64::from(self.demand.loss);
        let loss = match self.demand.rate > 0.0 {
            true => before + NEW_LOSS * (round.loss() - before),
            false => round.loss(),
        };
        let sent = self.rates.recent() / (1.0 - loss.min(START_LOSS));
        self.demand = Demand {
            rate: sent as f32,
            loss: loss as f32,
            ..Demand::default()
        };
    }

    /// Ends the demand if this round shows that the queue may be the flow's own.
    pub(super) fn watch_demand(&mut self, now: Time, round: &Round, found: &Found) {
        let mut demand = self.demand;
        if demand.rate == 0.0 {
            return;
        }
        let lost = round.loss() - f64::from(demand.loss);
        demand.lossy = match lost > HEAVY_LOSS {
            true => demand.lossy + 1,
            false => 0,
        };
        let queue = u16::try_from(found.queue.as_millis()).unwrap_or(u16::MAX);
        let at = (now.as_micros() / 1000) as u32;
        let fell = f64::from(queue) < FALLS * f64::from(demand.longest);
        if fell || found.queue <= found.target {
            (demand.longest, demand.since) = (queue, at);
        }
        demand.longest = demand.longest.max(queue);
        let stood = Duration::from_millis(at.wrapping_sub(demand.since).into());
        let arrives = self.rates.recent() >= ARRIVES * f64::from(demand.rate);
        let is_own = found.moves
            || found.queue > LONGEST
            || self.backlogged >= BEHIND
            || round.marked
            || round.full && !arrives
            || lost > START_LOSS
            || demand.lossy >= LOSSY
            || stood >= STANDS;
        self.demand = if is_own { Demand::default() } else { demand };
    }

    /// The bytes that the window keeps with this queue, as it is not this flow's.
    pub(super) fn kept(&self, base: Duration, queue: Duration) -> f64 {
        let time = (base + self.interval).mul_f64(ROOM) + queue;
        f64::from(self.demand.rate) * time.as_secs_f64()
    }
}
