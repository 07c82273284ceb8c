//! The folder whose files replace those in `/etc` inside a namespace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files in `/etc/netns/NAME` replace those in `/etc` inside the namespace (ip-netns(8)).
const FOLDER: &str = "/etc/netns";
/// Marks that a lab has created that folder, which few systems have.
const MARK: &str = "/run/weftline-made-etc-netns";
/// Attempts to create a folder while other labs remove its parent.
const TRIES: u32 = 20;

/// The folder of namespaces' files.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    mark: PathBuf,
}

impl Files {
    /// The folder of this system.
    pub(crate) fn system() -> Self {
        Self {
            folder: FOLDER.into(),
            mark: MARK.into(),
        }
    }

    /// The folder of all namespaces.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates the folder of a namespace.
    pub(crate) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join(name);
        for _ in 1..TRIES {
            match fs::create_dir(&self.folder) {
                // Without the mark the folder stays, which is harmless.
                Ok(()) => drop(fs::write(&self.mark, "")),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
            match fs::create_dir(&folder) {
                // The last of the other labs has just removed the folder.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => return Ok(folder),
            }
        }
        fs::create_dir_all(&folder).map(|()| folder)
    }

    /// Removes the folder of a namespace, and the folder of all namespaces if a lab has created it
    /// and it is empty.
    pub(crate) fn remove(&self, name: &str) {
        let _ = fs::remove_dir_all(self.folder.join(name));
        if self.mark.exists() && fs::remove_dir(&self.folder).is_ok() {
            let _ = fs::remove_file(&self.mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(root: &Path) -> Files {
        Files {
            folder: root.join("netns"),
            mark: root.join("mark"),
        }
    }

    #[test]
    fn the_last_lab_removes_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let files = files(root.path());
        for name in ["one", "two"] {
            let folder = files.make(name).unwrap();
            fs::write(folder.join("hosts"), "x").unwrap();
        }
        files.remove("one");
        assert!(files.folder().join("two").exists());
        files.remove("two");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_no_lab_created_stays() {
        let root = tempfile::tempdir().unwrap();
        let files = files(root.path());
        fs::create_dir(files.folder()).unwrap();
        files.make("one").unwrap();
        files.remove("one");
        assert!(files.folder().exists(), "it was there before");
        fs::remove_dir(files.folder()).unwrap();
        files.make("one").unwrap();
        fs::create_dir(files.folder().join("theirs")).unwrap();
        files.remove("one");
        assert!(files.folder().join("theirs").exists());
    }

    #[test]
    fn labs_that_start_and_end_at_the_same_time_do_not_interfere() {
        let root = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for name in ["one", "two", "three"] {
                let files = files(root.path());
                scope.spawn(move || {
                    for _ in 0..100 {
                        let folder = files.make(name).unwrap();
                        assert!(folder.exists());
                        files.remove(name);
                    }
                });
            }
        });
    }
}
