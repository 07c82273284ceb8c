//! Which kernel runs, and why.

#[cfg(feature = "std")]
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use super::ops::{Kernel, Ops};

/// The environment variable that forces a kernel by name.
pub const ENVIRONMENT: &str = "WEFTLINE_KERNEL";

/// The kernel in use, and whether a request for another was ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// The kernel in use.
    pub active: Kernel,
    /// The request in [`ENVIRONMENT`] that was ignored, if there was one.
    pub ignored: Option<Ignored>,
}

/// Why a request for a kernel was ignored. It displays as a sentence for the
/// user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// No kernel has this name.
    Unknown(String),
    /// This CPU, or this build, does not have the kernel.
    Unavailable(Kernel),
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(
                f,
                "{ENVIRONMENT}={name:?}: there is no such kernel; use one of"
            )?,
            Self::Unavailable(kernel) => write!(
                f,
                "{ENVIRONMENT}={kernel}: this CPU or build cannot run that kernel; use one of"
            )?,
        }
        for kernel in Kernel::available() {
            write!(f, " {kernel}")?;
        }
        Ok(())
    }
}

/// Which kernel is in use and whether a request was ignored, for programs that
/// report it.
#[must_use]
pub fn selection() -> Selection {
    let (ops, ignored) = select(requested().as_deref());
    Selection {
        active: ops.kernel(),
        ignored,
    }
}

impl Kernel {
    /// The kernel that the functions of [`kernel`](crate::kernel) use.
    #[must_use]
    pub fn active() -> Self {
        active_ops().kernel()
    }
}

/// The operations of the kernel in use.
#[cfg(feature = "std")]
#[inline]
pub(crate) fn active_ops() -> Ops {
    static ACTIVE: std::sync::OnceLock<Ops> = std::sync::OnceLock::new();
    *ACTIVE.get_or_init(chosen)
}

/// The operations of the kernel in use.
#[cfg(not(feature = "std"))]
#[inline]
pub(crate) fn active_ops() -> Ops {
    chosen()
}

fn chosen() -> Ops {
    select(requested().as_deref()).0
}

fn select(requested: Option<&str>) -> (Ops, Option<Ignored>) {
    let ignored = match requested.map(|name| (name, Kernel::from_name(name))) {
        None => None,
        Some((name, None)) => Some(Ignored::Unknown(name.into())),
        Some((_, Some(kernel))) => match kernel.ops() {
            Some(ops) => return (ops, None),
            None => Some(Ignored::Unavailable(kernel)),
        },
    };
    (Ops::best(), ignored)
}

#[cfg(feature = "std")]
fn requested() -> Option<String> {
    static REQUESTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    REQUESTED
        .get_or_init(|| {
            let value = std::env::var_os(ENVIRONMENT)?;
            let value = value.to_string_lossy();
            // Scripts set the variable to an empty string to unset it.
            (!value.is_empty()).then(|| value.as_ref().to_owned())
        })
        .clone()
}

#[cfg(not(feature = "std"))]
fn requested() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_best_available_kernel_is_used_unless_another_is_named() {
        let best = Kernel::available().next_back().unwrap();
        assert_eq!(select(None).0.kernel(), best);
        assert_eq!(select(None).1, None);
        for kernel in Kernel::available() {
            let (ops, ignored) = select(Some(kernel.name()));
            assert_eq!((ops.kernel(), ignored), (kernel, None));
        }
    }

    #[test]
    fn a_request_for_a_missing_kernel_is_reported_and_the_best_is_used() {
        let best = Kernel::available().next_back().unwrap();
        let (ops, ignored) = select(Some("mmx"));
        assert_eq!(ops.kernel(), best);
        assert_eq!(ignored, Some(Ignored::Unknown("mmx".into())));
        assert!(ignored.unwrap().to_string().contains("scalar"));

        // A kernel of another architecture.
        let foreign = if cfg!(target_arch = "aarch64") {
            Kernel::Avx2
        } else {
            Kernel::Neon
        };
        let (ops, ignored) = select(Some(foreign.name()));
        assert_eq!(ops.kernel(), best);
        assert_eq!(ignored, Some(Ignored::Unavailable(foreign)));
    }
}
