//! Paths from the peer, and the files they name in the target directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::windows::problem;

/// Longest path, in bytes of UTF-8.
pub const MAX_PATH: usize = 4096;

/// Suffix of the name of a file that is being received.
pub const PART_SUFFIX: &str = ".weftline-part";

/// Name of the file that lists what each sender sent, in the target directory.
pub(super) const JOURNAL: &str = ".weftline-received";

const MAX_DEPTH: usize = 64;
/// Longest file name on all common file systems, in bytes.
const MAX_NAME: usize = 255;

/// A path from the peer that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Empty, or longer than the protocol allows.
    #[error("the path is {0} bytes long; 1 to {MAX_PATH} are allowed")]
    Length(usize),
    /// Starts at the root or names a drive.
    #[error("the path is absolute; only paths below the target directory are accepted")]
    Absolute,
    /// Has `.`, `..` or an empty component.
    #[error("the path has an empty, `.` or `..` component")]
    Component,
    /// Has too many components.
    #[error("the path is more than {MAX_DEPTH} directories deep")]
    Depth,
    /// A component is longer than file systems allow.
    #[error("a name is {0} bytes long; at most {MAX_NAME} are allowed")]
    Name(usize),
    /// Has control characters, or (on Windows) characters with a special meaning there.
    #[error("the path has a forbidden character: {0:?}")]
    Character(char),
    /// On Windows: a component that opens a device, or another file than the one of that name.
    #[error("Windows has no file of the name {0:?}: {1}")]
    Windows(String, &'static str),
    /// Is a name that this program reserves.
    #[error("{JOURNAL} and names that end in {PART_SUFFIX} are reserved")]
    Reserved,
}

/// Whether this program uses names like this one for itself. File names have no case on some systems.
pub(super) fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(PART_SUFFIX) || name == JOURNAL
}

/// Whether a component of the path is hidden.
pub(super) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// Checks a path from the peer: it must be relative and lead downwards only, and on Windows name a
/// file there and no other.
///
/// # Errors
/// The first rule that the path breaks.
pub fn check(path: &str) -> Result<(), PathError> {
    check_on(path, cfg!(windows))
}

/// As [`check`], with the rules of Windows or without them.
fn check_on(path: &str, windows: bool) -> Result<(), PathError> {
    if path.is_empty() || path.len() > MAX_PATH {
        return Err(PathError::Length(path.len()));
    }
    if path.starts_with('/') || (windows && path.starts_with('\\')) {
        return Err(PathError::Absolute);
    }
    let forbidden = |c: &char| c.is_control() || (windows && r#"\:*?"<>|"#.contains(*c));
    if let Some(c) = path.chars().find(forbidden) {
        return Err(PathError::Character(c));
    }
    for (depth, name) in path.split('/').enumerate() {
        match name {
            "" | "." | ".." => return Err(PathError::Component),
            _ if depth >= MAX_DEPTH => return Err(PathError::Depth),
            _ if name.len() > MAX_NAME => return Err(PathError::Name(name.len())),
            _ if is_reserved(name) => return Err(PathError::Reserved),
            _ => {}
        }
        if windows && let Some(why) = problem(name) {
            return Err(PathError::Windows(name.to_owned(), why));
        }
    }
    Ok(())
}

/// Creates the directories above `path` below `root` and returns the file's location. `path` must
/// have passed [`check`].
///
/// Existing symbolic links in the path are refused, so nothing lands outside `root`. A local user
/// who can write to `root` at the same time could still replace a directory by a link; the peer
/// cannot. `permit` decides on `root` and each location below it before anything is created there.
///
/// # Errors
/// A link or a file exists where a directory is needed, a directory cannot be created, or
/// `permit` refuses.
pub fn resolve(
    root: &Path,
    path: &str,
    permit: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let mut at = root.to_owned();
    permit(&at)?;
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        at.push(name);
        permit(&at)?;
        if names.peek().is_some() {
            directory(&at, None)?;
        }
    }
    Ok(at)
}

/// Creates the directory `at` unless it exists; a symbolic link does not count as one. Others may
/// do with a new one at most what `mode` lets them.
///
/// # Errors
/// Another kind of file exists there, or the directory cannot be created.
pub fn directory(at: &Path, mode: Option<u16>) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(found) => {
            let what = if found.is_symlink() {
                "a symbolic link"
            } else {
                "not a directory"
            };
            let at = at.display();
            Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("{at} is {what}; a directory is needed"),
            ))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => match create(at, mode) {
            // Another transfer may have created it meanwhile.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => directory(at, mode),
            made => made,
        },
        Err(e) => Err(e),
    }
}

