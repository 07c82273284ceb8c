//! The targets that the far end lets its peers reach: only those it was given.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use weftline::Fingerprint;

use crate::address::UnknownHost;
use crate::lock::lock;
use crate::names::names;
use crate::target::Target;

/// Targets that may be reached, as people write them: hosts and ports, as in
/// `10.0.0.0/8:5000-5999`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    hosts: Hosts,
    ports: RangeInclusive<u16>,
}

/// Rules that may change while a server runs. Clones share them.
#[derive(Clone, Debug)]
pub struct Rules(Arc<Mutex<Arc<[Allow]>>>);

impl Rules {
    /// From now on these rules count, for what peers ask for later. Returns whether they differ from those before.
    pub fn replace(&self, rules: Vec<Allow>) -> bool {
        let mut now = lock(&self.0);
        let changed = **now != *rules;
        *now = rules.into();
        changed
    }

    /// The rules that count now.
    pub(crate) fn now(&self) -> Arc<[Allow]> {
        lock(&self.0).clone()
    }
}

impl From<Vec<Allow>> for Rules {
    fn from(rules: Vec<Allow>) -> Self {
        Rules(Arc::new(Mutex::new(rules.into())))
    }
}

impl Default for Rules {
    fn default() -> Self {
        Vec::new().into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Any,
    /// A host name that must be asked for by exactly this name.
    Name(String),
    /// Addresses with the same first bits as this one.
    Net(IpAddr, u8),
}

/// A target must not be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// No rule allows it.
    #[error("{0} is not allowed here")]
    NotAllowed(String),
    /// Its name cannot be resolved.
    #[error(transparent)]
    Unknown(#[from] UnknownHost),
}

impl Allow {
    fn has_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    fn has_name(&self, host: &str) -> bool {
        match &self.hosts {
            Hosts::Any => true,
            Hosts::Name(name) => name.eq_ignore_ascii_case(host),
            Hosts::Net(..) => false,
        }
    }

    /// Whether this address may be used. Port 0, which stands for any free port, needs a rule for
    /// every port.
    pub(crate) fn has(&self, address: SocketAddr) -> bool {
        let any_port = *self.ports.start() == 1 && *self.ports.end() == u16::MAX;
        let port = address.port();
        (self.has_port(port) || port == 0 && any_port) && self.has_address(address.ip())
    }

    fn has_address(&self, ip: IpAddr) -> bool {
        match &self.hosts {
            Hosts::Any => true,
            Hosts::Name(_) => false,
            Hosts::Net(net, bits) => first_bits(*net, *bits) == first_bits(ip, *bits),
        }
    }
}

/// The addresses at which `target`, which this peer asks for, may be reached, at least one.
///
/// A name is resolved here, and rules for addresses are checked against the addresses found: a
/// name that another party controls cannot lead to a forbidden address.
///
/// # Errors
/// See [`Refused`].
pub(crate) async fn permit(
    rules: &[Allow],
    target: &Target,
    peer: Option<Fingerprint>,
) -> Result<Vec<SocketAddr>, Refused> {
    let (host, port) = (target.address().host(), target.address().port());
    let refused = || Refused::NotAllowed(target.to_string());
    let rules: Vec<_> = rules.iter().filter(|r| r.has_port(port)).collect();
    if rules.is_empty() {
        return Err(refused());
    }
    let by_name = rules.iter().any(|r| r.has_name(host));
    let by_address = rules.iter().any(|r| matches!(r.hosts, Hosts::Net(..)));
    if !by_name && !by_address {
        return Err(refused());
    }
    let found = names().of_peer(peer, target.address()).await?;
    let allowed: Vec<_> = found
        .into_iter()
        .map(|a| SocketAddr::new(a.ip().to_canonical(), a.port()))
        .filter(|a| by_name || rules.iter().any(|r| r.has_address(a.ip())))
        .collect();
    if allowed.is_empty() {
        return Err(refused());
    }
    Ok(allowed)
}

/// The family and the first `bits` of an address.
fn first_bits(ip: IpAddr, bits: u8) -> (bool, u128) {
    let shifted = |value: u128, width: u32| {
        let drop = width.saturating_sub(u32::from(bits));
        value.checked_shr(drop).unwrap_or(0)
    };
    match ip {
        IpAddr::V4(ip) => (false, shifted(u128::from(u32::from(ip)), 32)),
        IpAddr::V6(ip) => (true, shifted(u128::from(ip), 128)),
    }
}

/// The text names no targets; the message says what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAllow(String);

impl FromStr for Allow {
    type Err = BadAllow;

