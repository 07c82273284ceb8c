//! The server's side: packets of the tunnel leave through another interface, under this host's address.
//!
//! A table of nftables holds the rules, and in its comment what the settings of the kernel were before: so
//! it is known as long as it matters, also after a kill, and no longer than until the next boot.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use weftline_apps::tun::IpNet;

use crate::system::{IP, NFT};
use crate::ui::output;

/// Forwards and masquerades what comes from `nets`, those of the device `name`, through `interface`, or
/// without one through that of the default route.
///
/// # Errors
/// There is no such interface, or the system refuses it.
pub(super) fn set(name: &str, nets: &[IpNet], interface: Option<&str>) -> Result<()> {
    let (mut settings, mut rules, mut inward) = (Vec::new(), String::new(), String::new());
    for net in nets {
        let version = match net {
            IpNet::V4(_) => ("-4", "ip"),
            IpNet::V6(_) => ("-6", "ip6"),
        };
        let Some(outward) = outward(version.0, interface)? else {
            output::line(&format!(
                "warning: packets of {net} stay on this host, which has no default route for them: name the interface, as in --masquerade eth0"
            ));
            continue;
        };
        match net {
            IpNet::V4(_) => settings.push(Setting::new("4", &outward, "1")),
            IpNet::V6(_) => {
                // A host that forwards ignores router advertisements unless told otherwise, and would
                // lose its own default route.
                settings.push(Setting::new("ra", &outward, "2"));
                settings.push(Setting::new("6", "all", "1"));
            }
        }
        let (net, ip) = (net.trunc(), version.1);
        let first = format!("    iifname \"{outward}\" oifname \"{name}\" ct state new drop\n");
        if !inward.contains(&first) {
            inward += &first;
        }
        rules += &format!("    {ip} saddr {net} oifname \"{outward}\" masquerade\n");
    }
    if rules.is_empty() {
        bail!("this host has no default route: name the interface, as in --masquerade eth0");
    }
    // What another server here has changed is put back by the last of them.
    let others = settings_of_others(name)?;
    let theirs = |setting: &Setting| others.iter().find(|other| other.is_same(setting)).cloned();
    settings.retain(|setting| setting.is_needed() || theirs(setting).is_some());
    let mut before = Vec::new();
    for setting in &settings {
        before.extend(
            theirs(setting)
                .or_else(|| setting.before())
                .map(|s| s.text()),
        );
        // This host did not forward: the settings open it for the tunnel alone.
        inward += &match setting.kind.as_str() {
            "4" => format!(
                "    meta nfproto ipv4 iifname \"{}\" ct state new drop\n",
                setting.interface
            ),
            "6" => format!("    meta nfproto ipv6 iifname != \"{name}\" ct state new drop\n"),
            _ => String::new(),
        };
    }
    let table = format!("inet weftline-{name}");
    let script = format!(
        "table {table}\ndelete table {table}\ntable {table} {{\n  comment \"{}\"\n  \
         chain outward {{\n    type nat hook postrouting priority srcnat\n{rules}  }}\n  \
         chain inward {{\n    type filter hook forward priority filter\n{inward}  }}\n}}\n",
        before.join(" ")
    );
    NFT.run(&["-f", "-"], &script)?;
    let device = [Setting::new("4", name, "1")];
    settings.iter().chain(&device).try_for_each(Setting::write)
}

/// Puts back what [`set`] changed, also when an earlier run did. Returns whether there was something.
///
/// # Errors
/// The system refuses it.
pub(super) fn restore(name: &str) -> Result<bool> {
    let table = format!("weftline-{name}");
    if !NFT.is_here() {
        return Ok(false);
    }
    let shown = NFT.output(&["list", "table", "inet", &table], "")?;
    if !shown.status.success() {
        return Ok(false);
    }
    let shown = String::from_utf8_lossy(&shown.stdout);
    let others = settings_of_others(name)?;
    for setting in settings_in(&shown) {
        let is_theirs = others.iter().any(|other| other.is_same(&setting));
        // An interface may have gone meanwhile.
        if !is_theirs && setting.path().exists() {
            setting.write()?;
        }
    }
    NFT.run(&["delete", "table", "inet", &table], "")?;
    Ok(true)
}

