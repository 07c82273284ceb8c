//! The kernel's timer in the runtime: the one call of `load` that needs `unsafe`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A timer of CLOCK_MONOTONIC that is not set; readable once it has expired.
///
/// # Errors
///
/// The system or the runtime cannot provide another descriptor.
pub(super) fn timer() -> io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    // SAFETY: the descriptor is open and an `OwnedFd`, which always gives the same number and
    // closes it only when dropped. The `AsyncFd` owns it; callers read and set it through shared
    // references, so nothing can put another in its place.
    Ok(unsafe { AsyncFd::register_with_interest(timer, Interest::READABLE) }?)
}
