//! Files that are being received: kept under a temporary name until they are complete.
//!
//! The unfinished content of `movie.mkv` is `.movie.mkv.SENDER.weftline-part` beside it. Resuming
//! needs nothing else: both ends compare digests of the part before they resume, so a part of
//! another version of the file, or one that a crash has damaged, is detected and started again.
//! Everything here blocks; callers use a blocking thread.

mod journal;
mod part;
#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io;
use std::sync::Mutex;

use super::folder::Folder;
use super::hashing::hash_file;
use super::path::{check_case, directory};
use super::wire::{Digest, Entry};
use crate::lock::lock;
use journal::{Journal, record};
pub(super) use part::{FinishError, Part};

/// The target directory, its rules, and what came into it before.
#[derive(Debug)]
pub(super) struct Store {
    folder: Folder,
    sender: String,
    journal: Mutex<Journal>,
}

/// How to receive an announced file.
pub(super) enum Plan {
    /// The receiver wants its data.
    Write(Part),
    /// The same sender sent a file of this name: compare first; write only if they differ.
    Compare {
        size: u64,
        digest: Digest,
        otherwise: Option<Part>,
    },
}

impl Store {
    pub(super) fn new(folder: Folder) -> Self {
        Store {
            sender: folder.sender_name(),
            journal: Mutex::new(Journal::new(&folder.root)),
            folder,
        }
    }

    /// Creates the directory that `entry` names.
    pub(super) fn directory(&self, entry: &Entry) -> io::Result<()> {
        directory(&self.folder.locate(&entry.path)?, entry.meta.mode)
    }

    /// Decides what to ask of the sender, and hashes content that it sent before. The outer error
    /// is for people, and final for this entry.
    pub(super) fn plan(&self, entry: &Entry) -> io::Result<Plan> {
        let overwrite = self.folder.overwrite;
        let target = self.folder.locate(&entry.path)?;
        let open = |target| Part::open(target, entry, overwrite, &self.sender);
        let existing = match fs::symlink_metadata(&target) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return open(target).map(Plan::Write),
            found => found?,
        };
        if existing.is_dir() {
            return Err(exists("a directory of that name exists"));
        }
        let may_be_equal = existing.is_file() && entry.meta.size == Some(existing.len());
        // About the files of others a sender learns nothing but that their names are taken.
        if may_be_equal && self.journal(|j| j.has(&record(&self.sender, &entry.path, &existing))) {
            let file = not_following(OpenOptions::new().read(true)).open(&target)?;
            let (size, digest) = hash_file(file)?;
            let otherwise = overwrite.then(|| open(target)).transpose()?;
            return Ok(Plan::Compare {
                size,
                digest,
                otherwise,
            });
        }
        match overwrite {
            true => {
                check_case(&target, &entry.path)?;
                open(target).map(Plan::Write)
            }
            false => Err(exists(
                "a file of that name exists; to replace it, receive with --overwrite",
            )),
        }
    }

    /// Checks the whole file, moves it into place, and remembers who sent it.
    pub(super) fn finish(
        &self,
        part: Part,
        entry: &Entry,
        size: u64,
        digest: &Digest,
    ) -> Result<(), FinishError> {
        let placed = part.finish(entry, size, digest)?;
        let record = record(&self.sender, &entry.path, &placed);
        // Without the record, the file is refused or sent again the next time.
        let _ = self.journal(|j| j.add(&record));
        Ok(())
    }

    fn journal<T>(&self, work: impl FnOnce(&mut Journal) -> T) -> T {
        work(&mut lock(&self.journal))
    }
}

/// `options` that follow no symbolic link at the end of the path, and let only the owner read a
/// file that they create. (On Windows, the folder says who can.)
fn not_following(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    #[cfg(windows)]
    {
        use std::os::windows::fs::OpenOptionsExt;
        /// FILE_FLAG_OPEN_REPARSE_POINT: a link is opened itself.
        const LINK_ITSELF: u32 = 0x0020_0000;
        options.custom_flags(LINK_ITSELF);
    }
    options
}

fn exists(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}
