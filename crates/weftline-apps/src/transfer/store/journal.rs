//! Which complete files which sender sent, so that a repeated transfer may skip them.
//!
//! The file `.weftline-received` in the target directory holds 16 bytes for each file: a digest of
//! the sender, the path, and the file as it was placed. A file that somebody else put there, or has
//! changed since, has no such record, and no sender can learn anything about it.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::super::path::JOURNAL;
use super::super::wire::Meta;
use super::not_following;

const RECORD: usize = 16;
/// Most records that are read; older ones are forgotten.
const MOST: usize = 1 << 18;

pub(super) type Record = [u8; RECORD];

/// The file and, once it was read, its records in order.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    known: Option<Vec<Record>>,
}

impl Journal {
    pub(super) fn new(root: &Path) -> Self {
        Journal {
            path: root.join(JOURNAL),
            known: None,
        }
    }

    pub(super) fn has(&mut self, record: &Record) -> bool {
        let path = &self.path;
        // A journal that cannot be read knows nothing: then no sender learns anything.
        let known = self
            .known
            .get_or_insert_with(|| read(path).unwrap_or_default());
        known.binary_search(record).is_ok()
    }

    pub(super) fn add(&mut self, record: &Record) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = not_following(options.append(true).create(true)).open(&self.path)?;
        // One write, because other transfers may append too.
        file.write_all(record)?;
        if let Some(known) = &mut self.known
            && let Err(at) = known.binary_search(record)
            && known.len() < MOST
        {
            known.insert(at, *record);
        }
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Vec<Record>> {
    let mut file = not_following(OpenOptions::new().read(true)).open(path)?;
    let records = file.metadata()?.len() / RECORD as u64;
    let skipped = records.saturating_sub(MOST as u64);
    file.seek(SeekFrom::Start(skipped * RECORD as u64))?;
    let mut bytes = Vec::new();
    file.take((MOST * RECORD) as u64).read_to_end(&mut bytes)?;
    let (records, _) = bytes.as_chunks::<RECORD>();
    let mut records = records.to_vec();
    records.sort_unstable();
    Ok(records)
}

/// The record of the file `path` from `sender`, which is now as `metadata` says.
pub(super) fn record(sender: &str, path: &str, metadata: &Metadata) -> Record {
    let mut hasher = Sha256::new();
    for text in [sender, path] {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    let meta = Meta::of(metadata);
    let (seconds, nanos) = meta.modified.unwrap_or_default();
    hasher.update(metadata.len().to_be_bytes());
    hasher.update(seconds.to_be_bytes());
    hasher.update(nanos.to_be_bytes());
    hasher.update(inode(metadata).to_be_bytes());
    let digest: [u8; 32] = hasher.finalize().into();
    std::array::from_fn(|i| digest[i])
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
