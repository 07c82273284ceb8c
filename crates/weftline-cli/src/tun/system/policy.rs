//! Which packets go into the tunnel: rules of policy routing, and routing tables of the device's own.
//!
//! For every length of a prefix that goes into the tunnel there are a table and two rules, longer prefixes
//! first:
//!
//! ```text
//! not fwmark MARK lookup main suppress_prefixlength LENGTH      the host's more special routes come first
//! not fwmark MARK lookup TABLE                                  then the tunnel's of this length
//! ```
//!
//! So of all routes, those of `main` and of all tunnels together, the most special one counts, and of two
//! as special as each other the tunnel's. The tunnel's own packets carry the mark and see none of it,
//! wherever the server is. With the kill switch a table has the same prefixes once more, as `unreachable`
//! with the worst metric: these stay when the device is gone, until somebody removes them.
//!
//! A packet of the server has no mark when it arrives, and a reverse path filter (`rp_filter`) would ask
//! the rules for the way back and drop it. One more rule answers that for the server's addresses and ports.
//!
//! Tables, mark and the priorities of the rules are the same whenever a device has the same name: so a
//! later run finds what a killed one has left, and nothing has to be written down.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weftline_apps::tun::IpNet;

use crate::system::IP;

/// The upper half of each mark: "wl". That of a table is this and the length of its prefixes.
const FAMILY: u32 = 0x776c_0000;
/// Priority of the rules for the longest prefix, 128 bits; those of `main` have 32766.
const PRIORITY: usize = 30_000;
/// The worst metric: any other route is better.
const WORST: u32 = u32::MAX;

/// The mark of the sockets of the tunnel `name`: FNV-1a, folded to 16 bits.
pub(super) fn mark(name: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, step);
    FAMILY | ((hash >> 16) ^ hash) & 0xffff
}

/// The routing table of the tunnel with this mark for prefixes of this length.
fn table(mark: u32, length: u8) -> u32 {
    mark + (u32::from(length) << 16)
}

/// What is wanted of the system for one tunnel.
#[derive(Clone, Debug, Default)]
pub(super) struct Policy {
    /// Prefixes that go through the device.
    pub(super) through: Vec<IpNet>,
    /// Prefixes that go nowhere, unless through the device.
    pub(super) blocked: Vec<IpNet>,
    /// Where the server answers.
    pub(super) servers: Vec<SocketAddr>,
    /// What is blocked already stays blocked: it is not known yet what will be wanted.
    pub(super) keeps_blocked: bool,
}

/// Rules and routes of one IP version, in the words of `ip`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    rules: BTreeSet<String>,
    routes: BTreeSet<String>,
}

impl Policy {
    /// Changes the system to what is wanted for the tunnel `name`; what is there already stays as it is.
    /// Returns whether anything was changed.
    ///
    /// # Errors
    /// The system refuses a part; the rest is as it was, or as it is wanted.
    pub(super) fn apply(&self, name: &str) -> Result<bool> {
        let mut is_changed = false;
        for version in versions() {
            let (mut wanted, present) = (self.words(name, version), Words::present(name, version)?);
            if self.keeps_blocked {
                wanted.keep_blocked(&present);
            }
            let batch = present.to(&wanted);
            if !batch.is_empty() {
                IP.run(&[version, "-batch", "-"], &batch)
                    .context("routes of the tunnel")?;
                is_changed = true;
            }
        }
        Ok(is_changed)
    }

