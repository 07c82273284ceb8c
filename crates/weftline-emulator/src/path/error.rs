//! Why a path cannot be created.

use std::io;
use std::path::PathBuf;

/// Why a path could not be created or used.
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
        /// The kernel's error.
        source: io::Error,
    },
    /// A required program is missing.
    #[error("`ip` was not found: install iproute2")]
    NoIp,
    /// `ip` failed.
    #[error("`ip {arguments}` failed: {message}")]
    Ip {
        /// Its arguments.
        arguments: String,
        /// Its message.
        message: String,
    },
    /// A file cannot be created or used.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// An invalid setting.
    #[error("{0}")]
    Setting(String),
    /// A link's text that cannot be parsed.
    #[error(transparent)]
    Link(#[from] crate::links::UnreadableLink),
    /// A command cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// The error.
        source: io::Error,
    },
    /// The emulator has ended early.
    #[error("the emulator stopped: {0}")]
    Emulator(String),
}

impl PathError {
    /// Wraps an error about `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
