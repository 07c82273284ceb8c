//! The choice of cases to measure.

use weftline_codec::kernel::Kernel;

use crate::contest::Case;

/// How many parameters of the workloads to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// A few important cases.
    Quick,
    /// Symbols of 1280 bytes, and the cases of goals and published figures.
    #[default]
    Default,
    /// Every combination.
    Full,
}

impl Scope {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// One of three lists.
    pub(crate) fn pick<T: Copy>(self, quick: &[T], default: &[T], full: &[T]) -> Vec<T> {
        match self {
            Self::Quick => quick,
            Self::Default => default,
            Self::Full => full,
        }
        .to_vec()
    }

    pub(crate) fn sizes(self) -> Vec<usize> {
        self.pick(&[1280], &[1280], &[64, 256, 1280, 8192])
    }
}

/// The cases and kernels to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The scope.
    pub scope: Scope,
    /// Only cases whose [id](Case::id) contains one of these texts; all if there
    /// are none.
    pub filter: Vec<String>,
    /// The kernels of the kernel workloads. Everything else uses the
    /// [active](Kernel::active) one.
    pub kernels: Vec<Kernel>,
}

impl Plan {
    /// All cases of a scope, with every kernel that this machine can run.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            filter: Vec::new(),
            kernels: Kernel::available().collect(),
        }
    }

    /// Whether the filter accepts a case.
    #[must_use]
    pub fn includes(&self, case: &Case) -> bool {
        let id = case.id();
        self.filter.is_empty() || self.filter.iter().any(|text| id.contains(text.as_str()))
    }
}
