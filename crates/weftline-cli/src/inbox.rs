//! The folder that `weftline recv` receives into.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The name of a new folder; further ones have a number.
const NAME: &str = "received";
/// Most numbers that are tried.
const MOST: usize = 10_000;
/// The file in a new folder that marks it as not complete, and is locked while it is used. No
/// sender can name a file like this.
const MARK: &str = ".weftline-part";

/// The folder, until the program ends.
pub(crate) struct Inbox {
    pub(crate) path: PathBuf,
    /// That of a folder that this program chose.
    mark: Option<(PathBuf, File)>,
}

impl Inbox {
    /// The folder `chosen`; without one, a new folder in the current one, or the last one there
    /// whose transfer was not complete.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn open(chosen: Option<&Path>) -> Result<Self> {
        match chosen {
            Some(path) => {
                fs::create_dir_all(path)
                    .with_context(|| format!("cannot make the directory {}", path.display()))?;
                Ok(Inbox {
                    path: path.to_owned(),
                    mark: None,
                })
            }
            None => Self::fresh(Path::new("")),
        }
    }

    fn fresh(at: &Path) -> Result<Self> {
        for number in 1..=MOST {
            let name = match number {
                1 => NAME.to_owned(),
                number => format!("{NAME}-{number}"),
            };
            let path = at.join(name);
            let mark = path.join(MARK);
            let opened = match fs::create_dir(&path) {
                Ok(()) => File::create_new(&mark),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => unfinished(&path, &mark),
                Err(e) => Err(e),
            };
            match opened {
                Ok(file) if file.try_lock().is_ok() => {
                    let mark = Some((mark, file));
                    return Ok(Inbox { path, mark });
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => {
                    return Err(e).with_context(|| {
                        format!(
                            "cannot make the directory {}: name one that you can write to",
                            path.display()
                        )
                    });
                }
            }
        }
        bail!("there are {MOST} directories named {NAME} here: name another one")
    }

    /// Everything has arrived: the next transfer has another folder.
    pub(crate) fn complete(&mut self) {
        if let Some((mark, _)) = self.mark.take() {
            // A mark that stays only makes the next transfer use this folder too.
            let _ = fs::remove_file(mark);
        }
    }
}

/// The mark of a folder of an earlier transfer that was not complete.
fn unfinished(path: &Path, mark: &Path) -> io::Result<File> {
    let is = |path, right: fn(&fs::Metadata) -> bool| fs::symlink_metadata(path).map(|m| right(&m));
    match is(path, fs::Metadata::is_dir)? && is(mark, fs::Metadata::is_file)? {
        true => File::open(mark),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_is_chosen_unless_one_is_not_complete() {
        let at = tempfile::tempdir().unwrap();
        let name = |inbox: &Inbox| inbox.path.file_name().unwrap().to_owned();
        fs::create_dir(at.path().join("received")).unwrap();
        fs::write(at.path().join("received-2"), "a file").unwrap();
        let mut first = Inbox::fresh(at.path()).unwrap();
        assert_eq!(name(&first), "received-3");
        // Another receiver uses it at the moment.
        let second = Inbox::fresh(at.path()).unwrap();
        assert_eq!(name(&second), "received-4");
        drop(second);
        let second = Inbox::fresh(at.path()).unwrap();
        assert_eq!(name(&second), "received-4");
        first.complete();
        drop(first);
        assert_eq!(
            fs::read_dir(at.path().join("received-3")).unwrap().count(),
            0
        );
        let third = Inbox::fresh(at.path()).unwrap();
        assert_eq!(name(&third), "received-5");
        drop(second);
        assert_eq!(name(&Inbox::fresh(at.path()).unwrap()), "received-4");
    }
}
