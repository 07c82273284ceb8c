//! Network interfaces by name or address.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network interface of this host, by its name or one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The interface that has this address.
    Address(IpAddr),
    /// The interface of this name.
    Name(String),
}

/// There is no such interface.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// The system does not list its interfaces.
    #[error("cannot list this host's interfaces: {0}")]
    List(std::io::Error),
    /// No interface has this name or address.
    #[error("this host has no interface {interface}: give the name or an address of one of {}", .known.join(", "))]
    Unknown {
        /// The given name or address.
        interface: Interface,
        /// The known names.
        known: Vec<String>,
    },
}

impl FromStr for Interface {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.parse() {
            Ok(address) => Interface::Address(address),
            Err(_) => Interface::Name(text.to_owned()),
        })
    }
}

/// An interface in the form that sockets need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its IPv4 address, if it has one.
    pub(super) address: Option<Ipv4Addr>,
    /// Its index; 0 means that the system chooses.
    pub(super) index: u32,
    /// The IPv6 address that names it: sent packets carry it.
    pub(super) source: Option<Ipv6Addr>,
}

impl Found {
    /// The system chooses.
    pub(super) const ANY: Found = Found {
        address: Some(Ipv4Addr::UNSPECIFIED),
        index: 0,
        source: None,
    };
}

impl Interface {
    /// Looks up the interface on this host.
    ///
    /// # Errors
    /// There is no such interface.
    pub(super) fn find(&self) -> Result<Found, InterfaceError> {
        let all = if_addrs::get_if_addrs().map_err(InterfaceError::List)?;
        let is_it = |one: &&if_addrs::Interface| match self {
            Interface::Address(address) => one.ip() == *address,
            Interface::Name(name) => one.name == *name,
        };
        let Some(first) = all.iter().find(is_it) else {
            let mut known: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
            known.dedup();
            return Err(InterfaceError::Unknown {
                interface: self.clone(),
                known,
            });
        };
        let address = match self {
            Interface::Address(IpAddr::V4(address)) => Some(*address),
            _ => all.iter().find_map(|one| match one.ip() {
                IpAddr::V4(address) if one.name == first.name => Some(address),
                _ => None,
            }),
        };
        let source = match self {
            Interface::Address(IpAddr::V6(source)) => Some(*source),
            _ => None,
        };
        Ok(Found {
            address,
            index: first.index.unwrap_or(0),
            source,
        })
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Interface::Address(address) => address.fmt(f),
            Interface::Name(name) => write!(f, "`{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str) -> Result<Found, InterfaceError> {
        let Ok(interface) = text.parse::<Interface>();
        interface.find()
    }

    #[test]
    fn the_loopback_interface_is_found_by_its_address() {
        let found = find("127.0.0.1").unwrap();
        assert_eq!(found.address, Some(Ipv4Addr::LOCALHOST));
        assert_ne!(found.index, 0);
    }

    #[test]
    fn the_error_for_an_unknown_interface_lists_the_known_ones() {
        let error = find("no-such-thing").unwrap_err();
        assert!(matches!(error, InterfaceError::Unknown { .. }));
        assert!(error.to_string().contains("no-such-thing"), "{error}");
    }
}
