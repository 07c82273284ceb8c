//! Why there is no path.

use std::io;
use std::path::PathBuf;

/// Why a path could not be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// Namespaces and devices need privileges.
    #[error("network namespaces and TUN devices need root: run it as root, for example with sudo")]
    NotRoot,
    /// The kernel offers no TUN devices.
    #[error(
        "/dev/net/tun cannot be used ({source}): load the module `tun`, or pass the device into the container"
    )]
    NoTun {
        /// What the kernel said.
        source: io::Error,
    },
    /// A program that is needed is missing.
    #[error("`ip` was not found: install iproute2")]
    NoIp,
    /// `ip` refused.
    #[error("`ip {arguments}` failed: {message}")]
    Ip {
        /// What it was asked for.
        arguments: String,
        /// What it said.
        message: String,
    },
    /// A file cannot be made or used.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A setting that no path can have.
    #[error("{0}")]
    Setting(String),
    /// A link that cannot be read.
    #[error(transparent)]
    Link(#[from] crate::links::UnreadableLink),
    /// A command cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The emulator has ended before its time.
    #[error("the emulator stopped: {0}")]
    Emulator(String),
}

impl PathError {
    /// Wraps what went wrong with `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