    fn words(&self, name: &str, version: &str) -> Words {
        let mark = mark(name);
        let mut words = Words::default();
        let mut add = |nets: &[IpNet], route: &dyn Fn(String) -> String| {
            let ours = |net: &&IpNet| net.addr().is_ipv4() == (version == "-4");
            for net in nets.iter().filter(ours) {
                let length = net.prefix_len();
                let (table, priority) = (
                    table(mark, length),
                    PRIORITY + 2 * (128 - usize::from(length)),
                );
                words.rules.extend([
                    format!("pref {priority} not fwmark {mark:#x} lookup main suppress_prefixlength {length}"),
                    format!("pref {} not fwmark {mark:#x} lookup {table}", priority + 1),
                ]);
                let route = route(destination(net));
                words.routes.insert(format!("{route} table {table}"));
            }
        };
        add(&self.through, &|to| format!("{to} dev {name}"));
        add(&self.blocked, &|to| {
            format!("unreachable {to} metric {WORST}")
        });
        if words.rules.is_empty() {
            return words;
        }
        let servers = self.servers.iter();
        for server in servers.filter(|server| server.is_ipv4() == (version == "-4")) {
            let (ip, port, priority) = (server.ip(), server.port(), PRIORITY - 1);
            // `not` would turn all of its conditions round. With this mask no bit of the mark counts: it is
            // there for the rule to be found by.
            let mask = !mark;
            words.rules.insert(format!(
                "pref {priority} fwmark {mark:#x}/{mask:#x} to {ip} ipproto udp dport {port} lookup main"
            ));
        }
        words
    }
}

impl Words {
    /// What the system has of the tunnel `name`.
    fn present(name: &str, version: &str) -> Result<Self> {
        let mut words = Words::default();
        let mark = format!("{:#x}", mark(name));
        let rules = IP.json(&[version, "rule", "show"])?;
        for rule in rules.iter().filter(|rule| rule["fwmark"] == mark.as_str()) {
            words.rules.insert(rule_in_words(rule));
            // Rules come before routes and go after them: so each table with a route has one.
            let table = rule["table"].as_str().filter(|table| *table != "main");
            if let Some(table) = table {
                words.routes.extend(routes_of(name, version, table)?);
            }
        }
        Ok(words)
    }

    /// Wants what is blocked in `present` too, and the rules that lead there.
    fn keep_blocked(&mut self, present: &Words) {
        let blocked = present.routes.iter();
        let blocked = blocked.filter(|words| words.starts_with("unreachable "));
        self.routes.extend(blocked.cloned());
        self.rules.extend(present.rules.iter().cloned());
    }

    /// The commands that lead from here to `wanted`, without a gap in what both have.
    fn to(&self, wanted: &Words) -> String {
        let mut batch = String::new();
        let mut change = |what: &str, from: &BTreeSet<String>, to: &BTreeSet<String>| {
            for words in to.difference(from) {
                batch += &format!("{what} {words}\n");
            }
        };
        change("rule add", &self.rules, &wanted.rules);
        change("route add", &self.routes, &wanted.routes);
        change("route del", &wanted.routes, &self.routes);
        change("rule del", &wanted.rules, &self.rules);
        batch
    }
}

/// The routes of a table, in the words in which they were added.
fn routes_of(name: &str, version: &str, table: &str) -> Result<Vec<String>> {
    let shown = IP.output(&[version, "-j", "route", "show", "table", table], "")?;
    if !shown.status.success() {
        // A table without a route does not exist, and the exit status says so.
        return Ok(Vec::new());
    }
    let routes: Vec<Value> = serde_json::from_slice(&shown.stdout).context("the answer of `ip`")?;
    let words = |route: &Value| {
        let to = route["dst"].as_str().unwrap_or_default();
        let device = route["dev"].as_str().unwrap_or_default();
        match route["type"] == "unreachable" {
            true => Ok(format!(
                "unreachable {to} metric {} table {table}",
                route["metric"]
            )),
            false if device == name => Ok(format!("{to} dev {name} table {table}")),
            false => bail!(
                "the device {device} uses routing table {table} of {name}: choose another --name"
            ),
        }
    };
    routes.iter().map(words).collect()
}

