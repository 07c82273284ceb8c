//! Addresses as people type them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use crate::names::names;

/// UDP port used when none is given: WEFT on a telephone's keys.
pub const DEFAULT_PORT: u16 = 9338;

/// A host name or IP address and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    host: String,
    port: u16,
}

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAddress(String);

impl BadAddress {
    fn new(text: &str) -> Self {
        BadAddress(format!(
            "`{text}` is not an address: give HOST, HOST:PORT, IPv4:PORT or [IPv6]:PORT"
        ))
    }

    /// A resolver would read a number as an IPv4 address, which nobody means: `9460` is 0.0.36.244.
    fn without_host(text: &str) -> Self {
        match text.parse::<u16>() {
            Ok(port) => BadAddress(format!("`{text}` has no host: give HOST:{port}")),
            Err(_) => BadAddress::new(text),
        }
    }
}

/// The address of a host is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownHost {
    /// Its name has no address.
    #[error("`{0}` has no known address: check the name, or give an IP address")]
    NoAddress(String),
    /// Its name was not resolved in time.
    #[error(
        "the address of `{host}` was not found within {seconds} s: check this host's name servers, or give an IP address"
    )]
    NoAnswer {
        /// The name.
        host: String,
        /// In seconds, the time that was waited.
        seconds: u64,
    },
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress::new(text);
        let parse_port = |port: &str| port.parse().map_err(|_| bad());
        let (host, port) = if text.parse::<Ipv6Addr>().is_ok() {
            (text, DEFAULT_PORT)
        } else if let Some((host, rest)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
            host.parse::<Ipv6Addr>().map_err(|_| bad())?;
            match rest.strip_prefix(':') {
                Some(port) => (host, parse_port(port)?),
                None if rest.is_empty() => (host, DEFAULT_PORT),
                None => return Err(bad()),
            }
        } else if let Some((host, port)) = text.rsplit_once(':') {
            (host, parse_port(port)?)
        } else {
            (text, DEFAULT_PORT)
        };
        let odd = |c: char| c.is_whitespace() || c.is_control() || "[]/@".contains(c);
        if host.is_empty()
            || host.contains(odd)
            || (host.contains(':') && host.parse::<Ipv6Addr>().is_err())
        {
            return Err(bad());
        }
        if host.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadAddress::without_host(text));
        }
        Ok(Address {
            host: host.to_owned(),
            port,
        })
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Address {
            host: addr.ip().to_string(),
            port: addr.port(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl Address {
    /// The name or address of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The socket addresses of this host and port, one to eight.
    ///
    /// # Errors
    /// The name cannot be resolved within 5 s.
    pub async fn resolve(&self) -> Result<Vec<SocketAddr>, UnknownHost> {
        names().own(self).await
    }
}

/// The address to bind to when talking to `peer`.
pub(crate) fn any_like(peer: SocketAddr) -> SocketAddr {
    let ip = if peer.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    SocketAddr::new(ip, 0)
}

/// Where local programs send a flow, as in `udp://` and `rtp://`: `IP:PORT`, or `:PORT` for this host only. The
/// `@` that some media programs write before an address to listen on is accepted.
pub fn local_flow(text: &str) -> Option<SocketAddr> {
    let text = text.strip_prefix('@').unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    match text.strip_prefix(':') {
        Some(port) => Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_people_type_are_read() {
        for (text, shown) in [
            ("host", "host:9338"),
            ("host:1", "host:1"),
            ("192.0.2.7", "192.0.2.7:9338"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("::1", "[::1]:9338"),
            ("[::1]", "[::1]:9338"),
            ("[::1]:0", "[::1]:0"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
        let addr: SocketAddr = "[::1]:5".parse().unwrap();
        assert_eq!(Address::from(addr), "[::1]:5".parse().unwrap());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            ":1",
            "host:",
            "host:x",
            "host:99999",
            "[::1",
            "[::1]x",
            "[host]:1",
            "a b",
            "u@h",
            "1:2:3",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_is_no_host() {
        let read = |text: &str| text.parse::<Address>().map_err(|error| error.to_string());
        assert_eq!(
            read("9460"),
            Err("`9460` has no host: give HOST:9460".into())
        );
        for text in ["70000", "9460:80", "0:80"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("is not an address: give HOST"), "{error}");
        }
        assert!(read("9460.example").is_ok() && read("a9460").is_ok());
    }

    #[tokio::test]
    async fn numbers_need_no_resolver() {
        let address: Address = "127.0.0.1:5".parse().unwrap();
        assert_eq!(
            address.resolve().await.unwrap(),
            ["127.0.0.1:5".parse().unwrap()]
        );
    }
}