    fn from_str(text: &str) -> Result<Self, BadAllow> {
        if text.parse::<Fingerprint>().is_ok() {
            return Err(BadAllow(format!(
                "`{text}` is a fingerprint: --peer says who may use it, --allow what they may reach"
            )));
        }
        let bad = |what: &str| {
            BadAllow(format!(
                "`{text}` {what}: give HOST:PORT, for example 127.0.0.1:51820, 10.0.0.0/8:5000-5999, [fd00::/8]:53, media.example:* or *:27015"
            ))
        };
        let (hosts, ports) = text.rsplit_once(':').ok_or_else(|| bad("has no port"))?;
        let hosts = parse_hosts(hosts).ok_or_else(|| bad("has no valid host"))?;
        let ports = parse_ports(ports).ok_or_else(|| bad("has no valid port"))?;
        Ok(Allow { hosts, ports })
    }
}

fn parse_hosts(text: &str) -> Option<Hosts> {
    if text == "*" {
        return Some(Hosts::Any);
    }
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    let (address, bits) = match bare.unwrap_or(text).split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
        None => (bare.unwrap_or(text), None),
    };
    match address.parse::<IpAddr>() {
        // An IPv6 address without brackets may have lost its last group to the port.
        Ok(ip) if ip.is_ipv6() != bare.is_some() => None,
        Ok(ip) => {
            let width = if ip.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(width);
            (bits <= width).then_some(Hosts::Net(ip, bits))
        }
        Err(_) => {
            let named = bits.is_none() && bare.is_none();
            let name: Target = format!("{address}:1").parse().ok()?;
            named.then(|| Hosts::Name(name.address().host().to_owned()))
        }
    }
}

fn parse_ports(text: &str) -> Option<RangeInclusive<u16>> {
    let port = |text: &str| text.parse::<u16>().ok().filter(|&p| p > 0);
    if text == "*" {
        return Some(1..=u16::MAX);
    }
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (port(first)?, port(last)?),
        None => (port(text)?, port(text)?),
    };
    (first <= last).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn permitted(rules: &[&str], target: &str) -> Result<Vec<SocketAddr>, Refused> {
        let rules: Vec<Allow> = rules.iter().map(|r| r.parse().unwrap()).collect();
        permit(&rules, &target.parse().unwrap(), None).await
    }

    #[tokio::test]
    async fn only_what_is_listed_is_allowed() {
        let rules = [
            "127.0.0.1:51820",
            "10.0.0.0/8:5000-5999",
            "[fd00::/8]:53",
            "192.0.2.0/31:*",
        ];
        for (target, allowed) in [
            ("127.0.0.1:51820", true),
            ("127.0.0.1:51821", false),
            ("127.0.0.2:51820", false),
            ("10.255.0.1:5000", true),
            ("10.0.0.1:5999", true),
            ("10.0.0.1:6000", false),
            ("11.0.0.1:5000", false),
            ("[fd12::1]:53", true),
            ("[fe80::1]:53", false),
            ("192.0.2.1:9", true),
            ("192.0.2.2:9", false),
            ("[::ffff:10.0.0.1]:5000", true),
            ("[::ffff:11.0.0.1]:5000", false),
        ] {
            let got = permitted(&rules, target).await;
            assert_eq!(got.is_ok(), allowed, "{target}: {got:?}");
        }
        assert!(permitted(&[], "127.0.0.1:1").await.is_err());
        assert!(permitted(&["*:7"], "198.51.100.1:7").await.is_ok());
    }

    #[tokio::test]
    async fn a_name_is_allowed_by_name_or_by_its_address() {
        assert!(permitted(&["LocalHost:7"], "localhost:7").await.is_ok());
        assert!(permitted(&["localhost:7"], "127.0.0.1:7").await.is_err());
        let found = permitted(&["127.0.0.0/8:7"], "localhost:7").await.unwrap();
        assert!(found.iter().all(|a| a.is_ipv4()), "{found:?}");
        let refused = permitted(&["192.0.2.1:7"], "localhost:7").await;
        assert_eq!(refused, Err(Refused::NotAllowed("localhost:7".into())));
    }

    #[test]
    fn any_free_port_may_be_used_only_where_every_port_may() {
        let has = |rule: &str, address: &str| {
            let rule: Allow = rule.parse().unwrap();
            rule.has(address.parse().unwrap())
        };
        assert!(has("127.0.0.1:2222", "127.0.0.1:2222"));
        assert!(!has("127.0.0.1:2222", "0.0.0.0:2222"));
        assert!(!has("127.0.0.1:2222", "127.0.0.1:0"));
        assert!(!has("127.0.0.1:1-65534", "127.0.0.1:0"));
        assert!(has("127.0.0.0/8:*", "127.0.0.1:0"));
        assert!(!has("localhost:*", "127.0.0.1:80"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "host",
            "host:",
            ":1",
            "host:0",
            "host:2-1",
            "10.0.0.0/33:1",
            "host/8:1",
            "::1",
            "fd00::1:53",
            "[host]:1",
            "[10.0.0.1]:1",
        ] {
            assert!(text.parse::<Allow>().is_err(), "{text}");
        }
        let fingerprint = Fingerprint::from([1; 20]).to_string();
        let error = fingerprint.parse::<Allow>().unwrap_err();
        assert!(error.to_string().contains("--peer"));
    }
}
