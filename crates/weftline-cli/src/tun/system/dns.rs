//! Names are asked of the tunnel's DNS servers: by systemd-resolved where programs ask it, and otherwise
//! by `/etc/resolv.conf`, which is put back later.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::system::RESOLVECTL;

/// How each file that we write begins.
const OURS: &str = "# By weftline tun ";
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Where systemd-resolved answers the programs of its host.
const RESOLVED: &str = "127.0.0.53";

/// Lets all names be asked of `servers`, through the device `name`.
///
/// # Errors
/// The system's settings cannot be changed.
pub(super) fn set(name: &str, servers: &[IpAddr]) -> Result<()> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    if !asks_resolved(&text) {
        return File::of(name).replace(servers).with_context(|| {
            format!("{RESOLV_CONF} cannot be replaced: run this as root, or leave --dns out")
        });
    }
    // It forgets these with the device.
    let servers: Vec<String> = servers.iter().map(IpAddr::to_string).collect();
    let words = ["dns", name].into_iter();
    let words: Vec<&str> = words.chain(servers.iter().map(String::as_str)).collect();
    let told = RESOLVECTL.run(&words, "");
    let told = told.and_then(|_| RESOLVECTL.run(&["domain", name, "~."], ""));
    told.context("systemd-resolved takes no DNS servers: run this as root, or leave --dns out")?;
    Ok(())
}

/// Puts back what [`set`] changed, also when an earlier run did. Returns whether there was something.
///
/// # Errors
/// The file cannot be changed.
pub(super) fn restore(name: &str) -> Result<bool> {
    let file = File::of(name);
    let kept = file.kept.display().to_string();
    let restored = file.restore();
    restored.with_context(|| format!("{RESOLV_CONF} cannot be restored from {kept}"))
}

fn asks_resolved(text: &str) -> bool {
    let mut servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next())?
    });
    servers.next() == Some(RESOLVED)
}

/// The file, and where the one of before is kept meanwhile: beside it, so that both can take each other's
/// place in one step, and so that it outlives a reboot.
struct File {
    path: PathBuf,
    kept: PathBuf,
    /// The first line of what we write.
    head: String,
}

impl File {
    fn of(name: &str) -> Self {
        Self::at(Path::new(RESOLV_CONF), name)
    }

    fn at(path: &Path, name: &str) -> Self {
        let kept = format!("{}.before-weftline-{name}", path.display());
        File {
            path: path.to_owned(),
            head: format!("{OURS}{name}; the file of before is {kept}\n"),
            kept: kept.into(),
        }
    }

    fn replace(&self, servers: &[IpAddr]) -> io::Result<()> {
        self.restore()?;
        let before = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read?,
        };
        if before.starts_with(OURS) {
            // Each would take the other's file for the one of before.
            return Err(io::Error::other("another tunnel has replaced it already"));
        }
        let mut text = self.head.clone();
        for server in servers {
            text += &format!("nameserver {server}\n");
        }
        // Short names mean what they did.
        let is_kept = |line: &&str| {
            let word = line.split_whitespace().next();
            word.is_some_and(|word| ["search", "domain", "options"].contains(&word))
        };
        before.lines().filter(is_kept).for_each(|line| {
            text += line;
            text.push('\n');
        });
        if self.path.symlink_metadata().is_ok() {
            // A link to it, be it a file or a symbolic link itself. Where another file system is mounted at
            // this very path, or there are no links, a copy.
            if fs::hard_link(&self.path, &self.kept).is_err() {
                write(&self.kept, &before)?;
            }
        }
        let new = self.path.with_extension("weftline-new");
        write(&new, &text)?;
        put(&new, &self.path)
    }

    fn restore(&self) -> io::Result<bool> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let is_ours = text.starts_with(&self.head);
        let is_kept = self.kept.symlink_metadata().is_ok();
        match (is_ours, is_kept) {
            (true, true) => put(&self.kept, &self.path)?,
            (true, false) => fs::remove_file(&self.path)?,
            // Another tunnel's: what is kept is the only copy.
            (false, true) if text.starts_with(OURS) => {}
            // Another program has written it anew, and knows better than what is kept.
            (false, true) => fs::remove_file(&self.kept)?,
            (false, false) => {}
        }
        Ok(is_ours || is_kept)
    }
}

/// Puts a file in the place of another one in one step. Where something is mounted at that very place, as in
/// containers and namespaces, its content changes instead.
fn put(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::ResourceBusy => {
            fs::write(to, fs::read(from)?)?;
            fs::remove_file(from)
        }
        renamed => renamed,
    }
}