/// Checks that what is at `target`, where `path` leads, has this very name. Windows finds it by names that
/// differ in case too, which to the peer are other files.
///
/// # Errors
/// The name differs.
pub(super) fn check_case(target: &Path, path: &str) -> io::Result<()> {
    // A link has been resolved before its name could be compared. It is replaced, not followed.
    let is_link = |at: &Path| fs::symlink_metadata(at).is_ok_and(|found| found.is_symlink());
    if !cfg!(windows) {
        return Ok(());
    }
    match fs::canonicalize(target) {
        Ok(found) if found.ends_with(path) || is_link(target) => Ok(()),
        Ok(found) => {
            let found = found.display();
            Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{found} exists, and on Windows names that differ in case are one file"),
            ))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn create(at: &Path, mode: Option<u16>) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    if let Some(mode) = mode {
        // The owner must be able to put the contents there.
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, u32::from(mode) | 0o700);
    }
    builder.create(at)
}

/// Modes are of Unix.
#[cfg(not(unix))]
fn create(at: &Path, _mode: Option<u16>) -> io::Result<()> {
    fs::create_dir(at)
}

/// The location of the unfinished content of `target` that `sender` sends. Each sender has its own:
/// what one has sent, another must not ask about or continue.
pub fn part(target: &Path, sender: &str) -> PathBuf {
    let name = target
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let name = match sender {
        "" => name,
        sender => format!("{name}.{sender}"),
    };
    let mut part = format!(".{name}{PART_SUFFIX}");
    if part.len() > MAX_NAME {
        let digest = Sha256::digest(name.as_bytes());
        part = format!(".{}{PART_SUFFIX}", hex(&digest[..16]));
    }
    target.with_file_name(part)
}

/// Lower-case hexadecimal digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_paths_are_accepted() {
        for good in ["a", "a/b/c.txt", ".hidden", "..a", "ü/ñ", "a b", "-rf"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn hostile_paths_are_refused_for_the_right_reason() {
        let deep = "a/".repeat(70) + "x";
        let cases = [
            ("", PathError::Length(0)),
            ("/etc/passwd", PathError::Absolute),
            ("../x", PathError::Component),
            ("a/../../x", PathError::Component),
            ("a//b", PathError::Component),
            ("a/", PathError::Component),
            ("./a", PathError::Component),
            ("..", PathError::Component),
            ("a\0b", PathError::Character('\0')),
            ("a\nb", PathError::Character('\n')),
            ("\u{1b}[2J", PathError::Character('\u{1b}')),
            (".a.weftline-part", PathError::Reserved),
            ("a/.weftline-received", PathError::Reserved),
            ("A.Weftline-PART/b", PathError::Reserved),
            (".WEFTLINE-received", PathError::Reserved),
            (deep.as_str(), PathError::Depth),
        ];
        for (path, error) in cases {
            assert_eq!(check(path), Err(error), "{path:?}");
        }
        assert_eq!(check(&"x".repeat(256)), Err(PathError::Name(256)));
        assert_eq!(check(&"x/".repeat(4000)), Err(PathError::Length(8000)));
    }

    #[test]
    fn windows_has_rules_of_its_own() {
        for (path, error) in [
            (r"C:\x", PathError::Character(':')),
            ("C:/x", PathError::Character(':')),
            ("C:x", PathError::Character(':')),
            (r"\\server\share", PathError::Absolute),
            (r"a\..\..\x", PathError::Character('\\')),
            ("a/b:stream", PathError::Character(':')),
            ("a/b::$DATA", PathError::Character(':')),
            ("what?", PathError::Character('?')),
        ] {
            assert_eq!(check_on(path, true), Err(error), "{path}");
        }
        let refused = check_on("a/nul.txt/b", true);
        assert!(
            matches!(&refused, Err(PathError::Windows(name, _)) if name == "nul.txt"),
            "{refused:?}"
        );
        // They are names like others elsewhere.
        for path in ["C:x", r"a\b", "a/nul.txt/b", "dot.", "PROGRA~1"] {
            assert_eq!(check_on(path, false), Ok(()), "{path}");
        }
        assert_eq!(check_on("a b/c.d/ü-1", true), Ok(()));
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_in_the_path_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
        let error = resolve(root.path(), "link/x", |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        assert!(resolve(root.path(), "link/deeper/x", |_| Ok(())).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn directories_are_created_and_obstructing_files_are_named() {
        let root = tempfile::tempdir().unwrap();
        let at = resolve(root.path(), "a/b/c", |_| Ok(())).unwrap();
        assert_eq!(at, root.path().join("a/b/c"));
        fs::write(&at, "x").unwrap();
        let error = resolve(root.path(), "a/b/c/d", |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("not a directory"), "{error}");
    }

    #[test]
    fn part_names_are_no_longer_than_a_file_name_may_be() {
        let short = Path::new("d/movie.mkv");
        assert_eq!(part(short, ""), Path::new("d/.movie.mkv.weftline-part"));
        assert_eq!(
            part(short, "aaaa"),
            Path::new("d/.movie.mkv.aaaa.weftline-part")
        );
        let long = Path::new("d").join("x".repeat(255));
        for sender in ["", "aaaa"] {
            let long = part(&long, sender);
            assert!(long.file_name().unwrap().len() <= MAX_NAME);
            assert_ne!(long, part(&Path::new("d").join("x".repeat(254)), sender));
        }
        assert_ne!(part(&long, "aaaa"), part(&long, "bbbb"));
    }
}
