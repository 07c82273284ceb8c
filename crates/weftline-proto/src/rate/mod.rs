//! The rate control of the engine itself: pacing and a window.

mod adaptive;
mod base;
mod competition;
mod jitter;
mod losses;
mod progress;
mod push;
mod rates;
mod round;
mod steps;
mod swing;
mod train;
mod watch;

use core::time::Duration;

use adaptive::Adaptive;
pub(crate) use progress::Progress;

use crate::config::{Config, RateControl};
use crate::feedback::Feedback;
use crate::time::Time;

/// Credit that may accumulate while the driver's timer is late. Many timers have steps of 1 ms.
const BURST: Duration = Duration::from_millis(2);
/// The longest time between two reports, even if the peer is asked for less frequent ones.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
/// This many timeouts in a row are congestion (RFC 9002, section 7.6, has a similar rule).
const PERSISTENT: u32 = 3;

/// Token bucket and in-flight limit.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    control: Control,
    overhead: u64,
    /// Time at which the next datagram may leave.
    next: Time,
}

#[derive(Clone, Debug)]
enum Control {
    Carrier,
    Fixed {
        rate: Option<u64>,
        window: Option<u64>,
    },
    Adaptive(Box<Adaptive>),
}

impl Pacer {
    pub(crate) fn new(config: &Config, now: Time) -> Self {
        Pacer {
            control: match config.rate {
                RateControl::Carrier => Control::Carrier,
                RateControl::Fixed { rate, window } => Control::Fixed { rate, window },
                RateControl::Adaptive => {
                    let interval = config.feedback.longest().min(LONGEST_INTERVAL);
                    let late = match config.feedback {
                        Feedback::Periodic { .. } => interval,
                        _ => Duration::ZERO,
                    };
                    let rtt = config.initial_rtt;
                    Control::Adaptive(Box::new(Adaptive::new(rtt, interval, late, now)))
                }
            },
            overhead: u64::from(config.datagram_overhead),
            next: now,
        }
    }

    /// When pacing lets the next datagram leave.
    pub(crate) fn next_departure(&self) -> Option<Time> {
        match self.control {
            Control::Fixed { rate: Some(_), .. } | Control::Adaptive(_) => Some(self.next),
            _ => None,
        }
    }

    /// Whether the window has room when `in_flight` bytes are unresolved.
    pub(crate) fn window_open(&self, in_flight: u64) -> bool {
        match &self.control {
            Control::Fixed {
                window: Some(window),
                ..
            } => in_flight < *window,
            Control::Adaptive(adaptive) => (in_flight as f64) < adaptive.window(),
            _ => true,
        }
    }

    /// Bytes a second that may leave while `in_flight` bytes are, if it is limited.
    pub(crate) fn rate(&self, in_flight: u64) -> Option<f64> {
        match &self.control {
            Control::Fixed { rate, .. } => rate.map(|rate| rate as f64 / 8.0),
            Control::Adaptive(adaptive) => Some(adaptive.pace(in_flight)),
            Control::Carrier => None,
        }
    }

