//! The target of a flow's datagrams.

use std::fmt;
use std::str::FromStr;

use crate::address::Address;

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target(Address);

/// The text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a target: give HOST:PORT, IPv4:PORT or [IPv6]:PORT")]
pub struct BadTarget(String);

impl Target {
    /// The target's address.
    pub fn address(&self) -> &Address {
        &self.0
    }
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let bad = || BadTarget(text.to_owned());
        let address: Address = text.parse().map_err(|_| bad())?;
        // An address without a port gets Weftline's own port, which is never meant here.
        if address.to_string() != text || address.port() == 0 {
            return Err(bad());
        }
        Ok(Target(address))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_needs_its_port() {
        for text in ["127.0.0.1:51820", "[::1]:53", "game.example:27015"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["", "host", "::1", "[::1]", "host:0", "host:99999", "a b:1"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
