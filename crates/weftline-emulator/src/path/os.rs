//! Kernel calls: creating a TUN device and requesting real-time scheduling, which need `unsafe`,
//! and the processor time of a thread.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{self, Opcode, Updater};
use rustix::time::{ClockId, clock_gettime};

/// The device that creates TUN devices.
pub(crate) const TUN: &str = "/dev/net/tun";

/// `TUNSETIFF` of linux/if_tun.h: `_IOW('T', 202, int)`.
const TUNSETIFF: Opcode = ioctl::opcode::write::<c_int>(b'T', 202);
/// Layer 3 packets ...
const IFF_TUN: u16 = 0x0001;
/// ... without a header before each packet.
const IFF_NO_PI: u16 = 0x1000;

/// `struct ifreq` of linux/if.h with the member that `TUNSETIFF` uses, in its size on
/// 64-bit machines, which is the larger one.
#[repr(C, align(8))]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    unused: [u8; 22],
}

/// Creates a TUN device named after `pattern`, in which the kernel replaces `%d` by a free number.
/// It exists as long as the file, which does not block.
pub(crate) fn open_tun(pattern: &str) -> io::Result<(OwnedFd, String)> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(TUN, flags, Mode::empty())?;
    let mut request = InterfaceRequest {
        name: [0; 16],
        flags: IFF_TUN | IFF_NO_PI,
        unused: [0; 22],
    };
    // The last byte stays zero: it ends the name.
    let length = pattern.len().min(request.name.len() - 1);
    request.name[..length].copy_from_slice(&pattern.as_bytes()[..length]);
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq` at the address it is given,
    // and `InterfaceRequest` is at least as large, as aligned, and valid for any bytes.
    let updater = unsafe { Updater::<TUNSETIFF, _>::new(&mut request) };
    // SAFETY: the opcode belongs to TUN devices, and the file is one.
    unsafe { ioctl::ioctl(file.as_fd(), updater) }?;
    let end = request.name.iter().position(|b| *b == 0).unwrap_or(16);
    let name = String::from_utf8_lossy(&request.name[..end]).into_owned();
    Ok((file, name))
}

/// Requests that this thread runs as soon as possible: real-time scheduling, failing that the
/// highest priority, and timers that fire on time. Without the privileges the thread stays as it
/// is; the measured lateness then shows it.
pub(crate) fn hurry() {
    let parameters = libc::sched_param { sched_priority: 10 };
    // Children of this thread must not inherit it.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: sched_setscheduler reads one `sched_param`, which outlives the call; the
    // thread 0 is the calling one. The C library's function would do nothing on musl.
    let real_time = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy,
            &raw const parameters,
        )
    };
    if real_time != 0 {
        let _ = rustix::process::setpriority_process(None, -20);
    }
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Processor time that this thread has used.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (secs, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(secs.unwrap_or(0), nanos.unwrap_or(0))
}
