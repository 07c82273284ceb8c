//! A ladder of named, realistic paths, from perfect to awful.
//!
//! The numbers are typical and rounded; they do not come from one measured network.
//! `back` is the direction of acknowledgements for a sender at the near end.

use crate::config::LinkConfig;

/// A path with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedLink {
    /// The name that [`find`](Self::find) takes.
    pub name: &'static str,
    /// One sentence about the path.
    pub about: &'static str,
    forward: &'static str,
    back: &'static str,
}

/// No link has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("no link is called `{name}`; there are: {}", names().collect::<Vec<_>>().join(", "))]
pub struct UnknownLink {
    /// The name given, shortened.
    pub name: String,
}

/// All named links, the easiest first.
pub const LINKS: &[NamedLink] = &[
    NamedLink {
        name: "perfect",
        about: "No limit, no delay, no loss: what the endpoints cost by themselves.",
        forward: "perfect",
        back: "perfect",
    },
    NamedLink {
        name: "lan",
        about: "A gigabit Ethernet segment.",
        forward: "rate=1gbit delay=100us queue=1MB mtu=1500",
        back: "rate=1gbit delay=100us queue=1MB mtu=1500",
    },
    NamedLink {
        name: "cable",
        about: "A home connection with a slow uplink, seen by who sends up it; deep buffers.",
        forward: "rate=20mbit delay=10ms jitter=2ms queue=200ms loss=iid:0.01% mtu=1500",
        back: "rate=200mbit delay=10ms jitter=2ms queue=100ms loss=iid:0.01% mtu=1500",
    },
    NamedLink {
        name: "vm",
        about: "Two virtual machines on a busy host: packets wait up to 3 ms until a machine runs again.",
        forward: "rate=500mbit delay=1ms bunch=0ms,3ms queue=20ms mtu=1500",
        back: "rate=500mbit delay=1ms bunch=0ms,3ms queue=20ms mtu=1500",
    },
    NamedLink {
        name: "transatlantic",
        about: "100 Mbit/s between New York and Frankfurt, RTT 80 ms, a little loss at peerings.",
        forward: "rate=100mbit delay=40ms jitter=500us queue=50ms loss=iid:0.1% mtu=1500",
        back: "rate=100mbit delay=40ms jitter=500us queue=50ms loss=iid:0.1% mtu=1500",
    },
    NamedLink {
        name: "wifi",
        about: "A busy wireless LAN two rooms from its access point: short bursts, much jitter.",
        forward: "rate=60mbit delay=2ms jitter=5ms queue=100ms loss=ge:2%,3 mtu=1500",
        back: "rate=60mbit delay=2ms jitter=5ms queue=100ms loss=ge:2%,3 mtu=1500",
    },
    NamedLink {
        name: "wifi-crowded",
        about: "The same among many stations: packets wait for their turn in the air and arrive in bunches.",
        forward: "rate=60mbit delay=2ms jitter=2ms bunch=2ms,30ms queue=100ms loss=ge:2%,3 mtu=1500",
        back: "rate=60mbit delay=2ms jitter=2ms bunch=2ms,30ms queue=100ms loss=ge:2%,3 mtu=1500",
    },
    NamedLink {
        name: "5g",
        about: "A 5G phone sending: slots of half a millisecond, retransmissions below, a deep queue.",
        forward: "rate=60mbit delay=12ms jitter=5ms,normal bunch=500us,5ms queue=200ms loss=ge:0.3%,6 mtu=1428",
        back: "rate=300mbit delay=12ms jitter=5ms,normal bunch=500us,5ms queue=200ms loss=ge:0.3%,6 mtu=1428",
    },
    NamedLink {
        name: "lte",
        about: "A moving LTE phone sending: slow uplink, deep queue, bursts at handovers.",
        forward: "rate=10mbit delay=25ms jitter=10ms queue=300ms loss=ge:1%,8 mtu=1428",
        back: "rate=40mbit delay=25ms jitter=10ms queue=300ms loss=ge:0.5%,8 mtu=1428",
    },
    NamedLink {
        name: "leo",
        about: "A low-orbit satellite dish sending: bursts when the beam changes, some reordering.",
        forward: "rate=15mbit delay=25ms jitter=8ms queue=100ms loss=ge:1%,10 reorder=0.1%:10ms mtu=1500",
        back: "rate=150mbit delay=25ms jitter=8ms queue=100ms loss=ge:1%,10 reorder=0.1%:10ms mtu=1500",
    },
    NamedLink {
        name: "leo-steps",
        about: "The same with a path that changes each 15 seconds, and its delay with it.",
        forward: "rate=15mbit delay=20ms steps=30ms,15s jitter=3ms,normal queue=100ms loss=ge:1%,10 mtu=1500",
        back: "rate=150mbit delay=20ms steps=30ms,15s jitter=3ms,normal queue=100ms loss=ge:1%,10 mtu=1500",
    },
    NamedLink {
        name: "satellite",
        about: "A geostationary satellite, RTT 600 ms, fading in rain.",
        forward: "rate=10mbit delay=300ms jitter=2ms queue=500ms loss=ge:2%,12 mtu=1500",
        back: "rate=2mbit delay=300ms jitter=2ms queue=500ms loss=ge:2%,12 mtu=1500",
    },
    NamedLink {
        name: "paper-5g",
        about: "The streaming-code paper's testbed at one of its loss rates: 25 Mbit/s, RTT 60 ms, \
                10 % independent loss of the data and none of the acknowledgements.",
        forward: "rate=25mbit delay=30ms queue=60ms loss=iid:10%",
        back: "rate=25mbit delay=30ms queue=60ms",
    },
    NamedLink {
        name: "awful",
        about: "What a protocol should survive: 20 % loss in bursts both ways, reordering, copies.",
        forward: "rate=2mbit delay=150ms jitter=50ms queue=200ms loss=ge:20%,5 reorder=2%:30ms duplicate=1% mtu=1400",
        back: "rate=2mbit delay=150ms jitter=50ms queue=200ms loss=ge:20%,5 reorder=2%:30ms duplicate=1% mtu=1400",
    },
];

impl NamedLink {
    /// The link of this name.
    ///
    /// # Errors
    /// When no link has this name; the message lists all names.
    pub fn find(name: &str) -> Result<&'static Self, UnknownLink> {
        let found = LINKS.iter().find(|link| link.name == name);
        found.ok_or_else(|| UnknownLink {
            name: name.chars().take(40).collect(),
        })
    }

    /// The direction of the data.
    pub fn forward(&self) -> LinkConfig {
        self.forward
            .parse()
            .expect("every text in LINKS is tested to be valid")
    }

    /// The direction of the acknowledgements.
    pub fn back(&self) -> LinkConfig {
        self.back
            .parse()
            .expect("every text in LINKS is tested to be valid")
    }

    /// Both directions, forward first.
    pub fn both(&self) -> (LinkConfig, LinkConfig) {
        (self.forward(), self.back())
    }
}

/// The names in the order of [`LINKS`].
pub fn names() -> impl Iterator<Item = &'static str> {
    LINKS.iter().map(|link| link.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_link_reads_and_prints_as_written() {
        for link in LINKS {
            assert_eq!(link.forward().to_string(), link.forward, "{}", link.name);
            assert_eq!(link.back().to_string(), link.back, "{}", link.name);
            assert_eq!(
                NamedLink::find(link.name),
                Ok(link),
                "two are called {}",
                link.name
            );
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = NamedLink::find("wifl").unwrap_err().to_string();
        assert!(
            message.contains("`wifl`") && message.contains("lte, leo"),
            "{message}"
        );
    }
}