/// Writes a file that all may read, down to the disk.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o644))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "search lan\nnameserver 192.0.2.53\noptions ndots:2\n";

    fn servers() -> Vec<IpAddr> {
        ["10.66.0.1", "fd66::1"]
            .map(|ip| ip.parse().unwrap())
            .to_vec()
    }

    /// A folder with a file in it, and that file.
    fn file() -> (tempfile::TempDir, File) {
        let folder = tempfile::tempdir().unwrap();
        let file = File::at(&folder.path().join("resolv.conf"), "wl0");
        fs::write(&file.path, BEFORE).unwrap();
        (folder, file)
    }

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_comes_back() {
        let (folder, file) = file();
        file.replace(&servers()).unwrap();
        let text = fs::read_to_string(&file.path).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "nameserver 10.66.0.1",
                "nameserver fd66::1",
                "search lan",
                "options ndots:2"
            ]
        );
        assert!(file.restore().unwrap());
        assert_eq!(fs::read_to_string(&file.path).unwrap(), BEFORE);
        assert_eq!(names(folder.path()), ["resolv.conf"]);
        assert!(!file.restore().unwrap());
    }

    #[test]
    fn a_symbolic_link_comes_back_as_the_link_and_its_target_never_changes() {
        let (folder, file) = file();
        let target = folder.path().join("stub.conf");
        fs::rename(&file.path, &target).unwrap();
        std::os::unix::fs::symlink("stub.conf", &file.path).unwrap();
        file.replace(&servers()).unwrap();
        assert!(!file.path.is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), BEFORE);
        assert!(file.restore().unwrap());
        assert_eq!(fs::read_link(&file.path).unwrap(), Path::new("stub.conf"));
        assert_eq!(names(folder.path()), ["resolv.conf", "stub.conf"]);
    }

    #[test]
    fn what_a_killed_run_left_behind_is_not_taken_for_the_file_of_before() {
        let (_folder, file) = file();
        file.replace(&servers()).unwrap();
        file.replace(&servers()[1..]).unwrap();
        let text = fs::read_to_string(&file.path).unwrap();
        assert!(
            text.contains("fd66::1") && !text.contains("10.66.0.1"),
            "{text}"
        );
        file.restore().unwrap();
        assert_eq!(fs::read_to_string(&file.path).unwrap(), BEFORE);
        // One that was killed between its two steps.
        fs::hard_link(&file.path, &file.kept).unwrap();
        assert!(file.restore().unwrap());
        assert_eq!(fs::read_to_string(&file.path).unwrap(), BEFORE);
    }

    #[test]
    fn a_file_that_another_program_wrote_meanwhile_stays() {
        let (folder, file) = file();
        file.replace(&servers()).unwrap();
        fs::write(&file.path, "nameserver 192.0.2.99\n").unwrap();
        assert!(file.restore().unwrap());
        let text = fs::read_to_string(&file.path).unwrap();
        assert_eq!(text, "nameserver 192.0.2.99\n");
        assert_eq!(names(folder.path()), ["resolv.conf"]);
    }

    #[test]
    fn a_second_tunnel_does_not_take_the_file_of_the_first_for_the_one_of_before() {
        let (folder, file) = file();
        file.replace(&servers()).unwrap();
        let second = File::at(&file.path, "wl1");
        let error = second.replace(&servers()).unwrap_err();
        assert!(error.to_string().contains("another tunnel"), "{error}");
        assert!(!second.restore().unwrap());
        assert!(file.restore().unwrap());
        assert_eq!(fs::read_to_string(&file.path).unwrap(), BEFORE);
        assert_eq!(names(folder.path()), ["resolv.conf"]);
    }

    #[test]
    fn where_there_was_no_file_there_is_none_afterwards() {
        let (folder, file) = file();
        fs::remove_file(&file.path).unwrap();
        file.replace(&servers()).unwrap();
        assert!(file.restore().unwrap());
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn systemd_resolved_is_asked_where_the_file_names_it_first() {
        assert!(asks_resolved(
            "# comment\nnameserver 127.0.0.53\noptions edns0\n"
        ));
        assert!(!asks_resolved(
            "nameserver 192.0.2.53\nnameserver 127.0.0.53\n"
        ));
        assert!(!asks_resolved("#nameserver 127.0.0.53\n"));
    }
}
