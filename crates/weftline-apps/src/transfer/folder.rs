//! The directory that receives files, and what may land where.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weftline::Fingerprint;

use super::path::{check, is_hidden, resolve};

/// A directory that receives files, and its rules.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The directory; it must exist.
    pub root: PathBuf,
    /// Replace existing files whose content differs.
    pub overwrite: bool,
    /// Accept names that start with a dot.
    pub hidden: bool,
    /// Files that are not replaced, and directories into which nothing is put, even below `root`. They
    /// need not exist.
    pub keep_out: Vec<PathBuf>,
    /// Who sends, if that is known. What one sender sent tells another nothing.
    pub sender: Option<Fingerprint>,
}

impl Folder {
    /// The directory `root`: nothing is replaced, and hidden names are refused.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Folder {
            root: root.into(),
            overwrite: false,
            hidden: false,
            keep_out: Vec::new(),
            sender: None,
        }
    }

    /// Creates the directories above `path`; returns its location.
    ///
    /// # Errors
    /// A rule forbids the path, or a directory cannot be created.
    pub(super) fn locate(&self, path: &str) -> io::Result<PathBuf> {
        let invalid = |e| io::Error::new(io::ErrorKind::InvalidInput, e);
        check(path).map_err(invalid)?;
        if is_hidden(path) && !self.hidden {
            return Err(hidden());
        }
        let guard = Guard::new(self);
        resolve(&self.root, path, |at| {
            if !self.hidden && at != self.root && has_hidden_attribute(at) {
                return Err(hidden());
            }
            guard.permit(at)
        })
    }

    /// The sender, as part of file names.
    pub(super) fn sender_name(&self) -> String {
        let sender = self.sender.map(|sender| sender.to_string());
        sender.unwrap_or_default().replace('-', "")
    }
}

/// Keeps files and directories as they are.
struct Guard<'a> {
    root: &'a Path,
    /// Where `root` and what is kept really are.
    real_root: PathBuf,
    keep_out: Vec<PathBuf>,
}

impl<'a> Guard<'a> {
    fn new(folder: &'a Folder) -> Self {
        Guard {
            root: &folder.root,
            real_root: real(&folder.root),
            keep_out: folder.keep_out.iter().map(|kept| real(kept)).collect(),
        }
    }

    fn permit(&self, at: &Path) -> io::Result<()> {
        let below = at.strip_prefix(self.root).unwrap_or(at);
        let real = self.real_root.join(below);
        let is_kept = |kept: &PathBuf| is_below(&real, kept) || is_same(&real, kept);
        match self.keep_out.iter().any(is_kept) {
            true => Err(refused(
                "nothing is put where this program has its keys, lists and options",
            )),
            false => Ok(()),
        }
    }
}

/// `path` without links; what does not exist yet has none.
fn real(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let Ok(real) = fs::canonicalize(existing) {
            return match path.strip_prefix(existing) {
                // Joined with nothing, a file would have the slash of a directory.
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            };
        }
    }
    path.to_owned()
}

/// Whether `path` is `above` or below it, also where file names have no case.
fn is_below(path: &Path, above: &Path) -> bool {
    let mut path = path.components();
    above.components().all(|name| {
        let below = path.next().map(|c| c.as_os_str().to_ascii_lowercase());
        below == Some(name.as_os_str().to_ascii_lowercase())
    })
}

/// Whether both are one file or directory, by whatever name.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path| fs::metadata(path).map(|m| (m.dev(), m.ino())).ok();
    id(one).is_some_and(|one| Some(one) == id(other))
}

#[cfg(windows)]
fn is_same(one: &Path, other: &Path) -> bool {
    same_file::is_same_file(one, other).unwrap_or(false)
}

/// Whether the system hides what is there, as Windows hides `AppData`.
#[cfg(windows)]
fn has_hidden_attribute(at: &Path) -> bool {
    use std::os::windows::fs::MetadataExt;
    /// FILE_ATTRIBUTE_HIDDEN.
    const HIDDEN: u32 = 2;
    fs::symlink_metadata(at).is_ok_and(|found| found.file_attributes() & HIDDEN != 0)
}

/// Names say it elsewhere.
#[cfg(unix)]
fn has_hidden_attribute(_: &Path) -> bool {
    false
}

fn hidden() -> io::Error {
    refused("hidden names are refused; to accept them, receive with --hidden")
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lands_in_the_folder_to_keep_out_of() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(home.path());
        folder.hidden = true;
        // It need not exist.
        folder.keep_out = vec![home.path().join(".config/weftline")];
        for path in [
            ".config/weftline/allowed-files",
            ".config/Weftline/allowed-files",
            ".config/weftline/deeper/file",
            ".config/weftline",
        ] {
            let error = folder.locate(path).unwrap_err();
            assert!(error.to_string().contains("keys"), "{path}: {error}");
        }
        assert!(!home.path().join(".config/weftline").exists());
        assert!(folder.locate(".config/weftline2/file").is_ok());
        // Nor by another way into it.
        fs::create_dir(home.path().join(".config/weftline")).unwrap();
        folder.root = home.path().join(".config/weftline");
        assert!(folder.locate("allowed-files").is_err());
        folder.root = home.path().join(".config/weftline2/../weftline");
        assert!(folder.locate("allowed-files").is_err());
        #[cfg(unix)]
        {
            let link = home.path().join("link");
            std::os::unix::fs::symlink(home.path().join(".config"), &link).unwrap();
            folder.root = link;
            assert!(folder.locate("weftline/allowed-files").is_err());
        }
    }

    #[test]
    fn a_file_to_keep_out_of_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(home.path());
        let file = home.path().join("in/key.pem");
        folder.keep_out = vec![home.path().join("elsewhere"), file.clone()];
        for name in ["in/key.pem", "in/Key.pem", "in/key.pem/below"] {
            let error = folder.locate(name).unwrap_err();
            assert!(error.to_string().contains("keys"), "{name}: {error}");
        }
        assert!(folder.locate("in/key.pem2").is_ok());
        // Nor by another name of it.
        fs::write(&file, "").unwrap();
        fs::hard_link(&file, home.path().join("other")).unwrap();
        assert!(folder.locate("other").is_err());
    }

    #[test]
    fn hidden_names_need_a_rule() {
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(root.path());
        for path in [".ssh/authorized_keys", "a/.b/c", ".profile", "..a"] {
            folder.hidden = false;
            assert!(folder.locate(path).is_err(), "{path}");
            folder.hidden = true;
            assert!(folder.locate(path).is_ok(), "{path}");
        }
    }
}
