//! Integer time, so that runs are deterministic and print the same everywhere.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// An instant, in microseconds since an arbitrary zero that the caller chooses.
///
/// Nothing here reads a clock: calls that need the time take it as an argument. Time
/// that goes backwards counts as unchanged. A simulator may use a microsecond as its
/// tick.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The arbitrary zero.
    pub const ZERO: Time = Time(0);

    /// The instant `micros` microseconds after zero.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Time(micros)
    }

    /// Microseconds since zero.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Time since `earlier`, or zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(micros(d)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, d: Duration) -> Time {
        Time(self.0.saturating_sub(micros(d)))
    }
}

/// Whole microseconds of `d`, saturating.
pub(crate) fn micros(d: Duration) -> u64 {
    u64::try_from(d.as_micros()).unwrap_or(u64::MAX)
}
