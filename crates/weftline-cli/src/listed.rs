//! The list of allowed peers in the program's folder, as it is at each moment.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;

use anyhow::Result;
use weftline::Fingerprint;
use weftline_apps::Protocol;

use crate::home;
use crate::ui::terminal;
use weftline_apps::lock;

/// A list that is read again whenever its file has changed.
#[derive(Debug)]
pub(crate) struct Listed {
    service: Protocol,
    folder: Option<PathBuf>,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    version: Version,
    peers: BTreeSet<Fingerprint>,
}

/// When the file was changed, and its length; `None` if there is no file.
type Version = Option<(SystemTime, u64)>;

impl Listed {
    /// The list for this use.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is not a fingerprint.
    pub(crate) fn open(service: Protocol) -> Result<Self> {
        Self::of(home::folder().ok(), service)
    }

    fn of(folder: Option<PathBuf>, service: Protocol) -> Result<Self> {
        let listed = Listed {
            service,
            folder,
            read: Mutex::default(),
        };
        *lock(&listed.read) = listed.read()?;
        Ok(listed)
    }

    /// Whether the peer is in the list now. A list that cannot be read counts as it was before.
    pub(crate) fn has(&self, peer: &Fingerprint) -> bool {
        let mut now = lock(&self.read);
        let version = self.version();
        if now.version != version {
            match self.read() {
                Ok(read) => *now = read,
                Err(error) => {
                    now.version = version;
                    terminal::offer(format!(
                        "warning: the list is used as it was before: {error:#}"
                    ));
                }
            }
        }
        now.peers.contains(peer)
    }

    fn read(&self) -> Result<Read> {
        // What is written between the two is read again.
        let version = self.version();
        let peers = match &self.folder {
            Some(folder) => home::listed(folder, self.service)?,
            None => Vec::new(),
        };
        let peers = peers.into_iter().collect();
        Ok(Read { version, peers })
    }

    fn version(&self) -> Version {
        let file = self.folder.as_ref()?.join(home::list(self.service));
        let metadata = fs::metadata(file).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_list_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("allowed-relay");
        let listed = Listed::of(Some(folder.path().to_owned()), Protocol::Relay).unwrap();
        let (a, b) = (Fingerprint::from([1; 20]), Fingerprint::from([2; 20]));
        assert!(!listed.has(&a));
        fs::write(&file, format!("{a}\n")).unwrap();
        assert!(listed.has(&a) && !listed.has(&b));
        fs::write(&file, format!("{a}\n{b} laptop\n")).unwrap();
        assert!(listed.has(&a) && listed.has(&b));
        // A slip of the editor locks nobody out.
        fs::write(&file, format!("{a}\n{b} laptop\nnonsense\n")).unwrap();
        assert!(listed.has(&a) && listed.has(&b));
        fs::write(&file, format!("# {a}\n{b}\n")).unwrap();
        assert!(!listed.has(&a) && listed.has(&b));
        fs::remove_file(&file).unwrap();
        assert!(!listed.has(&b));
        fs::write(&file, "nonsense").unwrap();
        assert!(Listed::of(Some(folder.path().to_owned()), Protocol::Relay).is_err());
    }
}
