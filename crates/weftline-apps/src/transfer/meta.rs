//! What the system says about a file: what is sent of it, and whether it has changed.

use std::fs::{File, Metadata};
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use super::wire::Meta;

/// Permissions of a file that no source has: of standard input.
#[cfg(unix)]
const PLAIN: u16 = 0o666;

impl Meta {
    /// What is sent of a file or directory.
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let modified =
            since.and_then(|t| Some((i64::try_from(t.as_secs()).ok()?, t.subsec_nanos())));
        Meta {
            size: Some(if metadata.is_file() {
                metadata.len()
            } else {
                0
            }),
            modified,
            mode: mode(metadata),
        }
    }

    /// Gives time and permissions to a received file.
    pub(super) fn apply(&self, file: &File) -> io::Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = u32::from(self.mode.unwrap_or(PLAIN)) & !umask();
            file.set_permissions(PermissionsExt::from_mode(mode))?;
        }
        if let Some((seconds, nanos)) = self.modified
            && let Ok(seconds) = u64::try_from(seconds)
            && let Some(time) = UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
        {
            file.set_modified(time)?;
        }
        Ok(())
    }
}

/// A file at one moment: two that are equal have, as far as the file system tells, one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    meta: Meta,
    /// Device and inode, and when either changed.
    #[cfg(unix)]
    inode: (u64, u64, i64, i64),
}

impl Moment {
    pub(super) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Moment {
            meta: Meta::of(metadata),
            #[cfg(unix)]
            inode: (
                metadata.dev(),
                metadata.ino(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ),
        }
    }
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> Option<u16> {
    use std::os::unix::fs::PermissionsExt;
    u16::try_from(metadata.permissions().mode() & 0o777).ok()
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> Option<u16> {
    None
}

/// The permissions that this process gives to nobody. The system tells them only when they are
/// set, so this happens once: set and restored in two threads at once, they could stay set.
#[cfg(unix)]
#[allow(
    clippy::useless_conversion,
    reason = "modes have 16 bits on some systems"
)]
fn umask() -> u32 {
    use rustix::fs::Mode;
    use rustix::process::umask;
    static UMASK: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *UMASK.get_or_init(|| {
        let mask = umask(Mode::from_raw_mode(0o077));
        umask(mask);
        u32::from(mask.as_raw_mode())
    })
}
