//! Files, directories with their contents, and standard input, as a list of entries to send.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::path::{PathError, check, is_reserved};
use super::summary::Outcome;
use super::wire::{Entry, Kind, Meta};
use crate::printable;

/// One entry to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As announced; its `id` is its index in the list.
    pub entry: Entry,
    /// The file that holds its bytes; `None` is standard input (or, for a directory, nothing).
    pub file: Option<PathBuf>,
}

/// Everything that the user asked to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The entries, parents before their contents.
    pub sources: Vec<Source>,
    /// Entries that were skipped, for people.
    pub skipped: Vec<String>,
    /// Entries inside directories that cannot be sent; the receiver is told how many.
    pub failed: Vec<Outcome>,
}

/// An argument cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Its metadata cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The path.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// Two arguments would arrive under one name.
    #[error(
        "two of the files would both arrive as `{0}`: send them one after the other, or rename one"
    )]
    Twice(String),
    /// Its name cannot be sent.
    #[error("cannot send {path}: {error}")]
    Name {
        /// The path.
        path: String,
        /// The rule that it breaks.
        error: PathError,
    },
    /// It has no name, like `/` or `..`.
    #[error("{0} has no name to send it under: give the path of a file or directory")]
    Nameless(String),
    /// Its name is not UTF-8.
    #[error("cannot send {0}: its name is not valid UTF-8; rename it first")]
    NotText(String),
    /// It is a socket, a device or a named pipe.
    #[error("cannot send {0}: it is neither a regular file nor a directory")]
    Special(String),
    /// More entries than the protocol can number.
    #[error("too many files")]
    TooMany,
}

impl Listing {
    /// Bytes of all files, if all lengths are known.
    pub fn bytes(&self) -> Option<u64> {
        self.sources.iter().map(|s| s.entry.meta.size).sum()
    }
}

/// Lists everything under `arguments`; `-` is standard input and arrives as `stdin_name`.
///
/// A directory arrives under its own name with its contents. Symbolic links in `arguments` are
/// followed; links inside directories are skipped, as are sockets, devices and pipes.
///
/// # Errors
/// An argument cannot be sent; then nothing is sent.
pub fn collect(arguments: &[PathBuf], stdin_name: &str) -> Result<Listing, SourceError> {
    let mut listing = Listing::default();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            let entry = entry(stdin_name.to_owned(), Kind::File, Meta::default());
            listing.push(entry, None)?;
            continue;
        }
        let shown = argument.display().to_string();
        let metadata = fs::metadata(argument).map_err(|error| unreadable(argument, error))?;
        // `.` and `dir/..` have names too, once the system has resolved them.
        let resolved = match argument.file_name() {
            Some(_) => argument.clone(),
            None => fs::canonicalize(argument).map_err(|error| unreadable(argument, error))?,
        };
        let name = resolved
            .file_name()
            .ok_or_else(|| SourceError::Nameless(shown.clone()))?;
        let name = name
            .to_str()
            .ok_or_else(|| SourceError::NotText(shown.clone()))?
            .to_owned();
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(SourceError::Special(shown));
        }
        listing.add(argument, name, &metadata)?;
    }
    let mut seen = HashSet::new();
    match listing.sources.iter().find(|s| !seen.insert(&s.entry.path)) {
        Some(twice) => Err(SourceError::Twice(twice.entry.path.clone())),
        None => Ok(listing),
    }
}

