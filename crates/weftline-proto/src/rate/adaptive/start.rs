//! The start of a flow, and a new start.

use core::time::Duration;

use super::{
    ASKS, Adaptive, DOUBTFUL, DOUBTFUL_FOR, MIN_PACKETS, Phase, START_LOSS, START_QUEUE,
    arrived_part,
};
use crate::time::Time;

/// A new session may have in flight what a path of this many bytes a second holds, between these
/// numbers of packets. The longer the first answer takes, the more this gains.
const INITIAL_RATE: f64 = 5e6 / 8.0;
const INITIAL_PACKETS: core::ops::RangeInclusive<f64> = 10.0..=128.0;
/// This many packets of the first window leave at once.
const INITIAL_BURST: u32 = 10;
/// With late reports, a start after rounds without a queue sends this many times faster than the path
/// has proved.
const RESTART_GAIN: f64 = 1.25;
/// While the start waits for late reports, it asks for them this many times in a round trip.
const ASKS_IN_ROUND_TRIP: u32 = 4;
/// A rate is new if it exceeds the last by this factor.
const NEW_RATE: f64 = 1.05;
/// The loss rate that ends the start is measured over this many packets. On a path that loses one in
/// five, four of ten packets may be lost by chance.
const START_SAMPLE: f64 = 40.0;
const USUAL_LOSS: f64 = 0.2;
/// What is missing of a train may be late by this part of a round trip, or by this time.
const LATE_PART: u32 = 4;
const LATE_LEAST: Duration = Duration::from_millis(20);
/// A train that loses more than this has overflowed the queue.
const OVERFLOW: f64 = 0.45;

impl Adaptive {
    pub(super) fn initial(&self) -> f64 {
        let least = INITIAL_PACKETS.start() * self.packet;
        let most = INITIAL_PACKETS.end() * self.packet;
        (INITIAL_RATE * self.srtt.as_secs_f64()).clamp(least, most)
    }

    /// When the start may ask for a report that would otherwise come late, because the flow is held
    /// back and reports could let it go faster.
    pub(in crate::rate) fn next_ask(&self) -> Option<Time> {
        let is_late = self.late > self.ask_spacing();
        if self.phase != Phase::Start || !is_late || self.asks == 0 {
            return None;
        }
        Some(self.asked.map_or(Time::ZERO, |at| at + self.ask_spacing()))
    }

    pub(super) fn ask_spacing(&self) -> Duration {
        self.srtt / ASKS_IN_ROUND_TRIP
    }

    /// A request for a report leaves.
    pub(in crate::rate) fn on_ask(&mut self, now: Time) {
        self.asked = Some(now);
        self.asks = self.asks.saturating_sub(1);
    }

    /// Datagrams that may leave at once, regardless of the pace.
    pub(in crate::rate) fn burst(&self) -> u32 {
        if self.measured { 0 } else { INITIAL_BURST }
    }

