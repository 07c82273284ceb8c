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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[test]
    fn a_symbol_suits_if_it_is_short_in_time_and_may_be_twice_as_long_to_stay() {
        let mut pace = Pace::default();
        pace.on_report(at(10_000), 100_000, Duration::ZERO);
        // 10 bytes a microsecond.
        for (bytes, round_trip, now_long, suits) in [
            (2500, 0, false, true),
            (2501, 0, false, false),
            (5000, 0, true, true),
            (5001, 0, true, false),
            // A sixty-fourth of a round trip.
            (2501, 16_000, false, false),
            (5000, 32_000, false, true),
            (5001, 32_000, false, false),
        ] {
            let round_trip = Duration::from_micros(round_trip);
            let case = (bytes, round_trip, now_long);
            assert_eq!(pace.suits(bytes, round_trip, now_long), suits, "{case:?}");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_round_trip_and_of_ten_milliseconds_at_least() {
        let mut pace = Pace::default();
        let round_trip = Duration::from_millis(20);
        let mut report = |ms: u64, arrived, round_trip| {
            pace.on_report(at(1000 * ms), arrived, round_trip);
            pace.rate()
        };
        assert_eq!(report(9, 90_000, Duration::ZERO), 0.0);
        assert_eq!(report(10, 100_000, Duration::ZERO), 10e6);
        assert_eq!(report(29, 100_000, round_trip), 10e6);
        assert_eq!(report(30, 140_000, round_trip), 2e6);
    }
}
