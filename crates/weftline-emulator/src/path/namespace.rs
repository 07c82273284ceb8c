//! Creates, fills and removes a network namespace, with `ip`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::error::PathError;
use super::files::Files;
use super::inhabitants::NamespaceId;
use super::name::LabName;

/// Where iproute2 keeps namespaces.
const NAMESPACES: &str = "/run/netns";
/// The name of the device inside.
const DEVICE: &str = "lab0";
/// Packets that may wait for the emulator: more than it ever leaves unread, so that only the
/// emulator drops packets.
const DEVICE_QUEUE: u32 = 10_000;
/// Smallest MTU with IPv6 (RFC 8200, section 5).
const MIN_MTU_IPV6: u16 = 1280;

/// Address digits of the two ends of the path.
pub(crate) const ENDS: [(&str, u8); 2] = [("a", 1), ("b", 2)];

/// A network namespace of a lab; removed when dropped, with all processes inside.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// An empty namespace for `side` ("a" or "b") that resolves the names of both sides.
    pub(crate) fn create(lab: LabName, side: &str) -> Result<Self, PathError> {
        // From here on, a failure removes everything created so far.
        let namespace = Self {
            name: format!("{lab}-{side}"),
        };
        let all = Files::system();
        let files = all.make(&namespace.name);
        let files = files.map_err(PathError::file(all.folder()))?;
        let write = |name: &str, content: &str| {
            let file = files.join(name);
            fs::write(&file, content).map_err(PathError::file(file))
        };
        write("hosts", &hosts())?;
        // Only files that exist in /etc can be replaced.
        if Path::new("/etc/gai.conf").exists() {
            write("gai.conf", "# IPv4 first\nprecedence ::ffff:0:0/96 100\n")?;
        }
        ip(&["netns", "add", &namespace.name], "")?;
        Ok(namespace)
    }

    /// Moves `device` in, gives it the address that ends in `digit`, and brings it up.
    pub(crate) fn adopt(&self, device: &str, digit: u8, mtu: u16) -> Result<(), PathError> {
        let name = &self.name;
        ip(
            &["link", "set", "dev", device, "netns", name, "name", DEVICE],
            "",
        )?;
        let mut commands = format!(
            "link set dev lo up\n\
             link set dev {DEVICE} mtu {mtu} txqueuelen {DEVICE_QUEUE} multicast off\n"
        );
        let ipv6 = has_ipv6(mtu);
        if ipv6 {
            // No automatic addresses, and no packets about them on the path.
            commands += &format!("link set dev {DEVICE} addrgenmode none\n");
        }
        commands += &format!(
            "link set dev {DEVICE} up\n\
             addr add 10.77.0.{digit}/24 dev {DEVICE}\n\
             route add 224.0.0.0/4 dev {DEVICE}\n"
        );
        if ipv6 {
            commands += &format!("addr add fd77::{digit}/64 dev {DEVICE} nodad\n");
        }
        ip(&["-n", name, "-batch", "-"], &commands)
    }

    /// A command that runs inside; the caller adds program and arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]);
        command
    }

    /// Packets that the device dropped: because its queue was full, or because it could not pass
    /// them to the kernel.
    pub(crate) fn device_drops(&self) -> u64 {
        let statistics = format!("/sys/class/net/{DEVICE}/statistics");
        let files = ["tx_dropped", "rx_dropped"].map(|file| format!("{statistics}/{file}"));
        let read = self.command().arg("cat").args(files).output();
        let text = read.map(|o| o.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().filter_map(|n| n.parse::<u64>().ok()).sum()
    }

    /// Identity of the namespace; `None` if it is gone.
    pub(crate) fn id(&self) -> Option<NamespaceId> {
        NamespaceId::of(&self.file())
    }

    fn file(&self) -> PathBuf {
        Path::new(NAMESPACES).join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(id) = self.id() {
            id.end_all(Duration::ZERO);
        }
        if self.file().exists() {
            // Another lab may be removing it as remains; the next one removes the rest.
            let _ = ip(&["netns", "del", &self.name], "");
        }
        Files::system().remove(&self.name);
    }
}

/// Removes the remains of labs whose process has died. Returns their names.
pub(crate) fn remove_leftovers() -> Vec<String> {
    let leftovers: BTreeSet<String> = ours()
        .filter(|(lab, _)| !lab.is_alive())
        .map(|(_, n)| n)
        .collect();
    for name in &leftovers {
        drop(Namespace { name: name.clone() });
    }
    leftovers.into_iter().collect()
}

/// Open labs.
pub(crate) fn labs() -> BTreeSet<LabName> {
    let labs = ours().map(|(lab, _)| lab);
    labs.filter(|lab| lab.is_alive()).collect()
}

/// Namespaces and directories of labs, with the lab they belong to.
fn ours() -> impl Iterator<Item = (LabName, String)> {
    let entries = [Path::new(NAMESPACES), Files::system().folder()]
        .map(Path::to_owned)
        .into_iter()
        .filter_map(|dir| fs::read_dir(dir).ok());
    let names = entries
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok());
    names.filter_map(|name| Some((LabName::of_namespace(&name)?, name)))
}

fn hosts() -> String {
    let mut hosts = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (side, digit) in ENDS {
        hosts += &format!("10.77.0.{digit} {side} {side}4\nfd77::{digit} {side} {side}6\n");
    }
    hosts
}

fn has_ipv6(mtu: u16) -> bool {
    mtu >= MIN_MTU_IPV6 && Path::new("/proc/net/if_inet6").exists()
}

/// Runs `ip` with `input` on its standard input.
fn ip(arguments: &[&str], input: &str) -> Result<(), PathError> {
    let spawned = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => PathError::NoIp,
        _ => PathError::Start {
            program: "ip".to_owned(),
            source,
        },
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        // If `ip` does not read its input, its exit status gives the reason.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output();
    let output = output.map_err(|source| PathError::Start {
        program: "ip".to_owned(),
        source,
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(PathError::Ip {
        arguments: arguments.join(" "),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_names_in_both_families() {
        let hosts = hosts();
        for line in [
            "10.77.0.1 a a4",
            "fd77::1 a a6",
            "10.77.0.2 b b4",
            "fd77::2 b b6",
        ] {
            assert!(hosts.lines().any(|l| l == line), "{line}");
        }
    }
}
