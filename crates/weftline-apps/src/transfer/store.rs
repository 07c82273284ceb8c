//! Files that are being received: kept under a temporary name until they are complete.
//!
//! The unfinished content of `movie.mkv` is `.movie.mkv.weftline-part` beside it. Resuming needs
//! nothing else: both ends compare digests of the part before they resume, so a part of another
//! version of the file, or one that a crash has damaged, is detected and started again. Everything
//! here blocks; callers use a blocking thread.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use super::path::{check, directory, part, resolve};
use super::wire::{Digest, Entry};

/// The target directory and its rules.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) root: PathBuf,
    pub(super) overwrite: bool,
}

/// How to receive an announced file.
pub(super) enum Plan {
    /// The receiver wants its data.
    Write(Part),
    /// A file of this name exists: compare first; write only if they differ.
    Compare {
        size: u64,
        digest: Digest,
        otherwise: Option<Part>,
    },
}

/// A file that is being received.
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    overwrite: bool,
    file: Option<File>,
    hasher: Sha256,
    held: u64,
}

/// Why a complete file is not in place.
pub(super) enum FinishError {
    /// The received content is not the sent content; the part file is removed.
    Corrupt(String),
    /// The system reported an error.
    Io(io::Error),
}

impl From<io::Error> for FinishError {
    fn from(error: io::Error) -> Self {
        FinishError::Io(error)
    }
}

impl Store {
    /// Creates the directory that `path` names.
    pub(super) fn directory(&self, path: &str) -> io::Result<()> {
        check(path).map_err(invalid)?;
        directory(&resolve(&self.root, path)?)
    }

    /// Decides what to ask of the sender, and hashes existing content. The outer error is for
    /// people, and final for this entry.
    pub(super) fn plan(&self, entry: &Entry) -> io::Result<Plan> {
        check(&entry.path).map_err(invalid)?;
        let target = resolve(&self.root, &entry.path)?;
        let existing = match fs::symlink_metadata(&target) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Part::open(target, entry, self.overwrite).map(Plan::Write);
            }
            found => found?,
        };
        if existing.is_dir() {
            return Err(exists("a directory of that name exists"));
        }
        let may_be_equal =
            existing.is_file() && entry.size.is_none_or(|size| size == existing.len());
        if !may_be_equal || entry.size.is_none() {
            if self.overwrite {
                return Part::open(target, entry, true).map(Plan::Write);
            }
            return Err(exists(
                "a different file of that name exists; to replace it, receive with --overwrite",
            ));
        }
        let (size, digest) = hash_file(&target)?;
        let otherwise = self
            .overwrite
            .then(|| Part::open(target, entry, true))
            .transpose()?;
        Ok(Plan::Compare {
            size,
            digest,
            otherwise,
        })
    }
}

impl Part {
    /// Looks for an earlier part file and opens it; creates none yet.
    fn open(target: PathBuf, entry: &Entry, overwrite: bool) -> io::Result<Part> {
        let path = part(&target);
        let mut part = Part {
            target,
            path,
            overwrite,
            file: None,
            hasher: Sha256::new(),
            held: 0,
        };
        match fs::symlink_metadata(&part.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(part),
            Ok(found) if !found.is_file() => {
                let path = part.path.display();
                return Err(exists(&format!("{path} is in the way; remove it")));
            }
            found => {
                found?;
            }
        }
        let mut file = locked(OpenOptions::new().read(true).write(true).open(&part.path)?)?;
        let len = file.metadata()?.len();
        if entry.size.is_some_and(|size| len <= size) {
            part.held = copy_into(&mut part.hasher, &mut file)?;
        }
        part.file = Some(file);
        Ok(part)
    }

    /// Bytes held and their digest.
    pub(super) fn prefix(&self) -> (u64, Digest) {
        (self.held, self.hasher.clone().finalize().into())
    }

    /// Bytes held.
    pub(super) fn len(&self) -> u64 {
        self.held
    }

