//! Clock cycles of this thread, if the kernel counts them.

#[cfg(target_os = "linux")]
mod counter {
    use perf_event::events::Hardware;
    use perf_event::{Builder, Counter};

    /// Counts cycles outside of the kernel.
    pub(crate) struct Cycles(Counter);

    impl Cycles {
        /// The error is the reason, for the user.
        pub(crate) fn new() -> Result<Self, String> {
            let counter = Builder::new().kind(Hardware::CPU_CYCLES).build();
            let mut counter = counter.map_err(|error| {
                format!("the kernel gives no cycle counter ({error}); virtual machines often lack one, and /proc/sys/kernel/perf_event_paranoid must be 2 or less")
            })?;
            counter.enable().map_err(|error| error.to_string())?;
            Ok(Self(counter))
        }

        /// Cycles so far.
        pub(crate) fn read(&mut self) -> Option<u64> {
            self.0.read().ok()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod counter {
    /// Counts nothing.
    pub(crate) struct Cycles;

    impl Cycles {
        pub(crate) fn new() -> Result<Self, String> {
            Err("cycles are counted on Linux only".to_owned())
        }

        pub(crate) fn read(&mut self) -> Option<u64> {
            None
        }
    }
}

pub(crate) use counter::Cycles;