impl Listing {
    fn add(&mut self, at: &Path, name: String, metadata: &Metadata) -> Result<(), SourceError> {
        if metadata.is_file() {
            return self.push(
                entry(name, Kind::File, Meta::of(metadata)),
                Some(at.to_owned()),
            );
        }
        let directory = entry(name.clone(), Kind::Directory, Meta::of(metadata));
        self.push(directory, None)?;
        let mut children: Vec<_> = fs::read_dir(at)
            .and_then(|entries| entries.collect::<Result<_, _>>())
            .map_err(|error| unreadable(at, error))?;
        children.sort_by_key(fs::DirEntry::file_name);
        for child in children {
            let path = child.path();
            let Some(child_name) = child.file_name().to_str().map(str::to_owned) else {
                self.record_failure(&path, SourceError::NotText(path.display().to_string()))?;
                continue;
            };
            let metadata = match fs::symlink_metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) => {
                    self.record_failure(&path, unreadable(&path, error))?;
                    continue;
                }
            };
            let why = if metadata.is_symlink() {
                "a symbolic link"
            } else if is_reserved(&child_name) {
                "an unfinished transfer, or the list of what was received"
            } else if !metadata.is_file() && !metadata.is_dir() {
                "neither a file nor a directory"
            } else {
                let added = self.add(&path, format!("{name}/{child_name}"), &metadata);
                added.or_else(|error| self.record_failure(&path, error))?;
                continue;
            };
            self.skipped.push(format!(
                "skipped {}: {why}",
                printable(&path.display().to_string())
            ));
        }
        Ok(())
    }

    /// Records an entry that cannot be sent, so that the rest can.
    fn record_failure(&mut self, at: &Path, error: SourceError) -> Result<(), SourceError> {
        let reason = match error {
            SourceError::TooMany => return Err(error),
            SourceError::Unreadable { error, .. } => format!("cannot read it: {error}"),
            SourceError::Name { error, .. } => error.to_string(),
            SourceError::NotText(_) => "its name is not valid UTF-8; rename it first".to_owned(),
            error => error.to_string(),
        };
        self.failed.push(Outcome {
            path: printable(&at.display().to_string()),
            reason,
            corrupt: false,
        });
        Ok(())
    }

    fn push(&mut self, mut entry: Entry, file: Option<PathBuf>) -> Result<(), SourceError> {
        let shown = || {
            file.as_ref()
                .map_or_else(|| entry.path.clone(), |f| f.display().to_string())
        };
        check(&entry.path).map_err(|error| SourceError::Name {
            path: printable(&shown()),
            error,
        })?;
        entry.id = u32::try_from(self.sources.len()).map_err(|_| SourceError::TooMany)?;
        self.sources.push(Source { entry, file });
        Ok(())
    }
}

fn entry(path: String, kind: Kind, meta: Meta) -> Entry {
    Entry {
        id: 0,
        kind,
        meta,
        path,
    }
}

fn unreadable(path: &Path, error: io::Error) -> SourceError {
    SourceError::Unreadable {
        path: path.display().to_string(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(listing: &Listing) -> Vec<&str> {
        listing
            .sources
            .iter()
            .map(|s| s.entry.path.as_str())
            .collect()
    }

    #[test]
    fn a_directory_is_listed_with_its_contents_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("b/empty")).unwrap();
        fs::write(top.join("b/two"), "22").unwrap();
        fs::write(top.join("a"), "1").unwrap();
        fs::write(top.join(".x.weftline-part"), "unfinished").unwrap();
        let listing = collect(&[top], "stdin").unwrap();
        assert_eq!(
            paths(&listing),
            ["top", "top/a", "top/b", "top/b/empty", "top/b/two"]
        );
        assert_eq!(listing.bytes(), Some(3));
        assert_eq!(listing.skipped.len(), 1);
        assert!(
            listing
                .sources
                .iter()
                .enumerate()
                .all(|(i, s)| s.entry.id == i as u32)
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_cannot_be_sent_does_not_hold_back_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        fs::write(top.join("bad\nname"), "1").unwrap();
        fs::write(top.join("good"), "1").unwrap();
        let listing = collect(&[top], "stdin").unwrap();
        assert_eq!(paths(&listing), ["top", "top/good"]);
        assert!(listing.failed[0].path.ends_with("bad\\nname"));
        assert!(listing.failed[0].reason.contains("forbidden character"));
    }

    #[cfg(unix)]
    #[test]
    fn links_inside_are_skipped_and_links_in_arguments_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir(&top).unwrap();
        fs::write(dir.path().join("file"), "1").unwrap();
        std::os::unix::fs::symlink("../file", top.join("link")).unwrap();
        let listing = collect(&[top.clone(), top.join("link")], "stdin").unwrap();
        assert_eq!(paths(&listing), ["top", "link"]);
        assert_eq!(listing.sources[1].entry.meta.size, Some(1));
        assert!(
            listing.skipped[0].ends_with("a symbolic link"),
            "{:?}",
            listing.skipped
        );
    }

    #[test]
    fn duplicate_names_and_missing_files_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        for sub in ["p", "q"] {
            fs::create_dir(dir.path().join(sub)).unwrap();
            fs::write(dir.path().join(sub).join("same"), "").unwrap();
        }
        let twice = [dir.path().join("p/same"), dir.path().join("q/same")];
        assert!(
            matches!(collect(&twice, "stdin"), Err(SourceError::Twice(name)) if name == "same")
        );
        let missing = collect(&[dir.path().join("nothing")], "stdin");
        assert!(matches!(missing, Err(SourceError::Unreadable { .. })));
    }

    #[test]
    fn standard_input_has_the_given_name_and_no_length() {
        let listing = collect(&["-".into()], "log.txt").unwrap();
        assert_eq!(paths(&listing), ["log.txt"]);
        assert_eq!(listing.bytes(), None);
        assert!(collect(&["-".into()], "../log").is_err());
    }
}
