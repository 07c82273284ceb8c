//! The program's configuration folder, its files, and the lists of allowed peers.

use std::env;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use weftline::{Fingerprint, Identity};
use weftline_apps::Protocol;
use weftline_apps::pairing::Name;

use crate::ui::output::quoted;
use crate::ui::{Exit, Failure};

/// The program's folder: `$XDG_CONFIG_HOME/weftline`, else `~/.config/weftline`
/// (`%APPDATA%\weftline` on Windows).
///
/// # Errors
/// None of the variables that name it is set.
pub(crate) fn folder() -> Result<PathBuf> {
    // The XDG specification says to ignore relative paths.
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let base = absolute("XDG_CONFIG_HOME")
        .or_else(|| {
            if cfg!(windows) {
                absolute("APPDATA")
            } else {
                None
            }
        })
        .or_else(|| absolute("HOME").map(|home| home.join(".config")));
    match base {
        Some(base) => Ok(base.join("weftline")),
        None => bail!("no folder to keep the identity in: set HOME, or give --identity FILE"),
    }
}

/// The host's identity, created on first use, and its file: `chosen` or the default.
///
/// # Errors
/// The file can neither be read nor created.
pub(crate) fn identity(chosen: Option<&Path>) -> Result<(Identity, PathBuf)> {
    let path = identity_file(chosen)?;
    let identity =
        Identity::load_or_create(&path).map_err(|e| Failure::new(Exit::Refused, e.to_string()))?;
    Ok((identity, path))
}

/// The file of the host's identity: `chosen` or the default.
///
/// # Errors
/// There is no default, because no variable names the folder.
pub(crate) fn identity_file(chosen: Option<&Path>) -> Result<PathBuf> {
    match chosen {
        Some(path) => Ok(path.to_owned()),
        None => Ok(folder()?.join("identity.pem")),
    }
}

/// Whether this folder could be made, if it is not there, and written to: nothing stays in it.
///
/// # Errors
/// It could not.
pub(crate) fn writable(folder: &Path) -> Result<(), Failure> {
    let above = folder.ancestors().find(|above| above.exists());
    let above = above.unwrap_or(Path::new("."));
    match tempfile::tempfile_in(above) {
        Ok(_) => Ok(()),
        Err(error) => {
            let within = match above == folder {
                true => String::new(),
                false => format!(", in {}", above.display()),
            };
            let message = format!("cannot write to {}{within}: {error}", folder.display());
            Err(Failure::new(Exit::General, message))
        }
    }
}

/// The text of a file in the program's folder; empty if there is no such file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn text(path: &Path) -> Result<String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(e) => Err(e).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Keeps other programs from changing files of the folder at the same time, until it is dropped.
///
/// # Errors
/// The folder cannot be made, or written to.
pub(crate) fn lock() -> Result<File> {
    let folder = folder()?;
    let path = folder.join(".lock");
    let locked = fs::create_dir_all(&folder)
        .and_then(|()| File::create(&path))
        .and_then(|file| file.lock().map(|()| file));
    locked.with_context(|| format!("cannot write to {}", folder.display()))
}

/// Writes a file of the program's folder: all of it or nothing, for the owner's eyes only.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let written = || -> std::io::Result<()> {
        // Where the file is a link, what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = path.parent().unwrap_or(Path::new("."));
        // It is made with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// This host's name in the network, if it has one.
pub(crate) fn host_name() -> Option<String> {
    #[cfg(unix)]
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    let host = env::var("COMPUTERNAME").unwrap_or_default();
    Some(host).filter(|host| !host.is_empty())
}

/// What this host calls itself to peers that are paired with it.
pub(crate) fn own_name() -> Option<Name> {
    let host = host_name()?;
    let host = host.split('.').next().filter(|host| *host != "localhost");
    Name::like(host?)
}

/// The name of the list of peers that may use this protocol: each has a list of its own.
pub(crate) fn list(service: Protocol) -> String {
    format!("allowed-{}", service.name())
}

/// That list for people: with its folder, if something names that.
pub(crate) fn list_shown(service: Protocol) -> String {
    let name = list(service);
    match folder() {
        Ok(folder) => quoted(&folder.join(name).display().to_string()),
        Err(_) => name,
    }
}

/// Adds a peer to the list of this service, with its name as a comment, unless it is there.
///
/// # Errors
/// The list cannot be read or written.
pub(crate) fn allow(service: Protocol, peer: Fingerprint, name: &str) -> Result<()> {
    let folder = folder()?;
    let _lock = lock()?;
    let path = folder.join(list(service));
    let mut list = text(&path)?;
    if parse_allowed(&list)?.contains(&peer) {
        return Ok(());
    }
    if !list.is_empty() && !list.ends_with('\n') {
        list.push('\n');
    }
    write(&path, &format!("{list}{peer} {name}\n"))
}

/// What to do about the list that earlier versions used for everything, if it is there. It is not
/// read: what was meant for one service must not allow the others.
pub(crate) fn outdated_list() -> Option<String> {
    let path = folder().ok()?.join("allowed");
    path.exists().then(|| {
        format!(
            "warning: {} is no longer read: each service has its own list now. Rename it to allowed-files (recv), allowed-relay (relay serve), allowed-forward (forward serve) or allowed-tun (tun serve), or copy the hosts to the lists where they belong",
            path.display()
        )
    })
}

/// The peers in the list of this service in this folder; empty if there is no such file.
///
/// # Errors
/// The file cannot be read, or a line of it is not a fingerprint.
pub(crate) fn listed(folder: &Path, service: Protocol) -> Result<Vec<Fingerprint>> {
    let path = folder.join(list(service));
    parse_allowed(&text(&path)?).with_context(|| format!("in {}", path.display()))
}

/// One fingerprint a line. Text after a space is a comment, as is a line that begins with `#`.
fn parse_allowed(text: &str) -> Result<Vec<Fingerprint>> {
    let mut peers = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(word) = line
            .split_whitespace()
            .next()
            .filter(|w| !w.starts_with('#'))
        else {
            continue;
        };
        peers.push(
            word.parse()
                .with_context(|| format!("line {}", number + 1))?,
        );
    }
    Ok(peers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_skipped() {
        let (a, b) = (Fingerprint::from([1; 20]), Fingerprint::from([2; 20]));
        let text = format!("# my machines\n\n{a} laptop\n  {b}  # desktop\n");
        assert_eq!(parse_allowed(&text).unwrap(), [a, b]);
        assert_eq!(parse_allowed("").unwrap(), []);
    }

    #[test]
    fn a_peer_is_allowed_only_what_its_list_is_for() {
        let folder = tempfile::tempdir().unwrap();
        let peer = Fingerprint::from([1; 20]);
        let lists = |folder: &Path| Protocol::ALL.map(|service| listed(folder, service).unwrap());
        // The list of earlier versions grants nothing.
        fs::write(folder.path().join("allowed"), peer.to_string()).unwrap();
        assert_eq!(lists(folder.path()), [vec![], vec![], vec![], vec![]]);
        fs::write(folder.path().join("allowed-relay"), peer.to_string()).unwrap();
        assert_eq!(lists(folder.path()), [vec![], vec![peer], vec![], vec![]]);
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_for_the_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        for text in ["one\n", "two\n"] {
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = parse_allowed("# one\nnonsense").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2: "), "{error:#}");
    }
}
