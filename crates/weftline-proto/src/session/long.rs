//! When symbols may be longer than usual.
//!
//! A long symbol costs less work for each byte, but it delays: its data waits until the last byte of
//! it has arrived, and a loss shows only when three more datagrams have. So it must be short in time
//! at the rate at which data arrives: four of them take no longer than a timer's step, or a small part
//! of the round trip.

use core::time::Duration;

use crate::time::Time;

/// The time that one symbol may take: a quarter of a timer's step.
const TIME: Duration = Duration::from_micros(250);
/// And on longer paths: a quarter of a sixteenth of the round trip.
const PART: u32 = 64;
/// It may take longer by this factor while symbols are long, so that they do not change all the time.
const STAY: u32 = 2;
/// The rate is measured over this time, or a round trip if that is longer.
const SPAN: Duration = Duration::from_millis(10);

/// Measures the rate and decides.
#[derive(Debug, Default)]
pub(super) struct Pace {
    since: Time,
    /// Bytes that had arrived by then.
    arrived: u64,
    /// Bytes a second.
    rate: f64,
}

impl Pace {
    /// A report: `arrived` bytes in all.
    pub(super) fn on_report(&mut self, now: Time, arrived: u64, round_trip: Duration) {
        let time = now.since(self.since);
        if time >= SPAN.max(round_trip) {
            self.rate = (arrived - self.arrived) as f64 / time.as_secs_f64();
            (self.since, self.arrived) = (now, arrived);
        }
    }

    /// Bytes a second that arrive.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Symbols of `bytes` are short in time; `now_long`: they were before.
    pub(super) fn suits(&self, bytes: u16, round_trip: Duration, now_long: bool) -> bool {
        let most = TIME.max(round_trip / PART) * if now_long { STAY } else { 1 };
        f64::from(bytes) <= self.rate * most.as_secs_f64()
    }
}
