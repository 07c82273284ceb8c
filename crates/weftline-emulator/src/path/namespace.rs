//! Creates, fills and removes a network namespace, with `ip`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::error::PathError;
use super::files::Files;
use super::inhabitants::NamespaceId;
use super::name::LabName;

/// Where iproute2 keeps namespaces.
const NAMESPACES: &str = "/run/netns";
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
    /// An empty namespace for `side` ("a" or "b") that resolves the names of both sides, which will have
    /// this number of links between them.
    pub(crate) fn create(lab: LabName, side: &str, links: usize) -> Result<Self, PathError> {
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
        write("hosts", &hosts(links))?;
        // Only files that exist in /etc can be replaced.
        if Path::new("/etc/gai.conf").exists() {
            write("gai.conf", "# IPv4 first\nprecedence ::ffff:0:0/96 100\n")?;
        }
        ip(&["netns", "add", &namespace.name], "")?;
        Ok(namespace)
    }

    /// Moves the `device` of this link in, gives it the address that ends in `digit`, and brings it up.
    pub(crate) fn adopt(
        &self,
        device: &str,
        link: usize,
        digit: u8,
        mtu: u16,
    ) -> Result<(), PathError> {
        let (name, own) = (&self.name, device_name(link));
        ip(
            &["link", "set", "dev", device, "netns", name, "name", &own],
            "",
        )?;
        let mut commands = format!(
            "link set dev lo up\n\
             link set dev {own} mtu {mtu} txqueuelen {DEVICE_QUEUE} multicast off\n"
        );
        let ipv6 = has_ipv6(mtu);
        if ipv6 {
            // No automatic addresses, and no packets about them on the path.
            commands += &format!("link set dev {own} addrgenmode none\n");
        }
        let [v4, v6] = addresses(link, digit);
        commands += &format!(
            "link set dev {own} up\n\
             addr add {v4}/24 dev {own}\n"
        );
        if link == 0 {
            commands += &format!("route add 224.0.0.0/4 dev {own}\n");
        }
        if ipv6 {
            commands += &format!("addr add {v6}/64 dev {own} nodad\n");
        }
        ip(&["-n", name, "-batch", "-"], &commands)
    }

    /// Makes the side a host with several modems, as network managers do: each device has a default route,
    /// the first one the best, and what comes over one device for the address of another is taken.
    /// `mtus` are those of its devices, in the order of the links.
    pub(crate) fn join(&self, mtus: &[u16], digit: u8) -> Result<(), PathError> {
        let links = mtus.len();
        let mut routes = String::new();
        for (link, mtu) in mtus.iter().enumerate() {
            let (own, metric) = (device_name(link), 100 * (link + 1));
            routes += &format!("route add 0.0.0.0/0 dev {own} metric {metric}\n");
            if has_ipv6(*mtu) {
                routes += &format!("route add ::/0 dev {own} metric {metric}\n");
            }
        }
        ip(&["-n", &self.name, "-batch", "-"], &routes)?;
        let loose = "echo 2 >/proc/sys/net/ipv4/conf/all/rp_filter";
        let loose = self.command().args(["sh", "-c", loose]).status();
        loose.map_err(|source| PathError::Start {
            program: "sh".to_owned(),
            source,
        })?;
        let mut subflows = format!("mptcp limits set subflows {links} add_addr_accepted {links}\n");
        for link in 1..links {
            let own = device_name(link);
            for address in addresses(link, digit) {
                subflows += &format!("mptcp endpoint add {address} dev {own} subflow\n");
            }
        }
        // A kernel without multipath TCP carries everything else.
        let _ = ip(&["-n", &self.name, "-batch", "-"], &subflows);
        Ok(())
    }

    /// A command that runs inside; the caller adds program and arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]);
        command
    }

    /// Packets that the device of this link dropped: because its queue was full, or because it could not
    /// pass them to the kernel.
    pub(crate) fn device_drops(&self, link: usize) -> u64 {
        let statistics = format!("/sys/class/net/{}/statistics", device_name(link));
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

/// The name of a link's device inside.
fn device_name(link: usize) -> String {
    format!("lab{link}")
}

/// Both addresses of the end with this digit on a link.
fn addresses(link: usize, digit: u8) -> [IpAddr; 2] {
    let link = u8::try_from(link).unwrap_or(u8::MAX);
    let v6 = [0xfd77, 0, 0, u16::from(link), 0, 0, 0, u16::from(digit)];
    [[10, 77, link, digit].into(), v6.into()]
}

fn hosts(links: usize) -> String {
    let mut hosts = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (side, digit) in ENDS {
        let [v4, v6] = addresses(0, digit);
        hosts += &format!("{v4} {side} {side}4\n{v6} {side} {side}6\n");
        if links > 1 {
            for link in 0..links {
                let device = device_name(link);
                for address in addresses(link, digit) {
                    hosts += &format!("{address} {side}.{device}\n");
                }
            }
        }
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
        assert!(!hosts(1).contains("lab"), "{}", hosts(1));
        let hosts = hosts(2);
        for line in [
            "10.77.0.1 a a4",
            "fd77::1 a a6",
            "10.77.0.2 b b4",
            "fd77::2 b b6",
            "10.77.1.2 b.lab1",
            "fd77:0:0:1::1 a.lab1",
        ] {
            assert!(hosts.lines().any(|l| l == line), "{line}");
        }
    }
}