    /// A report in the start: `arrived` bytes are new.
    pub(super) fn on_report_in_start(&mut self, now: Time, arrived: f64) {
        let Some(base) = self.base() else { return };
        let kept = arrived_part(&self.round);
        let queue = match self.late > Duration::ZERO {
            // The peer has chosen the shortest queue itself.
            true => self.round.newest_queue(),
            false => self.round.recent_queue(),
        };
        let moves = self.moves(queue);
        let overloaded = self.is_overloaded(now, moves);
        let growth = match self.mean_trip {
            Some(_) => self.jitter.start_growth(),
            None => 1.0,
        };
        // A larger window would lose still more.
        if self.round.limited && self.round.lossy_since.is_none() && growth > 0.0 {
            self.window += growth * arrived / kept;
            // Before a rate is proven, a larger window is the news that a request brings.
            if self.proven == 0.0 && arrived > 0.0 {
                self.asks = ASKS;
            }
        }
        let rate = match self.late.is_zero() && self.round.limited {
            true => self.round.rate_of_few(self.packet),
            false => self.round.rate(self.packet),
        };
        let Some(rate) = rate else { return };
        // With late reports a mistake stays for long: more losses than there are without a queue may
        // be the flow's own.
        let sustained = match self.late > Duration::ZERO {
            true => rate / kept.max(1.0 - self.losses.random()),
            false => rate / kept,
        };
        let target = self.target(base, rate);
        let full = match moves {
            true => self.jitter.grown() > base.max(START_QUEUE) + 2 * self.jitter.hold(),
            false => queue > target,
        };
        if full || overloaded {
            self.phase = Phase::Steady;
            self.doubtful = match moves || overloaded {
                true => 0,
                false => {
                    let rounds = DOUBTFUL_FOR.as_micros() / self.srtt.as_micros().max(1);
                    let rounds = u8::try_from(rounds).unwrap_or(u8::MAX);
                    rounds.clamp(*DOUBTFUL.start(), *DOUBTFUL.end())
                }
            };
            self.jitter.end_start();
            self.after = self.window;
            let taken_over = self.taken_over.take();
            // The mean rate of an application that pauses is its own, and that of a path to which the flow has
            // just moved is what it carried before, too. A burst has shown the path's.
            let shows_less = self.round.idle || taken_over.is_some();
            let burst = match shows_less && !overloaded && self.late.is_zero() {
                true => self.rates.trains.best() / kept,
                false => 0.0,
            };
            self.rates.add(if taken_over.is_some() {
                rate.max(burst)
            } else {
                rate
            });
            let holds = sustained.max(burst) * (base + self.interval + target / 2).as_secs_f64();
            // Of a train that overflows the queue, what arrives shows the rate of the queue's other flows too.
            let overflows = overloaded && !self.round.idle && self.round.loss() > OVERFLOW;
            self.set_window(match overflows {
                true => holds.min(self.round.arrived()),
                false => holds,
            });
            // A path that moves the delay looks full until that is known. What it loses would say more.
            if let Some(more) = taken_over.filter(|_| !overloaded) {
                self.set_window(self.window + more);
            }
            let kept = self.kept(&self.round, base, queue);
            self.set_window(self.window.max(kept));
        } else if self.late > Duration::ZERO {
            if sustained > NEW_RATE * self.proven {
                self.asks = ASKS;
            }
            self.proven = self.proven.max(sustained);
        } else if !moves {
            // A train that passed without a queue shows what the path can carry at least.
            self.window = self
                .window
                .max(sustained * (self.srtt + self.interval).as_secs_f64());
        }
    }

    /// Whether the round loses too much. Where the path `moves` the delay, packets may overtake each other, and many of
    /// a train count as lost until they arrive: it must do so for a time there.
    fn is_overloaded(&mut self, now: Time, moves: bool) -> bool {
        if !self.loses_too_much() {
            self.round.lossy_since = None;
            return false;
        }
        let since = *self.round.lossy_since.get_or_insert(now);
        !moves || now.since(since) >= (self.srtt / LATE_PART).max(LATE_LEAST)
    }

    /// Whether the round loses more than the start may, certainly.
    fn loses_too_much(&self) -> bool {
        let (packets, loss) = (self.round.packets(self.packet), self.round.loss());
        // Losses in runs need a larger sample; losses far above the usual ones, a smaller one.
        let sample = START_SAMPLE * (2.0 * self.round.burst() - 1.0);
        let excess = (loss - USUAL_LOSS) / (START_LOSS - USUAL_LOSS);
        loss > START_LOSS && packets >= START_SAMPLE.max(sample / (excess * excess))
    }

    /// Looks for a higher rate within round trips, where the window would take many late reports.
    pub(super) fn restart(&mut self) {
        self.phase = Phase::Start;
        self.proven = self.window / self.span().as_secs_f64();
        self.start_gain = RESTART_GAIN;
        self.window = MIN_PACKETS * self.packet;
        self.asks = ASKS;
        self.calm = 0;
    }
}
