//! The folder whose files take the place of those in `/etc` inside a namespace.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files in `/etc/netns/NAME` take the place of those in `/etc` inside the namespace (ip-netns(8)).
const FOLDER: &str = "/etc/netns";
/// Is there when a lab has made that folder, which few systems have.
const MARK: &str = "/run/weftline-made-etc-netns";
/// How often making a folder is tried while other labs remove its parent.
const TRIES: u32 = 20;

/// Where the files of namespaces are.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    mark: PathBuf,
}

impl Files {
    /// Those of this system.
    pub(crate) fn system() -> Self {
        Self {
            folder: FOLDER.into(),
            mark: MARK.into(),
        }
    }

    /// The folder of all.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the folder of a namespace.
    pub(crate) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join(name);
        for _ in 1..TRIES {
            match fs::create_dir(&self.folder) {
                // Without the mark it stays for ever, which hurts nobody.
                Ok(()) => drop(fs::write(&self.mark, "")),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
            match fs::create_dir(&folder) {
                // The last of other labs has just taken it with it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                _ => return Ok(folder),
            }
        }
        fs::create_dir_all(&folder).map(|()| folder)
    }

    /// Removes the folder of a namespace, and the folder of all if a lab has made it and nothing
    /// is left in it.
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
    fn the_last_lab_takes_the_folder_with_it() {
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
    fn a_folder_of_others_stays() {
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
    fn labs_that_begin_and_end_at_once_do_not_trip_over_each_other() {
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
