//! One file that is being received.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::super::hashing::copy_into;
use super::super::path::{check_case, part};
use super::super::wire::{Digest, Entry};
use super::{exists, not_following};

/// How often the part file may be replaced while it is being opened.
const TRIES: usize = 4;

/// A file that is being received.
pub(in super::super) struct Part {
    target: PathBuf,
    path: PathBuf,
    overwrite: bool,
    file: Option<File>,
    hasher: Sha256,
    held: u64,
}

/// Why a complete file is not in place.
pub(in super::super) enum FinishError {
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

impl Part {
    /// Looks for an earlier part file of this sender and opens it; creates none yet.
    pub(super) fn open(
        target: PathBuf,
        entry: &Entry,
        overwrite: bool,
        sender: &str,
    ) -> io::Result<Part> {
        let path = part(&target, sender);
        let mut part = Part {
            target,
            file: reopen(&path)?,
            path,
            overwrite,
            hasher: Sha256::new(),
            held: 0,
        };
        if let Some(file) = &mut part.file {
            let len = file.metadata()?.len();
            if entry.meta.size.is_some_and(|size| len <= size) {
                part.held = copy_into(&mut part.hasher, file)?;
            }
        }
        Ok(part)
    }

    /// Bytes held and their digest.
    pub(in super::super) fn prefix(&self) -> (u64, Digest) {
        (self.held, self.hasher.clone().finalize().into())
    }

    /// Bytes held.
    pub(in super::super) fn len(&self) -> u64 {
        self.held
    }

    /// Starts to write at `offset`: the number of bytes held, or 0 to start again.
    pub(in super::super) fn begin(&mut self, offset: u64) -> io::Result<()> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            let options = not_following(options.read(true).write(true).create_new(true));
            let claimed = claim(options.open(&self.path)?, &self.path)?;
            self.file = Some(claimed.ok_or_else(busy)?);
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
    pub(in super::super) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.file()?.write_all(data)?;
        self.hasher.update(data);
        self.held += data.len() as u64;
        Ok(())
    }

    /// Checks the whole file and moves it into place; returns its state there.
    pub(super) fn finish(
        mut self,
        entry: &Entry,
        size: u64,
        digest: &Digest,
    ) -> Result<Metadata, FinishError> {
        let got: Digest = self.hasher.clone().finalize().into();
        if self.held != size || got != *digest {
            let held = self.held;
            // Its lock is held until then: the removed part is not another transfer's.
            fs::remove_file(&self.path)?;
            return Err(FinishError::Corrupt(format!(
                "verification failed: {held} bytes were received and {size} were sent, or their SHA-256 differs; send it again"
            )));
        }
        Ok(self.place(entry)?)
    }

    fn place(&mut self, entry: &Entry) -> io::Result<Metadata> {
        let overwrite = self.overwrite;
        let file = self.file()?;
        entry.meta.apply(file)?;
        file.sync_all()?;
        let placed = file.metadata()?;
        match overwrite {
            true => {
                // Another file of this transfer may have come meanwhile.
                check_case(&self.target, &entry.path)?;
                fs::rename(&self.path, &self.target)?;
            }
            false => rename_new(&self.path, &self.target)?,
        }
        if let Some(parent) = self.target.parent() {
            sync_directory(parent)?;
        }
        Ok(placed)
    }

    fn file(&mut self) -> io::Result<&mut File> {
        self.file
            .as_mut()
            .ok_or_else(|| io::Error::other("the file was not started"))
    }
}

/// Opens and locks the part file at `path`, if there is one.
fn reopen(path: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        match fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Ok(found) if !found.is_file() => {
                let path = path.display();
                return Err(exists(&format!("{path} is in the way; remove it")));
            }
            found => found?,
        };
        let opened = match open_existing(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if let Some(file) = claim(opened, path)? {
            return Ok(Some(file));
        }
    }
    Err(busy())
}

/// Opens what is at `path`. A link may have taken the part file's place after the look at it.
pub(super) fn open_existing(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    not_following(options.read(true).write(true)).open(path)
}

/// Locks `file`, which was opened at `path`. None if it is no longer there: another transfer has
/// finished it meanwhile, and it is somebody's file now.
pub(super) fn claim(file: File, path: &Path) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(busy()),
        // Some file systems have no locks; the digest still guards the result.
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
        Err(TryLockError::Error(e)) => return Err(e),
    }
    let there = match is_at(&file, path) {
        Ok(there) => there,
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        Err(e) => return Err(e),
    };
    Ok(there.then_some(file))
}

/// Whether `file` is what is at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (one, other) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(windows)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use same_file::Handle;
    let there = Handle::from_path(path)?;
    Ok(fs::symlink_metadata(path)?.is_file() && there == Handle::from_file(file.try_clone()?)?)
}

/// Moves the file `from` to `to`, unless something is there.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let taken = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(
            "a file of that name appeared meanwhile; to replace it, receive with --overwrite",
        ),
        _ => error,
    };
    match rename_if_new(from, to) {
        // The file system cannot do it in one step: a link does not replace either.
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            match fs::hard_link(from, to).map_err(taken) {
                Ok(()) => fs::remove_file(from),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
                // It has no links: then only the last look remains.
                Err(_) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
                Err(_) => Err(taken(io::ErrorKind::AlreadyExists.into())),
            }
        }
        renamed => renamed.map_err(taken),
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_if_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_if_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn sync_directory(at: &Path) -> io::Result<()> {
    File::open(at)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

fn busy() -> io::Error {
    io::Error::new(
        io::ErrorKind::ResourceBusy,
        "another transfer is receiving this file at the moment",
    )
}
