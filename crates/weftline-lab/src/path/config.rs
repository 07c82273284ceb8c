//! What a path is made of.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use weftline_netem::{LinkConfig, NamedLink, Queue};

use super::error::PathError;

/// The queue of a link that has a rate and says nothing of a queue.
const DEFAULT_QUEUE: Queue = Queue::time(std::time::Duration::from_millis(100));
/// MTU of a device whose link gives none.
const DEFAULT_MTU: u16 = 1500;
/// Smallest MTU of a device (RFC 791: every link carries 68 bytes).
const MIN_MTU: u16 = 68;
/// Longest trace file that is read, in bytes.
const MAX_TRACE: u64 = 64 << 20;

/// Both directions of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    /// From side A to side B.
    pub forward: LinkConfig,
    /// From side B to side A.
    pub back: LinkConfig,
}

impl Links {
    /// Reads links as people write them.
    ///
    /// `link` is a link's text form or the name of a [`NamedLink`]. Without `back` the
    /// other direction is that of the named link, or has the same rate, delay, queue
    /// and MTU and loses nothing. A link with a rate but no `queue=` holds packets
    /// for 100 ms. Traces are read from files.
    ///
    /// # Errors
    /// Says which part cannot be read and what would be accepted.
    pub fn parse(link: &str, back: Option<&str>) -> Result<Self, PathError> {
        let wrong =
            |option: &str, e: &dyn std::fmt::Display| PathError::Setting(format!("{option}: {e}"));
        let is_name =
            |text: &str| !text.contains('=') && text.trim() != "perfect" && !text.trim().is_empty();
        let read = |option: &str, text: &str| {
            let mut config =
                LinkConfig::parse_with(text, &mut read_file).map_err(|e| wrong(option, &e))?;
            let says_queue = text
                .split_whitespace()
                .any(|part| part.starts_with("queue="));
            if !says_queue && (config.rate.is_some() || config.trace.is_some()) {
                config.queue = DEFAULT_QUEUE;
            }
            Ok(config)
        };
        let named =
            |option: &str, text: &str| NamedLink::find(text.trim()).map_err(|e| wrong(option, &e));
        let (forward, mut other) = if is_name(link) {
            named("--link", link)?.both()
        } else {
            let forward = read("--link", link)?;
            let mut other = LinkConfig::default().with_delay(forward.delay);
            (other.rate, other.queue, other.mtu) = (forward.rate, forward.queue, forward.mtu);
            (forward, other)
        };
        if let Some(back) = back {
            other = if is_name(back) {
                named("--back", back)?.back()
            } else {
                read("--back", back)?
            };
        }
        Ok(Self {
            forward,
            back: other,
        })
    }
}

/// What [`Lab::open`](super::Lab::open) needs to know.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PathConfig {
    /// Both directions.
    pub links: Links,
    /// What chance draws from; the same seed loses the same packets, counted from
    /// the first.
    pub seed: u64,
    /// MTU of both devices. Without it each has that of the link it sends into, or
    /// 1500. A packet longer than its link's MTU vanishes on the way, so a device MTU
    /// above it makes a path that drops large packets without telling.
    pub mtu: Option<u16>,
    /// Where to write what is delivered, as a capture file.
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
            let message = format!("an MTU of {mtu} carries no IP packet: give at least {MIN_MTU}");
            return Err(PathError::Setting(message));
        }
        Ok(mtu)
    }
}

fn read_file(name: &str) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(name).map_err(|e| e.to_string())?;
    let read = file.take(MAX_TRACE + 1).read_to_string(&mut text);
    match read.map_err(|e| e.to_string())? as u64 {
        0..=MAX_TRACE => Ok(text),
        _ => Err(format!("it is longer than {} MB", MAX_TRACE >> 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_way_back_is_as_fast_and_loses_nothing_unless_said() {
        let links = Links::parse(
            "rate=25mbit delay=30ms loss=iid:5% jitter=1ms mtu=1400",
            None,
        )
        .unwrap();
        assert_eq!(
            links.back.to_string(),
            "rate=25mbit delay=30ms queue=100ms mtu=1400"
        );
        let links = Links::parse("rate=25mbit queue=9pkt", Some("delay=30ms")).unwrap();
        assert_eq!(links.forward.to_string(), "rate=25mbit queue=9pkt");
        assert_eq!(links.back.to_string(), "delay=30ms");
    }

    #[test]
    fn a_queue_is_bounded_unless_asked_otherwise() {
        let queue = |text: &str| Links::parse(text, None).unwrap().forward.queue;
        assert_eq!(queue("rate=1mbit").time, Some(Duration::from_millis(100)));
        assert_eq!(queue("rate=1mbit queue=unlimited"), Queue::UNLIMITED);
        assert_eq!(queue("delay=1ms"), Queue::UNLIMITED);
    }

    #[test]
    fn a_named_link_brings_its_own_way_back() {
        let links = Links::parse("lte", None).unwrap();
        let lte = NamedLink::find("lte").unwrap();
        assert_eq!((links.forward, links.back), lte.both());
        let links = Links::parse("delay=1ms", Some("lte")).unwrap();
        assert_eq!(links.back, lte.back());
    }

    #[test]
    fn errors_say_which_option_is_meant() {
        let says = |link: &str, back: Option<&str>, words: [&str; 2]| {
            let message = Links::parse(link, back).unwrap_err().to_string();
            assert!(words.iter().all(|w| message.contains(w)), "{message}");
        };
        says("delay=30", None, ["--link", "30ms"]);
        says("delay=30ms", Some("loss=5%"), ["--back", "iid:10%"]);
        says("wifl", None, ["--link", "wifi"]);
        says(
            "loss=trace:/does/not/exist",
            None,
            ["--link", "/does/not/exist"],
        );
    }

    #[test]
    fn devices_take_the_mtu_of_the_link_they_send_into() {
        let mut config = PathConfig::new(Links::parse("mtu=1400", Some("delay=1ms")).unwrap());
        let mtus = |c: &PathConfig| (c.device_mtu(&c.links.forward), c.device_mtu(&c.links.back));
        assert!(matches!(mtus(&config), (Ok(1400), Ok(1500))));
        config.mtu = Some(9000);
        assert!(matches!(mtus(&config), (Ok(9000), Ok(9000))));
        config.mtu = Some(67);
        assert!(mtus(&config).0.is_err());
    }
}
