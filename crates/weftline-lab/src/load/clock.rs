//! The clock that both ends share, and a timer with a finer resolution than the runtime's.

use std::time::Duration;

use tokio::time::Instant;

use super::LoadError;

/// Nanoseconds in a second.
pub(crate) const SECOND: f64 = 1e9;

/// CLOCK_MONOTONIC in nanoseconds: the same for all processes of a machine, in every network
/// namespace.
#[cfg(unix)]
pub fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The system's time in nanoseconds, because processes share no better clock here.
#[cfg(not(unix))]
pub fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |time| time.as_nanos() as i64)
}

/// Seconds in nanoseconds.
pub(crate) fn nanos(seconds: f64) -> i64 {
    (seconds * SECOND).round() as i64
}

/// Converts a time of [`now`] to the runtime's clock, to limit how long an operation may take. Its
/// resolution is a millisecond.
pub(crate) fn instant(time: i64) -> Instant {
    let left = time.saturating_sub(now()).max(0);
    Instant::now() + Duration::from_nanos(left as u64)
}

/// Sleeps until a time of [`now`].
///
/// The runtime's own timers have a resolution of a millisecond, which is as long as the period of
/// a 10 Mbit/s stream; the kernel's wake within some tens of microseconds.
#[cfg(target_os = "linux")]
pub(crate) struct Timer(tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Timer {
    /// A timer; it belongs to the current runtime.
    pub(crate) fn new() -> Result<Self, LoadError> {
        let timer = super::os::timer();
        timer
            .map(Timer)
            .map_err(|e| LoadError::Setup(format!("no timer: {e}")))
    }

    /// Returns at `time`, or at once if `time` is past.
    pub(crate) async fn until(&mut self, time: i64) -> Result<(), LoadError> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        const NONE: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        while now() < time {
            let value = Timespec {
                tv_sec: time / 1_000_000_000,
                tv_nsec: time % 1_000_000_000,
            };
            let spec = Itimerspec {
                it_interval: NONE,
                it_value: value,
            };
            timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &spec)
                .map_err(|e| LoadError::Setup(format!("the timer failed: {e}")))?;
            let mut ready = self.0.readable().await?;
            let mut expirations = [0; 8];
            // The count does not matter: the loop looks at the clock.
            let _ = ready.try_io(|timer| Ok(rustix::io::read(timer, &mut expirations)?));
        }
        Ok(())
    }
}

/// Sleeps until a time of [`now`], with a resolution of a millisecond.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Timer;

#[cfg(not(target_os = "linux"))]
impl Timer {
    pub(crate) fn new() -> Result<Self, LoadError> {
        Ok(Timer)
    }

    pub(crate) async fn until(&mut self, time: i64) -> Result<(), LoadError> {
        if now() < time {
            tokio::time::sleep_until(instant(time)).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_timer_never_wakes_early() {
        let mut timer = Timer::new().unwrap();
        for step in 1..=40 {
            let time = now() + step * 37_000;
            timer.until(time).await.unwrap();
            assert!(now() >= time);
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_timer_is_finer_than_a_millisecond() {
        let mut timer = Timer::new().unwrap();
        let mut late = Vec::new();
        for _ in 0..100 {
            let time = now() + 300_000;
            timer.until(time).await.unwrap();
            late.push(now() - time);
        }
        late.sort_unstable();
        // The fastest tenth: on a busy machine the others may have to wait for the processor.
        assert!(late[10] < 400_000, "{late:?} ns late");
    }
}
