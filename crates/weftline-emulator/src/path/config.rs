//! The configuration of a path.

use std::path::PathBuf;

use weftline_netem::LinkConfig;

use super::error::PathError;
use crate::links::Links;

/// MTU of a device whose link gives none.
const DEFAULT_MTU: u16 = 1500;
/// Smallest MTU of a device (RFC 791: every link carries 68 bytes).
const MIN_MTU: u16 = 68;

/// The most links between the sides of one lab.
pub const MAX_LINKS: usize = 4;

/// Arguments of [`Lab::open`](super::Lab::open).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PathConfig {
    /// The links between the sides, both directions of each: one to [`MAX_LINKS`]. The first one is that of
    /// the sides' names, and the one that packets take unless their sender chooses another.
    pub links: Vec<Links>,
    /// Seed of all random choices: the same seed loses the same packets, counted from the first.
    pub seed: u64,
    /// MTU of all devices. Without it each device has the MTU of the link it sends into, or 1500.
    /// A packet longer than its link's MTU is dropped on the path, so a larger device MTU makes a
    /// path that drops large packets silently.
    pub mtu: Option<u16>,
    /// Capture file for delivered packets.
    pub pcap: Option<PathBuf>,
    /// Whether devices go down on purpose: what they drop then does not make the run invalid.
    pub devices_go_down: bool,
}

impl PathConfig {
    /// One link with seed 1, no capture.
    pub fn new(links: Links) -> Self {
        Self {
            links: vec![links],
            seed: 1,
            mtu: None,
            pcap: None,
            devices_go_down: false,
        }
    }

    /// Whether there are as many links as there can be.
    pub(crate) fn check_links(&self) -> Result<(), PathError> {
        match self.links.len() {
            1..=MAX_LINKS => Ok(()),
            count => Err(PathError::Setting(format!(
                "{count} links between the sides: give 1 to {MAX_LINKS}"
            ))),
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
        let mtus = |c: &PathConfig| {
            (
                c.device_mtu(&c.links[0].forward),
                c.device_mtu(&c.links[0].back),
            )
        };
        assert!(matches!(mtus(&config), (Ok(1400), Ok(1500))));
        config.mtu = Some(9000);
        assert!(matches!(mtus(&config), (Ok(9000), Ok(9000))));
        config.mtu = Some(67);
        assert!(mtus(&config).0.is_err());
    }

    #[test]
    fn a_lab_has_one_link_to_four() {
        let mut config = PathConfig::new(Links::parse("perfect", None).unwrap());
        for count in [0, 1, MAX_LINKS, MAX_LINKS + 1] {
            config.links = vec![config.links[0].clone(); count];
            assert_eq!(config.check_links().is_ok(), (1..=4).contains(&count));
            config.links = vec![Links::parse("perfect", None).unwrap()];
        }
    }
}