/// A rule as `ip` shows it, in the words in which it was added.
fn rule_in_words(rule: &Value) -> String {
    let text = |field: &str| rule[field].as_str().unwrap_or_default().to_owned();
    let mut words = format!("pref {}", rule["priority"]);
    if rule.get("not").is_some() {
        words += " not";
    }
    words += &format!(" fwmark {}", text("fwmark"));
    if rule["dport"].is_number() {
        let (mask, to, proto) = (text("fwmask"), text("dst"), text("ipproto"));
        words += &format!("/{mask} to {to} ipproto {proto} dport {}", rule["dport"]);
    }
    words += &format!(" lookup {}", text("table"));
    if rule["suppress_prefixlen"].is_number() {
        words += &format!(" suppress_prefixlength {}", rule["suppress_prefixlen"]);
    }
    words
}

/// A prefix as `ip` shows it.
fn destination(net: &IpNet) -> String {
    match net.prefix_len() {
        0 => "default".to_owned(),
        length if length == net.max_prefix_len() => net.addr().to_string(),
        _ => net.to_string(),
    }
}

/// The IP versions that this host has.
fn versions() -> impl Iterator<Item = &'static str> {
    let v6 = Path::new("/proc/sys/net/ipv6").exists();
    ["-4", "-6"].into_iter().take(1 + usize::from(v6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_default_route_gives_the_rules_that_wg_quick_has_too() {
        let policy = Policy {
            through: nets(&["0.0.0.0/0"]),
            servers: vec!["192.0.2.1:9338".parse().unwrap()],
            ..Policy::default()
        };
        let mark = mark("wl0");
        let words = policy.words("wl0", "-4");
        let rules: Vec<String> = words.rules.into_iter().collect();
        assert_eq!(
            rules,
            [
                format!(
                    "pref 29999 fwmark {mark:#x}/{:#x} to 192.0.2.1 ipproto udp dport 9338 lookup main",
                    !mark
                ),
                format!("pref 30256 not fwmark {mark:#x} lookup main suppress_prefixlength 0"),
                format!("pref 30257 not fwmark {mark:#x} lookup {}", table(mark, 0)),
            ]
        );
        let route = format!("default dev wl0 table {}", table(mark, 0));
        assert_eq!(words.routes, BTreeSet::from([route]));
        assert_eq!(policy.words("wl0", "-6"), Words::default());
    }

    #[test]
    fn what_is_there_stays_and_nothing_goes_before_its_successor_is_there() {
        let table = table(mark("wl0"), 8);
        let blocked = Policy {
            blocked: nets(&["10.0.0.0/8"]),
            ..Policy::default()
        };
        let up = Policy {
            through: nets(&["10.0.0.0/8"]),
            ..blocked.clone()
        };
        let (blocked, up) = (blocked.words("wl0", "-4"), up.words("wl0", "-4"));
        let change = format!("route add 10.0.0.0/8 dev wl0 table {table}\n");
        assert_eq!(blocked.to(&up), change);
        assert_eq!(up.to(&up), "");
        let all = up.to(&Words::default());
        let kinds: Vec<&str> = all.lines().map(|line| &line[..9]).collect();
        assert_eq!(kinds, ["route del", "route del", "rule del ", "rule del "]);
    }

    #[test]
    fn a_new_run_keeps_closed_what_the_last_one_left_closed() {
        let left = Policy {
            blocked: nets(&["0.0.0.0/0", "10.66.0.0/24"]),
            through: nets(&["10.9.0.0/16"]),
            ..Policy::default()
        };
        let known = Policy {
            blocked: nets(&["0.0.0.0/0"]),
            ..Policy::default()
        };
        let (left, mut wanted) = (left.words("wl0", "-4"), known.words("wl0", "-4"));
        wanted.keep_blocked(&left);
        let table = table(mark("wl0"), 16);
        assert_eq!(
            left.to(&wanted),
            format!("route del 10.9.0.0/16 dev wl0 table {table}\n")
        );
    }

    #[test]
    fn names_have_marks_of_their_own() {
        assert_eq!(mark("wl0"), mark("wl0"));
        assert_ne!(mark("wl0"), mark("wl1"));
        assert_eq!(mark("wl0") & 0xffff_0000, FAMILY);
    }
}
