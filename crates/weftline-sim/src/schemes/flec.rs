//! FlEC (Michel et al., "FlEC: Enhancing QUIC With Application-Tailored Reliability Mechanisms",
//! 2023).

use std::time::Duration;

use weftline_proto::Time;
use weftline_proto::scheme::Situation;

use super::windowed::{Timing, lacks};

/// FlEC allows this much for what its estimates of the path miss.
const MARGIN: Duration = Duration::from_millis(25);
/// Silence for this part of a round trip is the end of the data.
const SILENCE: u32 = 8;
/// Weight of the newest interval between two source symbols.
const NEWEST: f64 = 1.0 / 16.0;

/// FlEC's number of repairs for `symbols`: a run of losses, or as many as are expected to be lost.
fn repairs_for(at: &Situation<'_>, symbols: f64) -> u64 {
    // Of a path that looks dead no number is enough.
    let repairs = at.mean_burst().max(at.loss() * symbols).max(1.0);
    repairs.ceil().min(1024.0) as u64
}

/// Bulk transfers: repairs only when nothing more is to be sent, and AC-RLNC's answer to reports.
#[derive(Debug)]
pub(super) struct FlecBulk {
    last_source: Time,
    /// When the rule was last asked.
    asked: Time,
}

impl FlecBulk {
    pub(super) fn new(now: Time) -> Self {
        FlecBulk {
            last_source: now,
            asked: now,
        }
    }

    fn silence(&self, srtt: Duration) -> Time {
        self.last_source + srtt / SILENCE
    }
}

impl Timing for FlecBulk {
    fn on_source(&mut self, at: &Situation<'_>) {
        self.last_source = at.now();
    }

    fn is_due(&mut self, at: &Situation<'_>) -> bool {
        self.asked = at.now();
        let silent = !at.can_send_new() && at.now() >= self.silence(at.srtt());
        let most = 1 + repairs_for(at, 2.0 * at.unacknowledged() as f64);
        lacks(at, -at.loss()) || silent && at.repairs_in_flight() < most
    }

    fn on_repair(&mut self) {}

    fn on_timeout(&mut self, now: Time) {
        self.asked = now;
    }

    fn next_timeout(&self, at: &Situation<'_>) -> Option<Time> {
        Some(self.silence(at.srtt())).filter(|t| *t > self.asked)
    }
}

/// Messages: repairs as late as the soonest deadline allows, and AC-RLNC's answer to reports.
#[derive(Debug)]
pub(super) struct FlecMessage {
    /// Sent data must have arrived after this.
    deadline: Duration,
    /// Source symbols since repairs for them were last due, and when the first of them left.
    unprotected: u64,
    first: Time,
    /// Repairs due.
    owed: u64,
    last_source: Time,
    /// Seconds between source symbols, on average.
    interval: f64,
    /// When the rule was last asked.
    asked: Time,
}

impl FlecMessage {
    pub(super) fn new(deadline: Duration, now: Time) -> Self {
        FlecMessage {
            deadline,
            unprotected: 0,
            first: now,
            owed: 0,
            last_source: now,
            interval: 0.0,
            asked: now,
        }
    }

    /// When waiting for the next message would miss the deadline of the first unprotected one.
    fn critical(&self, srtt: Duration) -> Option<Time> {
        let late = Duration::from_secs_f64(self.interval) + srtt / 2 + MARGIN;
        (self.unprotected > 0).then(|| self.first + self.deadline.saturating_sub(late))
    }
}

impl Timing for FlecMessage {
    fn on_source(&mut self, at: &Situation<'_>) {
        let interval = at.now().since(self.last_source).min(at.srtt());
        self.interval += NEWEST * (interval.as_secs_f64() - self.interval);
        self.last_source = at.now();
        if self.unprotected == 0 {
            self.first = at.now();
        }
        self.unprotected += 1;
    }

    fn is_due(&mut self, at: &Situation<'_>) -> bool {
        self.asked = at.now();
        if self.owed > 0 {
            return true;
        }
        let critical = self.critical(at.srtt());
        if !at.can_send_new() && critical.is_some_and(|t| at.now() >= t) {
            self.owed = repairs_for(at, self.unprotected as f64);
            self.unprotected = 0;
        }
        self.owed > 0 || lacks(at, -at.loss())
    }

    fn on_repair(&mut self) {
        self.owed = self.owed.saturating_sub(1);
    }

    fn on_timeout(&mut self, now: Time) {
        self.asked = now;
    }

    fn next_timeout(&self, at: &Situation<'_>) -> Option<Time> {
        self.critical(at.srtt()).filter(|t| *t > self.asked)
    }
}