    /// A probe has measured the round trip before any data left.
    pub(crate) fn on_first_measurement(&mut self, rtt: Duration) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_first_measurement(rtt);
        }
    }

    /// The flow moves to this path, which has carried little so far, with `rate` bytes a second. `lost` bytes were
    /// in flight on the other one: what replaces them must not hold up what follows. Round trips take up to
    /// `later` longer than usual.
    pub(crate) fn take_over(&mut self, rate: f64, lost: u64, later: Duration) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.take_over(rate, lost as f64, later);
        }
    }

    /// This path has `part` of what the session's paths take together from a bottleneck that they share;
    /// 1 if it shares none.
    pub(crate) fn set_part(&mut self, part: f64) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.set_part(part);
        }
    }

    /// The window, or only the pace, held a datagram back.
    pub(crate) fn limited(&mut self, by_window: bool) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_limited(by_window);
        }
    }

    /// Of the bytes that the application has written until now, `waiting` have not left.
    pub(crate) fn written(&mut self, now: Time, written: u64, waiting: u64) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_written(now, written, waiting);
        }
    }

    /// There was nothing to send.
    pub(crate) fn idle(&mut self) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_idle();
        }
    }

    /// When a report may be asked for, for a flow that is held back: reports are late, and the rate
    /// control needs one sooner.
    pub(crate) fn next_ask(&self) -> Option<Time> {
        match &self.control {
            Control::Adaptive(adaptive) => adaptive.next_ask(),
            _ => None,
        }
    }

    /// A request for a report leaves.
    pub(crate) fn on_ask(&mut self, now: Time) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_ask(now);
        }
    }

    /// A datagram of `len` bytes left; `in_flight` bytes are on their way with it.
    pub(crate) fn sent(&mut self, now: Time, len: usize, in_flight: u64) {
        let bytes = len as u64 + self.overhead;
        let (spacing, burst) = match &mut self.control {
            Control::Fixed {
                rate: Some(rate), ..
            } => (
                Duration::from_nanos(bytes * 8_000_000_000 / (*rate).max(1)),
                BURST,
            ),
            Control::Adaptive(adaptive) => {
                adaptive.on_sent(now, len);
                let spacing =
                    Duration::from_secs_f64(len as f64 / adaptive.pace(in_flight).max(1.0));
                (spacing, BURST.max(spacing * adaptive.burst()))
            }
            _ => return,
        };
        self.next = self.next.max(now - burst) + spacing;
    }

    /// A probe of `len` bytes left, which says nothing about how long datagrams are.
    pub(crate) fn sent_size_probe(&mut self, now: Time, len: usize) {
        let Some(rate) = self.rate(0) else { return };
        let bytes = len as f64 + self.overhead as f64;
        self.next = self.next.max(now - BURST) + Duration::from_secs_f64(bytes / rate.max(1.0));
    }

    /// A report brought news of the path.
    pub(crate) fn on_report(&mut self, now: Time, progress: &Progress) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_report(now, progress);
        }
    }

    /// For how long the path usually holds datagrams back, if it moves their delay; otherwise zero.
    pub(crate) fn hold(&self) -> Duration {
        match &self.control {
            Control::Adaptive(adaptive) => adaptive.hold(),
            _ => Duration::ZERO,
        }
    }

    /// The path has marked `count` datagrams in all.
    pub(crate) fn marked(&mut self, count: u64) {
        if let Control::Adaptive(adaptive) = &mut self.control {
            adaptive.on_marks(count);
        }
    }

    /// The retransmission timer has fired `times` times in a row.
    pub(crate) fn timed_out(&mut self, times: u32) {
        if let Control::Adaptive(adaptive) = &mut self.control
            && times >= PERSISTENT
        {
            adaptive.on_timeouts();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(rate: Option<u64>, window: Option<u64>) -> Pacer {
        let config = Config {
            rate: RateControl::Fixed { rate, window },
            datagram_overhead: 0,
            ..Config::default()
        };
        Pacer::new(&config, Time::ZERO)
    }

    #[test]
    fn a_fixed_rate_is_kept_on_average_and_bursts_are_bounded() {
        let mut pacer = fixed(Some(8_000_000), None);
        let mut sent = 0u64;
        let mut most_at_once = 0;
        // The driver wakes up only every 5 ms.
        for ms in (0..10_000u64).step_by(5) {
            let now = Time::from_micros(ms * 1000);
            let mut at_once = 0;
            while pacer.next_departure().is_some_and(|t| t <= now) {
                pacer.sent(now, 1000, 0);
                at_once += 1;
                sent += 1;
            }
            most_at_once = most_at_once.max(at_once);
        }
        // 8 Mbit/s is a datagram every ms; a driver this coarse gets three of five.
        assert_eq!(most_at_once, 3);
        assert_eq!(sent, 1 + 3 * 1999);
    }

    #[test]
    fn the_window_counts_bytes_in_flight() {
        let pacer = fixed(None, Some(5000));
        assert!(pacer.window_open(4999));
        assert!(!pacer.window_open(5000));
        assert!(pacer.next_departure().is_none());
    }
}
