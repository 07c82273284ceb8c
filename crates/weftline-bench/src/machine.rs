//! On what it was measured.

use weftline_codec::kernel::{self, Kernel};

/// The machine and what our codec makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// The CPU's name, if it can be learnt.
    pub cpu: Option<String>,
    /// The instruction set, for example `x86_64`.
    pub architecture: &'static str,
    /// The operating system.
    pub os: &'static str,
    /// The kernel of everything that is not measured kernel by kernel.
    pub kernel: Kernel,
    /// All that could run here, slowest first.
    pub kernels: Vec<Kernel>,
    /// The average number of programs that want to run, over the last minute,
    /// before the measurement.
    pub load: Option<String>,
}

impl Machine {
    /// This one.
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

/// The model as Linux tells it.
fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
        Some(value.trim().to_owned())
    };
    let name = value("model name")?;
    // Clouds hide the model in the name, but not its number.
    match (value("cpu family"), value("model")) {
        (Some(family), Some(model)) => Some(format!("{name}, family {family} model {model}")),
        _ => Some(name),
    }
}

fn load() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next().map(str::to_owned)
}
