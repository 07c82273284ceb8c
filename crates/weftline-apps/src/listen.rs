//! Addresses to listen on, as people type them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use crate::address::DEFAULT_PORT;

/// An address of this host to listen on: `PORT`, `ADDR`, `ADDR:PORT` or `:PORT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// None was given.
    Usual,
    Every,
    Ip(IpAddr),
}

/// The text is not an address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an address to listen on: give {forms}")]
pub struct BadListen {
    text: String,
    /// What would be one.
    forms: &'static str,
}

/// For peers, the port may be left out.
const FOR_PEERS: &str = "PORT, :PORT, ADDR or ADDR:PORT, where ADDR is an address of this host such as 192.0.2.7 or [::1]";
const FOR_PROGRAMS: &str = "PORT, ADDR:PORT where ADDR is an address of this host such as 192.0.2.7 or [::1], or :PORT for every address of this host";

impl FromStr for Listen {
    type Err = BadListen;

    fn from_str(text: &str) -> Result<Self, BadListen> {
        let parse_port = |text: &str| text.parse().ok();
        let read = if let Some(port) = parse_port(text) {
            Some((Host::Usual, Some(port)))
        } else if let Some(host) = parse_host(text) {
            Some((host, None))
        } else {
            text.rsplit_once(':').and_then(|(host, port)| {
                let host = match host {
                    "" => Host::Every,
                    // Without brackets the last group may be the port.
                    host if host.parse::<Ipv6Addr>().is_ok() => return None,
                    host => parse_host(host)?,
                };
                Some((host, Some(parse_port(port)?)))
            })
        };
        let (host, port) = read.ok_or_else(|| BadListen {
            text: text.to_owned(),
            forms: FOR_PEERS,
        })?;
        Ok(Listen { host, port })
    }
}

fn parse_host(text: &str) -> Option<Host> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    match (text, bare) {
        ("*", _) => Some(Host::Every),
        ("localhost", _) => Some(Host::Ip(Ipv4Addr::LOCALHOST.into())),
        (_, Some(bare)) => bare.parse().ok().map(|ip: Ipv6Addr| Host::Ip(ip.into())),
        (text, None) => text.parse().ok().map(Host::Ip),
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host, self.port) {
            (Host::Usual, port) => write!(f, "{}", port.unwrap_or(DEFAULT_PORT)),
            (Host::Every, port) => write!(f, ":{}", port.unwrap_or(DEFAULT_PORT)),
            (Host::Ip(ip), None) => ip.fmt(f),
            (Host::Ip(ip), Some(port)) => SocketAddr::new(ip, port).fmt(f),
        }
    }
}

impl Listen {
    /// Where a server waits for its peers, the preferred address first; without a host on every
    /// address of this host, by IPv6 and IPv4 or else by IPv4 alone, and without a port on
    /// [`DEFAULT_PORT`].
    pub fn for_peers(self) -> Vec<SocketAddr> {
        let port = self.port.unwrap_or(DEFAULT_PORT);
        match self.host {
            Host::Ip(ip) => vec![(ip, port).into()],
            Host::Usual | Host::Every => vec![
                (Ipv6Addr::UNSPECIFIED, port).into(),
                (Ipv4Addr::UNSPECIFIED, port).into(),
            ],
        }
    }

    /// Reads where programs of this host connect to, as [`for_programs`](Self::for_programs).
    ///
    /// # Errors
    /// The text is no address to listen on, or has no port.
    pub fn read_for_programs(text: &str) -> Result<SocketAddr, BadListen> {
        let read = text.parse().and_then(Listen::for_programs);
        read.map_err(|_| BadListen {
            text: text.to_owned(),
            forms: FOR_PROGRAMS,
        })
    }

    /// Where programs of this host connect to: without a host on 127.0.0.1.
    ///
    /// # Errors
    /// There is no port.
    pub fn for_programs(self) -> Result<SocketAddr, BadListen> {
        let port = self.port.ok_or_else(|| BadListen {
            text: self.to_string(),
            forms: FOR_PROGRAMS,
        })?;
        Ok(match self.host {
            Host::Usual => (Ipv4Addr::LOCALHOST, port).into(),
            Host::Every => (Ipv6Addr::UNSPECIFIED, port).into(),
            Host::Ip(ip) => (ip, port).into(),
        })
    }
}

/// Every address of this host, with [`DEFAULT_PORT`].
impl Default for Listen {
    fn default() -> Self {
        Listen {
            host: Host::Usual,
            port: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(text: &str) -> Vec<String> {
        let listen: Listen = text.parse().unwrap();
        let all = listen.for_peers();
        all.iter().map(ToString::to_string).collect()
    }

    fn programs(text: &str) -> String {
        let at = Listen::read_for_programs(text);
        at.map_or_else(|error| error.to_string(), |at| at.to_string())
    }

    #[test]
    fn a_server_listens_on_every_address_unless_one_is_given() {
        for text in ["9460", ":9460", "*:9460"] {
            assert_eq!(peers(text), ["[::]:9460", "0.0.0.0:9460"], "{text}");
        }
        assert_eq!(peers("192.0.2.7"), ["192.0.2.7:9338"]);
        assert_eq!(peers("192.0.2.7:1"), ["192.0.2.7:1"]);
        assert_eq!(peers("::1"), ["[::1]:9338"]);
        assert_eq!(peers("[::1]:0"), ["[::1]:0"]);
        let default = Listen::default().for_peers();
        assert!(default.iter().all(|at| at.port() == DEFAULT_PORT));
    }

    #[test]
    fn a_port_alone_is_open_to_programs_of_this_host_only() {
        assert_eq!(programs("8080"), "127.0.0.1:8080");
        assert_eq!(programs("localhost:8080"), "127.0.0.1:8080");
        assert_eq!(programs(":8080"), "[::]:8080");
        assert_eq!(programs("[::1]:80"), "[::1]:80");
        assert!(programs("192.0.2.7").contains("`192.0.2.7` is not"));
    }

    #[test]
    fn an_error_names_the_forms_that_are_possible() {
        let error = "host".parse::<Listen>().unwrap_err().to_string();
        assert!(
            error.contains("give PORT, :PORT, ADDR or ADDR:PORT"),
            "{error}"
        );
        // An address for programs needs its port.
        for text in ["host", "192.0.2.7"] {
            let error = programs(text);
            assert!(error.contains("give PORT, ADDR:PORT where"), "{error}");
            assert!(error.contains("or :PORT for every address"), "{error}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            ":",
            "host",
            "host:1",
            "1.2.3.4:",
            "99999",
            ":99999",
            "[::1]x",
            "::1:x",
            "[1.2.3.4]:5",
            "a b",
        ] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }
}