    /// Starts to write at `offset`: the number of bytes held, or 0 to start again.
    pub(super) fn begin(&mut self, offset: u64) -> io::Result<()> {
        if self.file.is_none() {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&self.path)?;
            self.file = Some(locked(file)?);
        }
        if offset == 0 {
            self.held = 0;
            self.hasher = Sha256::new();
        }
        let held = self.held;
        let file = self.file()?;
        file.set_len(held)?;
        file.seek(SeekFrom::Start(held))?;
        Ok(())
    }

    /// Appends `data`.
    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.file()?.write_all(data)?;
        self.hasher.update(data);
        self.held += data.len() as u64;
        Ok(())
    }

    /// Checks the whole file and moves it into place.
    pub(super) fn finish(
        mut self,
        entry: &Entry,
        size: u64,
        digest: &Digest,
    ) -> Result<(), FinishError> {
        let got: Digest = self.hasher.clone().finalize().into();
        if self.held != size || got != *digest {
            let held = self.held;
            self.file = None;
            fs::remove_file(&self.path).map_err(FinishError::Io)?;
            return Err(FinishError::Corrupt(format!(
                "verification failed: {held} bytes were received and {size} were sent, or their SHA-256 differs; send it again"
            )));
        }
        self.place(entry).map_err(FinishError::Io)
    }

    fn place(&mut self, entry: &Entry) -> io::Result<()> {
        let file = self.file()?;
        file.sync_all()?;
        if entry.executable {
            make_executable(file)?;
        }
        if let Some((seconds, nanos)) = entry.modified
            && let Ok(seconds) = u64::try_from(seconds)
            && let Some(time) = UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
        {
            file.set_modified(time)?;
        }
        // Another file may have appeared since the plan was made.
        if !self.overwrite && fs::symlink_metadata(&self.target).is_ok() {
            return Err(exists(
                "a file of that name appeared meanwhile; to replace it, receive with --overwrite",
            ));
        }
        fs::rename(&self.path, &self.target)?;
        match self.target.parent() {
            Some(parent) => sync_directory(parent),
            None => Ok(()),
        }
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.file
            .as_mut()
            .ok_or_else(|| io::Error::other("the file was not started"))
    }
}

/// Length and digest of the file at `path`.
pub(super) fn hash_file(path: &Path) -> io::Result<(u64, Digest)> {
    let mut hasher = Sha256::new();
    let len = copy_into(&mut hasher, &mut File::open(path)?)?;
    Ok((len, hasher.finalize().into()))
}

/// Digests the first `len` bytes of `file` and leaves it positioned after them; `None` if it is
/// shorter.
pub(super) fn hash_prefix(file: &mut File, len: u64) -> io::Result<Option<Sha256>> {
    let mut hasher = Sha256::new();
    let got = copy_into(&mut hasher, &mut file.take(len))?;
    Ok((got == len).then_some(hasher))
}

