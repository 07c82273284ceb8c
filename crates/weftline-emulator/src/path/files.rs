//! The folder whose files replace those in `/etc` inside a namespace.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Files in `/etc/netns/NAME` replace those in `/etc` inside the namespace (ip-netns(8)).
const FOLDER: &str = "/etc/netns";
/// One lab at a time looks at that folder and changes it. What this file contains says whether a
/// lab has created the folder, which few systems have. The file itself stays.
const LOCK: &str = "/run/weftline-netns";
/// What the file contains while there is a folder that a lab has created.
const MADE: &str = "made";

/// The folder of namespaces' files.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    lock: PathBuf,
}

impl Files {
    /// The folder of this system.
    pub(crate) fn system() -> Self {
        Self {
            folder: FOLDER.into(),
            lock: LOCK.into(),
        }
    }

    /// The folder of all namespaces.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates the folder of a namespace.
    pub(crate) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let mut lock = self.lock()?;
        match fs::create_dir(&self.folder) {
            // Without that the folder stays, which is harmless.
            Ok(()) => drop(lock.write_all(MADE.as_bytes())),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map(|()| folder)
    }

    /// Removes the folder of a namespace, and the folder of all namespaces if a lab has created it
    /// and it is empty.
    pub(crate) fn remove(&self, name: &str) {
        let lock = self.lock();
        let _ = fs::remove_dir_all(self.folder.join(name));
        let Ok(mut lock) = lock else { return };
        let mut content = String::new();
        let made = lock.read_to_string(&mut content).is_ok() && content == MADE;
        if made && fs::remove_dir(&self.folder).is_ok() {
            let _ = lock.set_len(0);
        }
    }

    /// The lock's file; closing it ends the lock.
    fn lock(&self) -> io::Result<File> {
        // Nobody else may hold the lock: only root can open the file.
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(&self.lock)?;
        file.lock().map(|()| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(root: &Path) -> Files {
        Files {
            folder: root.join("netns"),
            lock: root.join("lock"),
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
        assert!(!files.folder().exists(), "a lab made it");
        assert_eq!(fs::read(&files.lock).unwrap(), b"");
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
