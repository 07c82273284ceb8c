//! The configuration of a path.

use std::path::PathBuf;

use weftline_netem::LinkConfig;

use super::error::PathError;
use crate::links::Links;

/// MTU of a device whose link gives none.
const DEFAULT_MTU: u16 = 1500;
/// Smallest MTU of a device (RFC 791: every link carries 68 bytes).
const MIN_MTU: u16 = 68;

/// Arguments of [`Lab::open`](super::Lab::open).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PathConfig {
    /// Both directions.
    pub links: Links,
    /// Seed of all random choices: the same seed loses the same packets, counted from the first.
    pub seed: u64,
    /// MTU of both devices. Without it each device has the MTU of the link it sends into, or 1500.
    /// A packet longer than its link's MTU is dropped on the path, so a larger device MTU makes a
    /// path that drops large packets silently.
    pub mtu: Option<u16>,
    /// Capture file for delivered packets.
    pub pcap: Option<PathBuf>,
}

impl PathConfig {
    /// Links with seed 1, no capture.
    pub fn new(links: Links) -> Self {
        Self {
            links,
            seed: 1,
            mtu: None,
            pcap: None,
        }
    }

    /// The device's MTU on the side that sends into `link`.
    pub(crate) fn device_mtu(&self, link: &LinkConfig) -> Result<u16, PathError> {
        let mtu = match (self.mtu, link.mtu) {
            (Some(mtu), _) => mtu,
            (None, Some(mtu)) => u16::try_from(mtu).unwrap_or(u16::MAX),
            (None, None) => DEFAULT_MTU,
        };
        if mtu < MIN_MTU {
            let message =
                format!("an MTU of {mtu} is too small for an IP packet: give at least {MIN_MTU}");
            return Err(PathError::Setting(message));
        }
        Ok(mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_the_mtu_of_the_link_they_send_into() {
        let mut config = PathConfig::new(Links::parse("mtu=1400", Some("delay=1ms")).unwrap());
        let mtus = |c: &PathConfig| (c.device_mtu(&c.links.forward), c.device_mtu(&c.links.back));
        assert!(matches!(mtus(&config), (Ok(1400), Ok(1500))));
        config.mtu = Some(9000);
        assert!(matches!(mtus(&config), (Ok(9000), Ok(9000))));
        config.mtu = Some(67);
        assert!(mtus(&config).0.is_err());
    }
}