fn copy_into(hasher: &mut Sha256, input: &mut impl Read) -> io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut total = 0;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                total += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn locked(file: File) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another transfer is receiving this file at the moment",
        )),
        // Some file systems have no locks; the digest still guards the result.
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    // Everyone who may read the file may run it: the umask has decided who.
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_directory(at: &Path) -> io::Result<()> {
    File::open(at)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

fn exists(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

fn invalid(error: super::path::PathError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

#[cfg(test)]
mod tests {
    use super::super::wire::Kind;
    use super::*;

    fn entry(path: &str, size: u64) -> Entry {
        let (kind, path) = (Kind::File, path.to_owned());
        Entry {
            id: 0,
            kind,
            executable: true,
            size: Some(size),
            modified: Some((1_000_000_000, 5)),
            path,
        }
    }

    fn store(overwrite: bool) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        (dir, Store { root, overwrite })
    }

    fn part(plan: io::Result<Plan>) -> Part {
        match plan.unwrap() {
            Plan::Write(part) => part,
            Plan::Compare { .. } => panic!("expected to write"),
        }
    }

    #[test]
    fn a_file_appears_only_when_complete_with_its_mode_and_time() {
        let (dir, store) = store(false);
        let entry = entry("sub/f", 6);
        let mut part = part(store.plan(&entry));
        part.begin(0).unwrap();
        part.write(b"abc").unwrap();
        let target = dir.path().join("sub/f");
        assert!(!target.exists());
        assert!(dir.path().join("sub/.f.weftline-part").exists());
        part.write(b"def").unwrap();
        assert!(
            part.finish(&entry, 6, &Sha256::digest("abcdef").into())
                .is_ok()
        );
        assert_eq!(fs::read(&target).unwrap(), b"abcdef");
        assert!(!dir.path().join("sub/.f.weftline-part").exists());
        let metadata = fs::metadata(&target).unwrap();
        assert_eq!(
            metadata.modified().unwrap(),
            UNIX_EPOCH + Duration::new(1_000_000_000, 5)
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_ne!(metadata.permissions().mode() & 0o100, 0);
        }
    }

    #[test]
    fn damage_is_detected_and_leaves_no_file() {
        let (dir, store) = store(false);
        let entry = entry("f", 3);
        let mut part = part(store.plan(&entry));
        part.begin(0).unwrap();
        part.write(b"abx").unwrap();
        let digest = Sha256::digest("abc").into();
        assert!(matches!(
            part.finish(&entry, 3, &digest),
            Err(FinishError::Corrupt(_))
        ));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_earlier_part_is_resumed_unless_it_is_too_long() {
        let (dir, store) = store(false);
        fs::write(dir.path().join(".f.weftline-part"), "abc").unwrap();
        assert_eq!(
            part(store.plan(&entry("f", 6))).prefix(),
            (3, Sha256::digest("abc").into())
        );
        assert_eq!(part(store.plan(&entry("f", 2))).prefix().0, 0);
    }

    #[test]
    fn one_file_is_not_received_twice_at_once() {
        let (dir, store) = store(false);
        fs::write(dir.path().join(".f.weftline-part"), "abc").unwrap();
        let _first = part(store.plan(&entry("f", 6)));
        let second = store.plan(&entry("f", 6)).err().unwrap();
        assert!(second.to_string().contains("another transfer"), "{second}");
    }

    #[test]
    fn an_existing_file_is_compared_and_replaced_only_on_request() {
        let (dir, keep) = store(false);
        fs::write(dir.path().join("f"), "old").unwrap();
        assert!(matches!(
            keep.plan(&entry("f", 3)),
            Ok(Plan::Compare {
                otherwise: None,
                ..
            })
        ));
        assert!(
            keep.plan(&entry("f", 4))
                .err()
                .unwrap()
                .to_string()
                .contains("--overwrite")
        );
        let replace = Store {
            overwrite: true,
            ..keep
        };
        assert!(matches!(
            replace.plan(&entry("f", 3)),
            Ok(Plan::Compare {
                otherwise: Some(_),
                ..
            })
        ));
        assert!(matches!(replace.plan(&entry("f", 4)), Ok(Plan::Write(_))));
        fs::create_dir(dir.path().join("d")).unwrap();
        assert!(replace.plan(&entry("d", 4)).is_err());
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_kept() {
        let (dir, store) = store(false);
        let entry = entry("f", 3);
        let mut part = part(store.plan(&entry));
        part.begin(0).unwrap();
        part.write(b"new").unwrap();
        fs::write(dir.path().join("f"), "mine").unwrap();
        let finished = part.finish(&entry, 3, &Sha256::digest("new").into());
        assert!(matches!(finished, Err(FinishError::Io(_))));
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"mine");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_at_the_part_files_path_is_not_followed() {
        let (dir, store) = store(true);
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join(".f.weftline-part")).unwrap();
        assert!(store.plan(&entry("f", 3)).is_err());
        std::os::unix::fs::symlink(outside.path(), dir.path().join("g")).unwrap();
        let entry = entry("g", 1);
        let mut part = part(store.plan(&entry));
        part.begin(0).unwrap();
        part.write(b"x").unwrap();
        assert!(part.finish(&entry, 1, &Sha256::digest("x").into()).is_ok());
        assert_eq!(fs::read(outside.path()).unwrap(), b"");
    }
}
