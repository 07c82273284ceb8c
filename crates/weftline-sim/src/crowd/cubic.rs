//! A model of CUBIC (RFC 9438), in packets.

use std::time::Duration;

use super::competitor::Ack;

/// RFC 9438, sections 4.1, 4.3, 4.6 and 4.7.
const SCALE: f64 = 0.4;
const DECREASE: f64 = 0.7;
const RENO: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);
const CONVERGE: f64 = (1.0 + DECREASE) / 2.0;
const INITIAL: f64 = 10.0;
const LEAST: f64 = 2.0;
/// Slow start ends when the round trip is longer than the shortest by an eighth of it, within these
/// bounds, with this window at least: HyStart's test of delay.
const LONGER: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
const HYSTART: f64 = 16.0;

#[derive(Debug)]
pub(super) struct Cubic {
    window: f64,
    threshold: f64,
    /// The window before the last decrease, and the one that Reno would have.
    most: f64,
    reno: f64,
    since: Option<Duration>,
    shortest: Duration,
}

impl Default for Cubic {
    fn default() -> Self {
        Cubic {
            window: INITIAL,
            threshold: f64::INFINITY,
            most: 0.0,
            reno: 0.0,
            since: None,
            shortest: Duration::MAX,
        }
    }
}

impl Cubic {
    pub(super) fn window(&self) -> f64 {
        self.window
    }

    pub(super) fn on_loss(&mut self) {
        self.most = match self.window < self.most {
            true => self.window * CONVERGE,
            false => self.window,
        };
        self.window = (self.window * DECREASE).max(LEAST);
        (self.threshold, self.reno, self.since) = (self.window, self.window, None);
    }

    pub(super) fn on_silence(&mut self) {
        self.threshold = (self.window * DECREASE).max(LEAST);
        self.window = LEAST;
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.shortest = self.shortest.min(ack.rtt);
        if self.window < self.threshold {
            let longer = (self.shortest / 8).clamp(LONGER.0, LONGER.1);
            match self.window >= HYSTART && ack.rtt > self.shortest + longer {
                true => {
                    (self.threshold, self.most, self.reno) = (self.window, self.window, self.window)
                }
                false => self.window += 1.0,
            }
            return;
        }
        let since = *self.since.get_or_insert(ack.now);
        let way = ((self.most - self.threshold).max(0.0) / SCALE).cbrt();
        let time = (ack.now.saturating_sub(since) + ack.rtt).as_secs_f64();
        let cubic = SCALE * (time - way).powi(3) + self.most;
        let target = cubic.clamp(self.window, 1.5 * self.window);
        self.reno += RENO / self.window;
        self.window = (self.window + (target - self.window) / self.window).max(self.reno);
    }
}
