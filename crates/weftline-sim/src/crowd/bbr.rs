//! A model of BBR's first version (Cardwell et al. 2016), in packets.

use std::collections::VecDeque;
use std::time::Duration;

use super::competitor::Ack;

const START_GAIN: f64 = 2.885;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const WINDOW_GAIN: f64 = 2.0;
/// The rate is the highest of this many rounds.
const ROUNDS: usize = 10;
/// The start ends after this many rounds in which the rate grew by less than a quarter.
const FULL_ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;
/// The shortest round trip is looked for again after this time, with few packets in flight for that
/// long.
const FORGET: Duration = Duration::from_secs(10);
const PROBE: Duration = Duration::from_millis(200);
const LEAST: f64 = 4.0;
const INITIAL: f64 = 10.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    Drain,
    /// The step of the cycle, and when it began.
    Cycle(usize, Duration),
    /// Few packets in flight until then.
    Probe(Duration),
}

#[derive(Debug)]
pub(super) struct Bbr {
    phase: Phase,
    /// The highest rate of each of the last rounds, packets a second, the newest first.
    rates: VecDeque<f64>,
    shortest: Option<(Duration, Duration)>,
    full: f64,
    full_rounds: u32,
}

impl Default for Bbr {
    fn default() -> Self {
        Bbr {
            phase: Phase::Start,
            rates: VecDeque::new(),
            shortest: None,
            full: 0.0,
            full_rounds: 0,
        }
    }
}

impl Bbr {
    fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    fn holds(&self) -> Option<f64> {
        let (_, shortest) = self.shortest?;
        Some(self.rate() * shortest.as_secs_f64())
    }

    pub(super) fn window(&self) -> f64 {
        let gain = match self.phase {
            Phase::Probe(_) => return LEAST,
            Phase::Start | Phase::Drain => START_GAIN,
            Phase::Cycle(..) => WINDOW_GAIN,
        };
        self.holds()
            .map_or(INITIAL, |holds| (gain * holds).max(LEAST))
    }

    /// The time between two packets.
    pub(super) fn spacing(&self) -> Duration {
        let gain = match self.phase {
            Phase::Start => START_GAIN,
            Phase::Drain => 1.0 / START_GAIN,
            Phase::Cycle(step, _) => CYCLE[step],
            Phase::Probe(_) => 1.0,
        };
        match self.rate() {
            rate if rate > 0.0 => Duration::from_secs_f64(1.0 / (gain * rate)),
            _ => Duration::ZERO,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if ack.new_round {
            self.rates.truncate(ROUNDS - 1);
            self.rates.push_front(0.0);
            self.look_for_full();
        }
        if let Some(newest) = self.rates.front_mut() {
            *newest = newest.max(ack.rate);
        }
        let old = match self.shortest {
            Some((at, shortest)) if ack.rtt > shortest => ack.now.saturating_sub(at) > FORGET,
            _ => {
                self.shortest = Some((ack.now, ack.rtt));
                false
            }
        };
        self.advance(ack, old);
    }

    fn look_for_full(&mut self) {
        if self.phase != Phase::Start {
            return;
        }
        let rate = self.rate();
        if rate >= GROWTH * self.full {
            (self.full, self.full_rounds) = (rate, 0);
            return;
        }
        self.full_rounds += 1;
        if self.full_rounds >= FULL_ROUNDS {
            self.phase = Phase::Drain;
        }
    }

    fn advance(&mut self, ack: &Ack, old: bool) {
        let holds = self.holds().unwrap_or(0.0);
        let shortest = self.shortest.map_or(ack.rtt, |(_, shortest)| shortest);
        match self.phase {
            Phase::Drain if ack.in_flight as f64 <= holds => {
                self.phase = Phase::Cycle(2, ack.now);
            }
            Phase::Cycle(step, since) => {
                let over = ack.now.saturating_sub(since) >= shortest;
                let drained = step == 1 && ack.in_flight as f64 <= holds;
                if old {
                    self.shortest = Some((ack.now, ack.rtt));
                    self.phase = Phase::Probe(ack.now + PROBE + ack.rtt);
                } else if over || drained {
                    self.phase = Phase::Cycle((step + 1) % CYCLE.len(), ack.now);
                }
            }
            Phase::Probe(until) if ack.now >= until => self.phase = Phase::Cycle(2, ack.now),
            _ => {}
        }
    }
}
