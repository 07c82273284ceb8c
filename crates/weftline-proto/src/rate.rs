//! When the engine itself may send: pacing and a window, if they are configured.

use core::time::Duration;

use crate::config::RateControl;
use crate::time::Time;

/// Credit that may pile up while the driver's timer is late; timers are commonly 1 ms coarse.
const BURST: Duration = Duration::from_millis(2);

/// Token bucket and in-flight limit of [`RateControl::Fixed`].
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    control: RateControl,
    overhead: u64,
    /// Time at which the next datagram may leave.
    next: Time,
}

impl Pacer {
    pub(crate) fn new(control: RateControl, overhead: u16, now: Time) -> Self {
        Pacer {
            control,
            overhead: u64::from(overhead),
            next: now,
        }
    }

    /// When a datagram may leave, as far as pacing is concerned.
    pub(crate) fn next_departure(&self) -> Option<Time> {
        match self.control {
            RateControl::Fixed { rate: Some(_), .. } => Some(self.next),
            _ => None,
        }
    }

    /// Whether the window has room with `in_flight` bytes sent and not resolved.
    pub(crate) fn window_open(&self, in_flight: u64) -> bool {
        match self.control {
            RateControl::Fixed {
                window: Some(window),
                ..
            } => in_flight < window,
            _ => true,
        }
    }

    /// A datagram of `len` bytes left.
    pub(crate) fn sent(&mut self, now: Time, len: usize) {
        if let RateControl::Fixed {
            rate: Some(rate), ..
        } = self.control
        {
            let bits = (len as u64 + self.overhead) * 8;
            let spacing = Duration::from_nanos(bits * 1_000_000_000 / rate.max(1));
            self.next = self.next.max(now - BURST) + spacing;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_rate_is_kept_on_average_and_bursts_are_bounded() {
        let control = RateControl::Fixed {
            rate: Some(8_000_000),
            window: None,
        };
        let mut pacer = Pacer::new(control, 0, Time::ZERO);
        let mut sent = 0u64;
        let mut most_at_once = 0;
        // A driver that wakes up each 5 ms only.
        for ms in (0..10_000u64).step_by(5) {
            let now = Time::from_micros(ms * 1000);
            let mut at_once = 0;
            while pacer.next_departure().is_some_and(|t| t <= now) {
                pacer.sent(now, 1000);
                at_once += 1;
                sent += 1;
            }
            most_at_once = most_at_once.max(at_once);
        }
        // 8 Mbit/s is a datagram each ms; a driver this coarse gets three of five.
        assert_eq!(most_at_once, 3);
        assert_eq!(sent, 1 + 3 * 1999);
    }

    #[test]
    fn the_window_counts_bytes_in_flight() {
        let control = RateControl::Fixed {
            rate: None,
            window: Some(5000),
        };
        let pacer = Pacer::new(control, 0, Time::ZERO);
        assert!(pacer.window_open(4999));
        assert!(!pacer.window_open(5000));
        assert!(pacer.next_departure().is_none());
    }
}
