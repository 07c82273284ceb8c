//! The machine of a measurement.

use weftline_codec::kernel::{self, Kernel};

/// The machine, and the kernels that our codec can run on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// The name of the CPU, if it is known.
    pub cpu: Option<String>,
    /// The instruction set, for example `x86_64`.
    pub architecture: &'static str,
    /// The operating system.
    pub os: &'static str,
    /// The kernel of all workloads that are not measured kernel by kernel.
    pub kernel: Kernel,
    /// The kernels that can run here, slowest first.
    pub kernels: Vec<Kernel>,
    /// The load average of the minute before the measurement.
    pub load: Option<String>,
}

impl Machine {
    /// Describes this machine.
    #[must_use]
    pub fn this() -> Self {
        Self {
            cpu: cpu(),
            architecture: std::env::consts::ARCH,
            os: std::env::consts::OS,
            kernel: kernel::selection().active,
            kernels: Kernel::available().collect(),
            load: load(),
        }
    }
}

/// The model of the CPU, as Linux reports it.
fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
        Some(value.trim().to_owned())
    };
    let name = value("model name")?;
    // Cloud machines may hide the model in the name, but not its number.
    match (value("cpu family"), value("model")) {
        (Some(family), Some(model)) => Some(format!("{name}, family {family} model {model}")),
        _ => Some(name),
    }
}

fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next().map(str::to_owned)
}
