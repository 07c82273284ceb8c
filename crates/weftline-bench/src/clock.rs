//! The CPU time of this thread.
//!
//! All work is done on one thread, so nothing is missed. The time of other
//! programs is not counted; it would count most against the slowest contender,
//! whose runs are the longest.

use std::time::Duration;

/// What [`now`] counts, for reports.
#[cfg(unix)]
pub(crate) const NAME: &str = "CPU time of the thread";

/// A point in time; only differences have a meaning.
#[cfg(unix)]
pub(crate) fn now() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

/// What [`now`] counts, for reports.
#[cfg(not(unix))]
pub(crate) const NAME: &str = "elapsed time";

/// A point in time; only differences have a meaning.
#[cfg(not(unix))]
pub(crate) fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_time_does_not_go_back() {
        let start = now();
        let mut sum = 0u64;
        while now() < start + Duration::from_millis(2) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0 && now() > start);
    }
}