/// What the tables of other servers on this host say was before.
fn settings_of_others(name: &str) -> Result<Vec<Setting>> {
    let tables = NFT.run(&["list", "tables", "inet"], "")?;
    let tables = tables
        .lines()
        .filter_map(|line| line.strip_prefix("table inet "));
    let own = format!("weftline-{name}");
    let others = tables.filter(|table| table.starts_with("weftline-") && *table != own);
    let mut settings = Vec::new();
    for table in others {
        settings.extend(settings_in(
            &NFT.run(&["list", "table", "inet", table], "")?,
        ));
    }
    Ok(settings)
}

/// The interface that packets leave through.
fn outward(version: &str, interface: Option<&str>) -> Result<Option<String>> {
    if let Some(interface) = interface {
        if !Setting::new("4", interface, "1").path().exists() {
            bail!("there is no interface {interface}: `ip link` lists them");
        }
        return Ok(Some(interface.to_owned()));
    }
    let routes = IP.json(&[version, "route", "show", "default"])?;
    let mut devices = routes.iter().filter_map(|route| route["dev"].as_str());
    Ok(devices.next().map(str::to_owned))
}

/// A setting of the kernel for an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// "4" or "6": forwarding; "ra": router advertisements are accepted.
    kind: String,
    interface: String,
    value: String,
}

impl Setting {
    fn new(kind: &str, interface: &str, value: &str) -> Self {
        let [kind, interface, value] = [kind, interface, value].map(str::to_owned);
        Setting {
            kind,
            interface,
            value,
        }
    }

    fn path(&self) -> PathBuf {
        let (version, file) = match self.kind.as_str() {
            "4" => ("ipv4", "forwarding"),
            "6" => ("ipv6", "forwarding"),
            _ => ("ipv6", "accept_ra"),
        };
        let interface = &self.interface;
        format!("/proc/sys/net/{version}/conf/{interface}/{file}").into()
    }

    /// Whether the other one is about the same thing.
    fn is_same(&self, other: &Setting) -> bool {
        (&self.kind, &self.interface) == (&other.kind, &other.interface)
    }

    /// As it is now.
    fn before(&self) -> Option<Setting> {
        let value = fs::read_to_string(self.path()).ok()?;
        Some(Setting::new(&self.kind, &self.interface, value.trim()))
    }

    /// Router advertisements matter only where they are accepted now.
    fn is_needed(&self) -> bool {
        let Some(before) = self.before() else {
            return false;
        };
        match self.kind.as_str() {
            "ra" => before.value == "1",
            _ => before.value != self.value,
        }
    }

    fn write(&self) -> Result<()> {
        let path = self.path();
        fs::write(&path, &self.value).with_context(|| path.display().to_string())
    }

    fn text(&self) -> String {
        let Setting {
            kind,
            interface,
            value,
        } = self;
        format!("{kind}:{interface}={value}")
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        let (interface, value) = rest.rsplit_once('=')?;
        Some(Setting::new(kind, interface, value))
    }
}

/// What a table's comment says, in the order in which it is to be put back: the last one first.
fn settings_in(table: &str) -> Vec<Setting> {
    let comment = table.lines().find_map(|line| {
        let text = line.trim().strip_prefix("comment \"")?;
        text.strip_suffix('"')
    });
    let words = comment.unwrap_or_default().split_whitespace();
    words.rev().filter_map(Setting::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_tells_what_was_before() {
        let settings = [
            Setting::new("ra", "eth0.7", "1"),
            Setting::new("6", "all", "0"),
        ];
        let texts: Vec<String> = settings.iter().map(Setting::text).collect();
        let table = format!(
            "table inet weftline-wl0 {{\n\tcomment \"{}\"\n}}\n",
            texts.join(" ")
        );
        let [ra, all] = settings;
        assert_eq!(settings_in(&table), [all, ra]);
        assert_eq!(settings_in("table inet weftline-wl0 {\n}\n"), []);
    }
}
