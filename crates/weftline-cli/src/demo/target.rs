//! The file of a report.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file opened before the runs, so that an unwritable path is reported before the wait.
///
/// Existing content stays until [`Target::write`]; a new file is removed again without it.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    file: File,
    /// Created by the demo, and still empty.
    fresh: bool,
}

impl Target {
    /// Opens or creates the file that `flag` names.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn open(flag: &str, path: &Path) -> Result<Target> {
        let mut options = OpenOptions::new();
        options.write(true);
        let (file, fresh) = match options.clone().create_new(true).open(path) {
            Ok(file) => (Ok(file), true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                (options.create(true).truncate(false).open(path), false)
            }
            Err(error) => (Err(error), false),
        };
        let file = file.with_context(|| format!("{flag}: cannot write {}", path.display()))?;
        Ok(Target {
            path: path.to_owned(),
            file,
            fresh,
        })
    }

    /// Path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(mut self, text: &str) -> Result<()> {
        self.replace(text)
            .with_context(|| format!("writing {}", self.path.display()))?;
        self.fresh = false;
        Ok(())
    }

    fn replace(&mut self, text: &str) -> std::io::Result<()> {
        // A terminal or a pipe has no length to set.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.fresh {
            // An empty file left behind does no harm.
            let _ = remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_unwritable_path_is_refused_and_the_error_names_its_flag() {
        let home = tempfile::tempdir().unwrap();
        for path in [home.path().join("no/such/x.html"), home.path().to_owned()] {
            let error = Target::open("--html", &path).unwrap_err();
            assert!(format!("{error:#}").starts_with("--html: cannot write "));
        }
    }

    #[test]
    fn without_write_nothing_changes() {
        let home = tempfile::tempdir().unwrap();
        let (old, new) = (home.path().join("old"), home.path().join("new"));
        fs::write(&old, "kept").unwrap();
        drop(Target::open("--svg", &old).unwrap());
        drop(Target::open("--svg", &new).unwrap());
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        assert!(!new.exists());
    }

    #[test]
    fn writing_replaces_longer_content() {
        let home = tempfile::tempdir().unwrap();
        let (old, new) = (home.path().join("old"), home.path().join("new"));
        fs::write(&old, "a long text").unwrap();
        for path in [old, new] {
            Target::open("--svg", &path).unwrap().write("x").unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "x");
        }
    }
}
