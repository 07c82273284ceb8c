//! Due times of the messages of a stream.

use std::time::Duration;

use super::LoadError;
use super::clock::nanos;
use weftline_proto::Settings;
use weftline_sim::Pace;

/// Most messages in a run: the receiver keeps one bit for each.
const MOST: u64 = 100_000_000;
/// The longest run, in seconds.
pub(crate) const LONGEST: f64 = 1e6;
/// The smallest message: it starts with its due time and its number.
pub(crate) const HEADER: usize = 16;
/// The largest message.
pub(crate) const LARGEST: usize = 1 << 20;

/// Messages of one size, at a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// Bytes of a message.
    pub(crate) size: usize,
    pace: Pace,
    /// Bits per second.
    rate: u64,
    /// Number of messages.
    pub(crate) total: u64,
    /// The first message that is counted.
    pub(crate) first: u64,
}

impl Schedule {
    /// Messages of `size` bytes at `rate` bit/s for `secs` seconds, of which the first `skip`
    /// seconds are not counted.
    pub(crate) fn new(
        pace: Pace,
        size: usize,
        rate: u64,
        secs: f64,
        skip: f64,
    ) -> Result<Self, LoadError> {
        let mut schedule = Schedule {
            size,
            pace,
            rate,
            total: 0,
            first: 0,
        };
        schedule.total = schedule.before(nanos(secs));
        schedule.first = schedule.before(nanos(skip));
        if schedule.total > MOST {
            return Err(LoadError::Contradiction(format!(
                "{} messages are too many, at most {MOST} are allowed: lower secs or rate, or raise size",
                schedule.total
            )));
        }
        if schedule.first >= schedule.total {
            let message = format!("skip={skip} leaves no message of secs={secs}: lower skip");
            return Err(LoadError::Contradiction(message));
        }
        Ok(schedule)
    }

    /// Reads `rate` and `size`; `rate` has no default unless one is given.
    pub(crate) fn take(
        settings: &mut Settings,
        pace: Pace,
        secs: f64,
        skip: f64,
        default_rate: Option<f64>,
    ) -> Result<Self, LoadError> {
        let rate = settings.number("rate", "Mbit/s", 0.001..=100_000.0)?;
        let size = settings.number("size", "bytes", HEADER..=LARGEST)?;
        let Some(rate) = rate.or(default_rate) else {
            let message = "only rate= limits this sender: give rate=, in Mbit/s";
            return Err(LoadError::Contradiction(message.to_owned()));
        };
        Schedule::new(
            pace,
            size.unwrap_or(1200),
            (rate * 1e6).round() as u64,
            secs,
            skip,
        )
    }

    /// Nanoseconds from the first message to number `index`.
    pub(crate) fn offset(&self, index: u64) -> i64 {
        self.pace.due(self.rate, self.size, index).as_nanos() as i64
    }

    /// Number of messages that are due less than `time` nanoseconds after the first.
    fn before(&self, time: i64) -> u64 {
        let time = Duration::from_nanos(time.max(0) as u64);
        self.pace.before(self.rate, self.size, time)
    }

    /// Number of counted messages.
    pub(crate) fn counted(&self) -> u64 {
        self.total - self.first
    }

    /// Nanoseconds from the first message to the last.
    pub(crate) fn span(&self) -> i64 {
        self.offset(self.total - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_megabit_in_messages_of_1200_bytes_is_one_in_960_microseconds() {
        let schedule = Schedule::new(Pace::Constant, 1200, 10_000_000, 1.0, 0.5).unwrap();
        assert_eq!(schedule.offset(1), 960_000);
        assert_eq!(schedule.offset(1000), 960_000_000);
        // 1041 periods end before the second does, so message 1041 still starts within it.
        assert_eq!((schedule.total, schedule.first), (1042, 521));
        assert!(schedule.offset(schedule.total - 1) < 1_000_000_000);
        assert!(schedule.offset(schedule.total) >= 1_000_000_000);
        assert!(schedule.offset(schedule.first) >= 500_000_000);
    }

    #[test]
    fn a_fractional_period_does_not_drift() {
        let schedule = Schedule::new(Pace::Constant, 1000, 3_000_000, 3600.0, 0.0).unwrap();
        assert_eq!(schedule.total, 1_350_000);
        assert_eq!(schedule.offset(1_350_000), 3_600_000_000_000);
    }

    #[test]
    fn impossible_schedules_are_refused() {
        assert!(Schedule::new(Pace::Constant, 16, 100_000_000_000, 1000.0, 0.0).is_err());
        assert!(Schedule::new(Pace::Constant, 1200, 10_000_000, 1.0, 1.0).is_err());
    }
}
